//! Requests that are addressed to no agent: who takes them, and who gets them next.

use std::time::Duration;

use accp_runtime::profiles::{ChatDone, ChatReq};
use accp_runtime::session::{Event, Input, MemberId, Mid, Outbound, Rules, Scope};
use accp_runtime::{AgentId, DynamicFrame, ErrorCode};
use accp_session::EntryKind;
use accp_testkit::{Shared, Side};
use proptest::prelude::*;

use crate::sessions::lineage::{copy, decide, restore};
use crate::sessions::room::Room;
use crate::sessions::sides::{NOW, Node, frame, member, open_host, options, rules};

const AGENTS: [&str; 4] = ["shop", "lab", "bank", "desk"];
const SHOP: usize = 0;
const LAB: usize = 1;
const BANK: usize = 2;
const DESK: usize = 3;

fn soup() -> Outbound<'static> {
    Outbound::owned(ChatReq::new("soup?")).to_a_taker()
}

/// Opens a room in which no member has declared which requests it takes.
fn room() -> Room {
    Room::new(&AGENTS)
}

fn says(room: &mut Room, index: usize, heads: &[&str]) {
    let heads: Vec<String> = heads.iter().map(|&head| head.to_owned()).collect();
    let now = room.now;
    room.members[index].is_taken(Input::Takes(&heads), now);
    room.settle();
    room.pass(Duration::from_secs(10));
}

/// Lets all members declare the requests that they take: `shop` takes none, `lab` and `bank` take chats, `desk` takes
/// all others.
fn all_say(room: &mut Room) {
    says(room, SHOP, &[]);
    says(room, LAB, &["req:chat:CH"]);
    says(room, BANK, &["req:chat:CH", "req:schedule:TA"]);
    says(room, DESK, &["*"]);
}

/// Returns the members whose handlers have the request, each with whether the request was marked as given before.
fn have(room: &Room, mid: &Mid) -> Vec<(usize, bool)> {
    let sides = room.members.iter().enumerate();
    let all = sides.flat_map(|(at, side)| side.inbox.iter().map(move |inbound| (at, inbound)));
    let mine = all.filter(|(_, inbound)| inbound.mid().unwrap() == *mid);
    mine.map(|(at, inbound)| (at, inbound.redelivered()))
        .collect()
}

fn refusal(room: &mut Room, index: usize, outbound: &Outbound<'_>) -> Option<(ErrorCode, String)> {
    room.members[index].events.clear();
    let mid = room.say(index, outbound);
    let events = room.members[index].events.iter();
    let mut refused = events.filter_map(|event| match event {
        Event::Refused(of, error) if *of == mid => Some((error.code, error.message.clone())),
        _ => None,
    });
    refused.next()
}

fn answer(room: &mut Room, index: usize, asked: &Mid) -> Option<(ErrorCode, String)> {
    let done = Outbound::owned(ChatDone::new("rye")).in_chain(asked.to_string());
    refusal(room, index, &done)
}

/// A host that only relays, as a hub does, would leave the request without an answer for ever.
#[test]
fn a_host_without_handlers_takes_no_request() {
    for handles in [true, false] {
        let mut relay = options("hub");
        relay.handles = handles;
        let mut host = open_host(relay, Rules::default());
        for (n, text, to) in [
            (1, "@dev>req:chat{content:soup|schema:CH}", ",to:hub"),
            (2, "@dev>req:schedule{asgn:hub|task:boil|schema:TA}", ""),
            (3, "@dev>qry:menu{}", ",to:hub"),
        ] {
            if handles {
                host.takes(101, &frame(text, n, u64::from(n), to));
                continue;
            }
            let refused = host.refuses(101, &frame(text, n, 1, to));
            assert_eq!(refused.code, ErrorCode::REF_NOT_FOUND);
            assert_eq!(
                refused.message,
                "an agent that answers requests: hub is the host of the session, which answers none"
            );
        }
    }
}

