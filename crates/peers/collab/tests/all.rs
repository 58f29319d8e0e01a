//! All tests of this crate are one program, because linking a program for each file would take longer.

mod fold;
mod frames;
mod link;
mod lock;
mod protocol;
mod requirements;
mod table;
mod walks;
