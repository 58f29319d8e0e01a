//! A support desk in two processes: a shop with customers, orders and money, and a desk whose model decides what
//! happens to a case. Both talk over TCP. Each process may be killed at any time.

mod demo;
mod desk;
mod link;
mod model;
mod shop;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// The frames as types that borrow from the text of a frame.
mod frames {
    include!(concat!(env!("OUT_DIR"), "/accp.rs"));
}

/// The frames as types that own their texts.
mod owned {
    include!(concat!(env!("OUT_DIR"), "/owned.rs"));
}

/// The session of the shop and the desk.
const SESSION: &str = "support";

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let run = match args[..] {
        ["desk", folder] => desk::run(Path::new(folder)),
        ["shop", folder, address] => shop::run(Path::new(folder), address),
        ["demo", folder, victim, line] => line
            .parse()
            .map_err(Into::into)
            .and_then(|line| demo::run(Path::new(folder), victim, line)),
        _ => Err("desk FOLDER | shop FOLDER ADDRESS | demo FOLDER VICTIM LINE".into()),
    };
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
