//! Frames of ACCP, the Agent Context Compression Protocol: types, codec, no IO.
//!
//! Depend on `accp-runtime`, which re-exports this whole crate. Begin with the documentation of `accp-runtime`.
//!
//! # Features
//!
//! - `std` (default): [`Registry::shared`], registries from files. Without it the crate needs
//!   `alloc` only.
//! - `derive` (default): the derive macro and [`profiles`].
//! - `serde`: `Serialize` and `Deserialize` for [`AgentId`], [`Decimal`], [`Value`], [`Map`] and [`formats`], in
//!   the form of [`Value::to_json`].
//! - `words`: frames in plain words, for people.
//! - `rust_decimal`, `chrono`, `time`, `uuid`, `url`: types of these crates in fields; [`kind`] lists them.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod agent;
mod check;
mod dynamic;
mod dynamic_frame;
mod envelope;
mod error;
mod exact;
mod external;
mod externalise;
pub mod formats;
mod frame;
mod frame_types;
mod impls;
mod into_owned;
mod json;
pub mod kind;
mod lenient;
pub mod parsed;
mod private;
/// The frames of the standard profiles as types (draft sections 3.6 and 10), generated from the
/// registry.
#[cfg(feature = "derive")]
pub mod profiles;
mod reader;
mod record;
mod record_scope;
mod scalar;
#[cfg(feature = "serde")]
mod serde;
mod tokens;
mod tool;
mod typed;
mod value;
mod warnings;
#[cfg(feature = "words")]
pub mod words;
mod writer;

/// Only for the code that `#[derive(AccpFrame)]` generates.
#[doc(hidden)]
pub mod __private {
    pub use crate as root;
    pub use crate::private::*;
}

/// Only for `accp-context` and `accp-session`. The items change whenever these crates need it.
#[doc(hidden)]
pub mod __internal {
    pub use crate::check::CheckedFrame;
    pub use crate::dynamic::full_name;
    pub use crate::frame::read_bytes;
    pub use crate::impls::wrong;
    pub use crate::scalar::{plain, wanted};
    pub use crate::value::{are_others, into_pair};
}

#[cfg(feature = "derive")]
pub use accp_derive::AccpFrame;
pub use accp_registry::{Intent, Limits, Registry};

pub use agent::AgentId;
pub use dynamic_frame::DynamicFrame;
pub use envelope::Envelope;
pub use error::{DecodeError, EncodeError, ErrorCode};
pub use exact::{Exact, exact_numbers};
pub use external::{External, Externals, Reason};
pub use frame::{Frame, Param, RawValue};
pub use into_owned::IntoOwned;
pub use lenient::{Repair, Shorthand};
pub use reader::{DecodeOptions, Header, Reader, Token};
pub use tokens::{FrameTokenLimits, FrameTokens, TokenCounter, TokenLimit, Within};
pub use tool::ToolCallError;
pub use typed::{DecodeFrame, DecodeValue, EncodeFrame, FrameFamily, Typed};
pub use value::{Decimal, Map, Number, Value};
pub use writer::{Absent, EncodeOptions, EncodeValue, Entries, FrameType, LONG_VALUE, Writer};

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
