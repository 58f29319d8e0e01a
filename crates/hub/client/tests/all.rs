//! The tests of this crate are one program, because each program is linked by itself.

mod agents;
mod guests;
mod waits;
