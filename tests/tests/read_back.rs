//! Checks that the messages in a prompt of the policy `memory` can be read back from the prompt alone. For other
//! files, use `cargo run --release -p accp-tests --example read_back -- FILES`.

#[path = "../examples/read_back/replay.rs"]
mod replay;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use accp_eval::Transcript;
use accp_frame::TokenCounter;
use accp_memory::policies::Layout;
use accp_recordings::{Conversation, conversations};
use accp_registry::Registry;
use accp_tokens::Bpe;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value as Json, json};

use replay::reader::Prompt;
use replay::{Counts, read_back};

/// Counts bytes, so that a short text already counts as a long one.
#[derive(Debug)]
struct Bytes;

impl TokenCounter for Bytes {
    fn name(&self) -> &'static str {
        "bytes"
    }
    fn count(&self, text: &str) -> usize {
        text.len()
    }
}

type Counter = Arc<dyn TokenCounter + Send + Sync>;

fn both_layouts(transcript: &Transcript, counter: &Counter) -> Result<Counts, String> {
    let registry = Arc::new(Registry::standard());
    let mut counts = Counts::default();
    for layout in [Layout::Shared, Layout::Own] {
        let read = read_back(transcript, layout, &registry, counter);
        counts += read.map_err(|difference| format!("{layout:?}: {difference}"))?;
    }
    Ok(counts)
}

#[test]
fn recorded_conversations_are_read_back() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files: Vec<PathBuf> = vec![top.join("examples/bakery.jsonl")];
    let samples = top
        .join("crates/memory/recordings/tests/samples")
        .read_dir()
        .unwrap();
    files.extend(samples.map(|file| file.unwrap().path()));
    let counters: [Counter; 2] = [Arc::new(Bpe::o200k_base()), Arc::new(Bytes)];
    let mut counts = Counts::default();
    for file in &files {
        for conversation in conversations(BufReader::new(File::open(file).unwrap())) {
            let transcript = Transcript::of(&conversation.unwrap(), "one", None).unwrap();
            for counter in &counters {
                match both_layouts(&transcript, counter) {
                    Ok(read) => counts += read,
                    Err(why) => panic!("{}, {why}", file.display()),
                }
            }
        }
    }
    assert!(counts.prompts > 50 && counts.new > 100, "{counts}");
}

/// Lines that a reader may take for something else, or that hide a part.
const ODD: [&str; 24] = [
    "[as in p2:1-3: alpha one]",
    "[... p4:1: alpha]",
    "\\[... p1:2-3: beta]",
    "[From here on, bash' says a text with 2 lines around it:",
    "..",
    "@=R1(id,name)",
    "@=R9(a)",
    "R1(4,rye)",
    "R1[",
    "p3 bash: alpha",
    "You are ann.",
    "]",
    "alpha]",
    "carriage\rreturn\r",
    "zero\u{200b}width\u{feff}",
    "🥖 café 👩\u{200d}🍳",
    "tab\tand  spaces ",
    "",
    "  ",
    "> bash(command: ls)",
    "{",
    "  \"key\": [1, 2]",
    "}",
    "```",
];

/// Names that a reader may take for something else.
const ODD_NAMES: [&str; 4] = ["p2 bash", "= bash", "desk: rye", "\"bash"];

/// Lines from which all messages are made, so that messages repeat each other.
#[derive(Debug, Clone)]
struct Pool(Vec<Vec<String>>);

/// The text of a message.
#[derive(Debug, Clone)]
enum Text {
    /// Lines of the pool. Each item has a text of the pool, the first line to take from it, and the number of
    /// repetitions.
    Lines(Vec<(Index, Index, usize)>),
    /// The same lines within a wrapper.
    Wrapped(u8, Vec<(Index, Index, usize)>),
    Numbered(usize, usize),
    Records(Json),
    Indented(Json),
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "(alpha|beta|gamma)( one| two| three){0,3} {0,2}[x-z]{0,30}",
        2 => select(&ODD[..]).prop_map(str::to_owned),
        1 => "[ -~]{0,80}",
    ]
}

