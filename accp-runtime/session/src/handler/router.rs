//! Dispatch of frames to handlers.
use std::fmt;

use crate::interface::inbound::Inbound;
use crate::interface::outbound::asks;
use crate::state::takers::{OTHERS, head};
use accp_frame::__private::FrameTypes;
use accp_frame::{DecodeError, DecodeFrame, FrameFamily, Header, Typed};

/// Hands frames to handlers by their type.
///
/// Handlers get the application's state `S` and return an `R`. Both are up to the application: `R`
/// may be the replies, a future, or nothing.
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
    /// The heads of the requests that the route takes; `None` if the type of the route does not name its frames.
    heads: Option<Vec<String>>,
    accepts: fn(&Header<'_>, Option<&str>) -> bool,
    handle: Box<Handle<S, R>>,
}

type Handle<S, R> = dyn Fn(&mut S, &Inbound) -> Result<R, DecodeError> + Send + Sync;

impl<S, R> Router<S, R> {
    /// Makes a router without handlers.
    pub const fn new() -> Self {
        Self {
            routes: Vec::new(),
            otherwise: None,
        }
    }

    /// Hands frames of type `T` to `handler`. If a frame fits two types, the type that was
    /// registered first gets it.
    pub fn on<T: FrameFamily>(
        mut self,
        handler: impl for<'a> Fn(&mut S, Typed<'a, T::Frame<'a>>, &'a Inbound) -> R
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.routes.push(Route {
            heads: heads_of(T::Frame::TYPES),
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

    /// Returns the requests that the handlers take, in the form of [`Input::Takes`](crate::Input::Takes): each as
    /// `req:note:NOTE`. The list has `*` if [`otherwise`](Self::otherwise) takes all others, or if a handler's type
    /// is hand-written and does not name its frames.
    ///
    /// ```
    /// use accp_runtime::profiles::{ChatReq, ScheduleReq};
    /// use accp_runtime::session::Router;
    ///
    /// let router = Router::<(), ()>::new().on::<ScheduleReq>(|_, _, _| ()).on::<ChatReq>(|_, _, _| ());
    /// assert_eq!(router.heads(), ["req:schedule:TA", "req:chat:CH"]);
    /// ```
    pub fn heads(&self) -> Vec<String> {
        let routes = self.routes.iter();
        let known = routes.clone().filter_map(|route| route.heads.as_ref());
        let mut heads: Vec<_> = known.flatten().cloned().collect();
        if self.otherwise.is_some() || routes.into_iter().any(|route| route.heads.is_none()) {
            heads.push(OTHERS.to_owned());
        }
        heads
    }

    /// Returns whether the frame would get to a handler, or to [`otherwise`](Self::otherwise).
    pub fn takes(&self, inbound: &Inbound) -> bool {
        self.otherwise.is_some() || self.route(inbound).is_ok_and(|route| route.is_some())
    }

    fn route(&self, inbound: &Inbound) -> Result<Option<&Route<S, R>>, DecodeError> {
        let (header, schema) = inbound.head()?;
        let mut routes = self.routes.iter();
        Ok(routes.find(|route| (route.accepts)(&header, schema)))
    }

    /// Hands a frame to the first handler whose type fits the frame, or else to [`otherwise`](Self::otherwise).
    /// Returns the handler's result, or `None` if there is no handler for the frame. The intent, the operation and
    /// the schema choose the handler. The frame is decoded only as the type of this handler.
    ///
    /// # Errors
    /// As [`Typed::decode`], when the frame has the intent, operation and schema of a handler's type, but cannot be
    /// decoded as this type.
    pub fn dispatch(&self, state: &mut S, inbound: &Inbound) -> Result<Option<R>, DecodeError> {
        if let Some(route) = self.route(inbound)? {
            return (route.handle)(state, inbound).map(Some);
        }
        let otherwise = self.otherwise.as_ref();
        otherwise.map(|handle| handle(state, inbound)).transpose()
    }
}

/// Returns the heads of the requests among these frame types; `None` if one of the types does not name its frames.
fn heads_of(types: FrameTypes) -> Option<Vec<String>> {
    let mut heads = Vec::new();
    types.each(&mut |frame| {
        if asks(frame.intent) {
            heads.push(head(frame.intent, frame.operation, frame.schema));
        }
    });
    (!types.has_unknown()).then_some(heads)
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
