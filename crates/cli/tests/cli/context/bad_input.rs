//! Tests of bad input for `accp context`: the error names the place and the cure, the command prints no list, and no
//! file changes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::messages;
use crate::cli::{Folder, Run, Words, accp, finish};

/// The greatest length of an input that the command accepts.
const MOST: u64 = 64 << 20;

/// Returns all files and folders below a folder, except the files that SQLite may change when somebody only reads.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            all.extend(tree(&path));
            all.insert(path, None);
        } else if !name.starts_with("cold.accp-") {
            all.insert(path.clone(), Some(fs::read(&path).unwrap()));
        }
    }
    all
}

/// Checks that a command was refused with this exit code, and that its error has these parts.
fn refused(run: &Run, code: i32, parts: &[&str]) {
    assert_eq!((run.code, &*run.stdout), (Some(code), ""), "{}", run.stderr);
    for part in parts {
        run.stderr_has(part);
    }
}

/// Returns a folder with a session `trip` that has compressed a conversation, and the compressed list.
fn begun() -> (Folder, Json) {
    let folder = Folder::with(&[("good.json", &messages().to_string())]);
    let run = compress(&folder, "good.json");
    run.code_is(0);
    assert!(!run.stderr.is_empty(), "a tier acts");
    let list = run.json().remove(0);
    (folder, list)
}

/// Compresses with a window so small that a tier acts.
fn compress(folder: &Folder, more: impl Words) -> Run {
    compress_at(folder, "root", ("--window 12000", more))
}

fn compress_at(folder: &Folder, root: &str, more: impl Words) -> Run {
    folder.run(("context compress --session trip --root", root, more), "")
}

/// Checks that a bad list is refused both without a session and with one, and that no file changes.
fn refused_everywhere(bytes: &[u8], parts: &[&str]) {
    let fresh = Folder::with(&[]);
    let (begun, list) = begun();
    for folder in [&fresh, &begun] {
        fs::write(folder.path("bad.json"), bytes).unwrap();
        let before = tree(folder.0.path());
        let run = compress(folder, "bad.json");
        refused(&run, 1, &[&["bad.json: "], parts].concat());
        assert_eq!(tree(folder.0.path()), before, "{}", run.stderr);
    }
    assert!(!fresh.path("root").exists());
    // After the bad input, the session gives the same list as before.
    assert_eq!(compress(&begun, "good.json").json(), [list]);
}

#[test]
fn what_is_not_a_list_is_refused() {
    let whole = messages().to_string();
    let cure = "give a JSON array of messages, or a request that has one";
    for text in [
        "",
        "7",
        "\"text\"",
        "{}",
        "null",
        &whole[..whole.len() / 2],
        "[{\"role\":\"user\",]",
    ] {
        refused_everywhere(text.as_bytes(), &["not-a-list: ", cure]);
    }
    let number = r#"[{"role":"user","content":"Rye?"},7]"#;
    refused_everywhere(number.as_bytes(), &["not-a-list: message 1: "]);
    // The reader takes neither of these, although they are JSON.
    let large = r#"[{"role":"user","content":"Rye?","weight":1e400}]"#;
    let cure = "column 47; a number may be up to 1.8e308: write a smaller number, or a text";
    refused_everywhere(
        large.as_bytes(),
        &["not-a-list: number out of range at line 1 ", cure],
    );
    let deep = format!(
        r#"[{{"role":"user","content":"Rye?","a":{}{}}}]"#,
        "[".repeat(130),
        "]".repeat(130)
    );
    let cure = "; JSON is read to a depth of 127: write what is deeper as a text";
    refused_everywhere(
        deep.as_bytes(),
        &["not-a-list: recursion limit exceeded at line 1 ", cure],
    );
    let bytes = [whole.as_bytes(), b"\xff"].concat();
    let place = format!("not-a-list: byte {} is not UTF-8; give UTF-8", whole.len());
    refused_everywhere(&bytes, &[&place]);
}

