//! Tests of the promises of a session at each of its doors. Each scenario is written once, and runs through every
//! door that supports it. For each requirement and each door, the table in docs/conformance.md names the scenario, or
//! says why there is none.
//!
//! The agent `dev` uses the door. The agent `lab` is a separate program, which answers each note with the note's
//! text.

mod a2a;
mod asking;
mod command;
mod http;
pub(crate) mod lab;
mod mcp;
pub(crate) mod player;
mod programs;
mod session;
mod types;

use std::time::Duration;

use accp_runtime::{Envelope, Frame, exact_numbers};
use serde_json::{Value as Json, json};

use super::answers::within;
use super::processes::{Hub, Program};

/// A door: one way for a program to take part in the session `team`.
trait Door {
    /// The most bytes of a text that this door can send.
    const MOST: usize = 1_000_000;
    /// What can cause a checkpoint through this door, in addition to an answer: intents of frames, and `hot` for a
    /// context that is too large.
    const TRIGGERS: &[&str] = &["esc", "comp", "hot"];

    /// Opens the door for the agent `dev`.
    fn open(setup: &Setup) -> Self;

    /// Opens the door in a setup of its own.
    fn opened() -> (Setup, Self)
    where
        Self: Sized,
    {
        let setup = Setup::new();
        let door = Self::open(&setup);
        (setup, door)
    }

    /// Sends a message. The message is JSON as for `accp encode`, but without the agent.
    ///
    /// # Errors
    /// The door's error, if the frame does not enter the log.
    fn send(&mut self, setup: &Setup, message: &Json) -> Result<(), String>;

    /// Sends a message, and returns the params of its answer under full names. References are replaced by their
    /// values.
    fn ask(&mut self, setup: &Setup, message: &Json) -> Result<Json, String>;

    /// Sends a message. Returns the data of the pieces that come before its answer, in the order in which the door
    /// delivers the pieces.
    fn pieces(&mut self, setup: &Setup, message: &Json) -> Vec<String>;

    /// Sends a message, and cancels it when `lab` has begun to work on it.
    fn cancel(&mut self, setup: &Setup, message: &Json);

    /// Returns the level of the session, its budget, and the shared state with its version.
    fn state(&mut self, setup: &Setup) -> Json {
        let path = "GET /accp/v1/sessions/team/state";
        serde_json::from_str(&super::http::request(&setup.hub, path, "").1).unwrap()
    }

    /// Returns the context of the session.
    fn context(&mut self, setup: &Setup) -> String {
        super::http::request(&setup.hub, "GET /accp/v1/sessions/team/context", "").1
    }

    /// Returns the value of a reference into cold state.
    fn read(&mut self, setup: &Setup, key: &str) -> Json {
        let head = format!("GET /accp/v1/sessions/team/values/{key}");
        serde_json::from_str(&super::http::request(&setup.hub, &head, "").1).unwrap()
    }

    /// Returns the frames of the log.
    fn log(&mut self, setup: &Setup) -> Vec<String> {
        setup.hub.frames()
    }

    /// Kills all programs, and starts them again with the same stores.
    fn restart(self, setup: &mut Setup) -> Self
    where
        Self: Sized,
    {
        drop(self);
        setup.restart();
        Self::open(setup)
    }
}

/// A door that accepts the text of a frame, as a person could write it.
trait ByHand: Door {
    /// Sends a frame. The text has no metadata.
    ///
    /// # Errors
    /// The door's error, if the frame does not enter the log.
    fn by_hand(&mut self, setup: &Setup, frame: &str) -> Result<(), String>;
}

/// A door through which a frame can arrive too late.
trait Late: Door {
    /// Sends a message that expires before it reaches the hub.
    fn late(self, setup: &mut Setup, message: &Json) -> Self;
}

/// A hub, and the agent `lab`, in a folder.
struct Setup {
    folder: tempfile::TempDir,
    hub: Hub,
    lab: Option<Program>,
}

impl Setup {
    fn new() -> Self {
        Self::with(crate::doors::REGISTRY)
    }

    fn with(registry: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hub = Hub::with(folder.path(), registry);
        let mut setup = Self {
            folder,
            hub,
            lab: None,
        };
        setup.restart();
        setup
    }

    fn restart(&mut self) {
        drop(self.restart_with(""));
    }

