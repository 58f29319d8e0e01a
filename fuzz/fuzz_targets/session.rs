//! Fuzzes sessions: no frame of a peer may make a session panic, and a refused frame must not change the state of the
//! host. Each line of the input is a frame. Its first byte selects the receiver and the sender.
#![no_main]

use std::sync::Arc;

use accp_runtime::session::{MemberId, Options, Rules, Scope, Session, Time};
use accp_runtime::{AgentId, Registry, TokenCounter};
use accp_session::Output;

struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &str {
        "quarters"
    }

    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let now = Time::from_secs(1_714_000_000);
    let registry = Arc::new(Registry::shared().clone());
    let options = |agent: &'static str| {
        let agent = AgentId::new(agent).expect("an agent");
        Options::new("s", agent, Arc::clone(&registry)).counting(Arc::new(Quarters))
    };
    let rules = Rules {
        scope: Scope::Sender,
        any_mid: true,
        ..Rules::default()
    };
    let mut host = Session::host(options("hub"), rules, now);
    let mut member = Session::member(options("a"), now);
    let join = |host: &mut Session, agent| {
        host.join(&AgentId::new(agent).expect("an agent"), now)
            .expect("room")
    };
    let members: [MemberId; 2] = [join(&mut host, "a"), join(&mut host, "b")];
    for line in input.split(|byte| *byte == b'\n') {
        let Some((way, frame)) = line.split_first() else {
            continue;
        };
        if way % 4 == 0 {
            member.receive(MemberId::HOST, frame, now);
        } else {
            let before = host.state().clone();
            host.receive(members[usize::from(way % 2)], frame, now);
            let mut relayed = false;
            while let Some(Output::Batch(batch)) = host.poll() {
                relayed |= batch.entries.iter().any(|entry| entry.kind.is_relayed());
                for send in batch.sends {
                    assert!(
                        accp_runtime::Frame::parse(&send.text).is_ok(),
                        "{}",
                        send.text
                    );
                    if send.to == members[0] {
                        member.receive(MemberId::HOST, send.text.as_bytes(), now);
                    }
                }
            }
            assert!(relayed || *host.state() == before);
            assert!(host.budget().hot.used <= 500);
        }
        while let Some(Output::Batch(batch)) = member.poll() {
            for send in batch.sends {
                host.receive(members[0], send.text.as_bytes(), now);
            }
        }
        while let Some(Output::Read(_)) = host.poll() {}
    }
});