#[test]
fn one_of_those_that_take_it_has_a_request_and_those_that_take_all_come_last() {
    let mut room = room();
    all_say(&mut room);
    let first = room.say(SHOP, &soup());
    let second = room.say(SHOP, &soup());
    let third = room.say(LAB, &soup());
    // Each request goes to a free member, never to the one that asks.
    assert_eq!(have(&room, &first), [(LAB, false)]);
    assert_eq!(have(&room, &second), [(BANK, false)]);
    assert_eq!(have(&room, &third), [(BANK, false)]);
    assert_eq!(
        answer(&mut room, DESK, &first).unwrap().0,
        ErrorCode::POLICY_DENIED
    );
    assert_eq!(answer(&mut room, LAB, &first), None);
    let next = room.say(SHOP, &soup());
    assert_eq!(have(&room, &next), [(LAB, false)]);
    let by_host = room.host_says(&soup());
    assert_eq!(have(&room, &by_host).len(), 1);
    for leaver in [LAB, BANK] {
        let id = room.members[leaver].id;
        room.host.leave(id, NOW);
    }
    room.settle();
    let last = room.say(SHOP, &soup());
    assert_eq!(have(&room, &last), [(DESK, false)]);
    room.check_replicas_of(&[SHOP, DESK]);
}

#[test]
fn a_request_that_nobody_takes_is_an_error_at_once() {
    let mut room = room();
    says(&mut room, SHOP, &[]);
    says(&mut room, LAB, &["req:schedule:TA"]);
    says(&mut room, BANK, &["qry:chat:CH", "req:chat"]);
    // `desk` has not declared yet, so it may still take the request.
    let asked = room.say(SHOP, &soup());
    assert_eq!(have(&room, &asked), []);
    let entry = room.host.log().into_iter().find(|entry| entry.mid == asked);
    assert_eq!(entry.unwrap().to, Some(MemberId::NOBODY));
    says(&mut room, DESK, &["req:plan"]);
    let failed = room.members[SHOP].inbox.iter();
    let failed: Vec<_> = failed.map(accp_runtime::session::Inbound::text).collect();
    assert!(
        failed[0].starts_with("@hub>fail:error{code:E2001|"),
        "{failed:?}"
    );
    let why = "an agent of the session that takes req:chat:CH, and none that has joined does: start one, or name an agent";
    let (code, message) = refusal(&mut room, SHOP, &soup()).unwrap();
    assert_eq!((code, &*message), (ErrorCode::REF_NOT_FOUND, why));
    room.check_replicas();
}

/// Nobody takes a request whose chain was cancelled from above, and the request does not end with an error.
#[test]
fn a_request_below_a_cancelled_chain_waits_for_nobody() {
    for heads in [&["req:plan"][..], &["req:chat:CH"]] {
        let mut room = room();
        says(&mut room, SHOP, &[]);
        let above = Outbound::owned(ChatReq::new("lunch?"));
        let above = room.say(SHOP, &above);
        let asked = room.say(SHOP, &soup().caused_by(&above));
        let cancel = DynamicFrame::new("shop", "cancel", "task").unwrap();
        room.say(
            SHOP,
            &Outbound::message(&cancel).in_chain(above.to_string()),
        );
        for index in [LAB, BANK, DESK] {
            says(&mut room, index, heads);
        }
        assert_eq!(have(&room, &asked), []);
        let unwritten = |event: &Event| matches!(event, Event::NotWritten(_));
        assert!(!room.host.events.iter().any(unwritten));
        assert_eq!(room.members[SHOP].inbox.len(), 0);
        let silent = MemberId::new(101).unwrap();
        assert!(!room.host.session().is_asked_what_takes(silent));
        room.check_replicas();
    }
}