    /// Kills the hub and `lab`, and starts both again. The hub gets more arguments. Returns the lines that the hub
    /// prints.
    fn restart_with(&mut self, more: &str) -> impl Iterator<Item = String> + use<> {
        self.lab = None;
        self.hub.kill();
        let told = self.hub.start_with(more);
        let mut lab = Program::start(self.folder.path(), &self.hub, "table lab");
        assert_eq!(lab.says(), "ready");
        // The hub can give a question that names no agent only to an agent that has said which requests it takes. So
        // this waits until `lab` has said so.
        within(Duration::from_secs(20), || {
            let frames = self.hub.frames();
            let says = frames.iter().any(|frame| frame.contains("sync:takes{"));
            says.then_some(())
        });
        self.lab = Some(lab);
        told
    }
}

fn note(text: &str) -> Json {
    json!({
        "intent": "req", "operation": "note", "schema": "NOTE",
        "payload": { "text": text, "size": text.len() },
    })
}

/// Returns the notes in the log, with their metadata.
fn notes(log: &[String]) -> Vec<(Frame<'_>, Envelope<'_>)> {
    let frames = log.iter().map(|text| Frame::parse(text).unwrap());
    let notes = frames.filter(|frame| frame.operation == "note");
    notes
        .map(|frame| {
            let envelope = Frame::parse(&frame.to_string())
                .unwrap()
                .envelope()
                .unwrap()
                .into_owned();
            (frame, envelope)
        })
        .collect()
}

/// The door sends texts of every length, and gets them back unchanged, even after a restart.
fn texts<D: Door>() {
    let (mut setup, mut door) = D::opened();
    for length in [1, 51, 30_000, D::MOST] {
        if length > D::MOST {
            continue;
        }
        let words = "Grüße an_alle: 12% of {soup} | [rye], \"quoted\" \\ & co. ";
        let mut text: String = words.chars().cycle().take(length / 2).collect();
        while text.len() < length {
            text.push('x');
        }
        let answer = door.ask(&setup, &note(&text)).unwrap();
        assert!(answer["text"] == text.as_str(), "a text of {length} bytes");
        assert_eq!(answer["size"], length);
        door = door.restart(&mut setup);
    }
}

/// The door sends values of every type, and gets them back unchanged.
fn kinds<D: Door>() {
    let (mut setup, mut door) = D::opened();
    let kinds = [
        "true",
        "-7",
        "9007199254740993",
        "12345678901234.123456",
        "0.5",
        "1.12345678",
        r#""""#,
        r#""94107""#,
        r#""true""#,
        r#""@dev""#,
        r##""#1""##,
        r#""$cold.k""#,
        r#""a b_c""#,
        "[]",
        r#"[1,"1",[null,"ü"]]"#,
        "{}",
        r#"{"first-name":"Ada","n":{"k":[1.5]}}"#,
    ];
    for (n, kind) in kinds.into_iter().enumerate() {
        let mut asked = note("kinds");
        asked["payload"]["more"] = serde_json::from_str(&exact_numbers(kind)).unwrap();
        let answer = door.ask(&setup, &asked).unwrap();
        assert_eq!(answer["more"], asked["payload"]["more"], "{kind}");
        if n == 7 {
            door = door.restart(&mut setup);
        }
    }
}

/// A frame that the session refuses gives an error with the right code, and leaves nothing in the log.
fn refusals<D: Door>() {
    let (mut setup, mut door) = D::opened();
    door.send(&setup, &note("before")).unwrap();
    let with = |key: &str, value: Json| {
        let mut message = note("refused");
        match key {
            "schema" | "intent" => message[key] = value,
            key => message["payload"][key] = value,
        }
        message
    };
    let mut lacking = note("refused");
    lacking["payload"] = json!({ "size": 1 });
    let refused = [
        (with("schema", json!("NOPE")), "E1003"),
        (lacking, "E1004"),
        (with("size", json!("many")), "E1004"),
        (with("more", json!({ "$ref": "cold.k101_99" })), "E2001"),
        (with("more", json!({ "$ref": "ext.other.k101_1" })), "E5002"),
    ];
    for (message, code) in refused {
        let said = door.send(&setup, &message);
        assert!(
            said.as_ref().is_err_and(|said| said.contains(code)),
            "{message}: {said:?}"
        );
    }
    door = door.restart(&mut setup);
    door.send(&setup, &note("after")).unwrap();
    let log = door.log(&setup);
    let sent: Vec<_> = log
        .iter()
        .filter(|text| text.contains("@dev>req:note{"))
        .collect();
    assert_eq!(sent.len(), 2, "{sent:?}");
}

