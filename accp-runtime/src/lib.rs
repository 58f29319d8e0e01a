//! ACCP frames, values and codec, with no IO.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod agent;
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
mod limits;
mod message;
mod private;
/// The frames of the standard profiles as types (draft sections 3.6 and 10), made from the
/// registry.
#[cfg(feature = "derive")]
pub mod profiles;
mod reader;
mod tokens;
mod typed;
mod value;
mod writer;

/// For the code of `#[derive(AccpFrame)]` alone.
#[doc(hidden)]
pub mod __private {
    pub use crate::private::*;
}

#[cfg(feature = "derive")]
pub use accp_derive::AccpFrame;
pub use accp_registry::{Intent, Registry};

pub use agent::AgentId;
pub use envelope::Envelope;
pub use error::{DecodeError, EncodeError, ErrorCode};
pub use external::{External, Externals, Reason};
pub use frame::{Frame, Param, RawValue};
pub use lenient::{Repair, Shorthand};
pub use limits::Limits;
pub use message::Message;
pub use reader::{DecodeOptions, Header, Reader, Token};
pub use tokens::{FrameTokenLimits, FrameTokens, TokenCounter, TokenLimit, Within};
pub use typed::{DecodeFrame, DecodeValue, EncodeFrame, EncodeValue, Typed};
pub use value::{Decimal, Map, Number, Value};
pub use writer::{EncodeOptions, Entries, FrameType, LONG_VALUE, Writer};
