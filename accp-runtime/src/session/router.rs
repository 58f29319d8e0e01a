//! Which handler a frame goes to.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::Inbound;
use crate::{DecodeError, DecodeFrame, DecodeOptions, FrameFamily, Header, Reader, Typed};

/// Hands frames to handlers by their type.
///
/// Handlers get the application's state `S` and give an `R`, both of which are the
/// application's own business: `R` may be the replies, a future, or nothing.
///
/// ```
/// use accp_runtime::profiles::{ChatReq, ScheduleReq};
/// use accp_runtime::session::{CancelToken, Inbound, MemberId, Router};
///
/// #[derive(Default)]
/// struct Agent {
///     tasks: Vec<String>,
///     heard: Vec<String>,
/// }
///
/// let router = Router::<Agent, &str>::new()
///     .on::<ScheduleReq>(|agent, request, _| {
///         agent.tasks.push(request.frame.task.to_string());
///         "scheduled"
///     })
///     .on::<ChatReq>(|agent, message, inbound| {
///         agent.heard.push(format!("{}: {}", message.agent, message.frame.content));
///         assert!(!inbound.cancel_token().is_cancelled());
///         "heard"
///     })
///     .otherwise(|_, _| "left alone");
///
/// let mut agent = Agent::default();
/// let mut take = |text: &str| {
///     let inbound = Inbound::new(1, MemberId::HOST, text.into(), CancelToken::new());
///     router.dispatch(&mut agent, &inbound)
/// };
/// assert_eq!(take("@p>req:schedule{asgn:dev|task:impl_auth|schema:TA}[mid:a,seq:1]")?, Some("scheduled"));
/// assert_eq!(take("@p>req:chat{content:Hello|schema:CH}[mid:b,seq:2]")?, Some("heard"));
/// assert_eq!(take("@p>done:plan{}[mid:c,seq:3]")?, Some("left alone"));
/// assert_eq!((agent.tasks, agent.heard), (vec!["impl_auth".into()], vec!["p: Hello".into()]));
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
pub struct Router<S, R> {
    routes: Vec<Route<S, R>>,
    otherwise: Option<Box<Handle<S, R>>>,
}

struct Route<S, R> {
    accepts: fn(&Header<'_>, Option<&str>) -> bool,
    handle: Box<Handle<S, R>>,
}

type Handle<S, R> = dyn Fn(&mut S, &Inbound) -> Result<R, DecodeError> + Send + Sync;

impl<S, R> Router<S, R> {
    /// A router without handlers.
    pub const fn new() -> Self {
        Self {
            routes: Vec::new(),
            otherwise: None,
        }
    }

    /// Hands frames of type `T` to `handler`. Of two types that a frame fits, the one that
    /// was registered first gets it.
    pub fn on<T: FrameFamily>(
        mut self,
        handler: impl for<'a> Fn(&mut S, Typed<'a, T::Frame<'a>>, &'a Inbound) -> R
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.routes.push(Route {
            accepts: |header, schema| T::Frame::accepts(header, schema),
            handle: Box::new(move |state, inbound| {
                let typed = inbound.decode::<T::Frame<'_>>()?;
                Ok(handler(state, typed, inbound))
            }),
        });
        self
    }

    /// Hands every other frame to `handler`.
    pub fn otherwise(
        mut self,
        handler: impl Fn(&mut S, &Inbound) -> R + Send + Sync + 'static,
    ) -> Self {
        self.otherwise = Some(Box::new(move |state, inbound| Ok(handler(state, inbound))));
        self
    }

    /// Hands a frame to the first handler whose type it is, and gives what comes of it;
    /// `None` when there is no such handler. Intent, operation and schema choose the handler,
    /// and only its type is decoded.
    ///
    /// # Errors
    /// As [`Typed::decode`]: the frame says that it is of the type, and is not.
    pub fn dispatch(&self, state: &mut S, inbound: &Inbound) -> Result<Option<R>, DecodeError> {
        let mut r = Reader::new(inbound.text(), DecodeOptions::default())?;
        let header = r.header()?;
        let schema = r.schema_ahead()?;
        let mut routes = self.routes.iter();
        if let Some(route) = routes.find(|route| (route.accepts)(&header, schema)) {
            return (route.handle)(state, inbound).map(Some);
        }
        let otherwise = self.otherwise.as_ref();
        otherwise.map(|handle| handle(state, inbound)).transpose()
    }
}

impl<S, R> Default for Router<S, R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S, R> fmt::Debug for Router<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router")
            .field("handlers", &self.routes.len())
            .field("otherwise", &self.otherwise.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString as _};

    use accp_registry::Registry;
    use proptest::prelude::*;

    use super::*;
    use crate::profiles::{ChatMessageFrame, ChatReq, InferStream, ToolDone};
    use crate::session::{CancelToken, MemberId};

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

    /// Every standard frame as the registry describes it: intent, operation, schema.
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
            let text = alloc::format!("@a>{intent}:{operation}{{schema:{schema}}}");
            let router = Router::<(), ()>::new().on::<InferStream<'_>>(|(), _, _| ());
            let result = router.dispatch(&mut (), &inbound(&text));
            // Its required fields are missing, so a handler that is asked gives an error.
            prop_assert_eq!(result.is_err(), intent == "stream");
        }

        #[test]
        fn takes_any_text(text in "@[a-z]>req:chat[{][ -~]{0,20}|[ -~]{0,40}") {
            let _ = router().dispatch(&mut 0, &inbound(&text));
        }
    }
}
