//! Events as frames.

use accp_collab::{Code, Event, EventName, Role, frames};
use proptest::prelude::*;

fn any_event() -> impl Strategy<Value = Event> {
    let text = "\\PC{0,12}";
    (
        (1..u64::from(u32::MAX), "\\PC{1,8}", text),
        prop::sample::select(EventName::ALL),
        prop::option::of(prop_oneof![text.boxed(), Just("17".to_owned()).boxed()]),
        prop::option::of(1..u64::from(u32::MAX)),
        prop::option::of(prop::sample::select(Role::ALL)),
        prop::option::of("[0-9a-f]{64}"),
    )
        .prop_map(
            |((seq, from, summary), event, doc, reply_to, role, sha256)| Event {
                seq,
                from,
                event,
                at: "2026-01-01T00:00:00Z".to_owned(),
                summary,
                doc,
                reply_to,
                role,
                sha256,
            },
        )
}

proptest! {
    #[test]
    fn an_event_comes_back_from_its_frame(event in any_event()) {
        let frame = frames::to_frame(&event).unwrap();
        prop_assert!(frame.is_ascii(), "{frame}");
        prop_assert_eq!(frames::from_frame(&frame), Ok(event));
    }

    #[test]
    fn any_text_is_an_event_or_has_a_finding(text in "\\PC{0,60}") {
        if let Err(findings) = frames::from_frame(&text) {
            prop_assert!(!findings.is_empty());
        }
    }
}

#[test]
fn what_is_no_event_has_its_code() {
    for (frame, code) in [
        ("hello", Code::Unreadable),
        ("@ada>done:dinner{at:x|seq:1|summary:x}", Code::EventUnknown),
        ("@ada>req:blocked{at:x|seq:1|summary:x}", Code::EventUnknown),
        ("@ada>done:blocked{at:x|seq:1}", Code::FieldMissing),
        (
            "@ada>done:blocked{at:x|seq:one|summary:x}",
            Code::FieldMissing,
        ),
        (
            "@ada>done:blocked{at:x|seq:1|summary:x|more:x}",
            Code::FieldMissing,
        ),
        (
            "@ada>done:blocked{at:x|role:own|seq:1|summary:x}",
            Code::RoleMissing,
        ),
        (
            "@ada>done:blocked{at:x|from:bob|seq:1|summary:x}",
            Code::ParticipantUnknown,
        ),
    ] {
        let findings = frames::from_frame(frame).unwrap_err();
        assert_eq!(findings[0].code, code, "{frame}");
    }
}