/// Each frame in the log has its own id, the next number of its sender and a time. An answer names its question.
fn envelopes<D: Door>() {
    let (mut setup, mut door) = D::opened();
    for text in ["one", "two", "three"] {
        door.ask(&setup, &note(text)).unwrap();
        door = door.restart(&mut setup);
    }
    let log = door.log(&setup);
    let notes = notes(&log);
    assert_eq!(notes.len(), 6, "{log:?}");
    let mut mids = std::collections::BTreeSet::new();
    for sender in ["dev", "lab"] {
        let mut last = 0;
        for (frame, envelope) in notes.iter().filter(|(frame, _)| frame.agent == sender) {
            let mid = envelope.msg_id.as_deref().unwrap();
            assert!(
                mid.len() == 12 && mid.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{frame}"
            );
            assert!(mids.insert(mid.to_owned()), "{frame}");
            assert!(envelope.sequence.unwrap() > last, "{frame}");
            last = envelope.sequence.unwrap();
            assert!(envelope.timestamp.is_some(), "{frame}");
        }
    }
    for pair in notes.chunks(2) {
        let ((asked, question), (said, answer)) = (&pair[0], &pair[1]);
        assert_eq!((&*asked.agent, &*said.agent), ("dev", "lab"), "{log:?}");
        let chain = question
            .correlation_id
            .as_ref()
            .or(question.msg_id.as_ref());
        assert_eq!(answer.correlation_id.as_ref(), chain, "{log:?}");
    }
}

/// Each frame that a door has accepted is in the log only once, even if every program is killed again and again.
fn once<D: Door>() {
    let (mut setup, mut door) = D::opened();
    for n in 0..5 {
        door.send(&setup, &note(&format!("number {n}"))).unwrap();
        door = door.restart(&mut setup);
    }
    let log = door.log(&setup);
    for n in 0..5 {
        let text = format!("@dev>req:note{{text:number_{n}|");
        // A request that was handed on to another agent is in the log a second time, under the same id.
        let sent = log.iter().filter(|frame| frame.starts_with(&text));
        let mids = sent.map(|frame| Frame::parse(frame).unwrap().envelope().unwrap().msg_id);
        let mids: std::collections::BTreeSet<_> = mids.collect();
        assert_eq!(mids.len(), 1, "{text}: {log:?}");
    }
}

/// In a session with its own registry, frames of the standard profiles also work. They have abbreviated keys, and
/// leave out defaults.
fn profiles<D: Door>() {
    let (mut setup, mut door) = D::opened();
    let asked = [
        (
            "chat",
            "CH",
            json!({ "content": "What is for lunch?", "lang": "en" }),
            "content",
            json!("What is for lunch?"),
        ),
        (
            "schedule",
            "TA",
            json!({ "assignee": "lab", "task": "soup", "priority": "medium" }),
            "status",
            json!("done"),
        ),
        (
            "tool",
            "TC",
            json!({ "tool_name": "add", "arguments": { "b": 2, "a": "2" } }),
            "result",
            json!(4),
        ),
        (
            "transaction",
            "TX",
            json!({ "transaction_id": "t1", "amount": 12.5, "account": "a1" }),
            "status",
            json!("settled"),
        ),
    ];
    for (operation, schema, payload, key, expected) in asked {
        let message = json!({ "intent": "req", "operation": operation, "schema": schema, "payload": payload });
        let answer = door.ask(&setup, &message).unwrap();
        assert_eq!(answer[key], expected, "{answer}");
        door = door.restart(&mut setup);
    }
    let log = door.log(&setup);
    for frame in [
        "@dev>req:chat{content:What_is_for_lunch?|schema:CH}[",
        "@dev>req:schedule{asgn:lab|task:soup|schema:TA}[",
        "@dev>req:tool{tool:add|args:{a:\"2,b:2}|schema:TC}[",
        "@dev>req:transaction{acc:a1|amt:12.5|txn:t1|schema:TX}[",
    ] {
        let fields = |text: &str| {
            let payload = text
                .split_once('{')
                .unwrap()
                .1
                .rsplit_once("}[")
                .unwrap()
                .0
                .to_owned();
            let mut fields: Vec<_> = payload.split('|').map(str::to_owned).collect();
            fields.sort();
            fields
        };
        let head = frame.split('{').next().unwrap();
        let sent = log
            .iter()
            .find(|text| text.starts_with(&format!("{head}{{")))
            .unwrap();
        assert_eq!(fields(sent), fields(frame), "{sent}");
    }
}

