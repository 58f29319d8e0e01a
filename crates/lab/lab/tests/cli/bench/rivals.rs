//! Prompts of other programs.

use serde_json::{Value as Json, json};

use super::{files, shared, without_times};

/// The dump of every policy, read back, gives the same figures as the policy, except for the time and the name.
#[test]
fn a_dump_measured_again_gives_the_same_figures() {
    let folder = files();
    let files = ["booking.jsonl", "shared.jsonl", "--format", "json"];
    let measure = |more: &[&str]| {
        let run = folder.run([&["bench"], &files[..], more].concat(), "");
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        without_times(&run)
    };
    let measured = measure(&["--dump", "dump.jsonl"]);
    let dump = folder.read("dump.jsonl");
    let first: Json = serde_json::from_str(dump.lines().next().unwrap()).unwrap();
    assert_eq!(
        first["segments"][0],
        json!({
            "kind": "system", "text": "{\"role\":\"system\",\"content\":\"You book slots.\"}\n",
            "message": 0,
        })
    );
    let again = measure(&["--policy", "list", "--policy", "file:dump.jsonl"]);
    let policies = measured.len() / 2;
    for (row, mut measured) in measured.into_iter().enumerate() {
        let (corpus, row) = (row / policies, row % policies);
        let mut again = again[corpus * (policies + 1) + 1 + row].clone();
        let name = measured["policy"].as_str().unwrap();
        assert_eq!(again["policy"], json!(format!("file:{name}")));
        for key in ["policy", "doc", "default"] {
            again[key] = Json::Null;
            measured[key] = Json::Null;
        }
        // The second table has one policy more, so the places differ.
        for row in [&mut again, &mut measured] {
            let settings = row["sensitivity"].as_object_mut().unwrap();
            settings
                .values_mut()
                .for_each(|at| at["place"] = Json::Null);
        }
        assert_eq!(again, measured);
    }
    // The dump of the other program covers one of the two corpora. Its shares are relative to the base over the same
    // conversations.
    let part = dump.lines().filter(|line| line.contains("\"booking\""));
    let part = part.filter(|line| line.contains("\"plain\""));
    std::fs::write(
        folder.path("part.jsonl"),
        part.collect::<Vec<_>>().join("\n"),
    )
    .unwrap();
    let rows = measure(&["--policy", "plain", "--policy", "file:part.jsonl"]);
    assert_eq!(rows[1]["net"], rows[2]["net"]);
    assert_eq!(
        (&rows[5]["conversations"], &rows[5]["cost"]),
        (&json!(0), &Json::Null)
    );
}

