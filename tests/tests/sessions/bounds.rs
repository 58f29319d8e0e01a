//! The bounds of what a session keeps, at their edges. `docs/limits.md` lists them.

use accp_runtime::session::{Answer, InputError, JoinError, MemberId, Mid, Outbound, Rules, Scope};
use accp_runtime::{DynamicFrame, ErrorCode};
use accp_session::{EntryKind, Output, Read};

use crate::sessions::sides::{
    NOW, Node, Side, counting, hello, is_relay, member, open_host, options, rules,
};

const DIGEST: &str = "a32838af3ff6a9ed0a9614b88164be36798497e40a478e0cca3f7952aa6fa492";

fn host() -> Side {
    let mut hub = options("hub");
    hub.backlog = 10_000;
    open_host(hub, rules(Scope::Sender))
}

/// Returns the n-th frame of `@dev`, under its n-th id.
fn nth(n: u64, head: &str, more: &str) -> String {
    format!("{head}[mid:{},seq:{n}{more}]", id(n))
}

fn id(n: u64) -> u64 {
    101_000_001_000 + n
}

/// An `aid` leads to a named chain if the `aid` names one of the first 1,024 frames of a member in this chain.
#[test]
fn the_frames_of_a_chain() {
    for (named, is_reached) in [(17, true), (1_024, true), (1_025, false)] {
        let mut host = host();
        for n in 1..=1_025 {
            host.takes(101, &nth(n, "@dev>req:plan{}", ",cid:lunch"));
        }
        let below = format!(",cid:bread,aid:{}", id(named));
        host.takes(101, &nth(1_026, "@dev>req:plan{}", &below));
        host.takes(101, &nth(1_027, "@dev>cancel:task{}", ",cid:lunch"));
        assert_eq!(
            host.state().is_cancelled(&Mid::parse("bread")),
            is_reached,
            "{named}"
        );
    }
}

/// The frames of a chain that is over no longer count towards the bound.
#[test]
fn the_frames_of_chains_that_are_over() {
    let mut host = host();
    for n in 1..=1_024 {
        let (intent, chain) = if n % 2 == 1 {
            ("req", n)
        } else {
            ("done", n - 1)
        };
        for round in 0..2 {
            let n = 2 * n - 1 + round;
            let text = nth(
                n,
                &format!("@dev>{intent}:plan{{}}"),
                &format!(",cid:c{chain}"),
            );
            host.takes(101, &text);
        }
    }
    host.takes(101, &nth(2_049, "@dev>req:plan{}", ",cid:lunch"));
    host.takes(
        101,
        &nth(2_050, "@dev>req:plan{}", ",cid:bread,aid:101000003049"),
    );
    host.takes(101, &nth(2_051, "@dev>cancel:task{}", ",cid:lunch"));
    assert!(host.state().is_cancelled(&Mid::parse("bread")));
}

#[test]
fn the_frames_of_one_member_leave_room_for_others() {
    let mut host = host();
    host.takes(101, &nth(1, "@dev>req:plan{}", ",cid:lunch"));
    for n in 1..=1_025 {
        let id = 102_000_001_000_u64 + n;
        let text = format!("@qa>qry:task{{}}[mid:{id},seq:{n},cid:lunch]");
        host.takes(102, &text);
    }
    host.takes(101, &nth(2, "@dev>qry:plan{}", ",cid:lunch"));
    host.takes(
        101,
        &nth(3, "@dev>req:plan{}", ",cid:bread,aid:101000001002"),
    );
    host.takes(101, &nth(4, "@dev>cancel:task{}", ",cid:lunch"));
    assert!(host.state().is_cancelled(&Mid::parse("bread")));
}

/// The last 4,096 frames of the chains that a member has cancelled can be named.
#[test]
fn the_frames_of_cancelled_chains() {
    let mut host = host();
    let mut n = 0;
    for chain in 1..=5 {
        for _ in 0..1_000 {
            n += 1;
            host.takes(101, &nth(n, "@dev>req:plan{}", &format!(",cid:c{chain}")));
        }
        n += 1;
        host.takes(
            101,
            &nth(n, "@dev>cancel:task{}", &format!(",cid:c{chain}")),
        );
    }
    // The host knows the last frame of the second chain, but no frame of the first.
    for (named, is_known) in [(2_001, true), (1_000, false)] {
        n += 1;
        let text = nth(
            n,
            "@dev>req:plan{}",
            &format!(",cid:d{named},aid:{}", id(named)),
        );
        if is_known {
            host.ignores(101, &text, NOW);
        } else {
            host.takes(101, &text);
        }
    }
}

/// A cancellation reaches 63 chains below the cancelled one.
#[test]
fn chains_below_chains() {
    let mut host = host();
    for n in 1..=70 {
        let below = match n {
            1 => String::new(),
            n => format!(",aid:{}", id(n - 1)),
        };
        host.takes(101, &nth(n, "@dev>req:plan{}", &below));
    }
    host.takes(
        101,
        &nth(71, "@dev>cancel:task{}", &format!(",cid:{}", id(1))),
    );
    let is_cancelled = |n| host.state().is_cancelled(&Mid::parse(&id(n).to_string()));
    assert!((1..=64).all(is_cancelled));
    assert!(!(65..=70).any(is_cancelled));
}