#[test]
fn a_request_waits_until_somebody_takes_it() {
    let mut room = room();
    let asked = room.say(SHOP, &soup());
    let now = room.now;
    room.host.restart(now).unwrap();
    room.settle();
    room.pass(Duration::from_secs(40));
    says(&mut room, BANK, &["*"]);
    // No member has had the request before.
    assert_eq!(have(&room, &asked), [(BANK, false)]);
    says(&mut room, LAB, &["req:chat:CH"]);
    assert_eq!(have(&room, &asked), [(BANK, false)]);
    assert_eq!(answer(&mut room, BANK, &asked), None);
    room.check_replicas();
}

#[test]
fn the_next_one_has_a_request_whose_taker_has_left() {
    let mut room = room();
    all_say(&mut room);
    let asked = room.say(SHOP, &soup());
    let (lab, bank) = (room.members[LAB].id, room.members[BANK].id);
    // An agent that is away keeps its request, also over a restart of all.
    room.host.disconnected(lab);
    let now = room.now;
    room.host.restart(now).unwrap();
    room.members[LAB].restart(now).unwrap();
    room.settle();
    room.pass(Duration::from_secs(60));
    assert_eq!(have(&room, &asked), [(LAB, true)]);
    room.host.leave(lab, now);
    room.settle();
    room.pass(Duration::from_secs(60));
    assert!(have(&room, &asked).contains(&(BANK, true)));
    let entries = room.host.log();
    let last = entries.iter().rfind(|entry| entry.mid == asked).unwrap();
    assert_eq!(
        (last.kind, last.to, last.sequence),
        (EntryKind::Repeat, Some(bank), 0)
    );
    let agent = AgentId::new("lab").unwrap();
    room.host.driver.join(&agent, now).unwrap();
    room.members[LAB].connected();
    room.settle();
    room.pass(Duration::from_secs(60));
    // The member that had the request learns that another member has the request now.
    let position = entries
        .iter()
        .find(|entry| entry.mid == asked)
        .unwrap()
        .position;
    assert!(!room.members[LAB].session().waits(position));
    assert_eq!(
        answer(&mut room, LAB, &asked).unwrap().0,
        ErrorCode::POLICY_DENIED
    );
    assert_eq!(answer(&mut room, BANK, &asked), None);
    room.pass(Duration::from_secs(60));
    room.check_replicas();
}

/// While a host lacks entries, it hands no request on. Once the host has got the entries from a member, the waiting
/// requests get their takers.
#[test]
fn a_request_gets_its_taker_once_the_host_has_what_it_lost() {
    let mut room = room();
    let asked = room.say(SHOP, &soup());
    assert_eq!(have(&room, &asked), []);
    let backup = copy(&room);
    // The members learn who takes the request, and not that the host has handed it on.
    room.on_the_way(|passed| {
        let is_handed_on = passed.from == MemberId::HOST && passed.text.contains(">req:chat{");
        if is_handed_on {
            vec![]
        } else {
            vec![passed.text.clone()]
        }
    });
    says(&mut room, LAB, &["req:chat:CH"]);
    assert_eq!(have(&room, &asked), []);
    restore(&mut room, backup);
    room.heal();
    room.pass_often(3, Duration::from_secs(40));
    decide(&mut room, Input::Recover).unwrap();
    room.pass(Duration::from_secs(60));
    assert_eq!(have(&room, &asked), [(LAB, false)]);
    assert_eq!(answer(&mut room, LAB, &asked), None);
}

/// A request that names an agent waits for this agent, even if the agent has left the session. Nobody else gets the
/// request, and the agent gets it when the agent joins again.
#[test]
fn a_request_that_names_an_agent_waits_until_it_joins_again() {
    let mut room = room();
    all_say(&mut room);
    let lab = room.members[LAB].id;
    let before = room.say(SHOP, &soup().to("lab"));
    assert_eq!(have(&room, &before), [(LAB, false)]);
    let now = room.now;
    room.host.leave(lab, now);
    let while_gone = room.say(SHOP, &soup().to("lab"));
    room.host.restart(now).unwrap();
    // The member comes back with an empty store.
    let agent = AgentId::new("lab").unwrap();
    room.host.driver.join(&agent, now).unwrap();
    let store = Shared::default();
    let link = Vec::new();
    room.members[LAB] = Side::open(lab, store, link, options("lab"), None, now).unwrap();
    room.members[LAB].connected();
    room.settle();
    room.pass(Duration::from_secs(60));
    for asked in [before, while_gone] {
        assert_eq!(have(&room, &asked), [(LAB, true)]);
        assert_eq!(answer(&mut room, LAB, &asked), None);
    }
    room.pass(Duration::from_secs(60));
    room.check_replicas();
}

