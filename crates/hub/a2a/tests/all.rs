//! All tests of this crate are one program, because the build links each test program by itself, which takes time.

mod answers;
mod bounds;
mod pool;
mod remote;
mod streams;
mod support;
mod tasks;