/// The last 1,024 chains that a member has cancelled stay cancelled.
#[test]
fn cancelled_chains() {
    let mut host = host();
    for n in 1..=1_025 {
        let cancel = format!(
            "@dev>cancel:task{{}}[mid:{},seq:{n},cid:c{n}]",
            101_000_100_000_u64 + n
        );
        host.session_mut()
            .receive(member(101), cancel.as_bytes(), NOW);
    }
    host.carries_out(NOW);
    let is_cancelled = |n: u64| host.state().is_cancelled(&Mid::parse(&format!("c{n}")));
    assert!(!is_cancelled(1));
    assert!((2..=1_025).all(is_cancelled));
}

/// The last 256 refusals of a member are remembered.
#[test]
fn refused_ids() {
    let mut host = host();
    let bad =
        |n| nth(1, "@dev>req:tool{schema:TC}", "").replace(&id(1).to_string(), &id(n).to_string());
    for n in 1..=257 {
        assert_eq!(host.refuses(101, &bad(n)).code, ErrorCode::INVALID_TYPE);
    }
    let good = |n| bad(n).replace("{schema:TC}", "{tool:web|schema:TC}");
    assert_eq!(host.refuses(101, &good(2)).code, ErrorCode::INVALID_TYPE);
    host.takes(101, &good(1));
}

/// An announcement has at most 64 values.
#[test]
fn values_in_an_announcement() {
    let put = |count: u64| {
        let keys: Vec<_> = (1..=count)
            .map(|n| format!("[k101_{n},{DIGEST},60]"))
            .collect();
        format!("@dev>sync:put{{keys:[{}]}}", keys.join(","))
    };
    let mut host = host();
    let refused = host.refuses(101, &nth(1, &put(65), ""));
    assert_eq!(refused.code, ErrorCode::BUDGET_EXCEEDED);
    let taken = host.hears(
        101,
        &nth(1, &put(64), "").replace(&id(1).to_string(), &id(2).to_string()),
        NOW,
    );
    assert_eq!(taken.entries[0].kind, EntryKind::Control);
}

/// The values that a member is sending take at most 8 MiB together. They do not delay the values of
/// another member.
#[test]
fn values_under_way() {
    let mut host = host();
    let mib = 1 << 20;
    let mut asked = Vec::new();
    for (from, n, length) in [
        (101, 1, 5 * mib),
        (101, 2, 4 * mib),
        (101, 3, 3 * mib),
        (102, 1, 8 * mib),
    ] {
        let agent = if from == 101 { "dev" } else { "qa" };
        let mid = 1_000_001_000_u64 + n + u64::from(from) * 1_000_000_000 - 1_000_000_000;
        let put = format!(
            "@{agent}>sync:put{{keys:[[k{from}_{n},{DIGEST},{length}]]}}[mid:{mid},seq:{n}]"
        );
        let heard = host.hears(from, &put, NOW);
        let wants = heard
            .sends
            .iter()
            .filter(|send| send.contains(">qry:bytes{"));
        asked.push(wants.count());
    }
    assert_eq!(asked, [1, 0, 0, 1]);
}

/// At most 128 KiB of the log are under way to a member.
#[test]
fn bytes_under_way() {
    let mut host = host();
    let hello = "@qa>sync:registry{ext:[log]|hash:ffffff|pos:4|v:1}[mid:910200000001,seq:4]";
    host.hears(102, hello, NOW);
    let large = format!("@dev>req:plan{{a:[{}]}}", vec!["1"; 3_980].join(","));
    let mut relayed = 0;
    for n in 1..=20 {
        let text = nth(n, &large, "");
        assert_eq!(text.len() / 100, 80);
        let others = host.takes(101, &text).others;
        relayed += others
            .iter()
            .filter(|send| send.text.contains(",by:101"))
            .count();
    }
    assert_eq!(relayed, 128 * 1024 / 8_000);
}

/// At most 64 entries are under way to a member, be they from the store or from memory.
#[test]
fn entries_under_way_from_the_store_and_from_memory() {
    let mut host = host();
    let grant = |host: &mut Side, keys: std::ops::Range<u32>| {
        for n in keys {
            host.grant("other", &format!("p{n}"), NOW);
        }
        host.carries_out(NOW);
    };
    grant(&mut host, 1..60);
    // The host keeps the entries from now on in memory.
    host.restart_as(options("hub"));
    grant(&mut host, 60..160);
    let relays = |sends: Vec<String>| sends.iter().filter(|send| is_relay(send)).count();
    let heard = host.hears(101, &hello("dev", 20), NOW);
    assert_eq!(relays(heard.sends), 64);
    let heard = host.hears(101, "@dev>ack:frame{}[mid:910100000009,seq:84]", NOW);
    assert_eq!(relays(heard.sends), 64);
}

