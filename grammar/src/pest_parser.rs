//! The parser that pest makes from `accp.pest`. The rules have the same names as in the ABNF.
#![allow(unreachable_pub, clippy::pedantic)]

#[derive(pest_derive::Parser)]
#[grammar = "accp.pest"]
pub(crate) struct FrameParser;
