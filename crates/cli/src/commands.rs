//! The commands, one file each: `Args` holds the arguments of the command line, `run` does the
//! work.

pub(crate) mod aacp;
pub(crate) mod agent;
pub(crate) mod check;
pub(crate) mod collab;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod convert;
pub(crate) mod decode;
pub(crate) mod demo;
pub(crate) mod encode;
pub(crate) mod erase;
pub(crate) mod explain;
pub(crate) mod fix;
pub(crate) mod gateway;
pub(crate) mod generate;
pub(crate) mod grammar;
pub(crate) mod man;
pub(crate) mod new;
pub(crate) mod primer;
pub(crate) mod ready;
pub(crate) mod recover;
pub(crate) mod registry;
pub(crate) mod send;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod tail;
pub(crate) mod tokens;
