//! Scenarios for the work of a session: streams, cancelled chains, late frames, references, checkpoints.

use accp_runtime::{DynamicFrame, Frame, Registry, TokenCounter as _};
use accp_tokens::Bpe;
use serde_json::{Value as Json, json};

use super::{Door, Late, Setup, note};
use crate::doors::answers::within;
use crate::doors::long_values::are_small;

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

/// Returns the payload of a frame from the hub, under full names.
fn payload(text: &str) -> Json {
    let message = DynamicFrame::decode(text, &Registry::standard()).unwrap();
    message.to_json()["payload"].take()
}

/// The agent that asks gets the pieces of a stream in the order of their indexes, and each piece once. The pieces
/// belong to the chain of the question.
pub(super) fn streams<D: Door>() {
    // The usual registry of these tests uses the code ST, which streams need, for another schema.
    let mut setup = Setup::with(crate::doors::http::OWN);
    let mut door = D::open(&setup);
    for _ in 0..2 {
        let pieces = door.pieces(&setup, &note("in pieces"));
        assert_eq!(pieces, ["one", "two", "three"]);
        door = door.restart(&mut setup);
    }
    let log = door.log(&setup);
    let frames: Vec<_> = log.iter().map(|text| Frame::parse(text).unwrap()).collect();
    let chain = |frame: &Frame<'_>| {
        let envelope = frame.envelope().unwrap();
        let chain = envelope.correlation_id.or(envelope.msg_id);
        chain.unwrap().into_owned()
    };
    let asked = frames
        .iter()
        .filter(|frame| frame.agent == "dev" && frame.intent == "req");
    let asked: Vec<_> = asked.map(chain).collect();
    assert_eq!(asked.len(), 2, "{log:?}");
    for chain_of in asked {
        let pieces = frames
            .iter()
            .filter(|frame| frame.intent == "stream" && chain(frame) == chain_of);
        let pieces: Vec<_> = pieces.collect();
        assert_eq!(pieces.len(), 4, "{log:?}");
        let last = pieces.iter().filter(|piece| piece.get("done").is_some());
        assert_eq!(last.count(), 1, "the default is not written: {log:?}");
    }
}

/// When a question is cancelled, the work on it ends, and its chain gets no further entries.
pub(super) fn cancels<D: Door>() {
    let (mut setup, mut door) = D::opened();
    door.cancel(&setup, &note("slow"));
    let count =
        |log: &[String], text: &str| log.iter().filter(|frame| frame.contains(text)).count();
    within(PATIENCE, || {
        (count(&door.log(&setup), "@lab>req:note{text:stopped") == 1).then_some(())
    });
    // After a restart, the agent does not begin the cancelled work again.
    door = door.restart(&mut setup);
    door.ask(&setup, &note("after")).unwrap();
    let log = door.log(&setup);
    assert_eq!(count(&log, "@lab>wait:note{"), 1, "{log:?}");
    let chain = |text: &String| {
        let frame = Frame::parse(text).unwrap();
        let envelope = frame.envelope().unwrap();
        envelope
            .correlation_id
            .or(envelope.msg_id)
            .map(std::borrow::Cow::into_owned)
    };
    let at = log
        .iter()
        .position(|text| text.contains(">cancel:"))
        .unwrap();
    let cancelled = chain(&log[at]);
    let asked = log.iter().find(|text| text.contains("text:slow")).unwrap();
    assert_eq!(chain(asked), cancelled, "{log:?}");
    let later: Vec<_> = log[at + 1..]
        .iter()
        .filter(|text| chain(text) == cancelled)
        .collect();
    assert!(later.is_empty(), "{later:?}");
}

/// An expired frame does not enter the log and causes no error. The next frame is accepted.
pub(super) fn late<D: Late>() {
    let (mut setup, mut door) = D::opened();
    door.ask(&setup, &note("before")).unwrap();
    door = door.late(&mut setup, &note("too late"));
    door.ask(&setup, &note("after")).unwrap();
    door = door.restart(&mut setup);
    door.ask(&setup, &note("at last")).unwrap();
    let log = door.log(&setup);
    assert!(
        !log.iter()
            .any(|text| text.contains("too_late") || text.contains(">fail:")),
        "{log:?}"
    );
    let sent = log.iter().filter(|text| text.starts_with("@dev>req:note{"));
    assert_eq!(sent.count(), 3, "{log:?}");
}

