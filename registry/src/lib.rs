//! The ACCP schema registry: its model, the standard profiles and tables, and the lexical
//! rules that every codec of the protocol shares.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod decimal;
pub mod lexical;

pub use decimal::{Decimal, DecimalError};