#[test]
fn forms_that_are_mixed_are_refused() {
    let mixed = json!([
        { "role": "user", "content": "Rye?" },
        { "role": "assistant", "content": null,
          "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "stock", "arguments": "{}" } }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c1", "content": "4" }] },
        { "type": "function_call_output", "call_id": "c1", "output": "4" },
    ]);
    let text = mixed.to_string();
    for form in ["openai", "anthropic", "responses"] {
        let fresh = Folder::with(&[("bad.json", &text)]);
        let run = compress(&fresh, ["--messages", form, "bad.json"]);
        refused(&run, 1, &["bad.json: ", ": message "]);
        assert!(!fresh.path("root").exists());
    }
    refused_everywhere(text.as_bytes(), &[": message 3: "]);
}

#[test]
fn results_without_calls_are_refused_with_their_messages() {
    let chat = json!([
        { "role": "user", "content": "Rye?" },
        { "role": "tool", "tool_call_id": "c9", "content": "4" },
    ]);
    let cure = "drop the result, or run `accp context repair`";
    let parts = ["result-orphan: message 1: the result answers `c9`", cure];
    refused_everywhere(chat.to_string().as_bytes(), &parts);
    let block = json!({ "type": "tool_result", "tool_use_id": "c9", "content": "4" });
    let anthropic = json!([{ "role": "user", "content": [block] }]);
    let output = json!({ "type": "function_call_output", "call_id": "c9", "output": "4" });
    let responses = json!([{ "role": "user", "content": "Rye?" }, output]);
    for (form, list) in [("anthropic", anthropic), ("responses", responses)] {
        let fresh = Folder::with(&[("bad.json", &list.to_string())]);
        let run = compress(&fresh, ["--messages", form, "bad.json"]);
        refused(&run, 1, &["bad.json: ", "result-orphan: message ", cure]);
        assert!(!fresh.path("root").exists());
    }
}

#[test]
fn a_window_that_is_too_small_is_refused_with_what_does_not_fit() {
    let mut list = messages();
    let system = json!({ "role": "system", "content": "You book flights. ".repeat(40) });
    list.as_array_mut().unwrap().insert(0, system);
    list.as_array_mut()
        .unwrap()
        .push(json!({ "role": "user", "content": "And gate 7? ".repeat(40) }));
    let fresh = Folder::with(&[("bad.json", &list.to_string())]);
    let run = compress_at(&fresh, "root", "--window 150 bad.json");
    let parts = [
        "over-window: the list has ",
        "of the system message (message 0)",
        "of the newest turn (message 6)",
        "give a larger window, or shorten one of these",
    ];
    refused(&run, 1, &parts);
    assert!(!fresh.path("root").exists());
    refused(
        &compress_at(&fresh, "root", "--window 0 bad.json"),
        2,
        &["give a larger window"],
    );
    refused(
        &compress(&fresh, "--reserve 12000 bad.json"),
        2,
        &["give a larger window"],
    );
    // If the window is too small for a session, the command changes nothing in the session.
    let (folder, _) = begun();
    let before = tree(folder.0.path());
    refused(
        &compress_at(&folder, "root", "--window 20 good.json"),
        1,
        &["over-window: "],
    );
    assert_eq!(tree(folder.0.path()), before);
}

#[test]
fn an_input_of_a_hundred_megabytes_is_refused_before_it_is_read() {
    let folder = Folder::with(&[]);
    // The file is sparse, so it takes no space on the disk.
    let file = fs::File::create(folder.path("bad.json")).unwrap();
    file.set_len(100 << 20).unwrap();
    let cure = "give the last list that came out, with what was said since, in place of the whole conversation";
    let limit = format!("bad.json: not-a-list: expected at most {MOST} bytes, found more; {cure}");
    refused(&compress(&folder, "bad.json"), 1, &[&limit]);
    refused(&folder.run("context repair bad.json", ""), 1, &[&limit]);
    let run = folder.run("context check --format json bad.json", "");
    assert_eq!(
        (run.code, &run.json()[0]["errors"][0]["code"]),
        (Some(1), &json!("not-a-list"))
    );
    assert_eq!(folder.names(), ["bad.json"]);
    // A file of the largest allowed size is read.
    file.set_len(MOST).unwrap();
    refused(
        &compress(&folder, "bad.json"),
        1,
        &["not-a-list: expected JSON: "],
    );
}

