//! Makes frames for a host that a sender reaches without a session, for example by HTTP.

use std::borrow::Cow;

use accp_registry::Registry;

use crate::interface::outbound::{A_TAKER, Outbound, SendError, TO, asks};
use crate::interface::output::Cold;
use crate::log::mid::MemberId;
use crate::options::Options;
use crate::send::encode::{Composed, Encoder, Peer};
use crate::wire::addressee::of_field;
use crate::wire::scan::Scanned;
use accp_context::Time;

/// The frames and values of an encoded message.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedFrames {
    /// The frames, in the order in which they must be sent.
    pub frames: Vec<String>,
    /// The values that the frames refer to. They go to cold state first.
    pub values: Vec<Cold>,
}

/// Returns the frames of a message as a session would send them (draft section 7.2): values that are too long for a
/// frame go by reference, and the frames that announce these values come first. The frames lack `mid` and `seq`.
///
/// This is for senders without a session, for example by a POST of HTTP. `member` is the number of the sender in
/// the session, and `last_put` is the number of the last value that the sender has put.
///
/// ```
/// use std::sync::Arc;
///
/// use accp_runtime::session::{MemberId, Options, Outbound, Time};
/// use accp_runtime::{AgentId, DynamicFrame, Registry};
/// use accp_session::compose;
///
/// let options = Options::new("lunch", AgentId::new("dev")?, Arc::new(Registry::standard()));
/// let member = MemberId::new(101).expect("the number of a member");
/// let message = DynamicFrame::new("dev", "req", "plan")?.with("goal", "x".repeat(51));
/// let made = compose(&Outbound::message(&message), &options, member, 3, Time::from_secs(1_714_000_000))?;
/// assert_eq!(made.frames[1], "@dev>req:plan{goal:$cold.k101_4}[ts:1714000000]");
/// assert!(made.frames[0].starts_with("@dev>sync:put{keys:[[k101_4,"));
/// assert_eq!(made.values[0].key, "k101_4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`Session::send`](crate::Session::send), as far as the message itself is at fault.
pub fn compose(
    outbound: &Outbound<'_>,
    options: &Options,
    member: MemberId,
    last_put: u64,
    now: Time,
) -> Result<EncodedFrames, SendError> {
    let encoder = Encoder {
        registry: &options.registry,
        limits: options.limits,
        frame_tokens: options.frame_tokens,
        counter: options.counter.as_deref().map(|counter| counter as _),
        agent: &options.agent,
        announcer: None,
        session: &options.session,
        member,
        last_put,
        peer: Peer::References,
        now,
    };
    let made = encoder.encode(outbound)?;
    Ok(EncodedFrames {
        frames: made.frames.iter().map(Composed::unnumbered).collect(),
        values: made.values,
    })
}

/// Returns a frame as a question to one agent: a `req` or a `qry` that names no agent leaves the choice to the host, as
/// [`Outbound::to_a_taker`] does. A frame that names an agent, says that it is for all (`to:~`), asks nothing or cannot be read
/// comes back as it is.
///
/// This is for senders without a session that wait for the answer, as by a POST of HTTP with `Prefer: wait`.
///
/// ```
/// use accp_runtime::Registry;
/// use accp_session::asking;
///
/// let registry = Registry::standard();
/// let chat = "@dev>req:chat{content:hello|schema:CHAT}[mid:0,seq:0]";
/// assert_eq!(asking(chat, &registry), "@dev>req:chat{content:hello|schema:CHAT}[mid:0,seq:0,to:?]");
/// let task = "@dev>req:schedule{assignee:lab|schema:TA}[mid:0,seq:0]";
/// assert_eq!(asking(task, &registry), task);
/// ```
pub fn asking<'f>(frame: &'f str, registry: &Registry) -> Cow<'f, str> {
    let Ok(scanned) = Scanned::of_entry(frame) else {
        return frame.into();
    };
    let is_for_somebody = scanned.envelope.extra.get(TO).is_some()
        || !matches!(of_field(registry, &scanned), Ok(None));
    let metadata = frame.get(scanned.end..).unwrap_or_default();
    match metadata.strip_suffix(']') {
        Some(pairs) if asks(scanned.intent) && !is_for_somebody => {
            let comma = if pairs == "[" { "" } else { "," };
            let head = scanned.head();
            format!("{head}{pairs}{comma}{TO}:{A_TAKER}]").into()
        }
        _ => frame.into(),
    }
}
