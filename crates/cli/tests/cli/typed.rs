//! Tests that the shell commands of the README and of how-to pages work as a reader would type them.

use std::process::Command;

use serde_json::json;

use crate::cli::{Folder, finish, workspace};

/// Returns a conversation about a flight, which is too long for its window.
fn messages() -> String {
    let call = |n: u32| {
        let id = format!("c{n}");
        let rows = (1..=300).map(|row| format!("flight HAT{}, gate {}", n * 1000 + row, row % 30));
        let rows = rows.collect::<Vec<_>>().join("\n");
        let function = json!({ "name": "get_flights", "arguments": "{}" });
        [
            json!({ "role": "user", "content": format!("Which flight number is on day {n}?") }),
            json!({ "role": "assistant", "content": null,
                    "tool_calls": [{ "id": id, "type": "function", "function": function }] }),
            json!({ "role": "tool", "tool_call_id": id, "content": rows }),
            json!({ "role": "assistant", "content": format!("The flight number is HAT{n}007.") }),
        ]
    };
    json!((1..=9).flat_map(call).collect::<Vec<_>>()).to_string()
}

/// Returns the lines in the `sh` blocks of a document that call `accp`.
fn lines(document: &str) -> Vec<&str> {
    let blocks = document.split("```sh\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap_or_default().lines());
    lines.filter(|line| line.starts_with("accp ")).collect()
}

/// Runs the commands of a document in one folder, one after the other, and returns what each command prints.
fn typed(document: &str) -> Vec<String> {
    let logs = std::fs::read_to_string(workspace().join("examples/bakery.jsonl")).unwrap();
    // Only the first conversation is used: the second one has hand-offs between agents, which some formats cannot
    // express.
    let log = logs.lines().next().unwrap();
    let folder = Folder::with(&[("messages.json", &messages()), ("chats.jsonl", log)]);
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_accp")).parent();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", own.unwrap().display());
    let text = std::fs::read_to_string(workspace().join(document)).unwrap();
    let said = lines(&text).into_iter().map(|line| {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", line]).current_dir(folder.path(""));
        let run = finish(shell.env("PATH", &path), b"");
        run.code_is(0);
        run.stdout
    });
    said.collect()
}

#[test]
fn the_list_of_the_readme_fits_and_is_found_again() {
    let said = typed("README.md");
    assert_eq!(said.len(), 3);
    assert!(said[2].contains("HAT"), "{}", said[2]);
}

#[test]
fn the_page_about_lists_can_be_typed() {
    assert_eq!(typed("docs/howto/lists.md").len(), 2);
}

#[test]
fn the_page_about_logs_can_be_typed() {
    assert_eq!(typed("docs/howto/convert.md").len(), 6);
}
