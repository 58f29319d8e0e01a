//! A hostile member, which may send any well-formed frame, harms nobody else.

use accp_registry::Hash;
use accp_runtime::session::{Event, Mid, Outbound, Scope, Transmit};
use accp_runtime::{DynamicFrame, ErrorCode};
use accp_session::EntryKind;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::sessions::room::Room;
use crate::sessions::sides::{NOW, Node, Side, frame, member, open_host, options, plan, rules};

const DIGEST: &str = "a32838af3ff6a9ed0a9614b88164be36798497e40a478e0cca3f7952aa6fa492";

fn host() -> Side {
    open_host(options("hub"), rules(Scope::Sender))
}

/// Returns a frame of `@qa`, member 102, with its n-th id.
fn of_qa(head: &str, n: u32, seq: u64, more: &str) -> String {
    frame(head, n, seq, more).replace("[mid:101", "[mid:102")
}

/// A complete frame has the id of its first part. If a host accepted a part that names the frame of another member,
/// all stores would get two frames with one id.
#[test]
fn a_part_that_names_the_frame_of_another() {
    let mut host = host();
    host.takes(101, &frame("@dev>req:plan{a:1}", 1, 1, ""));
    for (n, place) in [(1, "1/1"), (2, "1/2"), (3, "2/2")] {
        let more = format!(",pt:{place},of:101000001001");
        let refused = host.refuses(102, &of_qa("@qa>req:plan{a:1}", n, 1, &more));
        assert_eq!(refused.code, ErrorCode::INVALID_TYPE, "{place}");
    }
    assert_eq!(host.frames().len(), 1);
    let own = of_qa("@qa>req:plan{a:1}", 4, 1, ",pt:1/2,of:102000001004");
    host.takes(102, &own);
}

/// An expired frame under the next id of another member does not mute that member.
#[test]
fn an_expired_frame_under_the_next_id_of_another() {
    for seq in [1, 2] {
        let mut host = host();
        let ts = NOW.as_secs() - 1000;
        let squat = format!("@qa>req:plan{{}}[mid:101000001001,seq:{seq},ts:{ts},ttl:1]");
        let refused = host.refuses(102, &squat);
        assert_eq!(
            (refused.code, refused.holder),
            (ErrorCode::DUPLICATE, Some(101))
        );
        assert_eq!(host.stored().seen.len(), 0);
        host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
    }
}

/// A chain belongs to the member that made the id of its first frame, whatever other members send in the chain.
/// This is still so after a restart.
#[test]
fn the_chain_of_another_is_answered_reopened_and_cancelled() {
    for (cid, more) in [("101000001001", ""), ("lunch", ",cid:lunch")] {
        for restarts in [false, true] {
            let mut host = host();
            host.takes(101, &frame("@dev>req:plan{}", 1, 1, more));
            let of_chain = format!(",cid:{cid}");
            host.takes(102, &of_qa("@qa>done:plan{}", 1, 1, &of_chain));
            host.takes(102, &of_qa("@qa>req:plan{}", 2, 2, &of_chain));
            if restarts {
                host.restart_as(options("hub"));
            }
            let refused = host.refuses(102, &of_qa("@qa>cancel:task{}", 3, 3, &of_chain));
            assert_eq!(refused.code, ErrorCode::POLICY_DENIED, "{cid}");
            host.takes(101, &frame("@dev>wait:plan{}", 2, 2, &of_chain));
            host.takes(101, &frame("@dev>cancel:task{}", 3, 3, &of_chain));
            assert!(host.state().is_cancelled(&Mid::parse(cid)));
        }
    }
}

/// Chains under ids that were not used yet cannot be cancelled, and all frames under them arrive.
#[test]
fn chains_that_have_not_begun_are_cancelled() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev", "qa"]);
    let qa = member(102);
    for n in 1..=20 {
        let squat = format!("@qa>cancel:task{{}}[mid:102000001{n:03},seq:1,cid:101000001{n:03}]");
        room.host.session_mut().receive(qa, squat.as_bytes(), NOW);
    }
    for n in 0..20 {
        room.say(0, &Outbound::message(&plan("dev", n)));
    }
    assert_eq!(room.host.frames().len(), 20);
    room.check_replicas();
}

