//! The costs of a session: `cargo bench --manifest-path benches/Cargo.toml --bench session`.
//! Another bench measures the memory of a session: `--bench session_memory`.
//!
//! Names after `--` (`receive`, `expiry`, `restore`, `broadcast`, `growth`) choose the parts to run.

mod broadcast;
mod expiry;
mod growth;
mod log;
mod receive;
mod restore;

use accp_bench::talk::SESSION;
use accp_store::SideId;

/// Returns the host's side of the measured session.
fn side() -> SideId {
    SideId::new(SESSION, "hub")
}

fn main() {
    let parts: [(&str, fn()); 5] = [
        ("receive", receive::bench),
        ("expiry", expiry::bench),
        ("restore", restore::bench),
        ("broadcast", broadcast::bench),
        ("growth", growth::bench),
    ];
    // Cargo adds `--bench` to the arguments.
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
