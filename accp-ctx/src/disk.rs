//! What reads and writes files: cold state, the archive, and the index.

mod cold;
mod context;
pub mod index;
pub mod read;

pub use cold::ColdError;
pub use context::{Compressed, Context, ContextError, Options};
