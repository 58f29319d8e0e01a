//! A shop asks a bank for a refund. The bank runs in its own process, and the shop kills this process in the middle.
//!
//! `cargo run -p demo` from the top of the workspace plays it, and says what happens.

mod bank;
mod link;
mod shop;

use std::error::Error;
use std::path::Path;

/// The types of the frames. `build.rs` makes them from `registry/refunds.json`.
mod frames {
    include!(concat!(env!("OUT_DIR"), "/accp.rs"));
}

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let folder = std::env::temp_dir().join(format!("accp-demo-{}", std::process::id()));
            std::fs::create_dir(&folder)?;
            let played = shop::play(&folder);
            std::fs::remove_dir_all(&folder)?;
            played
        }
        ["bank", folder] => bank::run(Path::new(folder)),
        _ => Err("usage: demo".into()),
    }
}
