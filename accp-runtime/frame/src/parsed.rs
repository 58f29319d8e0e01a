//! A conversion for `#[accp(with = accp_runtime::parsed)]`: a field of a text type can hold any Rust type that
//! implements [`FromStr`] and [`Display`].
//!
//! ```
//! use std::net::IpAddr;
//!
//! use accp_runtime::{AccpFrame, Typed};
//!
//! #[derive(AccpFrame)]
//! #[accp(intent = "req", operation = "ping")]
//! struct Ping {
//!     #[accp(with = accp_runtime::parsed)]
//!     host: IpAddr,
//! }
//!
//! let ping = Typed::<Ping>::decode("@a>req:ping{host:10.0.0.1}")?;
//! assert_eq!(ping.frame.host, IpAddr::from([10, 0, 0, 1]));
//! assert!(Typed::<Ping>::decode("@a>req:ping{host:here}").is_err());
//! # Ok::<(), accp_runtime::DecodeError>(())
//! ```
//!
//! The registry still checks the text: in a field of type `uuid`, for example, the Rust type must write a UUID.

use alloc::string::{String, ToString as _};
use core::convert::Infallible;
use core::fmt::Display;
use core::str::FromStr;

/// Returns the text of a value.
///
/// # Errors
/// Never.
pub fn encode<T: Display>(value: &T) -> Result<String, Infallible> {
    Ok(value.to_string())
}

/// Returns the value of a text.
///
/// # Errors
/// When the type refuses the text.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a conversion takes the value that was read"
)]
pub fn decode<T: FromStr>(text: String) -> Result<T, T::Err> {
    text.parse()
}
