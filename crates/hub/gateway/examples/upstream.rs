//! The provider of the tests as a process, for scripts: `upstream [RULES.json]`. It prints its URL. The file is a list of
//! `{"tool": "Bash", "input": {"command": "cat page{n}"}, "times": 9}`: it calls a tool that a request offers, until the list has
//! so many results. `GET /_upstream/got` says what came; `POST /_upstream/clear`, `rules` and `wait` begin anew, change the
//! rules, and move the clock of the caches.

#![allow(clippy::unwrap_used, reason = "a tool of the tests")]

#[path = "../tests/upstream/mod.rs"]
mod upstream;

#[tokio::main]
async fn main() {
    let rules = std::env::args().nth(1);
    let (upstream, url) = upstream::Upstream::start().await;
    if let Some(file) = rules {
        let text = std::fs::read_to_string(file).unwrap();
        upstream.set_rules(&text);
    }
    println!("{url}");
    std::future::pending::<()>().await;
}
