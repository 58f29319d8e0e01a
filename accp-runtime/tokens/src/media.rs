//! Pictures, documents and sounds: what a provider bills for them. None is counted by the length of its bytes.

mod medium;
mod price;
mod probe;

pub use medium::{Detail, Medium};
pub use price::MediaPrices;
