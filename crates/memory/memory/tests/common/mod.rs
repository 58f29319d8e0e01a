//! Helpers that several tests share.

// Each test uses only some of these modules.
#![allow(dead_code)]

pub(crate) mod forms;
pub(crate) mod junk;
pub(crate) mod lists;
pub(crate) mod plant;
pub(crate) mod quarters;
pub(crate) mod recorded;
