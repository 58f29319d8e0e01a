//! What a session costs: `cargo bench --manifest-path benches/Cargo.toml --bench session`.
//!
//! `receive` takes a typed frame through all checks (grammar, speaker, envelope, id, number,
//! expiry, chain, schema and types, references), folds it, makes the batch, decodes it for a
//! handler and marks it handled. Nothing is counted, stored or sent.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
use accp_runtime::session::{Host, MemberId, Options, Rules, Scope, Session, Time};
use accp_runtime::{AgentId, Registry};

const FRAMES: u64 = 200_000;

fn main() {
    let now = Time::from_secs(1_714_000_000);
    let texts: Vec<String> = (1..=FRAMES).map(frame).collect();
    let mut best = f64::MAX;
    for _ in 0..5 {
        let (mut host, member) = open(now);
        let started = Instant::now();
        let mut handled = 0;
        for chunk in texts.chunks(64) {
            for text in chunk {
                host.receive(member, text.as_bytes(), now);
            }
            while let Some(batch) = host.poll_batch(now) {
                for inbound in batch.inbound {
                    if inbound.text().contains(">req:") {
                        black_box(&inbound.decode::<ScheduleReq<'_>>().expect("a task").frame);
                    } else {
                        black_box(&inbound.decode::<ScheduleDone<'_>>().expect("a report").frame);
                    }
                    host.handled(inbound.position(), &[], now).expect("it waits");
                    handled += 1;
                }
            }
        }
        assert_eq!(handled, FRAMES);
        best = best.min(started.elapsed().as_secs_f64());
    }
    println!("receive: {:.2} million frames a second", FRAMES as f64 / best / 1e6);
}

fn open(now: Time) -> (Session<Host>, MemberId) {
    let agent = |name| AgentId::new(name).expect("an agent");
    let registry = Arc::new(Registry::standard());
    let options = Options::new("bench", agent("hub"), registry);
    let rules = Rules {
        scope: Scope::Sender,
        ..Rules::default()
    };
    let mut host = Session::host(options, rules, now);
    let member = host.join(&agent("planner"), now).expect("room");
    while host.poll_batch(now).is_some() {}
    (host, member)
}

/// A request and its answer by turns.
fn frame(number: u64) -> String {
    let mid = |number: u64| format!("101{:06}{:03}", 1 + number / 999, 1 + number % 999);
    let own = mid(number);
    let mut text = String::new();
    let _ = if number % 2 == 1 {
        write!(
            text,
            "@planner>req:schedule{{asgn:dev|task:impl_auth|pri:high|dead:sprint_14|\
             deps:[plan,design]|schema:TA}}[mid:{own},seq:{number},ts:1714000000,ttl:600]"
        )
    } else {
        let request = mid(number - 1);
        write!(
            text,
            "@planner>done:schedule{{task:impl_auth|stat:complete|prog:100|schema:TA}}\
             [mid:{own},seq:{number},ts:1714000000,cid:{request}]"
        )
    };
    text
}
