//! All tests of this crate are one program, because each program more would have to be linked.

mod cli;
mod doors;
