//! The promises of a session at each of its doors. A scenario is written once, and runs through every door that offers
//! it; the table of docs/conformance.md names the scenario for each requirement and door, or says why a door has none.
//!
//! The agent `dev` goes in through the door. `lab` is a program of its own, which answers each note by its own words.

mod a2a;
mod command;
mod http;
mod mcp;
pub(crate) mod player;
mod programs;

use accp_runtime::{Envelope, Frame, exact_numbers};
use serde_json::{Value as Json, json};

use super::processes::{Hub, Program};

/// A way into the session `team`, as the program of a stranger takes it.
trait Door {
    /// The most bytes of a text that goes through.
    const MOST: usize = 1_000_000;

    /// Goes in.
    fn open(house: &House) -> Self;

    /// Sends a message, given without its agent as `accp encode` takes it.
    ///
    /// # Errors
    /// What the door says of a frame that does not enter the log.
    fn send(&mut self, house: &House, message: &Json) -> Result<(), String>;

    /// Sends a message, and returns the params of its answer under full names, each reference with its value.
    fn ask(&mut self, house: &House, message: &Json) -> Result<Json, String>;

    /// Returns the frames of the log.
    fn log(&mut self, house: &House) -> Vec<String> {
        house.hub.frames()
    }

    /// Kills all programs, and starts them again on their stores.
    fn restart(self, house: &mut House) -> Self
    where
        Self: Sized,
    {
        drop(self);
        house.restart();
        Self::open(house)
    }
}

/// A hub, and the agent `lab`, in a folder.
struct House {
    folder: tempfile::TempDir,
    hub: Hub,
    lab: Option<Program>,
}

impl House {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hub = Hub::new(folder.path());
        let mut house = Self {
            folder,
            hub,
            lab: None,
        };
        house.restart();
        house
    }

    fn restart(&mut self) {
        self.lab = None;
        self.hub.kill();
        self.hub.start();
        let mut lab = Program::start(self.folder.path(), &self.hub, "table lab");
        assert_eq!(lab.says(), "ready");
        self.lab = Some(lab);
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

/// Texts of every length come back as they were, also from a door that was opened again.
fn texts<D: Door>() {
    let mut house = House::new();
    let mut door = D::open(&house);
    for length in [1, 51, 30_000, D::MOST] {
        if length > D::MOST {
            continue;
        }
        let words = "Grüße an_alle: 12% of {soup} | [rye], \"quoted\" \\ & co. ";
        let mut text: String = words.chars().cycle().take(length / 2).collect();
        while text.len() < length {
            text.push('x');
        }
        let answer = door.ask(&house, &note(&text)).unwrap();
        assert!(answer["text"] == text.as_str(), "a text of {length} bytes");
        assert_eq!(answer["size"], length);
        door = door.restart(&mut house);
    }
}

/// Values of every type come back as they were.
fn kinds<D: Door>() {
    let mut house = House::new();
    let mut door = D::open(&house);
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
        let answer = door.ask(&house, &asked).unwrap();
        assert_eq!(answer["more"], asked["payload"]["more"], "{kind}");
        if n == 7 {
            door = door.restart(&mut house);
        }
    }
}

/// A frame that the session does not take is refused with its code, and leaves nothing in the log.
fn refusals<D: Door>() {
    let mut house = House::new();
    let mut door = D::open(&house);
    door.send(&house, &note("before")).unwrap();
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
        let said = door.send(&house, &message).unwrap_err();
        assert!(said.contains(code), "{message}: {said}");
    }
    door = door.restart(&mut house);
    door.send(&house, &note("after")).unwrap();
    let log = door.log(&house);
    let sent: Vec<_> = log
        .iter()
        .filter(|text| text.contains("@dev>req:note{"))
        .collect();
    assert_eq!(sent.len(), 2, "{sent:?}");
}

/// Each frame of the log has its own id, the next number of its sender and a time, and an answer names its question.
fn envelopes<D: Door>() {
    let mut house = House::new();
    let mut door = D::open(&house);
    for text in ["one", "two", "three"] {
        door.ask(&house, &note(text)).unwrap();
        door = door.restart(&mut house);
    }
    let log = door.log(&house);
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
        let [(asked, question), (said, answer)] = pair else {
            panic!("{log:?}")
        };
        assert_eq!((&*asked.agent, &*said.agent), ("dev", "lab"), "{log:?}");
        let chain = question
            .correlation_id
            .as_ref()
            .or(question.msg_id.as_ref());
        assert_eq!(answer.correlation_id.as_ref(), chain, "{log:?}");
    }
}

/// What a door has taken is in the log once, whoever is killed behind it.
fn once<D: Door>() {
    let mut house = House::new();
    let mut door = D::open(&house);
    for n in 0..5 {
        door.send(&house, &note(&format!("number {n}"))).unwrap();
        door = door.restart(&mut house);
    }
    let log = door.log(&house);
    for n in 0..5 {
        let text = format!("@dev>req:note{{text:number_{n}|");
        let count = log.iter().filter(|frame| frame.starts_with(&text)).count();
        assert_eq!(count, 1, "{text}: {log:?}");
    }
}

/// Runs the scenarios that a door offers. The test `conformance` reads these lines.
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
    use super::{envelopes, kinds, once, refusals, texts};

    door!(inside, super::super::programs::Inside: texts, kinds, refusals, envelopes, once);
    door!(socket, super::super::programs::Socket: texts, kinds, refusals, envelopes, once);
    door!(types, super::super::programs::Types: texts, kinds, envelopes, once);
    door!(command, super::super::command::Command: texts, kinds, refusals, envelopes, once);
    door!(http, super::super::http::Http: texts, kinds, refusals, envelopes, once);
    door!(mcp, super::super::mcp::Mcp: texts, kinds, refusals, envelopes, once);
    door!(a2a, super::super::a2a::A2a: texts, kinds, refusals, envelopes, once);
}
