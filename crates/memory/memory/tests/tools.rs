//! The tools for a model: their definitions fit each provider, they accept exactly what their schemas allow, and no
//! answer is too long for a window.

use std::fs;
use std::path::Path;

use accp_memory::disk::Context;
use accp_memory::disk::tools::{Tool, ToolError, call};
use accp_memory::{Form, MessageList, Options, SessionId, Tier, Window};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use time::OffsetDateTime;

use crate::common::quarters::Quarters;

/// A long result in one line, as services give it, with one row that is looked for.
fn rows() -> String {
    let row =
        |at: usize| json!({ "flight": format!("HAT{at:03}"), "gate": at % 30, "note": "on time" });
    Json::from((0..900).map(row).collect::<Vec<_>>()).to_string()
}

/// Returns a root below which the session `trip` has moved a result to a file.
fn root() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let call = json!({"id": "c1", "type": "function", "function": {"name": "get_flights", "arguments": "{}"}});
    let list = json!([
        { "role": "user", "content": "Which gate has the flight HAT611?" },
        { "role": "assistant", "content": null, "tool_calls": [call] },
        { "role": "tool", "tool_call_id": "c1", "content": rows() },
        { "role": "assistant", "content": "I look." },
        { "role": "user", "content": "Go on." },
    ]);
    let list = MessageList::read(&list.to_string(), None).unwrap();
    let window = Window::of(8_000).unwrap();
    let options = Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH);
    let mut context = Context::open(root.path(), id()).unwrap();
    let done = context.compress(&list, &options, &mut ()).unwrap();
    assert_eq!(done.events.len(), 1);
    root
}

fn id() -> SessionId {
    SessionId::new("trip").unwrap()
}

/// Returns the only file that was moved out, by its path below the root.
fn offloaded(root: &Path) -> String {
    let entry = fs::read_dir(root.join("cache/offloaded")).unwrap().next();
    let name = entry.unwrap().unwrap().file_name();
    format!("cache/offloaded/{}", name.to_str().unwrap())
}

#[test]
fn definitions_have_the_shape_of_each_provider() {
    for tool in Tool::ALL {
        let chat = tool.definition(Form::OpenAi);
        let responses = tool.definition(Form::Responses);
        let anthropic = tool.definition(Form::Anthropic);
        assert_eq!(
            (&chat["type"], &responses["type"]),
            (&json!("function"), &json!("function"))
        );
        for (at, key) in [
            (&chat["function"], "parameters"),
            (&responses, "parameters"),
            (&anthropic, "input_schema"),
        ] {
            assert_eq!(at["name"], tool.name());
            assert_eq!(at["description"], tool.description());
            assert_eq!(at[key], tool.parameters());
        }
        let schema = tool.parameters();
        let properties = schema["properties"].as_object().unwrap();
        for name in schema["required"].as_array().unwrap() {
            assert!(properties.contains_key(name.as_str().unwrap()));
        }
        // Every provider accepts these characters in the name of a tool.
        assert!(
            tool.name()
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        );
    }
}

/// A value that has the type of a property.
fn fitting(property: &Json) -> Json {
    match property["type"].as_str() {
        Some("string") if property["format"] == "date-time" => json!("1970-01-01T00:00:00Z"),
        Some("string") => json!("cache/offloaded"),
        Some("integer") => property["minimum"].clone(),
        Some("boolean") => json!(true),
        other => panic!("no value for {other:?}"),
    }
}

#[test]
fn tools_take_what_their_schemas_say_and_nothing_else() {
    let root = root();
    let file = offloaded(root.path());
    let refused = |tool: Tool, args: &Json| {
        let answer = call(root.path(), &id(), tool.name(), args);
        matches!(answer, Err(ToolError::Arguments { .. }))
    };
    for tool in Tool::ALL {
        let schema = tool.parameters();
        let properties = schema["properties"].as_object().unwrap();
        let mut all: Json = json!({});
        for (name, property) in properties {
            all[name] = fitting(property);
        }
        if tool == Tool::Read {
            all["path"] = json!(file);
        }
        call(root.path(), &id(), tool.name(), &all).unwrap();
        for (name, property) in properties {
            let mut wrong = all.clone();
            wrong[name] = json!({ "no": "value" });
            assert!(refused(tool, &wrong), "{} {name}", tool.name());
            if let Some(most) = property["maximum"].as_u64() {
                wrong[name] = json!(most + 1);
                assert!(refused(tool, &wrong), "{} {name}", tool.name());
            }
            if property["minimum"] == 1 && tool == Tool::Recover {
                wrong[name] = json!(0);
                assert!(refused(tool, &wrong), "{} {name}", tool.name());
            }
            let is_required = schema["required"]
                .as_array()
                .unwrap()
                .contains(&json!(name));
            let mut without = all.clone();
            without.as_object_mut().unwrap().remove(name);
            assert_eq!(
                refused(tool, &without),
                is_required,
                "{} {name}",
                tool.name()
            );
        }
        all["more"] = json!(1);
        assert!(refused(tool, &all), "{}", tool.name());
    }
    assert!(!refused(Tool::Status, &Json::Null));
    let unknown = call(root.path(), &id(), "read", &json!({}));
    assert!(matches!(unknown, Err(ToolError::Unknown(name)) if name == "read"));
}

