//! Tests that a [`Router`] hands each frame to the handler for its type.

use accp_registry::Registry;
use proptest::prelude::*;

use accp_frame::profiles::{ChatMessageFrame, ChatReq, InferStream, ToolDone};
use accp_session::*;
use accp_session::{CancelToken, MemberId};

fn inbound(text: &str) -> Inbound {
    Inbound::new(7, MemberId::HOST, text.into(), CancelToken::new())
}

fn router() -> Router<u64, String> {
    Router::new()
        .on::<ToolDone<'_>>(|handled, result, _| {
            *handled += 1;
            result.frame.status.into_owned()
        })
        .on::<ChatReq<'_>>(|handled, request, inbound| {
            *handled += inbound.position();
            request.frame.content.into_owned()
        })
        .on::<ChatMessageFrame<'_>>(|handled, frame, _| {
            *handled += 100;
            frame.agent.to_string()
        })
}

#[test]
fn the_first_type_that_fits_gets_the_frame() {
    let router = router();
    let mut handled = 0;
    for (text, gives, after) in [
        ("@t>done:tool{tool:web|schema:TC}[cid:m1]", Some("ok"), 1),
        ("@a>req:chat{content:Hello|schema:CH}", Some("Hello"), 8),
        ("@a>done:chat{content:Hello|schema:CH}", Some("a"), 108),
        ("@a>req:plan{x:1}", None, 108),
        ("@a>req:chat{content:Hello}", None, 108),
    ] {
        let result = router.dispatch(&mut handled, &inbound(text));
        assert_eq!(result, Ok(gives.map(String::from)), "{text}");
        assert_eq!(handled, after, "{text}");
    }
    let rest = router.otherwise(|handled, inbound| {
        *handled = 0;
        inbound.text().to_string()
    });
    let text = "@a>req:plan{x:1}";
    assert_eq!(
        rest.dispatch(&mut handled, &inbound(text)),
        Ok(Some(text.into()))
    );
    assert_eq!(handled, 0);
}

#[test]
fn a_frame_that_is_not_what_it_says_is_an_error() {
    let error = |text| {
        router()
            .dispatch(&mut 0, &inbound(text))
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(error("@a>req:chat{role:user|schema:CH}"), @"E1004 at byte 31: expected the field `content`, which schema CH requires");
    insta::assert_snapshot!(error("@a>req:chat{content:Hello|schema:CH"), @"E1001 at byte 35: expected '|' or '}' after a value, found the end");
}

#[test]
fn is_shared_between_threads() {
    fn check<T: Send + Sync>(_: &T) {}
    check(&router());
}

/// Generates every standard frame of the registry: intent, operation, schema.
fn any_frame() -> impl Strategy<Value = (String, String, String)> {
    let registry = Registry::shared();
    let frames = registry.schemas().flat_map(|schema| {
        let one = |frame: &accp_registry::FrameSpec| {
            (
                String::from(frame.intent()),
                String::from(frame.operation()),
                schema.code.clone(),
            )
        };
        schema.frames.iter().map(one)
    });
    prop::sample::select(frames.collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn only_handlers_of_the_type_are_asked((intent, operation, schema) in any_frame()) {
        let text = format!("@a>{intent}:{operation}{{schema:{schema}}}");
        let router = Router::<(), ()>::new().on::<InferStream<'_>>(|(), _, _| ());
        let result = router.dispatch(&mut (), &inbound(&text));
        // The text lacks required fields. So `dispatch` fails exactly if it calls the handler.
        prop_assert_eq!(result.is_err(), intent == "stream");
    }

    #[test]
    fn takes_any_text(text in "@[a-z]>req:chat[{][ -~]{0,20}|[ -~]{0,40}") {
        let _ = router().dispatch(&mut 0, &inbound(&text));
    }
}
