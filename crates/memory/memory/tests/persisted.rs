//! Sessions with tools that write files, some of which fail. An input is cut only if the disk has it, a cut input
//! still fits the tool's schema, and no file changes.

mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::common::forms::{arguments, assistant, call, result, user};
use crate::common::quarters::Quarters;
use accp_memory::disk::{Compressed, Context};
use accp_memory::{Form, MessageList, Options, SessionId, Tier, Window, Writes, check};
use serde_json::{Value as Json, json};
use time::OffsetDateTime;
use tools::{Fate, TestSession, Wrote, files, fits, schemas};

/// A tool that no table names, and whose schema does not tell that it writes.
const WRITES: &str = r#"{"tools":[{"name":"put","path":"where","texts":["what"]}]}"#;
/// A text with fewer bytes than this is never cut.
const SHORT: usize = 120;

/// Returns a request with the messages and all tools but the one of the user's file.
fn request(form: Form, messages: &[String]) -> MessageList {
    let tools = schemas().into_iter().filter(|(name, _)| *name != "put");
    let tool = |(name, schema): (&str, Json)| match form {
        Form::OpenAi => {
            json!({ "type": "function", "function": { "name": name, "parameters": schema } })
        }
        Form::Anthropic => json!({ "name": name, "input_schema": schema }),
        Form::Responses => json!({ "type": "function", "name": name, "parameters": schema }),
    };
    let tools: Vec<_> = tools.map(tool).collect();
    let key = if form == Form::Responses {
        "input"
    } else {
        "messages"
    };
    let list = messages.join(",");
    let text = format!(
        r#"{{"model":"m","{key}":[{list}],"tools":{}}}"#,
        Json::from(tools)
    );
    MessageList::read(&text, Some(form)).expect("a request")
}

fn compress(root: &Path, work: &Path, list: &MessageList) -> Compressed {
    let window = Window::of(16_000).expect("a window");
    let writes = Writes::default().with(WRITES).expect("a table");
    let options = Options {
        writes: &writes,
        ..Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH)
    };
    let context = Context::open(root, SessionId::new("s").expect("an id"));
    let mut context = context.expect("a session").with_work(work);
    context.compress(list, &options, &mut ()).expect("a list")
}

/// What was cut: how many inputs of each tool, and of which fates.
#[derive(Debug, Default)]
struct Cut {
    tools: BTreeMap<&'static str, usize>,
    fates: BTreeSet<Fate>,
    seen: BTreeSet<Fate>,
}

/// Compares the calls of a list with the calls as they were made.
fn judge(
    form: Form,
    list: &MessageList,
    said: &BTreeMap<String, Wrote>,
    known: &mut BTreeSet<String>,
    cut: &mut Cut,
) {
    for message in list.messages() {
        let Some(kept) = arguments(form, message.json()) else {
            continue;
        };
        let id = id(form, message.json());
        let wrote = &said[&id];
        let (_, schema) = schemas()
            .into_iter()
            .find(|(name, _)| *name == wrote.tool)
            .expect("a tool");
        assert!(fits(&schema, &kept), "{kept}");
        if kept == wrote.arguments {
            continue;
        }
        // The disk is checked when an input is first seen cut, because the file may change later.
        if known.insert(id) {
            assert!(wrote.is_on_disk(), "{wrote:?} was cut");
            *cut.tools.entry(wrote.tool).or_default() += 1;
            cut.fates.insert(wrote.fate);
        }
        let members = wrote.arguments.as_object().expect("an object");
        for (name, value) in members {
            let is_long = value.as_str().is_some_and(|text| text.len() >= SHORT);
            let says = kept[name]
                .as_str()
                .is_some_and(|text| text.contains("ontent persisted to disk"));
            assert!(kept[name] == *value || is_long && says, "{name}: {kept}");
        }
    }
}

fn id(form: Form, message: &Json) -> String {
    let id = match form {
        Form::OpenAi => &message["tool_calls"][0]["id"],
        Form::Anthropic => &message["content"][0]["id"],
        Form::Responses => &message["call_id"],
    };
    id.as_str().expect("an id").to_owned()
}

