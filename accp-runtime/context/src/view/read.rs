//! Reading of views.

mod blocks;
mod cursor;
mod lenient;
mod members;
mod mistake;
mod prose;
mod spelling;
mod values;

pub(super) use blocks::{blocks, value};
pub use mistake::Mistake;
pub(super) use prose::lenient_blocks;
