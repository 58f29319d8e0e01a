//! The tests of this crate are one program, because each program is linked by itself.

mod errors;
mod evolution;
mod foreign;
mod keys;
mod lossless;
mod nulls;
mod order;
mod unions;
