//! All code that reads and writes files: cold state, the archive, and the index.

mod cold;
mod context;
mod error;
pub mod index;
mod named;
pub mod read;
pub mod tools;
mod writer;

pub use cold::ColdError;
pub use context::{Compressed, Context};
pub use error::ContextError;
