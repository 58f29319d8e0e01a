//! All tests of this crate are one program, because linking a program for each file would take longer.

mod errors;
mod evolution;
mod foreign;
mod keys;
mod lossless;
mod nulls;
mod order;
mod unions;
