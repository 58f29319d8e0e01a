//! Pictures, documents, sounds and other media: what a provider bills for them.

mod medium;
mod price;
mod probe;

pub use medium::{Detail, Medium};
pub use price::MediaPrices;