/// A chain has the id under which another member announces its next value, and the host cancels the
/// chain. An announcement belongs to no chain, so the frame that needs the value arrives, too.
#[test]
fn a_chain_under_the_id_of_an_announcement() {
    let mut host = host();
    let chain = "101000001001";
    let squat = of_qa("@qa>req:plan{}", 1, 1, &format!(",cid:{chain}"));
    host.takes(102, &squat);
    let cancel = DynamicFrame::new("hub", "cancel", "task").unwrap();
    let cancel = Outbound::message(&cancel).in_chain(chain);
    host.session_mut().send(&cancel, NOW).unwrap();
    host.carries_out(NOW);
    let put = format!("@dev>sync:put{{keys:[[k101_1,{DIGEST},60]]}}");
    host.takes(101, &frame(&put, 1, 1, ""));
    host.takes(101, &frame("@dev>req:plan{goal:$cold.k101_1}", 2, 2, ""));
    // The host still ignores a frame of the application in the cancelled chain.
    let own = frame("@dev>wait:plan{}", 3, 3, &format!(",cid:{chain}"));
    host.ignores(101, &own, NOW);
}

/// The number of a version never comes near its limit.
#[test]
fn the_last_version_of_the_shared_state() {
    let mut host = host();
    host.takes(101, &frame("@dev>sync:state{state:{a:1}|v:1}", 1, 1, ""));
    for (n, version) in [(1, u64::MAX), (2, i64::MAX as u64), (3, 1_000_002)] {
        let head = format!("@qa>sync:state{{state:{{}}|v:#{version}}}");
        let head = if version > i64::MAX as u64 {
            head
        } else {
            head.replace('#', "")
        };
        let refused = host.refuses(102, &of_qa(&head, n, 1, ""));
        assert_eq!(refused.code, ErrorCode::REF_NOT_FOUND, "{head}");
        assert_eq!(refused.version, Some(1));
    }
    host.takes(
        102,
        &of_qa("@qa>sync:state{state:{b:1}|v:1000001}", 4, 1, ""),
    );
    host.takes(
        101,
        &frame("@dev>sync:state{delta:{a:2}|v:1000002}", 2, 2, ""),
    );
}

/// A send needs one round trip, however many ids another member has tried to use up.
#[test]
fn squatted_ids() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev", "qa"]);
    let qa = member(102);
    for n in 1..=800 {
        let squat = format!("@qa>req:plan{{}}[mid:101000001{n:03},seq:{n}]");
        room.host.session_mut().receive(qa, squat.as_bytes(), NOW);
    }
    let mid = room.say(0, &Outbound::message(&plan("dev", 1)));
    let [accepted] = &room.host.frames()[..] else {
        panic!("more than one frame");
    };
    assert_eq!(accepted.mid, mid);
    let retried = |event: &Event| matches!(event, Event::Retried { .. });
    assert!(!room.members[0].events.iter().any(retried));
}

/// A member that joins later skips the ids that others used in its range before it joined.
#[test]
fn ids_that_were_squatted_before_a_member_joined() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["qa"]);
    let qa = member(101);
    for n in 1..=20 {
        let squat = format!("@qa>req:plan{{}}[mid:102000001{n:03},seq:{n}]");
        room.host.session_mut().receive(qa, squat.as_bytes(), NOW);
    }
    room.enter(options("dev"));
    let mid = room.say(1, &Outbound::message(&plan("dev", 1)));
    assert_eq!(mid, Mid::parse("102000002001"));
    assert_eq!(
        room.host.frames().last().map(|entry| entry.mid.clone()),
        Some(mid)
    );
}

/// A frame names a chain in at most 128 characters, because sessions remember names.
#[test]
fn the_name_of_a_chain_is_long() {
    let mut host = host();
    for (n, key) in [(1, "cid"), (2, "aid")] {
        let more = |length| format!(",{key}:{}", "x".repeat(length));
        let refused = host.refuses(101, &frame("@dev>req:plan{}", n, u64::from(n), &more(129)));
        assert_eq!(refused.code, ErrorCode::PARSE_ERROR);
        host.takes(
            101,
            &frame("@dev>req:plan{}", n + 2, u64::from(n), &more(128)),
        );
    }
}

