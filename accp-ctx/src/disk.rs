//! What reads and writes files.

pub mod index;
pub mod read;