#[test]
fn a_long_line_is_read_in_parts_that_are_the_whole() {
    let root = root();
    let file = offloaded(root.path());
    let whole = fs::read_to_string(root.path().join(&file)).unwrap();
    let (mut text, mut offset, mut parts) = (String::new(), 0, 0);
    loop {
        let args = json!({ "path": file, "offset": offset });
        let answer = call(root.path(), &id(), "context_read", &args).unwrap();
        assert!(answer.text.len() < 8_200, "{}", answer.text.len());
        text.push_str(answer.json["text"].as_str().unwrap());
        parts += 1;
        match answer.json["next"].as_u64() {
            Some(next) => {
                assert!(answer.text.contains(&format!("`offset` {next}]")));
                offset = next;
            }
            None => break,
        }
    }
    assert!(parts > 3, "{parts}");
    assert_eq!(text.trim_end(), whole.trim_end());
    let behind = json!({ "path": file, "offset": whole.len() + 1 });
    let error = call(root.path(), &id(), "context_read", &behind).unwrap_err();
    assert!(error.to_string().contains("characters"), "{error}");
}

#[test]
fn a_search_shows_the_part_that_was_looked_for() {
    let root = root();
    for (topic, exact) in [("gate of flight HAT611", false), ("\"HAT611\"", true)] {
        let args = json!({ "topic": topic, "exact": exact, "tool": "get_flights" });
        let answer = call(root.path(), &id(), "context_recover", &args).unwrap();
        let first = answer.text.split("\n2. ").next().unwrap();
        assert!(first.contains(r#"{"flight":"HAT611","gate":11"#), "{first}");
        assert!(answer.text.len() < 9_000, "{}", answer.text.len());
        assert_eq!(answer.json["hits"][0]["rank"], 1);
    }
    let args = json!({ "topic": "quetzal" });
    let answer = call(root.path(), &id(), "context_recover", &args).unwrap();
    assert!(
        answer.text.starts_with("Nothing was found."),
        "{}",
        answer.text
    );
    // No message is from before 1970.
    let args = json!({ "topic": "HAT611", "to": "1969-12-31T00:00:00Z" });
    let answer = call(root.path(), &id(), "context_recover", &args).unwrap();
    assert_eq!(answer.json["hits"], json!([]));
    let args = json!({ "topic": "HAT611", "to": "yesterday" });
    let error = call(root.path(), &id(), "context_recover", &args).unwrap_err();
    assert!(error.to_string().contains("`to` is `yesterday`"), "{error}");
}

#[test]
fn an_input_that_was_cut_is_found_whatever_the_file_has_now() {
    let code: Vec<_> = (0..200)
        .map(|step| format!("    step {step} of {}", step * 7_919))
        .collect();
    let arguments = json!({ "path": "/gone/w.py", "content": code.join("\n") });
    let function = json!({ "name": "write_file", "arguments": arguments.to_string() });
    let call_of = json!({ "id": "c1", "type": "function", "function": function });
    let list = json!([
        { "role": "user", "content": "Write the steps." },
        { "role": "assistant", "content": null, "tool_calls": [call_of] },
        { "role": "tool", "tool_call_id": "c1", "content": "File written successfully." },
        { "role": "assistant", "content": "They are written." },
        { "role": "user", "content": "Thanks." },
        { "role": "assistant", "content": "You are welcome." },
        { "role": "user", "content": "Go on." },
    ]);
    let list = MessageList::read(&list.to_string(), None).unwrap();
    let root = tempfile::tempdir().unwrap();
    let window = Window::of(2_000).unwrap();
    let options = Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH);
    let mut context = Context::open(root.path(), id()).unwrap();
    let done = context.compress(&list, &options, &mut ()).unwrap();
    drop(context);
    let tiers: Vec<_> = done.events.iter().map(|event| event.tier).collect();
    assert_eq!(tiers, [Tier::Two]);
    let shown = done.list.to_string();
    assert!(!shown.contains("step 100 of 791900"), "{shown}");
    let command = "accp context restore --session trip --message 1";
    assert!(shown.contains(command), "{shown}");
    for (topic, exact) in [("100 of 791900", true), ("791900", false)] {
        let args = json!({ "topic": topic, "exact": exact });
        let answer = call(root.path(), &id(), "context_recover", &args).unwrap();
        let text = &answer.text;
        assert!(text.contains("step 100 of 791900"), "{text}");
    }
}

/// Lets another session move a result to a file and sum up below a root. Returns the path of the file, and the list.
fn other_session(root: &Path, session: &SessionId) -> (String, MessageList) {
    let rows: Vec<_> = (0..900)
        .map(|nest| format!("nest {nest} has {} eggs", nest % 7))
        .collect();
    let function = json!({ "name": "get_nests", "arguments": "{}" });
    let list = json!([
        { "role": "user", "content": "Count the eggs. The key of the hide is GULL-7." },
        { "role": "assistant", "content": null,
          "tool_calls": [{ "id": "c1", "type": "function", "function": function }] },
        { "role": "tool", "tool_call_id": "c1", "content": rows.join("\n") },
        { "role": "assistant", "content": "I count." },
        { "role": "user", "content": "Go on." },
    ]);
    let list = MessageList::read(&list.to_string(), None).unwrap();
    let window = Window::of(8_000).unwrap();
    let options = Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH);
    let mut context = Context::open(root, session.clone()).unwrap();
    let done = context.compress(&list, &options, &mut ()).unwrap();
    let list = context.resume(&options).unwrap();
    (done.events[0].files[0].clone(), list)
}