/// The session accepts changes of the shared state. It refuses a change for another version, and the error names the
/// current version.
fn states<D: Door>() {
    let (mut setup, mut door) = D::opened();
    door.send(&setup, &note("hello")).unwrap();
    let change = |version: u64, delta: Json| {
        let payload = json!({ "version": version, "delta": delta });
        json!({ "intent": "sync", "operation": "state", "payload": payload })
    };
    door.send(&setup, &change(1, json!({ "soup": "hot", "bread": 3 })))
        .unwrap();
    door = door.restart(&mut setup);
    door.send(
        &setup,
        &change(2, json!({ "soup": "cold now", "bread": null })),
    )
    .unwrap();
    for wrong in [2, 4] {
        let said = door
            .send(&setup, &change(wrong, json!({ "soup": "gone" })))
            .unwrap_err();
        assert!(said.contains("E2001"), "{said}");
    }
    door = door.restart(&mut setup);
    let state = door.state(&setup);
    assert_eq!(state["version"], 2, "{state}");
    assert_eq!(state["state"], json!({ "soup": "cold now" }));
}

/// If a person has written a frame, the door checks it against the grammar.
fn grammar<D: ByHand>() {
    let (mut setup, mut door) = D::opened();
    for (frame, code) in [
        ("@dev>req:note{text:x", "E1001"),
        ("@dev>req:note{more:[[[[[[1]]]]]]|text:x}", "E1001"),
        ("@dev>hop:note{text:x}", "E1002"),
        ("@d/v>req:note{text:x}", "E"),
    ] {
        let said = door.by_hand(&setup, frame);
        assert!(
            said.as_ref().is_err_and(|said| said.contains(code)),
            "{frame}: {said:?}"
        );
    }
    // No schema lists this operation, but the grammar allows it. The agent `cook` has not said which requests it
    // takes, so it may take this request.
    let ping = "@cook>ping:link{}[mid:abc999000001,seq:0,sid:team]";
    let head = "POST /accp/v1/frames\nContent-Type: application/accp";
    assert_eq!(super::http::request(&setup.hub, head, ping).0, 200);
    door.by_hand(&setup, "@dev>req:cook_2{dish:soup}").unwrap();
    door = door.restart(&mut setup);
    let log = door.log(&setup);
    let sent: Vec<_> = log
        .iter()
        .filter(|text| text.starts_with("@dev>"))
        .collect();
    assert!(
        sent.len() == 1 && sent[0].contains(">req:cook_2{dish:soup}"),
        "{sent:?}"
    );
}

/// Makes a test of each scenario that a door supports. The test `conformance` reads the lines that use this macro.
macro_rules! door {
    ($name:ident, $door:ty: $($scenario:ident),*) => {
        mod $name {
            $(
                #[test]
                fn $scenario() {
                    super::$scenario::<$door>();
                }
            )*
        }
    };
}

mod doors {
    use super::session::{
        cancels, checkpoints, full, late, level, references, streams, symbols, told,
    };
    use super::{envelopes, grammar, kinds, once, profiles, refusals, states, texts};

    door!(inside, super::super::programs::Inside: texts, kinds, refusals, envelopes, once, profiles, states,
        streams, cancels, references, symbols, level, full, checkpoints);
    door!(socket, super::super::programs::Socket: texts, kinds, refusals, envelopes, once, profiles, states,
        streams, cancels, references, symbols, told, level, full, checkpoints);
    door!(types, super::super::programs::Types: texts, kinds, envelopes, once, profiles,
        streams, cancels, references, symbols, told, level, checkpoints);
    door!(command, super::super::command::Command: texts, kinds, refusals, envelopes, once, profiles, states, grammar,
        streams, cancels, late, references, symbols, told, full, checkpoints);
    door!(http, super::super::http::Http: texts, kinds, refusals, envelopes, once, profiles, states, grammar,
        streams, cancels, late, symbols, told, level, full, checkpoints);
    door!(mcp, super::super::mcp::Mcp: texts, kinds, refusals, envelopes, once, profiles, states, grammar,
        streams, cancels, late, references, symbols, told, full, checkpoints);
    door!(a2a, super::super::a2a::A2a: texts, kinds, refusals, envelopes, once, profiles, grammar,
        streams, cancels, late, references, symbols, told, checkpoints);
}
