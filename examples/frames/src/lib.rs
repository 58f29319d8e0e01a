//! The frames of our agents, and nothing else.
//!
//! `build.rs` makes these types of the files in `registry`. A crate that has the same registry takes them from here
//! by `Builder::extern_path("RF", "::frames")`.

include!(concat!(env!("OUT_DIR"), "/accp.rs"));