/// A text of more than 50 characters, or a text that is too long for its frame, is sent by reference. Every receiver
/// still gets the text.
pub(super) fn references<D: Door>() {
    let (mut setup, mut door) = D::opened();
    let words = "pumpkin soup with bread and butter for lunch ".repeat(40);
    let at_51 = "x".repeat(51);
    let payload = json!({ "assignee": "lab", "task": at_51 });
    let task =
        json!({ "intent": "req", "operation": "schedule", "schema": "TA", "payload": payload });
    for (message, key, text) in [(task, "task", &at_51), (note(&words), "text", &words)] {
        let answer = door.ask(&setup, &message).unwrap();
        assert_eq!(answer[key], **text);
        door = door.restart(&mut setup);
    }
    let log = door.log(&setup);
    for sender in [
        "@dev>req:schedule{",
        "@lab>done:schedule{",
        "@dev>req:note{",
        "@lab>done:note{",
    ] {
        let sent: Vec<_> = log.iter().filter(|text| text.starts_with(sender)).collect();
        assert!(
            sent.len() == 1 && sent[0].contains(":$cold.k"),
            "{sender}: {sent:?}"
        );
    }
    are_small(&log, 50);
}

/// In the log, the value of an enumeration is its symbol. Receivers get the name of the value.
pub(super) fn symbols<D: Door>() {
    let (mut setup, mut door) = D::opened();
    for (way, sign) in [("up", "+"), ("down", "-")] {
        let report = json!({ "intent": "req", "operation": "report", "schema": "WAY", "payload": { "way": way } });
        let answer = door.ask(&setup, &report).unwrap();
        assert_eq!(answer["way"], way);
        door = door.restart(&mut setup);
        let log = door.log(&setup);
        for head in ["@dev>req:report", "@lab>done:report"] {
            let frame = format!("{head}{{way:{sign}|schema:WAY}}[");
            assert_eq!(
                log.iter().filter(|text| text.starts_with(&frame)).count(),
                1,
                "{frame}: {log:?}"
            );
        }
    }
}

