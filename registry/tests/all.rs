//! All tests of this crate are one program, because linking a program for each file would take longer.

mod aliases;
mod diff;
mod format;
mod formats;
mod kinds;
mod large;
mod lexical;
mod model;
mod nulls;
mod problems;
mod profiles;
mod tables;
mod tools;
mod unions;
