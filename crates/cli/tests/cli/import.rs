//! Tests of `accp session import`.

use serde_json::{Value as Json, json};

use crate::cli::{Folder, accp, workspace};

fn example() -> String {
    std::fs::read_to_string(workspace().join("examples/bakery.jsonl")).unwrap()
}

/// Returns stderr without the line that says how long the command took.
fn quiet(stderr: &str) -> String {
    let lines = stderr.lines().filter(|line| !line.starts_with("in "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_example_loses_nothing() {
    let run = accp("session import --verify", example());
    assert_eq!((run.code, quiet(&run.stderr).as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stdout, @"
    conversations                2
    messages                    17
    members                      7
    frames                      21
    log entries                 39
    checkpoints                  7
    by size alone                0
    frames they moved           14
    values in cold               0
    their bytes                  0
    references read              0
    most tokens in hot     298/500
    most tokens in warm   528/2000
    bytes read back        100.0 %
    ");
}

/// Returns a conversation with long, deep, large and odd values, a call without an id, and an agent that answers no
/// request.
fn awkward() -> Json {
    let mut deep = json!("leaf");
    for _ in 0..8 {
        deep = json!({ "in": deep });
    }
    let log = "line\n".repeat(2_000);
    json!({ "id": "awkward", "tools": [{ "parameters": deep }], "messages": [
        { "role": "system", "content": "é".repeat(40_000) },
        { "role": "user", "content": "", "name": "Geo Expert" },
        { "role": "assistant", "content": "On it.", "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "log", "arguments": "{\"n\": 2, \"n\": 3}" } },
            { "id": "c1", "type": "function", "function": { "name": "log", "arguments": "{\"q\":\"$cold.k101_1\"}" } }] },
        { "role": "tool", "tool_call_id": "c1", "name": "log", "content": log },
        { "role": "tool", "content": json!({ "text": log, "again": [log, 1.0, null] }).to_string() },
        { "role": "agent", "name": "b", "to": "a", "content": ["parts", { "$ref": "cold.k101_1" }] },
        { "odd": "$ctx.none", "role": 7 },
    ] })
}

#[test]
fn whatever_a_recording_holds_comes_back() {
    let folder = Folder::with(&[
        ("bakery.jsonl", &example()),
        ("awkward.jsonl", &format!("{0}\n{0}\n", awkward())),
    ]);
    let files = ["bakery.jsonl", "awkward.jsonl"];
    let run = folder.run(("session import --verify", files), "");
    assert_eq!((run.code, quiet(&run.stderr).as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stdout, @"
    file           chats  messages  frames  checkpoints  moved  values  hot  warm  read back
    bakery.jsonl   2      17        21      7            14     0       298  528   100.0 %
    awkward.jsonl  2      14        20      6            12     14      146  150   100.0 %
    all            4      31        41      13           26     14      298  528   100.0 %
    ");

    // The command imports the same conversations into a file. A session name that repeats gets a number.
    let run = folder.run("session import -o all.db awkward.jsonl --format json", "");
    run.code_is(0);
    let json = &run.json()[0];
    assert_eq!(json["bytes"], json["bytes_back"]);
    assert!(
        json["values"].as_u64() > Some(8) && json["files"][0]["faults"] == 0,
        "{json}"
    );
    let list = folder.run("session list all.db --format json", "");
    let names: Vec<_> = list
        .json()
        .iter()
        .map(|json| json["session"].clone())
        .collect();
    assert_eq!(names, ["awkward", "awkward#2"]);
    folder.run("session verify all.db", "").code_is(0);
}

#[test]
fn a_fault_has_its_place_and_leaves_whole_sessions() {
    let whole = example();
    let folder = Folder::with(&[
        ("cut.jsonl", &whole[..whole.len() - 200]),
        ("notes.txt", "Dear all,\n"),
    ]);
    let run = folder.run("session import -o chats.db cut.jsonl", "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    run.stderr_starts("error: cut.jsonl:2:");
    let list = folder.run("session list chats.db --format json", "");
    assert_eq!(list.json().len(), 1);
    let run = folder.run("session import -o notes.txt cut.jsonl", "");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    insta::assert_snapshot!(run.stderr, @"error: notes.txt: file is not a database: the file is not a store of sessions: name another file, or a new one");
    assert_eq!(folder.read("notes.txt"), "Dear all,\n");
    for args in [
        "import",
        "import --verify -o x.db",
        "import --verify no-such.jsonl",
    ] {
        let run = folder.run(("session", args), "");
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?}");
    }
}

/// Returns the log and the values of every session of a file.
fn contents(folder: &Folder, file: &str) -> Vec<String> {
    let list = folder.run(["session", "list", file, "--format", "json"], "");
    list.code_is(0);
    let sessions = list.json().into_iter();
    let sessions = sessions.map(|json| json["session"].as_str().unwrap().to_owned());
    let whole = sessions.map(|session| {
        let args = ["session", "export", file, &session, "--values", "values"];
        let run = folder.run(args, "");
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        format!("{session}\n{}{}", run.stdout, folder.read("values"))
    });
    whole.collect()
}

/// If an import stops early, the file has only whole sessions. When the same command runs again, it adds the missing
/// sessions.
#[test]
fn an_import_that_stopped_is_completed() {
    let all = format!("{0}\n{0}\n{1}", awkward(), example());
    let folder = Folder::with(&[
        ("all.jsonl", &all),
        ("cut.jsonl", &all[..all.len() - 200]),
        ("empty.db", ""),
    ]);
    let import = |from: &str, to: &str| {
        let run = folder.run(["session", "import", "-o", to, from], "");
        (run.code, run.stdout)
    };
    let whole = import("all.jsonl", "whole.db");
    assert_eq!(whole.0, Some(0));
    let expected = contents(&folder, "whole.db");
    let is_whole = |file: &str| contents(&folder, file) == expected; // too long to be printed
    assert_eq!(expected.len(), 4);

    assert_eq!(import("cut.jsonl", "chats.db").0, Some(1));
    assert_eq!(contents(&folder, "chats.db").len(), 3);
    for _ in 0..2 {
        assert_eq!(import("all.jsonl", "chats.db"), whole);
        assert!(is_whole("chats.db"));
    }

    // An import also works on a file that is empty because an earlier run was killed.
    let run = folder.run("session verify empty.db", "");
    run.code_is(1);
    insta::assert_snapshot!(run.stderr, @"error: empty.db: the store is empty, and the command that creates it has not finished: run that command again, or remove the file");
    assert_eq!(import("all.jsonl", "empty.db"), whole);
    assert!(is_whole("empty.db"));
}

/// If the file already has a session with the same name but another log, that session keeps its name, and the new
/// session gets a number.
#[test]
fn another_recording_gets_another_name() {
    let other = |word: &str| {
        json!({ "id": "x", "messages": [{ "role": "user", "content": word }] }).to_string()
    };
    let folder = Folder::with(&[("a.jsonl", &other("a")), ("b.jsonl", &other("b"))]);
    for file in ["a.jsonl", "b.jsonl", "a.jsonl", "b.jsonl"] {
        folder
            .run(["session", "import", "-o", "x.db", file], "")
            .code_is(0);
    }
    let list = folder.run("session list x.db --format json", "");
    let names: Vec<_> = list
        .json()
        .iter()
        .map(|json| json["session"].clone())
        .collect();
    assert_eq!(names, ["x", "x#2"]);
}

#[test]
fn a_time_that_no_clock_can_leave_is_refused() {
    for start in [i64::MAX, 253_402_300_800, -62_135_596_801, i64::MIN] {
        let run = accp(
            format!("session import --verify --start={start}"),
            example(),
        );
        let told = format!("{start} is not in -62135596800..=253402300799");
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains(&told), "{}", run.stderr);
    }
    for start in [253_402_300_799_i64, -62_135_596_800] {
        let run = accp(
            format!("session import --verify --start={start}"),
            example(),
        );
        assert_eq!((run.code, quiet(&run.stderr).as_str()), (Some(0), ""));
    }
}