/// With `--debug` the hub describes each frame in plain words.
pub(super) fn told<D: Door>() {
    let mut setup = Setup::new();
    let told = setup.restart_with("--debug");
    let mut door = D::open(&setup);
    let answer = door.ask(&setup, &note("soup & bread")).unwrap();
    assert_eq!(answer["text"], "soup & bread");
    drop(door);
    setup.hub.kill();
    let told = told.collect::<Vec<_>>().join("\n");
    for words in [
        r#"dev requests note: text "soup & bread""#,
        r#"lab completes note: text "soup & bread""#,
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

/// The door shows the conformance level of the session. The log has the same level.
pub(super) fn level<D: Door>() {
    let (mut setup, mut door) = D::opened();
    door.ask(&setup, &note("hello")).unwrap();
    for _ in 0..2 {
        assert_eq!(door.state(&setup)["level"], 3);
        door = door.restart(&mut setup);
    }
}

/// The session refuses data over a limit with E2003: a frame that is too long even with references, or a change that
/// would make the shared state too large. The state is then unchanged.
pub(super) fn full<D: Door>() {
    let (mut setup, mut door) = D::opened();
    let change = |version: usize| {
        let delta: Json = (0..300)
            .map(|key| (format!("k{version}_{key}"), json!("x".repeat(45))))
            .collect();
        let payload = json!({ "version": version, "delta": delta });
        json!({ "intent": "sync", "operation": "state", "payload": payload })
    };
    door.ask(&setup, &note("hello")).unwrap();
    let mut taken = 0;
    let said = loop {
        assert!(taken < 10, "a state of {taken} changes");
        match door.send(&setup, &change(taken + 1)) {
            Ok(()) => taken += 1,
            Err(said) => break said,
        }
    };
    assert!(said.contains("E2003"), "{said:.300}");
    door = door.restart(&mut setup);
    door.ask(&setup, &note("after")).unwrap();
    let state = door.state(&setup);
    assert_eq!(state["version"], taken);
    assert_eq!(state["state"].as_object().unwrap().len(), 300 * taken);
}

/// `done`, `esc`, `comp` and a context of more than 400 tokens each cause a checkpoint. A checkpoint holds facts and
/// a summary. The frames that left the context can be read byte for byte, and the context is within its budget.
pub(super) fn checkpoints<D: Door>() {
    let (mut setup, mut door) = D::opened();
    // A checkpoint leaves the newest frames in the context. So the first frames leave the context only at the second
    // `done`.
    door.ask(&setup, &note("first")).unwrap();
    door.ask(&setup, &note("second")).unwrap();
    let mut reasons = vec!["done"];
    is_within_budget(&mut door, &setup);
    for intent in D::TRIGGERS {
        reasons.push(intent);
        if *intent == "hot" {
            continue;
        }
        let message =
            json!({ "intent": intent, "operation": "plan", "payload": { "goal": intent } });
        door.send(&setup, &message).unwrap();
        is_within_budget(&mut door, &setup);
    }
    door = door.restart(&mut setup);
    // These notes get no answer, so only the size of the context can cause a checkpoint.
    for n in 0..20 * usize::from(D::TRIGGERS.contains(&"hot")) {
        let text = format!("quiet {n} unheard of soups, breads and pies");
        door.send(&setup, &note(&text)).unwrap();
        is_within_budget(&mut door, &setup);
    }
    let log = door.log(&setup);
    let made: Vec<_> = log
        .iter()
        .filter(|text| text.starts_with("@hub>sync:checkpoint{"))
        .map(|text| payload(text))
        .collect();
    for reason in reasons {
        let has = |made: &&Json| made["on"].as_array().unwrap().contains(&json!(reason));
        assert!(made.iter().any(|made| has(&made)), "{reason}: {made:?}");
    }
    let counter = Bpe::o200k_base();
    let mut left = 0;
    for (n, made) in made.iter().enumerate() {
        assert_eq!(made["id"], format!("ckpt_{}", n + 1));
        let Some(summary) = made["sum"].as_str() else {
            continue;
        };
        assert!(counter.count(summary) <= 100, "{made}");
        for facts in made["facts"].as_array().into_iter().flatten() {
            // Each fact is an entity, followed by its relations and values.
            let fact = facts.as_array().unwrap();
            assert!(fact[0].is_string() && fact.len() >= 2, "{made}");
        }
        left += made["left"].as_array().unwrap().len();
    }
    assert!(left > 0, "{made:?}");
    // The frames that have left the context can be read from cold state, by their positions.
    let first = made.iter().find_map(|made| made["cold"].as_str()).unwrap();
    let read = door.read(&setup, first.split('-').next().unwrap());
    let stood = log.iter().position(|text| *text == read.as_str().unwrap());
    assert!(
        stood.is_some_and(|at| log[at].contains("note{text:first|")),
        "{read}: {log:?}"
    );
}

/// Checks that the context is within its budget, and has no more tokens than the session reports.
fn is_within_budget<D: Door>(door: &mut D, setup: &Setup) {
    let state = door.state(setup);
    let used = |tier: &str| state["budget"][tier]["used"].as_u64().unwrap();
    let (context, counter) = (door.context(setup), Bpe::o200k_base());
    // The first lines define the forms of the later lines. They do not count.
    let lines = context
        .lines()
        .skip_while(|line| line.contains(" defines "));
    let tokens: usize = lines.map(|line| counter.count(&format!("{line}\n"))).sum();
    let total = used("hot") + used("warm");
    assert!(0 < tokens && tokens as u64 <= total, "{state}: {context}");
    assert!(used("hot") <= 500 && used("warm") <= 2000, "{state}");
}
