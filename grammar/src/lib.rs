//! The grammars of frames (ACCP, draft section 3.1) and of packets (AACP, draft section 4), and the
//! reference parsers made from them.
//!
//! `accp.abnf` is the draft's grammar. The generator (feature `generator`) makes `accp.pest` from it, with the
//! decisions of `accp.overrides`. A [`Grammar`] names the files that make the grammar of a protocol: [`ACCP`] and
//! [`AACP`]. [`parse()`] runs `accp.pest` on pest, and [`aacp`] does so with `aacp.pest`. These parsers are exact and
//! explain their errors, but they are not fast. Programs use faster scanners. Tests compare the scanners with these
//! parsers: the verdict and the byte of a fault must be the same.
//!
//! ```
//! let frame = accp_grammar::parse("@planner>req:schedule{who:dev_team|pri:high}[mid:1,seq:2]")?;
//! assert_eq!(frame.operation, "schedule");
//! assert_eq!(frame.payload[1].key, "pri");
//!
//! let error = accp_grammar::parse("@planner>req:schedule{who:@dev_team}").unwrap_err();
//! assert_eq!(error.at(), 26);
//! assert_eq!(error.cure(), Some(
//!     r"'@' starts an agent id and must be escaped as '\@' inside a value; `accp fix` repairs it"
//! ));
//! # Ok::<(), accp_grammar::SyntaxError>(())
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod aacp;
pub mod ast;
mod cure;
mod error;
#[cfg(any(test, feature = "generator"))]
mod generate;
mod grammar;
mod limits;
mod parse;
mod pest_parser;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;

pub use ast::Frame;
pub use error::{Expected, Fault, PeerError, SyntaxError};
#[cfg(any(test, feature = "generator"))]
pub use generate::{Abnf, GenerateError, Source};
pub use grammar::{AACP, ACCP, Grammar};
pub use limits::Limits;
pub use parse::{parse, parse_bytes, parse_with};

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
