//! AACP packets, version 1.1: one spelling for one instruction, checked before it is sent, and logged unchanged. Only
//! the features `sqlite` and `http` of this crate do IO.
//!
//! A packet is one line, `TASK|DOM|key:value|..`. [`Packet`] reads it and borrows from it,
//! [`PacketBuf`] makes it from parts, and types that derive [`AacpPacket`] carry its fields.
//!
//! ```
//! use accp_aacp::{Packet, PacketBuf};
//!
//! let packet = PacketBuf::new("LOG", "HR", [("return", "AUD-Agent"), ("aacp", "1.1")])?;
//! assert_eq!(Packet::parse(packet.text())?.task(), "LOG");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "bridge")]
pub mod bridge;
mod class;
mod english;
mod error;
#[cfg(feature = "fallback")]
pub mod fallback;
mod finding;
mod limits;
mod lint;
mod owned;
mod packet;
#[cfg(feature = "derive")]
mod private;
mod scan;
mod typed;
mod validate;
mod value;
mod vocabulary;
mod workflow;
mod writer;

/// Functions for the code that the derive writes. They change with the derive.
#[cfg(feature = "derive")]
#[doc(hidden)]
pub mod __private {
    pub use crate as root;
    pub use crate::private::*;
}

#[cfg(feature = "derive")]
pub use accp_derive::AacpPacket;
#[cfg(feature = "derive")]
pub use accp_frame::IntoOwned;
pub use error::{DecodeError, ValueError, WriteError};
pub use finding::{Code, Finding, Severity};
pub use limits::Limits;
pub use lint::{Advice, Note, lint};
pub use owned::PacketBuf;
pub use packet::Packet;
pub use typed::{AacpPacket, DecodePacket, EncodePacket};
pub use validate::{Report, Validator, validate};
pub use value::{PacketValue, ValueWriter};
pub use vocabulary::{Key, Kind, Vocabulary, Word};
pub use workflow::{Hop, Keywords, Parameter, Rewrite, Workflow, WorkflowError};
pub use writer::PacketWriter;

/// The media type of a packet as the payload of another protocol, as one text part of MCP or A2A (draft
/// sections 11 and 16). It is private: no registry of media types has it.
pub const MEDIA_TYPE: &str = "application/aacp";

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
