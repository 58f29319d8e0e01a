//! Tests of the requirements for paths: CTX-34 and CTX-35.

use accp_memory::SessionId;
use serde_json::json;

use crate::requirements::session::TestSession;
use crate::requirements::talk::{Talk, rows};

fn names(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn ctx_34_accepts_the_four_folders_below_the_root() {
    let session = TestSession::of(10_000);
    session.compress(&Talk::begun().list());
    let folders = names(&session.root().join("cache"));
    for folder in ["checkpoints", "conversations", "intermediate", "offloaded"] {
        assert!(folders.contains(&folder.to_owned()), "{folders:?}");
    }
}

#[test]
fn ctx_34_refuses_to_write_anywhere_else() {
    let session = TestSession::of(10_000);
    session.put("shed/plan.md", &rows(3_000));
    let list = Talk::begun()
        .used("stock", json!({ "of": "rye" }), &rows(2_600))
        .wrote("shed/plan.md", &rows(3_000), "File written")
        .up_to(16_000, &session.window)
        .list();
    let done = session.compress(&list);
    assert!(done.events.len() > 1);
    assert_eq!(names(&session.root()), ["cache"]);
    assert_eq!(names(&session.work()), ["shed"]);
    assert_eq!(names(session.root().parent().unwrap()), ["root", "work"]);
    let made = done.events.iter().flat_map(|event| &event.files);
    assert!(made.clone().all(|path| path.starts_with("cache/")));
    // The session leaves the folder `intermediate` to the program.
    assert_eq!(names(&session.root().join("cache/intermediate")), [""; 0]);
}

/// Moves a result of each tool out, and returns the paths.
fn moved(tools: &[&str]) -> (TestSession, Vec<String>) {
    let session = TestSession::of(200_000);
    let mut talk = Talk::begun();
    for tool in tools {
        talk = talk.used(tool, json!({}), &rows(16_000));
    }
    let done = session.compress(&talk.list());
    let files = done.events.iter().flat_map(|event| event.files.clone());
    let files = files
        .filter(|path| path.starts_with("cache/offloaded/"))
        .collect();
    (session, files)
}

#[test]
fn ctx_35_accepts_each_name_once_for_tools_of_one_name() {
    let (session, files) = moved(&["stock", "stock", "sto/ck"]);
    let stem = "cache/offloaded/20260129_142530_stock";
    let expected = [
        format!("{stem}.md"),
        format!("{stem}_2.md"),
        format!("{stem}_3.md"),
    ];
    assert_eq!(files, expected);
    assert!(files.iter().all(|path| session.read(path) == rows(16_000)));
    assert_eq!(SessionId::new("Trip_7-b").unwrap().as_str(), "Trip_7-b");
}

#[test]
fn ctx_35_refuses_names_that_lead_out() {
    let long = "x".repeat(500);
    let tools = ["../../../etc/passwd", "..", "a\\b:c", "é\u{0}", &long];
    let (session, files) = moved(&tools);
    assert_eq!(files.len(), tools.len());
    for path in &files {
        let name = path
            .strip_prefix("cache/offloaded/20260129_142530_")
            .unwrap();
        let stem = name.strip_suffix(".md").unwrap();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(stem.len() <= 66 && stem.chars().all(is_plain), "{name}");
        assert_eq!(session.read(path), rows(16_000));
    }
    for id in [
        "",
        "../trip",
        "a/b",
        "a.b",
        "é",
        "a b",
        "a\u{0}",
        &"x".repeat(129),
    ] {
        assert!(SessionId::new(id).is_err(), "{id:?}");
    }
}
