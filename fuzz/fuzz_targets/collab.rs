//! Fuzzes a shared folder whose files hold any bytes: nothing may panic, every finding must have a text, and an event
//! that was read must be written back unchanged.
#![no_main]

use accp_collab::{
    Content, Event, EventName, Folder, Protocol, Role, RootedPath, Scope, Source, check, frames,
    next, validate,
};

/// The content of `protocol.json` if the input has none.
const PROTOCOL: &str = r#"{"protocol":"acp","schemaVersion":2,"objective":"o","participants":[{"id":"a"},{"id":"b"}],
"completionGates":[{"source":"objective","text":"g"}],"deliverables":{"mode":"internal","dir":"d",
"primary":{"type":"custom","file":"p.md","checklist":["S"]},"supporting":[{"file":"s.md","type":"adr","frozen":true}],
"attachments":[{"file":"x"}]},"currentPhase":"drafting","proposalOwner":"a","waitingFor":["a"]}"#;

/// The files, in the order of the pieces of the input.
const FILES: [&str; 8] = [
    "protocol.json",
    "events.jsonl",
    "readiness.md",
    "decisions.md",
    "review.md",
    "conclusion.md",
    "d/p.md",
    "d/s.md",
];

struct Input<'b>(Vec<&'b [u8]>);

impl Source for Input<'_> {
    fn read(&mut self, path: RootedPath<'_>) -> Content {
        let at = FILES.iter().position(|file| *file == path.path);
        match at.and_then(|at| self.0.get(at)) {
            Some([]) | None => Content::Absent,
            Some(bytes) => Content::Bytes(bytes.to_vec()),
        }
    }

    fn look(&mut self, path: RootedPath<'_>) -> Content {
        match self.read(path) {
            Content::Bytes(_) => Content::Present,
            other => other,
        }
    }

    fn check_root(&mut self, root: &str) -> Result<(), String> {
        if root == ".." {
            Ok(())
        } else {
            Err("it is another one".into())
        }
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut pieces: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    if pieces[0].is_empty() {
        pieces[0] = PROTOCOL.as_bytes();
    }
    let folder = Folder::read(&mut Input(pieces), Scope::All);
    for finding in validate(&folder) {
        assert!(finding.message.len() > 10, "{finding:?}");
    }
    for event in folder.log().events() {
        assert_eq!(Event::from_line(&event.to_line()).as_ref(), Ok(event));
        if let Ok(frame) = frames::to_frame(event) {
            assert_eq!(frames::from_frame(&frame).as_ref(), Ok(event));
        }
    }
    let Ok((protocol, state)) = folder.standing() else {
        return;
    };
    let text = protocol.to_text(state, "2026-01-01T00:00:00Z");
    let (again, _) = Protocol::read(text.as_bytes());
    let again = again.expect("what was written is read");
    assert_eq!(again.to_text(state, "2026-01-01T00:00:00Z"), text);
    for who in &protocol.participants {
        match next(&folder, who) {
            Ok(next) => assert!(next.text("folder").starts_with("next action: ")),
            // `next` may fail only if the log has no events.
            Err(_) => assert_eq!(state.last(), 0),
        }
        for name in EventName::ALL {
            let event = Event {
                seq: state.last() + 1,
                from: who.clone(),
                event: *name,
                at: "9999-01-01T00:00:00Z".into(),
                summary: "s".into(),
                doc: Some("d/p.md".into()),
                reply_to: Some(state.last().max(1)),
                role: Some(Role::Primary),
                sha256: folder.sha256("d/p.md"),
            };
            // The state machine accepts every event that may be appended.
            if check(&event, &folder).is_empty() {
                assert!(state.clone().apply(&event).is_ok());
            }
        }
    }
});
