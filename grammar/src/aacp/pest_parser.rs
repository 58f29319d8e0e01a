//! The parser that pest makes from `aacp.pest`. The rules have the same names as in the ABNF.
#![allow(unreachable_pub, clippy::pedantic)]

#[derive(pest_derive::Parser)]
#[grammar = "aacp.pest"]
pub(crate) struct PacketParser;
