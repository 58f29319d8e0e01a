//! The tests of this crate are one program, because each program is linked by itself.

mod compile_fail;
mod generics;
mod items;
