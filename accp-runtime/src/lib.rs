//! Frames of ACCP, the Agent Context Compression Protocol: types, codec, no IO.
//!
//! A frame is one line of printable ASCII: who says what to whom, params under short keys,
//! and an envelope. There are three views of one:
//!
//! - [`Typed`]: a Rust type that derives [`AccpFrame`](macro@AccpFrame), checked against the
//!   registry at compile time and borrowed from the text. [`profiles`] holds the standard ones.
//! - [`Message`]: full names and values, by a [`Registry`] that is known at run time.
//! - [`Frame`]: the grammar and nothing else, for tools.
//!
//! ```
//! use accp_runtime::profiles::ScheduleReq;
//! use accp_runtime::{Message, Registry, Typed};
//!
//! let text = "@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}[mid:100001000001,seq:1]";
//!
//! let typed = Typed::<ScheduleReq>::decode(text)?;
//! assert_eq!(typed.frame.priority, "medium"); // the registry's default
//!
//! let message = Message::decode(text, &Registry::standard())?;
//! assert_eq!(message.to_json()["payload"]["assignee"], "dev");
//! # Ok::<(), accp_runtime::DecodeError>(())
//! ```
//!
//! # Features
//!
//! - `std` (default): [`Registry::shared`], registries from files. Without it the crate needs
//!   `alloc` only.
//! - `derive` (default): the derive macro and [`profiles`].
//! - `session` (default): [`session`], what two or more agents need to talk and lose nothing.
//! - `testing`: a simulated link, a virtual clock, a store in memory, proptest strategies.
//! - `rust_decimal`: `rust_decimal::Decimal` in fields of type `decimal`.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod agent;
#[cfg(feature = "session")]
mod check;
mod dynamic;
mod envelope;
mod error;
mod external;
mod externalise;
mod frame;
mod impls;
mod json;
pub mod kind;
mod lenient;
mod message;
mod prices;
mod private;
/// The frames of the standard profiles as types (draft sections 3.6 and 10), made from the
/// registry.
#[cfg(feature = "derive")]
pub mod profiles;
mod reader;
#[cfg(feature = "session")]
pub mod session;
#[cfg(feature = "testing")]
pub mod testing;
mod tokens;
mod typed;
mod value;
#[cfg(feature = "std")]
pub mod view;
mod writer;

/// For the code of `#[derive(AccpFrame)]` alone.
#[doc(hidden)]
pub mod __private {
    pub use crate::private::*;
}

#[cfg(feature = "derive")]
pub use accp_derive::AccpFrame;
pub use accp_registry::{Intent, Limits, Registry};

pub use agent::AgentId;
pub use envelope::Envelope;
pub use error::{DecodeError, EncodeError, ErrorCode};
pub use external::{External, Externals, Reason};
pub use frame::{Frame, Param, RawValue};
pub use lenient::{Repair, Shorthand};
pub use message::Message;
pub use prices::CachePrices;
pub use reader::{DecodeOptions, Header, Reader, Token};
pub use tokens::{FrameTokenLimits, FrameTokens, TokenCounter, TokenLimit, Within};
pub use typed::{DecodeFrame, DecodeValue, EncodeFrame, EncodeValue, FrameFamily, Typed};
pub use value::{Decimal, Map, Number, Value};
pub use writer::{EncodeOptions, Entries, FrameType, LONG_VALUE, Writer};
