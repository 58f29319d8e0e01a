//! `accp-lab learn`.
//!
//! `ACCP_BLESS=1 cargo test -p accp-lab --test cli learn` writes the learnt registry and its types
//! anew.

/// The types that `accp generate` makes of a learnt registry.
#[path = "learnt/frames.rs"]
#[deny(warnings)]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "a module of a test, not of a library"
)]
mod frames;

use std::fs;
use std::path::Path;

use accp_build::Builder;
use accp_registry::Registry;
use accp_runtime::Typed;
use serde_json::{Value as Json, json};

use crate::{Folder, accp};

/// Conversations of a library: searches for books, and loans.
fn library() -> Vec<Json> {
    (0..24).map(conversation).collect()
}

fn conversation(number: usize) -> Json {
    let book = |at: usize| {
        let isbn = format!("97{number:02}{at:02}1");
        let shelf = ["north", "south", "cellar"][(number + at) % 3];
        json!({
            "isbn": isbn, "title": format!("The {at}th voyage to the island of {number}"),
            "shelf": shelf, "copies": at + number, "lent": (number + at).is_multiple_of(4),
            "price": 7.5 + at as f64, "language": "en", "keywords": ["sea", format!("isle{number}")],
            "loans": { format!("M-{number}{at}01"): { "due": format!("2024-05-{:02}", at + 10), "times": at } },
        })
    };
    let books: Vec<Json> = (0..5).map(book).collect();
    let first = books[number % 5]["isbn"].clone();
    let member = format!("M-{number}777");
    let find = json!({ "subject": format!("islands {number}"), "limit": 5 });
    let lend = json!({ "member_id": member, "isbn": first });
    let loan = json!({ "loan_id": format!("L-{number}"), "isbn": first, "member_id": member });
    let call = |name: &str, arguments: &Json| json!({ "role": "assistant", "tool_calls": [{ "id": "c", "name": name, "arguments": arguments }] });
    let result =
        |json: &Json| json!({ "role": "tool", "tool_call_id": "c", "content": json.to_string() });
    let mut messages = vec![json!({ "role": "user", "content": "Islands, please." })];
    messages.extend([call("find_books", &find), result(&Json::from(books))]);
    for _ in 0..3 {
        messages.extend([call("lend", &lend), result(&loan)]);
    }
    json!({ "id": format!("library/{number}"), "messages": messages })
}

fn lines(conversations: &[Json]) -> String {
    let lines: Vec<String> = conversations.iter().map(Json::to_string).collect();
    lines.join("\n")
}

/// Returns the registry without its docs, which contain measurements.
fn without_docs(registry: &str) -> Json {
    let mut json: Json = serde_json::from_str(registry).unwrap();
    for (_, schema) in json["schemas"].as_object_mut().unwrap() {
        schema.as_object_mut().unwrap().remove("doc");
    }
    json
}

/// The golden equals the learnt registry. Its types compile, as part of this test, and read and
/// write the frames.
#[test]
fn what_is_learnt_lints_and_becomes_types() {
    let folder = Folder::with(&[("traces.jsonl", &lines(&library()))]);
    let run = folder.run(["learn", "traces.jsonl", "-o", "registry.json"], "");
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), ""),
        "{}",
        run.stderr
    );
    let registry = Registry::load(folder.path("registry.json")).unwrap();
    let keep: Vec<_> = registry.schemas().map(|schema| &schema.keep).collect();
    let keeps = |some: bool| {
        keep.iter()
            .any(|keep| keep.as_ref().is_some_and(|keep| keep.is_empty() != some))
    };
    assert!(keeps(true) && keeps(false), "{keep:?}");
    let learnt = without_docs(&folder.read("registry.json"));

    let golden = Path::new("tests/cli/learnt/registry.json");
    let types = Path::new("tests/cli/learnt/frames.rs");
    let generated = || Builder::new().registry(golden).generate().unwrap();
    if std::env::var_os("ACCP_BLESS").is_some_and(|value| value == "1") {
        fs::write(golden, format!("{learnt:#}\n")).unwrap();
        fs::write(types, generated()).unwrap();
    }
    let held: Json = serde_json::from_str(&fs::read_to_string(golden).unwrap()).unwrap();
    assert_eq!(
        held, learnt,
        "bless with ACCP_BLESS=1 if the change is meant"
    );
    accp_build::check(types, &generated()).unwrap();

    let text = "@desk>req:lend{id:M-1|isbn:9701|schema:A}[mid:100001000001,seq:1]";
    let lend = Typed::<frames::LendReq<'_>>::decode(text).unwrap();
    assert_eq!(
        (&*lend.frame.isbn, lend.encode().unwrap().as_str()),
        ("9701", text)
    );
}

#[test]
fn the_order_of_the_files_does_not_matter_and_halves_make_a_whole() {
    let all = library();
    let (one, two) = (lines(&all[..9]), lines(&all[9..]));
    let folder = Folder::with(&[("one.jsonl", &one), ("two.jsonl", &two)]);
    let learn = |args: &[&str]| {
        let run = folder.run([&["learn", "--format", "json"], args].concat(), "");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let last: Json = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
        (run.stdout, last["conversations"].as_u64().unwrap())
    };
    let (registry, count) = learn(&["one.jsonl", "two.jsonl"]);
    assert_eq!(learn(&["two.jsonl", "one.jsonl"]), (registry, count));
    let halves =
        ["learn", "measure"].map(|half| learn(&["one.jsonl", "two.jsonl", "--split", half]).1);
    assert_eq!((count, halves[0] + halves[1]), (24, 24));
    // SHA-256 of `library/0` begins with an even byte, and of `library/11` with an odd byte, so the
    // two are in different halves.
    let folder = Folder::with(&[
        ("0.jsonl", &lines(&all[..1])),
        ("11.jsonl", &lines(&all[11..=11])),
    ]);
    for (file, half, code) in [
        ("0.jsonl", "learn", 0),
        ("0.jsonl", "measure", 1),
        ("11.jsonl", "measure", 0),
    ] {
        let run = folder.run(["learn", file, "--split", half], "");
        assert_eq!(run.code, Some(code), "{file} {half}");
    }
}