/// Values that are no longer than a reference stay in their frame, even if the frame is too large.
#[test]
fn values_that_are_smaller_than_a_reference() {
    let mut host = open_host(counting("hub"), Rules::default());
    let mut message = DynamicFrame::new("hub", "req", "plan").unwrap();
    for n in 0..150 {
        message = message.with(format!("field_{n}"), "v".repeat(12));
    }
    let sent = host.session_mut().send(&Outbound::message(&message), NOW);
    let error = sent.unwrap_err();
    assert_eq!(error.code(), ErrorCode::BUDGET_EXCEEDED);
    assert!(error.to_string().ends_with("send less at once"), "{error}");
    assert_eq!(host.carries_out(NOW), []);
    assert!(host.cold("k100_1").is_none());
}

/// The host keeps 1,024 entries at hand, and reads older ones from its store.
#[test]
fn entries_at_hand() {
    for (entries, reads) in [(1_000, 0), (1_100, 1)] {
        let mut host = host();
        // The other member never reports which entries it holds.
        let hello = "@dev>sync:registry{ext:[log]|hash:ffffff|pos:4|v:1}[mid:910100000001,seq:4]";
        host.hears(101, hello, NOW);
        for n in 0..entries {
            host.grant("other", &format!("p{n}"), NOW);
        }
        host.carries_out(NOW);
        let hello = hello.replace("910100000001", "910100000002");
        host.session_mut()
            .receive(member(101), hello.as_bytes(), NOW);
        let mut found = 0;
        while let Some(output) = host.session_mut().poll() {
            if let Output::Read(Read::Entries { .. }) = output {
                found += 1;
            }
        }
        assert_eq!(found, reads, "{entries} entries");
    }
}

/// If the host has the entry at the position of a member in memory, it has the hash there in memory, too, and does
/// not read the hash from the store.
#[test]
fn hashes_at_hand() {
    let mut host = host();
    let hello = |agent, n, position| {
        format!(
            "@{agent}>sync:registry{{ext:[log,proof]|hash:ffffff|pos:{position}|v:1}}[mid:910{n}00000001]"
        )
    };
    // The host keeps the entries after position 4 in memory for this member.
    host.hears(102, &hello("qa", 2, 4), NOW);
    for key in ["p1", "p2"] {
        host.grant("other", key, NOW);
    }
    host.carries_out(NOW);
    for (position, reads) in [(5, 0), (4, 1)] {
        let hello = hello("dev", 1, position);
        host.session_mut()
            .receive(member(101), hello.as_bytes(), NOW);
        let outputs = std::iter::from_fn(|| host.session_mut().poll());
        let read = outputs.filter(|output| matches!(output, Output::Read(Read::Entry { .. })));
        assert_eq!(read.count(), reads, "at {position}");
    }
}

/// The name of an agent that joins has at most 128 characters.
#[test]
fn the_name_of_an_agent() {
    let mut host = open_host(options("hub"), Rules::default());
    let longest = "a".repeat(128);
    let joined = host.join_as(&[&longest], false, NOW);
    assert_eq!(joined, Ok(Answer::Joined(member(103))));
    let refused = host.join_as(&[&"a".repeat(129)], false, NOW).unwrap_err();
    assert_eq!(refused, InputError::Join(JoinError::TooLong(129)));
    assert_eq!(refused.code(), ErrorCode::PARSE_ERROR);
    insta::assert_snapshot!(refused, @"the name of an agent has at most 128 characters, and this one has 129");
    let first = hello(&"a".repeat(129), 0);
    let refused = host.session_mut().refusal_of_hello(&first).unwrap();
    assert_eq!(
        (refused.code, refused.at),
        (ErrorCode::PARSE_ERROR, Some(1))
    );
}

/// A session has at most 1,799 members, not counting its host.
#[test]
fn members() {
    let mut host = open_host(options("hub"), Rules::default());
    let numbers = (103..=899).chain(9000..=9999);
    assert_eq!(2 + numbers.clone().count(), 1_799);
    for number in numbers {
        let joined = host.join_as(&[&format!("a{number}")], false, NOW);
        assert_eq!(joined, Ok(Answer::Joined(member(number))));
    }
    let full = host.join_as(&["late"], false, NOW).unwrap_err();
    assert_eq!(full, InputError::Join(JoinError::Full));
    insta::assert_snapshot!(full, @"the session has as many members as its host lets in: begin another session");
    for number in [0, 99, 900, 8_999, 10_000, u16::MAX] {
        assert_eq!(MemberId::new(number), None);
    }
}

/// A side whose handlers are slow accepts no more frames, and its peer sends those frames again later.
#[test]
fn frames_that_wait_for_their_handler() {
    let mut hub = options("hub");
    hub.backlog = 3;
    let mut host = open_host(hub, rules(Scope::Sender));
    for n in 1..=3 {
        let heard = host.hears(101, &nth(n, "@dev>req:plan{}", ""), NOW);
        assert_eq!(heard.inbound.len(), 1);
    }
    let fourth = nth(4, "@dev>req:plan{}", "");
    host.ignores(101, &fourth, NOW);
    let position = host.frames()[0].position;
    host.session_mut().handled(position, &[], NOW).unwrap();
    host.takes(101, &fourth);
}