#[test]
fn names_that_lead_out_stay_inside() {
    let (folder, _) = begun();
    let before = tree(folder.0.path());
    for id in ["../trip", "..", "a/b", "/tmp/trip", ""] {
        let args = ("context compress --window 9000 good.json --session", [id]);
        let run = folder.run(args, "");
        refused(
            &run,
            2,
            &["is not the id of a session; give 1 to 128 letters, digits, `_` and `-`"],
        );
        assert_eq!(tree(folder.0.path()), before);
    }
    for path in [
        "../good.json",
        "cache/../../good.json",
        "/etc/passwd",
        "cache/cold.accp/../../../good.json",
    ] {
        let run = folder.run(("context read --session trip --root root", path), "");
        refused(
            &run,
            1,
            &[path, "expected the path of a file below `cache/`"],
        );
    }
    let text = messages()
        .to_string()
        .replace("get_flights", "../../../get_flights");
    let folder = Folder::with(&[("bad.json", &text)]);
    compress(&folder, "bad.json").code_is(0);
    assert_eq!(folder.names(), ["bad.json", "root"]);
    let offloaded = tree(&folder.path("root/cache/offloaded"));
    let names: Vec<_> = offloaded
        .keys()
        .map(|path| path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert!(
        names.len() == 1 && names[0].ends_with("_get_flights.md"),
        "{names:?}"
    );
}

#[test]
fn a_root_that_cannot_be_is_refused_with_its_path() {
    let cure = "; move away what stands there, or give another root (`--root`)";
    for taken in [
        "root",
        "root/cache",
        "root/cache/offloaded",
        "root/cache/conversations",
    ] {
        let folder = Folder::with(&[("good.json", &messages().to_string())]);
        let path = folder.path(taken);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "mine").unwrap();
        let run = compress(&folder, "good.json");
        refused(&run, 2, &["root/cache", cure]);
        assert_eq!(folder.read(taken), "mine");
        // Besides the two files of the test, the command has made only folders.
        let files = tree(&folder.path("."));
        let files: Vec<_> = files.values().flatten().map(Vec::len).collect();
        assert_eq!(files.len(), 2, "{files:?}");
    }
}

#[test]
fn a_root_that_may_not_be_written_is_refused() {
    // No user can make a folder here, not even root.
    for root in ["/proc/self/accp", "/sys/kernel/accp"] {
        if !Path::new(root).parent().unwrap().is_dir() {
            continue;
        }
        let folder = Folder::with(&[("good.json", &messages().to_string())]);
        let run = compress_at(&folder, root, "--window 12000 good.json");
        refused(
            &run,
            2,
            &[
                &format!("{root}/cache/offloaded: "),
                "); give a root that this program may write (`--root`), and try again",
            ],
        );
        assert_eq!(folder.names(), ["good.json"]);
    }
}

#[test]
fn a_session_that_cannot_be_opened_is_refused_also_where_no_list_is_given() {
    let (folder, _) = begun();
    fs::remove_file(folder.path("root/cache/.lock")).unwrap();
    fs::create_dir(folder.path("root/cache/.lock")).unwrap();
    let cure =
        ".lock: Is a directory (os error 21); move away what stands there, or give another root";
    for command in ["restore", "status", "recover rye", "call context_status"] {
        let run = folder.run(("context", command, "--session trip --root root"), "");
        let code = if command.starts_with("call") { 1 } else { 2 };
        refused(&run, code, &[cure]);
    }
}

#[test]
fn a_root_of_another_program_is_refused() {
    let (folder, _) = begun();
    let cold = folder.path("root/cache/cold.accp");
    let sound = fs::read(&cold).unwrap();
    fs::write(&cold, "the recipes of somebody else\n".repeat(99)).unwrap();
    let before = tree(folder.0.path());
    let run = compress(&folder, "good.json");
    refused(
        &run,
        2,
        &[
            "cold.accp",
            "take `cache/cold.accp` back from a copy, or give another root (`--root`)",
        ],
    );
    assert_eq!(tree(folder.0.path()), before);
    fs::write(&cold, sound).unwrap();
    compress(&folder, "good.json").code_is(0);
    // The session would have to make a file at this path, but the user already has a file there.
    let talk = (0..80).map(|at| json!({ "role": "user", "content": format!("Crate {at} holds lamps, ropes and maps of the coast.") }));
    let talk: Vec<_> = talk.collect();
    let other = Folder::with(&[("good.json", &Json::from(talk).to_string())]);
    fs::create_dir_all(other.path("root/cache/conversations")).unwrap();
    fs::write(other.path("root/cache/conversations/trip_full.md"), "mine").unwrap();
    let run = compress_at(&other, "root", "--window 2000 good.json");
    let parts = [
        "cache/conversations/trip_full.md: ",
        "move the file away, or give another id (`--session`)",
    ];
    refused(&run, 2, &parts);
    assert_eq!(other.read("root/cache/conversations/trip_full.md"), "mine");
}