/// The open chains and the names of one member do not displace the chains and names of another member.
#[test]
fn one_member_opens_many_chains() {
    let mut hub = options("hub");
    hub.backlog = 10_000;
    let mut host = open_host(hub, rules(Scope::Sender));
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ",cid:lunch"));
    for n in 0..5000 {
        let text = format!(
            "@qa>req:plan{{}}[mid:{:012},seq:{},cid:c{n}]",
            102_000_001_001_u64 + n,
            n + 1
        );
        host.session_mut()
            .receive(member(102), text.as_bytes(), NOW);
    }
    host.carries_out(NOW);
    assert_eq!(host.state().position(), 3 + 5002);
    let cancel = "@qa>cancel:task{}[mid:102000009001,seq:5001,cid:lunch]";
    assert_eq!(host.refuses(102, cancel).code, ErrorCode::POLICY_DENIED);
    // The host still distinguishes a frame below the chain of `@dev` from one in a chain of its
    // own.
    host.takes(
        101,
        &frame("@dev>req:plan{}", 2, 2, ",cid:bread,aid:101000001001"),
    );
    host.takes(101, &frame("@dev>cancel:task{}", 3, 3, ",cid:lunch"));
    assert!(host.state().is_cancelled(&Mid::parse("bread")));
}

/// A `ttl` that ends after the last possible time is refused. It is not cut to that time.
#[test]
fn a_ttl_beyond_all_times() {
    let mut host = host();
    let refused = host.refuses(
        101,
        &frame("@dev>req:plan{}", 1, 1, &format!(",ttl:{}", i64::MAX)),
    );
    assert_eq!(refused.code, ErrorCode::INVALID_TYPE);
    host.takes(101, &frame("@dev>req:plan{}", 2, 1, ",ttl:1000000000"));
}

/// A member that announces values and never sends them cannot announce more, and slows nobody down.
#[test]
fn values_that_are_never_supplied() {
    let mut host = host();
    let put = |n: u64| {
        let key = format!("k102_{n}");
        let head = format!("@qa>sync:put{{keys:[[{key},{DIGEST},60]]}}");
        format!("{head}[mid:{},seq:{n}]", 102_000_001_000 + n)
    };
    for n in 1..=256 {
        host.hears(102, &put(n), NOW);
    }
    for n in 257..400 {
        host.session_mut()
            .receive(member(102), put(n).as_bytes(), NOW);
    }
    host.carries_out(NOW);
    assert_eq!(host.stored().entries.len() + 1, 4 + 256 + 1);
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
    // The other frames of `@qa` wait for the announcement that the host has not accepted, because
    // they have later numbers.
    let other = "@qa>req:plan{}[mid:102000001401,seq:258]";
    assert_eq!(host.refuses(102, other).code, ErrorCode::SEQUENCE_GAP);
    // When the host has got one value, it accepts the next announcement.
    let value = "x".repeat(60);
    let supplied = format!(
        "@qa>sync:bytes{{at:0|d:{}|key:k102_1|len:60|sha:{}}}[mid:910200000001,seq:1]",
        BASE64.encode(&value),
        Hash::of(value.as_bytes()),
    );
    let honest = put(1).replace(DIGEST, &Hash::of(value.as_bytes()).to_string());
    let mut host = self::host();
    host.hears(102, &honest, NOW);
    for n in 2..=256 {
        host.hears(102, &put(n), NOW);
    }
    host.ignores(102, &put(257), NOW);
    host.hears(102, &supplied, NOW);
    assert_eq!(host.cold_text("k102_1"), Some(value));
    host.takes(102, &put(257));
}

/// A value is bounded by the rules of the host, whatever length its announcement or a piece gives.
#[test]
fn bytes_without_end() {
    let mut host = host();
    for length in [8 * 1024 * 1024 + 1, i64::MAX] {
        let head = format!("@qa>sync:put{{keys:[[k102_1,{DIGEST},{length}]]}}");
        let refused = host.refuses(102, &of_qa(&head, (length % 900) as u32, 1, ""));
        assert_eq!(refused.code, ErrorCode::BUDGET_EXCEEDED);
    }
    // A registry has no announcement; its first piece gives its length.
    let mut rules = rules(Scope::Sender);
    rules.learn_schemas = true;
    let mut host = open_host(options("hub"), rules);
    let hello = "@qa>sync:registry{ext:[bytes]|hash:ffffff|pos:0|v:1}[mid:910200000001,seq:0]";
    let heard = host.hears(102, hello, NOW);
    assert!(
        heard.sends.iter().any(|send| send.contains("key:reg_all")),
        "{heard:?}"
    );
    let piece = BASE64.encode([b'x'; 3000]);
    for at in (0..3_000_000).step_by(3000) {
        let text = format!(
            "@qa>sync:bytes{{at:{at}|d:{piece}|key:reg_all|len:4611686018427387904|sha:{DIGEST}}}\
             [mid:910200000002,seq:0]"
        );
        let heard = host.hears(102, &text, NOW);
        assert!(heard.sends.is_empty(), "it asks for no more: {heard:?}");
    }
}

