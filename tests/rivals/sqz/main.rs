//! Compresses requests as `sqz proxy` does, with its defaults: one OpenAI request a line from stdin, the compressed
//! request a line to stdout. The proxy itself reads at most one network packet of a request.

use std::io::{self, BufRead as _, Write as _};

use sqz_engine::{ApiFormat, ProxyConfig, SqzEngine, compress_request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = SqzEngine::new()?;
    let config = ProxyConfig::default();
    for line in io::stdin().lock().lines() {
        let (body, _) = compress_request(&line?, ApiFormat::OpenAi, &config, &engine)?;
        writeln!(io::stdout(), "{body}")?;
    }
    Ok(())
}
