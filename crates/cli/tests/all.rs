//! All tests of this crate are one program, because linking a program for each file would take longer.

mod cli;
mod doors;
