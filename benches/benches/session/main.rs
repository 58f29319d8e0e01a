//! What a session costs: `cargo bench --manifest-path benches/Cargo.toml --bench session`.
//! What it takes of memory is a bench of its own, `--bench session_memory`.
//!
//! Names behind `--` (`receive`, `expiry`, `restore`, `growth`) choose among the parts.

mod expiry;
mod growth;
mod log;
mod receive;
mod restore;

use accp_bench::talk::SESSION;
use accp_store::SideId;

/// The host's side of the session that is measured.
fn side() -> SideId {
    SideId::new(SESSION, "hub")
}

fn main() {
    let parts: [(&str, fn()); 4] = [
        ("receive", receive::bench),
        ("expiry", expiry::bench),
        ("restore", restore::bench),
        ("growth", growth::bench),
    ];
    // Cargo says `--bench` too.
    let chosen: Vec<_> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    for (name, bench) in parts {
        if chosen.is_empty() || chosen.iter().any(|chosen| chosen == name) {
            bench();
        }
    }
}
