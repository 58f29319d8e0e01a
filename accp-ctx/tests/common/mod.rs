//! What several tests share.

// Each test uses a part.
#![allow(dead_code)]

pub mod lists;
pub mod plant;
pub mod render;