#[test]
fn an_agent_says_goodbye_and_its_requests_go_on() {
    let mut room = room();
    all_say(&mut room);
    let asked = room.say(SHOP, &soup());
    let now = room.now;
    room.members[LAB].is_taken(Input::Bye, now);
    room.settle();
    room.pass(Duration::from_secs(40));
    assert!(room.members[LAB].events.contains(&Event::Left));
    assert!(have(&room, &asked).contains(&(BANK, true)));
    assert!(
        !room
            .host
            .state()
            .members()
            .any(|(id, party)| id == room.members[LAB].id && party.present)
    );
}

#[test]
fn more_kinds_than_an_entry_holds() {
    let mut room = room();
    all_say(&mut room);
    let many: Vec<String> = (0..100).map(|n| format!("req:kind_{n}")).collect();
    let long = vec!["req:chat:CH".to_owned(), "x".repeat(1000)];
    for (index, heads, kept) in [(LAB, many, 64), (BANK, long, 2)] {
        let now = room.now;
        room.members[index].is_taken(Input::Takes(&heads), now);
        room.settle();
        room.pass(Duration::from_secs(10));
        let id = room.members[index].id;
        let state = room.host.state();
        let (_, party) = state.members().find(|(other, _)| *other == id).unwrap();
        let takes = party.takes.as_ref().unwrap();
        assert_eq!((takes.len(), &*takes[0]), (kept, "*"));
    }
    room.check_replicas();
}

/// The metadata of a request in parts counts like the metadata of a request in one frame.
#[test]
fn a_request_in_parts_goes_to_its_agent() {
    let mut room = Room::open(crate::sessions::sides::counting("hub"), Rules::default());
    for agent in AGENTS {
        room.enter(crate::sessions::sides::counting(agent));
    }
    all_say(&mut room);
    let words = "some words of a long request, ".repeat(120);
    let long = || Outbound::owned(ChatReq::new(words.clone()));
    let named = room.say(SHOP, &long().to("bank"));
    let taken = room.say(SHOP, &long().to_a_taker());
    let is_whole = |entry: &accp_session::Entry| entry.kind == EntryKind::Frame;
    let to = |room: &mut Room, mid: &Mid| {
        let mut frames = room.host.log().into_iter().filter(is_whole);
        frames.find(|entry| entry.mid == *mid).unwrap().to
    };
    assert_eq!(to(&mut room, &named), Some(member(103)));
    assert_eq!(to(&mut room, &taken), Some(member(102)));
}