/// A hello is answered with a bounded number of entries. Each further hello is answered with a hello and a question for
/// the schemas.
#[test]
fn hello_after_hello() {
    let mut host = host();
    let text = "x".repeat(40_000);
    for n in 1..=100 {
        let head = format!("@dev>req:plan{{n:{n}|goal:{text}}}");
        host.session_mut().receive(
            member(101),
            frame(&head, n as u32, n as u64, "").as_bytes(),
            NOW,
        );
    }
    host.carries_out(NOW);
    let hello = "@qa>sync:registry{ext:[log]|hash:ffffff|pos:5|v:1}[mid:910200000001,seq:5]";
    let mut answered = 0;
    for _ in 0..1000 {
        let heard = host.hears(102, hello, NOW);
        answered += heard.sends.iter().map(String::len).sum::<usize>();
    }
    let asked = 1000 * hello.len();
    assert!(answered < 9 * asked, "{answered} bytes for {asked}");
}

/// A member that has left cannot fill the log.
#[test]
fn a_removed_member_goes_on() {
    let mut host = host();
    host.leave(member(102), NOW);
    host.carries_out(NOW);
    let last = host.session().position();
    let text = "x".repeat(60_000);
    for n in 1..=2000 {
        let squat = format!(
            "@qa>req:plan{{goal:{text}}}[mid:{},seq:1]",
            102_000_001_000_u64 + n
        );
        host.session_mut()
            .receive(member(102), squat.as_bytes(), NOW);
    }
    host.carries_out(NOW);
    let entries = host.log_from(last + 1);
    assert_eq!(entries.len(), 256);
    let bytes: usize = entries.iter().map(|entry| entry.text.len()).sum();
    assert!(bytes < 64 * 1024, "{bytes}");
    assert!(entries.iter().all(|entry| entry.mid.is_hex()));
}

/// A peer that asks for many values at a time gets some of them, and asks again for the others.
#[test]
fn a_member_asks_for_everything() {
    let mut host = host();
    for n in 1..=100 {
        host.takes(101, &frame("@dev>req:plan{}", n, n.into(), ""));
    }
    for position in 5..105 {
        let want = format!("@qa>qry:bytes{{at:0|key:p{position}}}[mid:910200000001,seq:0]");
        host.session_mut()
            .receive(member(102), want.as_bytes(), NOW);
    }
    let pieces = |sends: &[Transmit]| {
        sends
            .iter()
            .filter(|send| send.text.contains(">sync:bytes{"))
            .count()
    };
    assert_eq!(pieces(&host.carries_out(NOW)), 16);
    let want = "@qa>qry:bytes{at:0|key:p50}[mid:910200000001,seq:0]";
    assert_eq!(host.hears(102, want, NOW).sends.len(), 1);
}

/// Nobody can put another agent's chain below a chain of its own in order to cancel both.
#[test]
fn the_chain_of_another_is_put_below_a_chain() {
    let mut host = host();
    host.takes(102, &of_qa("@qa>req:plan{}", 1, 1, ""));
    let below = ",cid:101000001001,aid:102000001001";
    host.takes(102, &of_qa("@qa>req:plan{}", 2, 2, below));
    host.takes(102, &of_qa("@qa>cancel:task{}", 3, 3, ",cid:102000001001"));
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
}

/// A frame stays in its chain, even if another member begins a chain under the id of the frame.
#[test]
fn a_chain_under_the_id_of_a_frame() {
    let mut host = host();
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
    let of_chain = ",cid:101000001001";
    host.takes(101, &frame("@dev>wait:plan{}", 2, 2, of_chain));
    host.takes(101, &frame("@dev>cancel:task{}", 3, 3, of_chain));
    host.takes(102, &of_qa("@qa>req:plan{}", 1, 1, ",cid:101000001002"));
    let below = frame("@dev>req:plan{}", 4, 4, ",aid:101000001002");
    let heard = host.ignores(101, &below, NOW);
    assert_eq!(heard.entries[0].kind, EntryKind::Dropped);
}