#[test]
fn what_a_rival_brings_back_is_compared() {
    let folder = files();
    let first = &shared()["messages"][0];
    let said = first["content"].as_str().unwrap().len();
    let message = first.to_string();
    let line = |turn: usize| {
        json!({ "corpus": "shared", "conversation": "7", "turn": turn, "policy": "other",
            "milliseconds": 1.5, "segments": [{ "kind": "facts", "text": "src/lib.rs" }] })
    };
    let original = |index: usize| json!({ "corpus": "shared", "conversation": "7", "policy": "other", "message": index, "original": message });
    let rival = format!(
        "{}\n{}\n{}\n{}\n{}\n",
        line(1),
        line(2),
        line(3),
        original(0),
        original(1)
    );
    std::fs::write(folder.path("rival.jsonl"), rival).unwrap();
    let run = folder.run(
        [
            "bench",
            "shared.jsonl",
            "--policy",
            "list",
            "--policy",
            "file:rival.jsonl",
            "--format",
            "json",
        ],
        "",
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let row = &run.json()[1];
    assert_eq!(row["bytes"]["found"], json!(said));
    assert_eq!(row["milliseconds"], json!(4.5));
}

/// A task, and calls with results. All results together have more than 2,000 tokens.
fn long() -> Json {
    let task = "Find each shelf with under 40 sacks of rye, and never order more than 12 sacks.";
    let mut messages = vec![
        json!({ "role": "system", "content": "You keep the store." }),
        json!({ "role": "user", "content": task }),
    ];
    for shelf in 0..12 {
        let id = format!("c{shelf}");
        let call = json!({ "id": id, "name": "count", "arguments": { "shelf": shelf } });
        let rows = (0..25).map(|row| format!("row {row}: {} sacks of rye", row * 7 + shelf));
        let rows = rows.collect::<Vec<_>>().join("\n");
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": rows }));
    }
    messages.push(json!({ "role": "assistant", "content": "Shelf 3 has too few." }));
    json!({ "id": "store", "messages": messages })
}

fn measured(folder: &crate::Folder, more: &[&str]) -> Vec<Json> {
    let base = ["bench", "store.jsonl", "--format", "json"];
    let run = folder.run([&base[..], more].concat(), "");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    run.json()
}

/// A policy with a window stays inside the window with valid lists, and keeps the task and all messages. Each other
/// policy fails in its own way. A file of prompts gets the same figures.
#[test]
fn lists_are_judged_inside_a_window() {
    let folder = crate::Folder::with(&[("store.jsonl", &format!("{}\n", long()))]);
    let policies = ["ctx:2000", "last:1", "bag", "plain"];
    let policies: Vec<&str> = policies
        .iter()
        .flat_map(|name| ["--policy", *name])
        .collect();
    let dumped = [
        &policies[..],
        &["--dump", "dump.jsonl", "--html", "page.html"],
    ]
    .concat();
    let rows = measured(&folder, &dumped);
    let told = |row: &Json| {
        let keys = [
            "window",
            "over_window",
            "invalid_lists",
            "intent",
            "recovered",
        ];
        keys.map(|key| row[key].clone())
    };
    let [json, ctx, last, bag, plain] = &rows[..] else {
        panic!("{rows:?}")
    };
    assert!(json["over_window"].as_u64() > Some(3), "{json}");
    let whole = [
        json!(2000),
        json["over_window"].clone(),
        json!(0),
        json!(1.0),
        json!(1.0),
    ];
    assert_eq!(told(json), whole);
    assert_eq!(
        told(ctx),
        [json!(2000), json!(0), json!(0), json!(1.0), json!(1.0)]
    );
    assert!(ctx["tokens"].as_u64() < json["tokens"].as_u64());
    assert_eq!(
        (&last["over_window"], &last["invalid_lists"]),
        (&json!(0), &json!(0))
    );
    assert!(
        last["intent"].as_f64() < Some(0.1) && last["recovered"].as_f64() < Some(0.3),
        "{last}"
    );
    assert_eq!(
        (&bag["invalid_lists"], &bag["lists"]),
        (&Json::Null, &json!(0))
    );
    assert!(bag["intent"].as_f64() < Some(0.2), "{bag}");
    assert_eq!(
        (&plain["invalid_lists"], &plain["intent"]),
        (&Json::Null, &json!(1.0))
    );
    let page = folder.read("page.html");
    assert!(
        page.contains("inside a window of 2000 tokens") && page.contains("<th>invalid lists</th>")
    );

    let again = measured(
        &folder,
        &["--policy", "file:dump.jsonl", "--model-window", "2000"],
    );
    let again = again
        .iter()
        .filter(|row| row["policy"].as_str().unwrap().starts_with("file:"));
    let again: Vec<_> = again.map(told).collect();
    assert_eq!(again, rows.iter().map(told).collect::<Vec<_>>());

    // The lines below stand for a program that drops calls and keeps their results.
    let lines = folder.read("dump.jsonl");
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let lines = lines.filter(|line: &Json| line["policy"] == "list" && line["segments"].is_array());
    let broken = lines.map(|mut line| {
        line["policy"] = json!("broken");
        let segments = line["segments"].as_array_mut().unwrap();
        segments.retain(|segment| segment["kind"] != "call");
        format!("{line}\n")
    });
    std::fs::write(folder.path("broken.jsonl"), broken.collect::<String>()).unwrap();
    let rows = measured(
        &folder,
        &["--policy", "file:broken.jsonl", "--model-window", "2000"],
    );
    let row = rows
        .iter()
        .find(|row| row["policy"] == "file:broken")
        .unwrap();
    assert_eq!(
        (&row["lists"], &row["invalid_lists"]),
        (&json!(13), &json!(12))
    );
    assert_eq!(
        (&row["intent"], &row["recovered"]),
        (&json!(1.0), &json!(0.0))
    );
}

/// The model window is given, or taken from the policies if all policies with a window have the same one.
#[test]
fn the_window_is_told_once() {
    let folder = crate::Folder::with(&[("store.jsonl", &format!("{}\n", long()))]);
    let window = |more: &[&str]| measured(&folder, more)[0].get("window").cloned();
    assert_eq!(window(&["--policy", "last:2"]), None);
    let two = ["--policy", "ctx:2000", "--policy", "ctx:4000"];
    assert_eq!(window(&two), None);
    assert_eq!(window(&two[2..]), Some(json!(4000)));
    assert_eq!(
        window(&[&two[..], &["--model-window", "3000"]].concat()),
        Some(json!(3000))
    );
    let run = folder.run(["bench", "store.jsonl", "--policy", "ctx:4000"], "");
    let heading = "window    prompts  over window  invalid lists  intent verbatim  recovered";
    assert!(run.stdout.contains(heading), "{}", run.stdout);
    assert!(
        run.stdout
            .ends_with("the window of the model has 4000 tokens\n"),
        "{}",
        run.stdout
    );
    let none = ["bench", "store.jsonl", "--model-window", "0"];
    assert_eq!(folder.run(none, "").code, Some(2));
}
