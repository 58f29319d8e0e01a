//! All tests of this crate, in one program: a program for each file would have to be linked by itself.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod common;
mod continuations;
mod disk;
mod growth;
mod lists;
mod media;
mod persisted;
mod policies;
mod recovery;
mod requirements;
mod rounds;
mod rules;
mod savings;
mod second;
mod sent;
mod thoughts;
mod tools;
mod typed;
mod views;