#[derive(Debug, Clone)]
enum Act {
    Say(usize, u8),
    Ask(usize),
    Answer(usize, usize),
    Restart(usize),
    Leave(usize),
    Come(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0..4usize, 0..4u8).prop_map(|(by, what)| Act::Say(by, what)),
        5 => (0..4usize).prop_map(Act::Ask),
        5 => (0..4usize, 0..8usize).prop_map(|(by, at)| Act::Answer(by, at)),
        2 => (0..5usize).prop_map(Act::Restart),
        2 => (0..4usize).prop_map(Act::Leave),
        2 => (0..4usize).prop_map(Act::Come),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever members declare, ask and answer, and whoever leaves and comes back, an open request has one taker
    /// at a time. The taker has declared such requests. The taker is in the session if any member that has declared
    /// them is in the session. Only the taker answers. A request that is handed to another member is marked.
    #[test]
    fn a_request_has_one_taker_at_a_time(
        scope in prop_oneof![Just(Scope::Sender), Just(Scope::Shared)],
        acts in prop::collection::vec(act(), 1..30),
    ) {
        let mut room = Room::with(options("hub"), rules(scope), &AGENTS);
        let mut here = [true; 4];
        let mut takes: [Option<bool>; 4] = [None; 4];
        let mut open: Vec<Mid> = Vec::new();
        for act in acts {
            match act {
                Act::Say(by, what) if here[by] => {
                    let heads: &[&str] = match what {
                        0 => &[],
                        1 => &["req:plan"],
                        2 => &["*"],
                        _ => &["req:chat:CH"],
                    };
                    takes[by] = Some(what > 1);
                    says(&mut room, by, heads);
                }
                Act::Ask(by) if here[by] => {
                    room.members[by].events.clear();
                    let mid = room.say(by, &soup());
                    let is_refused = room.members[by].events.iter().any(
                        |event| matches!(event, Event::Refused(of, _) if *of == mid));
                    let others = (0..4).filter(|other| *other != by);
                    let may = others.clone().any(|other| {
                        takes[other] == Some(true) || here[other] && takes[other].is_none()
                    });
                    prop_assert_eq!(is_refused, !may);
                    if may {
                        open.push(mid);
                    }
                }
                Act::Answer(by, at) if here[by] && !open.is_empty() => {
                    let mid = open[at % open.len()].clone();
                    let holder = holder(&mut room, &mid);
                    let refused = answer(&mut room, by, &mid);
                    let may = holder == MemberId::NOBODY || holder == room.members[by].id;
                    prop_assert_eq!(refused.is_none(), may);
                    if may {
                        open.retain(|other| *other != mid);
                    }
                }
                Act::Restart(0) => room.host.restart(NOW).unwrap(),
                Act::Restart(index) => room.members[index - 1].restart(NOW).unwrap(),
                Act::Leave(index) if here[index] => {
                    let id = room.members[index].id;
                    room.host.leave(id, NOW);
                    here[index] = false;
                }
                Act::Come(index) if !here[index] => {
                    let agent = AgentId::new(AGENTS[index]).unwrap();
                    room.host.driver.join(&agent, NOW).unwrap();
                    room.members[index].connected();
                    here[index] = true;
                }
                _ => {}
            }
            room.settle();
            room.pass(Duration::from_secs(40));
            // A request that the host has ended is no longer open.
            let log = room.host.log();
            open.retain(|mid| {
                let ends = format!("aid:{mid}");
                !log.iter().any(|entry| entry.sender == MemberId::HOST && entry.text.contains(&ends))
            });
            for mid in &open {
                let holder = holder(&mut room, mid);
                let asker = log.iter().find(|entry| entry.mid == *mid).unwrap().sender;
                let index = room.members.iter().position(|side| side.id == holder);
                let somebody = (0..4).any(|at| {
                    room.members[at].id != asker && here[at] && takes[at] == Some(true)
                });
                prop_assert!(index.is_none_or(|at| room.members[at].id != asker));
                if somebody {
                    prop_assert!(index.is_some_and(|at| here[at]), "{:?} has {}", holder, mid);
                }
                // The request is marked as given before for each member after the first.
                let mut given = log.iter().filter(|entry| entry.mid == *mid);
                let first = given.find_map(|entry| entry.to.filter(|to| *to != MemberId::NOBODY));
                for (at, again) in have(&room, mid) {
                    prop_assert!(again || first == Some(room.members[at].id));
                }
            }
        }
        let host = room.host.session().state().clone();
        for (index, side) in room.members.iter().enumerate().filter(|(index, _)| here[*index]) {
            prop_assert_eq!(side.session().state(), &host, "{}", index);
        }
    }
}

/// Returns the member that the log gave a request to last.
fn holder(room: &mut Room, mid: &Mid) -> MemberId {
    let log = room.host.log();
    let last = log
        .iter()
        .rfind(|entry| entry.mid == *mid && entry.to.is_some());
    last.unwrap().to.unwrap()
}
