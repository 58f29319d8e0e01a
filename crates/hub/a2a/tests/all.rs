//! The tests of this crate are one program, because each program is linked by itself.

mod answers;
mod bounds;
mod pool;
mod remote;
mod streams;
mod support;
mod tasks;