fn pool() -> impl Strategy<Value = Pool> {
    let text = prop::collection::vec(line(), 1..16);
    prop::collection::vec(text, 1..4).prop_map(Pool)
}

fn records() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        any::<Option<i64>>().prop_map(Json::from),
        any::<bool>().prop_map(Json::from),
        (-1e3..1e3).prop_map(|number: f64| Json::from(number)),
        line().prop_map(Json::from),
        select(&ODD[..]).prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 32, 5, |inner| {
        let key = "(id|name|of seats|a|b:c|)";
        let record = (inner.clone(), inner.clone());
        let record = record.prop_map(|(id, name)| json!({ "id": id, "name": name }));
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec(record, 0..6).prop_map(Json::from),
            prop::collection::btree_map(key, inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

fn text() -> impl Strategy<Value = Text> {
    let lines = || {
        let part = (any::<Index>(), any::<Index>(), 1..4_usize);
        prop::collection::vec(part, 0..4)
    };
    prop_oneof![
        4 => lines().prop_map(Text::Lines),
        3 => (0..6_u8, lines()).prop_map(|(wrapper, lines)| Text::Wrapped(wrapper, lines)),
        1 => (0..30_usize, 0..200_usize).prop_map(|(from, count)| Text::Numbered(from, count)),
        3 => records().prop_map(Text::Records),
        1 => records().prop_map(Text::Indented),
    ]
}

impl Pool {
    fn lines(&self, parts: &[(Index, Index, usize)]) -> String {
        let parts = parts.iter().flat_map(|(text, from, times)| {
            let text = text.get(&self.0);
            vec![text[from.index(text.len())..].join("\n"); *times]
        });
        parts.collect::<Vec<_>>().join("\n")
    }

    fn text(&self, text: &Text) -> String {
        match text {
            Text::Lines(parts) => self.lines(parts),
            Text::Wrapped(wrapper, parts) => {
                let (before, after) = match wrapper {
                    0 => ("<code>0</code>\n<output>\n", "\n</output>"),
                    1 => ("", "\n(the command is done]\n[exit code 0]"),
                    2 => ("[the command has ended]\n..\n", ""),
                    3 => ("\n\n[as in p1:1-3: x]\n", "\n\\[... p0:1: y]\n"),
                    4 => ("@=R1(a,b)\nwith code 0\n", "\n\n"),
                    _ => ("", "\n[5 files were found there.]\n"),
                };
                format!("{before}{}{after}", self.lines(parts))
            }
            Text::Numbered(from, count) => {
                let lines = (*from..from + count).map(|n| format!("{n:>6}\tline {}", n % 7));
                lines.collect::<Vec<_>>().join("\n")
            }
            Text::Records(json) => json.to_string(),
            Text::Indented(json) => format!("So:\n{json:#}\nthat"),
        }
    }
}

/// A message of a conversation: who speaks, the text, and the arguments of calls.
type Spoken = (u8, Text, Vec<Json>);

fn message(pool: &Pool, (speaker, text, arguments): &Spoken) -> Json {
    let text = pool.text(text);
    let calls = arguments.iter().enumerate().map(|(at, json)| {
        let tool = ["bash", "list"][at % 2];
        let arguments = json!({ "command": json, "of": pool.text(&Text::Records(json.clone())) });
        json!({ "id": at.to_string(), "name": tool, "arguments": arguments })
    });
    let calls: Vec<Json> = calls.collect();
    match speaker {
        0 => json!({ "role": "user", "content": text }),
        1 => json!({ "role": "agent", "name": "ann", "content": text }),
        2 => json!({ "role": "agent", "name": "bob", "to": "ann", "content": text }),
        3 => json!({ "role": "assistant", "content": text }),
        4..=6 => {
            json!({ "role": "assistant", "content": text, "tool_calls": calls, "name": "ann" })
        }
        7 => json!({ "role": "tool", "content": text }),
        8 => json!({ "role": "tool", "name": "bash'", "content": text }),
        12 => json!({ "role": "tool", "name": ODD_NAMES[text.len() % 4], "content": text }),
        9 => json!({ "role": "tool", "name": "list", "content": text }),
        10 => json!({ "role": "system", "content": text }),
        _ => json!({ "role": "tool", "name": "bash", "content": text }),
    }
}

fn conversation() -> impl Strategy<Value = Json> {
    let arguments = prop::collection::vec(records(), 1..3);
    let spoken = prop::collection::vec((0..19_u8, text(), arguments), 1..16);
    (pool(), any::<bool>(), spoken).prop_map(|(pool, has_roles, spoken)| {
        let roles = ["ann", "bob"].map(
            |name| json!({ "role": "system", "name": name, "content": "You bake.\n[... p0:1: x]" }),
        );
        let roles = roles.into_iter().filter(|_| has_roles);
        let spoken = spoken.iter().map(|spoken| message(&pool, spoken));
        let end =
            ["bob", "ann"].map(|name| json!({ "role": "agent", "name": name, "content": "" }));
        let messages: Json = roles.chain(spoken).chain(end).collect();
        json!({ "messages": messages })
    })
}

#[test]
fn the_reader_reads_what_stands_there_and_no_more() {
    let call = "p1 ann: @=R1(id,name)\n@=R2(a)\n> list(of: R1(4,rye))\n";
    let old = "p2 bash: alpha one\nalpha\nbeta\n";
    let wrapped =
        "bash': [From here on, bash' says a text with 2 lines around it:\n<out>\n..\n</out>]]\n4\n";
    let texts = [
        call,
        old,
        wrapped,
        "bash': 5\n[as in p2:2-3: alpha]\n\\[... p2:1: x]\n",
    ];
    let prompt = Prompt::read((1..).zip(texts)).unwrap();
    let text = |message: usize| {
        prompt
            .restore(message)
            .map(|restored| restored.parts.concat())
    };
    assert_eq!(text(3).unwrap(), "<out>\n4\n</out>]");
    assert_eq!(
        text(4).unwrap(),
        "<out>\n5\nalpha\nbeta\n[... p2:1: x]\n</out>]"
    );
    assert_eq!(prompt.restore(4).unwrap().speaker.unwrap(), "bash");
    let read = prompt.view(1).unwrap().read_value("R1(4,rye)").unwrap();
    assert_eq!(read.to_json(), json!({ "id": 4, "name": "rye" }));
    for broken in [
        "p4 bash: [as in p3:1-2: alpha]\n",
        "p4 bash: [as in p2:2-9: alpha]\n",
        "p4 bash: [as in p2:2-3: beta]\n",
        "p4 bash: [as in p4:1-2: alpha]\n",
        "p4 bash: [... p2:1-2: alpha]\n",
        "p4 bash: [... p4:7-8: alpha]\n",
    ] {
        let prompt = Prompt::read((2..).zip([old, "bash: x\n", broken])).unwrap();
        assert!(prompt.restore(4).is_err(), "{broken}");
    }
    let undefined = Prompt::read((2..).zip([old, "bash': 4\n"])).unwrap();
    assert_eq!(undefined.restore(3).unwrap().speaker.unwrap(), "bash'");
    for broken in [
        "no speaker\n",
        "bash: no line feed",
        wrapped.replace('2', "9").as_str(),
    ] {
        assert!(Prompt::read([(1, broken)].into_iter()).is_err(), "{broken}");
    }
}

proptest! {
    #[test]
    fn random_conversations_are_read_back(json in conversation()) {
        let conversation = Conversation::new(json).unwrap();
        let transcript = Transcript::of(&conversation, "random", None).unwrap();
        let counter: Counter = Arc::new(Bytes);
        if let Err(why) = both_layouts(&transcript, &counter) {
            prop_assert!(false, "{why}");
        }
    }
}
