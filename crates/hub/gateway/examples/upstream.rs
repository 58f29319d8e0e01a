//! Runs the provider of the tests as a process, for scripts: `upstream [RULES.json]`. It prints its URL. The file is
//! a list of rules such as `{"tool": "Bash", "input": {"command": "cat page{n}"}, "times": 9}`: the provider calls
//! this tool while a request offers it and its list has fewer than `times` results. `GET /_upstream/got` returns the
//! requests so far. `POST /_upstream/clear` resets the provider, `rules` changes the rules, and `wait` moves the
//! clock of the caches.

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