/// Lets tools write in a session of a form, and compresses after each turn. Unless `looks` is true, the session
/// cannot read the files and has only the words of the tools.
fn session(form: Form, seed: u64, looks: bool, cut: &mut Cut) {
    let root = tempfile::tempdir().expect("a folder");
    let mut session = TestSession::of(seed);
    let mut said = BTreeMap::new();
    let mut known = BTreeSet::new();
    let mut shown: Vec<String> = Vec::new();
    for turn in 0..40 {
        let wrote = session.call();
        let id = format!("c{turn}");
        let new = [
            user(form, &format!("File {turn}, please.")),
            call(form, &id, wrote.tool, &wrote.arguments),
            result(form, &id, wrote.result),
            assistant(form, "Next."),
        ];
        cut.seen.insert(wrote.fate);
        said.insert(id, wrote);
        shown.extend(new.iter().map(Json::to_string));
        let before = files(session.work.path());
        let work = if looks {
            session.work.path()
        } else {
            root.path()
        };
        let done = compress(root.path(), work, &request(form, &shown));
        assert_eq!(files(session.work.path()), before);
        assert_eq!(check(&done.list), []);
        judge(form, &done.list, &said, &mut known, cut);
        let tiers = done.events.iter().map(|event| event.tier);
        assert!(
            tiers.into_iter().all(|tier| tier != Tier::One),
            "results are short"
        );
        shown = done
            .list
            .messages()
            .iter()
            .map(|message| message.raw().to_owned())
            .collect();
    }
}

#[test]
fn an_input_is_cut_only_if_the_disk_has_it_and_keeps_its_shape() {
    for form in Form::ALL {
        let mut cut = Cut::default();
        for seed in 1..=4 {
            session(form, seed, true, &mut cut);
        }
        // Without these counts, the test could pass although a tool's inputs are never cut, or a fate never occurs.
        assert_eq!(cut.tools.len(), 8, "{form}: {cut:?}");
        assert!(
            cut.tools.values().all(|count| *count > 0),
            "{form}: {cut:?}"
        );
        assert_eq!(cut.seen.len(), 6, "{form}: {cut:?}");
        let may = [Fate::Good, Fate::Silent, Fate::Gone];
        assert_eq!(cut.fates.into_iter().collect::<Vec<_>>(), may, "{form}");
    }
}

#[test]
#[should_panic(expected = "was cut")]
fn a_compression_that_does_not_look_at_the_disk_is_seen() {
    for seed in 1..=4 {
        session(Form::OpenAi, seed, false, &mut Cut::default());
    }
}

/// Writes a file with texts in order, none of which can be read, and returns the texts that stand in the list.
fn standing(writes: &[(&str, &str)]) -> Vec<bool> {
    let root = tempfile::tempdir().expect("a folder");
    let form = Form::OpenAi;
    let text = |number: usize| format!("state {number} of the lamp\n").repeat(260);
    let mut messages = vec![user(form, "Write it, please.")];
    for (number, (path, said)) in writes.iter().enumerate() {
        let id = format!("c{number}");
        let input = json!({ "path": path, "content": text(number) });
        messages.push(call(form, &id, "write_file", &input));
        messages.push(result(form, &id, said));
    }
    for number in 0..8 {
        messages.push(assistant(form, &format!("Step {number}.")));
        messages.push(user(form, "Go on."));
    }
    let texts: Vec<_> = messages.iter().map(Json::to_string).collect();
    let window = Window::of(20_000).expect("a window");
    let options = Options {
        force: true,
        ..Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH)
    };
    let context = Context::open(root.path(), SessionId::new("s").expect("an id"));
    let list = MessageList::of(form, texts.iter().map(String::as_str)).expect("a list");
    let mut context = context.expect("a session").with_work(root.path());
    let done = context.compress(&list, &options, &mut ()).expect("a list");
    let shown = done.list.to_string();
    let stands = |number: usize| {
        shown
            .matches(&format!("state {number} of the lamp"))
            .count()
            > 200
    };
    (0..writes.len()).map(stands).collect()
}

#[test]
fn an_input_that_was_written_over_stays_in_the_list() {
    let wrote = "File written successfully";
    let failed = "Error: the disk is full";
    let [a, b] = [("/gone/a.py", wrote), ("/gone/b.py", wrote)];
    let cases = [
        (vec![a, b], vec![false, false]),
        (vec![a, a, b], vec![true, false, false]),
        (vec![a, ("./a.py", wrote)], vec![true, false]),
        (vec![a, ("/gone/a.py", failed)], vec![false, true]),
    ];
    for (writes, expected) in cases {
        assert_eq!(standing(&writes), expected, "{writes:?}");
    }
}
