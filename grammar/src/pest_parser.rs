//! The parser that pest makes of `accp.pest`: its rules have the names of the ABNF.
#![allow(unreachable_pub, clippy::pedantic)]

#[derive(pest_derive::Parser)]
#[grammar = "accp.pest"]
pub(crate) struct FrameParser;