#[test]
fn what_each_schema_earns_is_a_table_or_json() {
    let traces = lines(&library());
    let run = accp(["learn", "-"], &traces);
    let heading =
        "code  schema          seen  conversations  as JSON  by position  definitions  net";
    assert!(run.stderr.starts_with(heading), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("4 schemas from 24 conversations, in tokens of o200k_base:"),
        "{}",
        run.stderr
    );

    let run = accp(
        [
            "learn",
            "--tokenizer",
            "cl100k_base",
            "--format",
            "json",
            "-",
        ],
        &traces,
    );
    let registry: Json = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(registry["tokenizer"], "cl100k_base");
    let told: Vec<Json> = run
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (totals, schemas) = told.split_last().unwrap();
    assert_eq!(totals["schemas"], json!(schemas.len()));
    for schema in schemas {
        let number = |key: &str| schema[key].as_i64().unwrap();
        assert_eq!(
            number("net"),
            number("json") - number("position") - number("definitions")
        );
        assert!(number("net") >= 20);
    }
}

#[test]
fn what_cannot_be_learnt_from_is_told_with_its_cure() {
    let traces = lines(&library());
    let folder = Folder::with(&[
        ("traces.jsonl", &traces),
        ("empty.jsonl", ""),
        ("chat.jsonl", r#"{ "messages": "none" }"#),
        ("cut.json", "[\n  {\"name\": \"a\","),
        ("none.json", r#"[{ "tool": "a" }]"#),
    ]);
    let errors = |args: &[&str]| {
        let run = folder.run([&["learn"], args].concat(), "");
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
        run.stderr
    };
    let all = [
        errors(&["empty.jsonl"]),
        errors(&["chat.jsonl"]),
        errors(&["traces.jsonl", "--tools", "cut.json"]),
        errors(&["traces.jsonl", "--tools", "none.json"]),
    ];
    insta::assert_snapshot!(all.concat(), @r#"
    error: empty.jsonl: there is no conversation; expected recorded conversations, one object a line with `messages`
    error: chat.jsonl:1: expected a conversation: an object whose `messages` is an array of objects with `role` and `content`, or that array, or another of the formats openai, responses, anthropic, gemini, langchain, langsmith, otel, sharegpt, claude-code, pydantic-ai, ai-sdk, gemini-cli, codex, openai-agents, langgraph, swe-agent, mini-swe-agent, openhands, aider (`--format-in` forces one); found an object whose `messages` is a string
    error: cut.json:2:15: not JSON: EOF while parsing a value; expected a list of tools, as MCP and OpenAI carry them
    error: none.json: the file has no tool; expected a list of objects with a `name` and `parameters` or `inputSchema`, each alone or under `function`
    "#);
    assert_eq!(folder.run(["learn", "no.jsonl"], "").code, Some(2));
    assert_eq!(
        folder
            .run(["learn", "traces.jsonl", "--tools", "no.json"], "")
            .code,
        Some(2)
    );
    assert_eq!(folder.run(["learn"], "").code, Some(2));
}

/// A registry for one tokenizer, tuned for another, becomes the registry that would have been learnt for the other
/// tokenizer, except for its codes. Tuning it again changes nothing.
#[test]
fn tune_chooses_names_for_another_tokenizer() {
    let traces = lines(&library());
    let learnt = |tokenizer| accp(["learn", "--tokenizer", tokenizer, "-"], &traces).stdout;
    let folder = Folder::with(&[("o200k.json", &learnt("o200k_base"))]);
    let tune = |from: &str, to: &str| {
        let run = folder.run(["tune", from, "--tokenizer", "cl100k_base", "-o", to], "");
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(0), ""),
            "{}",
            run.stderr
        );
        assert!(Registry::load(folder.path(to)).is_ok());
        run.stderr
    };
    tune("o200k.json", "once.json");
    assert_eq!(tune("once.json", "twice.json"), "0 names changed\n");
    assert_eq!(folder.read("once.json"), folder.read("twice.json"));
    let names = |registry: &str| {
        let json: Json = serde_json::from_str(registry).unwrap();
        let schemas = json["schemas"].as_object().unwrap().clone();
        let names = schemas
            .into_iter()
            .map(|(name, schema)| (name, schema["abbreviations"].clone()));
        (json["tokenizer"].clone(), names.collect::<Vec<_>>())
    };
    let once = names(&folder.read("once.json"));
    assert_eq!(once.0, "cl100k_base");
    for (name, keys) in names(&learnt("cl100k_base")).1 {
        let tuned = once
            .1
            .iter()
            .find(|(other, _)| *other == name)
            .map(|(_, keys)| keys);
        assert!(
            tuned.is_none_or(|tuned| *tuned == keys || keys.is_null()),
            "{name}"
        );
    }
}

#[test]
fn where_nothing_comes_back_the_registry_is_empty() {
    let chat = json!({ "messages": [{ "role": "user", "content": "Hello." }] });
    let run = accp(["learn", "-"], chat.to_string());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        serde_json::from_str::<Json>(&run.stdout).unwrap()["schemas"],
        json!({})
    );
    assert!(
        run.stderr
            .starts_with("no shape of arguments or results came back"),
        "{}",
        run.stderr
    );
}
