//! The tests of this crate are one program, because each program is linked by itself.

mod aliases;
mod diff;
mod format;
mod formats;
mod kinds;
mod lexical;
mod model;
mod nulls;
mod problems;
mod profiles;
mod tables;
mod unions;
