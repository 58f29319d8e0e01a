//! The tests of this crate are one program, because each program is linked by itself.

#![allow(elided_lifetimes_in_paths, reason = "as a program writes it")]

mod agents;
mod guests;
mod waits;
