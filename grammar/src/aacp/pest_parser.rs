//! The parser that pest makes of `aacp.pest`: its rules have the names of the ABNF.
#![allow(unreachable_pub, clippy::pedantic)]

#[derive(pest_derive::Parser)]
#[grammar = "aacp.pest"]
pub(crate) struct PacketParser;
