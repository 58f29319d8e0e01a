//! The frame grammar of ACCP (draft section 3.1) and the reference parser made from it.
//!
//! `accp.abnf` is the draft's grammar; `generate` (feature `generator`) makes `accp.pest`
//! out of it, with the decisions of `accp.overrides`; [`parse`] runs that on pest. It is
//! exact and explains itself, not fast: it gives the strict verdict and the byte of a
//! fault, and is the judge of the scanner in accp-runtime, which programs use.
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

pub mod ast;
mod cure;
mod error;
#[cfg(any(test, feature = "generator"))]
mod generate;
mod limits;
mod parse;
mod pest_parser;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;

pub use ast::Frame;
pub use error::{Expected, Fault, PeerError, SyntaxError};
#[cfg(any(test, feature = "generator"))]
pub use generate::{GenerateError, Source, check, generate};
pub use limits::Limits;
pub use parse::{parse, parse_bytes, parse_with};

/// The ABNF of draft section 3.1.
pub const ABNF: &str = include_str!("../accp.abnf");

/// The decisions that a PEG needs and the ABNF does not hold, each with its reason.
pub const OVERRIDES: &str = include_str!("../accp.overrides");

/// The pest grammar that the generator makes of the two, as checked in.
pub const PEST: &str = include_str!("../accp.pest");