#[test]
fn a_disk_that_is_full_costs_no_list() {
    let (_, list) = begun();
    let mut failed = 0;
    for blocks in [1, 8, 64, 128, 160, 100_000] {
        let folder = Folder::with(&[("good.json", &messages().to_string())]);
        // `ulimit` limits the size of files to this number of 512-byte blocks.
        let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut limited = std::process::Command::new("sh");
        limited.current_dir(folder.path("."));
        let args = "context compress --session trip --root root --window 12000 good.json";
        limited.args(["-c", &script, env!("CARGO_BIN_EXE_accp")]);
        let run = finish(limited.args(args.words()), b"");
        if run.code != Some(0) {
            failed += 1;
            refused(&run, 2, &["cache/", "try again"]);
        }
        assert_eq!(
            without_times(&compress(&folder, "good.json").json()[0]),
            without_times(&list)
        );
    }
    assert!((2..6).contains(&failed), "{failed}");
}

/// Returns a list as text, without the times in the names of its files.
fn without_times(list: &Json) -> String {
    let text = list.to_string();
    let mut parts = text.split("cache/offloaded/");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |text, part| {
        text + "cache/offloaded/" + part.split_once("_get").unwrap().1
    })
}

/// What cannot be looked into may have sessions.
#[cfg(unix)]
#[test]
fn a_root_that_cannot_be_looked_into_is_named() {
    let folder = Folder::with(&[("good.json", &messages().to_string())]);
    std::os::unix::fs::symlink("root", folder.path("root")).unwrap();
    for words in ["status", "recover HAT170", "restore"] {
        let run = folder.run(("context", words, "--session trip --root root"), "");
        refused(&run, 2, &["root/cache/cold.accp: ", "links"]);
        assert!(
            !run.stderr.contains("there is no session"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn a_torn_index_is_made_again() {
    let (folder, _) = begun();
    let recover = || {
        folder.run(
            "context recover --session trip --root root --exact HAT170",
            "",
        )
    };
    let hits = recover();
    assert!(
        hits.code == Some(0) && hits.stdout.contains("HAT170"),
        "{}",
        hits.stderr
    );
    let index = folder.path("root/cache/index.db");
    let sound = fs::read(&index).unwrap();
    for bytes in [&sound[..sound.len() / 2], b"torn", b""] {
        fs::write(&index, bytes).unwrap();
        let again = recover();
        again.code_is(0);
        assert_eq!(again.stdout, hits.stdout.clone());
    }
}

#[test]
fn a_file_that_somebody_changed_is_refused_by_its_digest() {
    let (folder, list) = begun();
    let name = fs::read_dir(folder.path("root/cache/offloaded"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .file_name();
    let name = format!("cache/offloaded/{}", name.to_str().unwrap());
    let path = format!("root/{name}");
    let sound = folder.read(&path);
    fs::write(folder.path(&path), sound.replacen("HAT170", "HAT171", 1)).unwrap();
    let before = tree(folder.0.path());
    let at = "--session trip --root root";
    for words in [
        "compress --window 12000 good.json",
        "status",
        "restore",
        "mark 1",
    ] {
        let run = folder.run(("context", words, at), "");
        let says = format!("{name}: the file is not what was written there (its SHA-256 differs)");
        refused(
            &run,
            1,
            &[
                &says,
                "take it back from a copy, or remove it, and it is written again",
            ],
        );
        assert_eq!(tree(folder.0.path()), before);
    }
    fs::remove_file(folder.path(&path)).unwrap();
    assert_eq!(compress(&folder, "good.json").json(), [list]);
    assert_eq!(folder.read(&path), sound);
}

#[test]
fn a_stdin_without_a_list_is_named() {
    accp("context check", "")
        .code_is(1)
        .stderr_has("stdin: not-a-list: ");
}