#[test]
fn a_model_is_given_nothing_of_another_session_of_its_root() {
    let root = root();
    let ours = offloaded(root.path());
    let other = SessionId::new("other").unwrap();
    let (theirs, list) = other_session(root.path(), &other);
    let archive = "cache/conversations/other_full.md";
    assert!(root.path().join(archive).exists());
    let recover = |session: &SessionId, topic: &str, exact: bool| {
        let args = json!({ "topic": topic, "exact": exact });
        call(root.path(), session, "context_recover", &args)
            .unwrap()
            .text
    };
    for (topic, found) in [("nest 611", "nest 611 has"), ("GULL-7", "GULL-7")] {
        for exact in [false, true] {
            assert!(recover(&other, topic, exact).contains(found), "{topic}");
            let text = recover(&id(), topic, exact);
            assert!(!text.contains(found), "{topic}: {text}");
        }
    }
    assert!(recover(&id(), "\"HAT611\"", true).contains("HAT611"));
    let read = |session: &SessionId, path: &str| {
        let args = json!({ "path": path });
        call(root.path(), session, "context_read", &args)
    };
    let stranger = SessionId::new("stranger").unwrap();
    for (session, path) in [
        (&id(), theirs.as_str()),
        (&id(), archive),
        (&other, ours.as_str()),
        (&stranger, archive),
    ] {
        let error = read(session, path).unwrap_err().to_string();
        assert!(error.contains("is not a file of this session"), "{error}");
    }
    for (session, path) in [
        (&id(), ours.as_str()),
        (&other, theirs.as_str()),
        (&other, archive),
    ] {
        assert!(read(session, path).is_ok(), "{path}");
    }
    // A session that goes on with a list is given the files that the list names.
    let window = Window::of(8_000).unwrap();
    let options = Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH);
    let mut context = Context::open(root.path(), stranger.clone()).unwrap();
    context.compress(&list, &options, &mut ()).unwrap();
    drop(context);
    assert!(read(&stranger, archive).is_ok());
    assert!(recover(&stranger, "GULL-7", true).contains("GULL-7"));
    assert!(read(&stranger, ours.as_str()).is_err());
}

#[test]
fn status_says_how_full_the_window_is() {
    let root = root();
    let answer = call(root.path(), &id(), "context_status", &json!({})).unwrap();
    assert_eq!(
        (&answer.json["window"], &answer.json["events"]),
        (&json!(8_000), &json!(1))
    );
    assert!(answer.text.contains("of 8000 tokens"), "{}", answer.text);
    let empty = tempfile::tempdir().unwrap();
    for tool in ["context_status", "context_recover"] {
        let args = if tool == "context_recover" {
            json!({ "topic": "a" })
        } else {
            json!({})
        };
        let error = call(empty.path(), &id(), tool, &args).unwrap_err();
        assert!(
            error.to_string().contains("there is no session trip"),
            "{error}"
        );
    }
    // The tools only read, so they begin no session.
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0);
}
