//! The tests of this crate are one program, because each program is linked by itself.

mod fold;
mod frames;
mod link;
mod lock;
mod protocol;
mod requirements;
mod table;
mod walks;
