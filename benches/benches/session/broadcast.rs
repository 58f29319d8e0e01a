//! Measures how long a host takes to pass one frame on to 1,000 members.

use std::time::Instant;

use accp_bench::talk::{self, NOW};
use accp_bench::{Goal, figure, median};
use accp_runtime::AgentId;
use accp_runtime::session::{MemberId, Scope, Session};
use accp_session::{Batch, Output};

const MEMBERS: usize = 1000;
const ROUNDS: u64 = 201;

pub fn bench() {
    println!("broadcast: one frame from a member to {MEMBERS} members, median of {ROUNDS}");
    for scope in [Scope::Shared, Scope::Sender] {
        let (mut frames, mut acks) = (Vec::new(), Vec::new());
        let (mut host, members) = open(scope);
        for number in 1..=ROUNDS {
            // This host only relays, so it takes no request for itself.
            let asked = format!("asgn:{}", name(1));
            let frame = talk::frame(number).replace("asgn:hub", &asked);
            let start = Instant::now();
            host.receive(members[0], frame.as_bytes(), NOW);
            let batch = next_batch(&mut host);
            frames.push(start.elapsed().as_secs_f64() * 1e3);
            assert_eq!(relays(&batch), MEMBERS, "not every member gets the frame");
            let texts = acknowledgements(&batch);
            let start = Instant::now();
            for (member, text) in &texts {
                host.receive(*member, text.as_bytes(), NOW);
                assert!(host.poll().is_none());
            }
            acks.push(start.elapsed().as_secs_f64() * 1e3);
            assert!(host.is_quiet());
        }
        let goal = Goal::AtMost(5.0);
        figure(
            &format!("{scope:?}: all relays in the batch"),
            median(frames),
            "ms",
            goal,
        );
        let what = format!("{scope:?}: their acknowledgements, one by one");
        figure(&what, median(acks), "ms", Goal::None);
    }
    println!();
}

/// Opens a host. Its members have acknowledged the whole log.
fn open(scope: Scope) -> (Session, Vec<MemberId>) {
    let mut options = talk::options("hub", &None);
    options.handles = false;
    let mut host = Session::host(options, talk::rules(scope), NOW);
    let mut members = Vec::new();
    for number in 0..MEMBERS {
        let agent = AgentId::new(name(number)).expect("an agent");
        members.push(host.join(&agent, NOW).expect("room"));
    }
    while host.poll().is_some() {}
    let held = host.position();
    for (number, member) in members.iter().enumerate() {
        let agent = name(number);
        let hello = format!(
            "@{agent}>sync:registry{{ext:[log,proof]|hash:ffffff|pos:{held}|v:1}}[mid:910000000001,seq:{held}]"
        );
        host.receive(*member, hello.as_bytes(), NOW);
    }
    while host.poll().is_some() {}
    assert!(host.is_quiet(), "not every member has the log");
    (host, members)
}

/// Returns the name of the agent of this member. The first member is the sender.
fn name(number: usize) -> String {
    match number {
        0 => "planner".into(),
        _ => format!("a{number}"),
    }
}

fn next_batch(host: &mut Session) -> Batch {
    match host.poll() {
        Some(Output::Batch(batch)) => *batch,
        other => panic!("no batch: {other:?}"),
    }
}

fn relays(batch: &Batch) -> usize {
    let is_relay = |text: &str| text.contains(",pos:");
    batch
        .sends
        .iter()
        .filter(|send| is_relay(&send.text))
        .count()
}

/// Returns the acknowledgement of each member for the last entry of the batch.
fn acknowledgements(batch: &Batch) -> Vec<(MemberId, String)> {
    let held = batch.entries.last().map_or(0, |entry| entry.position);
    let relays = batch
        .sends
        .iter()
        .filter(|send| send.text.contains(",pos:"));
    let text = |(number, to): (usize, MemberId)| {
        let agent = name(number);
        (
            to,
            format!("@{agent}>ack:frame{{}}[mid:910000000002,seq:{held},ts:1714000000]"),
        )
    };
    relays.map(|send| send.to).enumerate().map(text).collect()
}
