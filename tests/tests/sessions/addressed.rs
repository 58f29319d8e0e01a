//! Requests that are for one agent: who gets them, and who may answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use accp_runtime::profiles::{ChatDone, ChatReq, ScheduleReq};
use accp_runtime::session::{CancelToken, Event, Inbound, Mid, Outbound, Rules, Scope, SendError};
use accp_runtime::{AgentId, DynamicFrame, ErrorCode, Registry};
use accp_session::Entry;
use accp_testkit::Shared;
use proptest::prelude::*;

use crate::sessions::room::Room;
use crate::sessions::sides::{NOW, Node, frame, member, open_host, options, rules};

const AGENTS: [&str; 3] = ["shop", "lab", "bank"];
const SHOP: usize = 0;
const LAB: usize = 1;
const BANK: usize = 2;

fn room() -> Room {
    Room::new(&AGENTS)
}

fn soup() -> Outbound<'static> {
    Outbound::owned(ChatReq::new("soup?"))
}

fn task(assignee: &'static str) -> Outbound<'static> {
    Outbound::owned(ScheduleReq::new(AgentId::new(assignee).unwrap(), "boil"))
}

/// Returns how many frames with this head wait at each side: the host, then the members.
fn waiting(room: &Room, head: &str) -> [usize; 4] {
    let count = |side: &accp_testkit::Side| {
        let inbox = side.inbox.iter();
        inbox
            .filter(|inbound| inbound.text().contains(head))
            .count()
    };
    let mut counts = [count(&room.host); 4];
    for (at, side) in room.members.iter().enumerate() {
        counts[at + 1] = count(side);
    }
    counts
}

/// Returns the entry of a frame.
fn entry(room: &mut Room, mid: &Mid) -> Entry {
    room.host
        .log()
        .into_iter()
        .find(|entry| entry.mid == *mid)
        .unwrap()
}

/// Sends a frame of a member, and returns the code of its refusal.
fn fate(room: &mut Room, index: usize, outbound: &Outbound<'_>) -> Result<Mid, ErrorCode> {
    room.members[index].events.clear();
    let mid = room.say(index, outbound);
    let refused = room.members[index]
        .events
        .iter()
        .find_map(|event| match event {
            Event::Refused(of, error) if *of == mid => Some(error.code),
            _ => None,
        });
    refused.map_or(Ok(mid), Err)
}

#[test]
fn a_request_reaches_the_handlers_of_its_agent_alone() {
    let mut room = room();
    let by_name = room.say(SHOP, &soup().to("lab"));
    assert_eq!(waiting(&room, ">req:chat{"), [0, 0, 1, 0]);
    let by_field = room.say(SHOP, &task("bank"));
    assert_eq!(waiting(&room, ">req:schedule{"), [0, 0, 0, 1]);
    let of_host = room.host_says(&soup().to("bank"));
    let to_host = room.say(LAB, &soup().to("hub"));
    assert_eq!(waiting(&room, ">req:chat{"), [1, 0, 1, 1]);
    let to_itself = room.say(LAB, &task("lab"));
    assert_eq!(waiting(&room, ">req:schedule{"), [0, 0, 1, 1]);
    let to_all = room.say(SHOP, &soup());
    assert_eq!(waiting(&room, ">req:chat{"), [2, 0, 2, 2]);
    for (mid, to) in [
        (by_name, Some(102)),
        (by_field, Some(103)),
        (of_host, Some(103)),
        (to_host, Some(100)),
        (to_itself, Some(102)),
        (to_all, None),
    ] {
        let of_host = entry(&mut room, &mid);
        assert_eq!(of_host.to, to.map(member), "{}", of_host.text);
        for side in &mut room.members {
            let own = side
                .log()
                .into_iter()
                .find(|entry| entry.mid == mid)
                .unwrap();
            assert_eq!((own.to, own.hash), (of_host.to, of_host.hash));
        }
    }
    room.check_replicas();
}

#[test]
fn an_agent_that_never_joined_is_an_error_at_once() {
    let mut host = open_host(options("hub"), Rules::default());
    for (n, text) in [
        (1, "@dev>req:chat{content:soup|schema:CH}"),
        (2, "@dev>req:schedule{asgn:nobody|task:boil|schema:TA}"),
        (3, "@dev>qry:menu{}"),
    ] {
        let to = if n == 2 { "" } else { ",to:nobody" };
        let refused = host.refuses(101, &frame(text, n, 1, to));
        assert_eq!(refused.code, ErrorCode::REF_NOT_FOUND);
        assert_eq!(
            refused.message,
            "an agent that has joined the session: nobody has not, and hub, dev, qa have"
        );
    }
    let error = host
        .session_mut()
        .send(&soup().to("nobody"), NOW)
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::REF_NOT_FOUND);
    // A request of another kind of frame is for all, whatever its metadata says.
    host.takes(101, &frame("@dev>sync:chat{}", 4, 1, ",to:nobody"));
}

#[test]
fn a_name_that_no_agent_can_have_and_two_names_are_refused() {
    let mut host = open_host(options("hub"), Rules::default());
    let task = "@dev>req:schedule{asgn:qa|task:boil|schema:TA}";
    for (n, (text, pairs, expected)) in (1..).zip([
        (
            task,
            ",to:hub",
            "the agent of `assignee`, qa, under `to` of the metadata, which names hub",
        ),
        (
            task,
            ",to:1.5",
            "the name of an agent under `to` of the metadata",
        ),
        (
            "@dev>req:schedule{asgn:$cold.p1|task:boil|schema:TA}",
            "",
            "`assignee` in the frame itself: it names the agent that the request is for",
        ),
    ]) {
        let refused = host.refuses(101, &frame(text, n, 1, pairs));
        assert_eq!(
            (refused.code, &*refused.message),
            (ErrorCode::INVALID_TYPE, expected)
        );
    }
    host.takes(101, &frame(task, 8, 1, ",to:qa"));
    let error = host
        .session_mut()
        .send(&Outbound::owned(ChatDone::new("rye")).to("qa"), NOW);
    assert!(matches!(
        error,
        Err(SendError::Refused {
            code: ErrorCode::INVALID_TYPE,
            ..
        })
    ));
}

/// A registry declares the field that names the agent of a request. The full name, the short name, an alias and the
/// default of the field count. A null does not count.
#[test]
fn the_field_of_a_registry_of_ones_own_names_the_agent() {
    let registry = Registry::from_json(
        r#"{ "schemas": { "order": { "code": "OR", "fields": ["cook", "dish"],
            "types": { "cook": "agent", "dish": "string" }, "abbreviations": { "cook": "ck" },
            "aliases": { "cook": ["chef"] },
            "defaults": { "cook": "qa" },
            "frames": [
                { "intent": "req", "operation": "order", "to": "cook" },
                { "intent": "qry", "operation": "order" }
            ] } } }"#,
    );
    let mut options = options("hub");
    options.registry = Arc::new(registry.unwrap());
    let mut host = open_host(options, Rules::default());
    for (n, text, to) in [
        (1, "@dev>req:order{ck:dev|dish:soup|schema:OR}", Some(101)),
        (2, "@dev>req:order{cook:hub|dish:soup|schema:OR}", Some(100)),
        (3, "@dev>req:order{dish:soup|schema:OR}", Some(102)),
        (4, "@dev>req:order{ck:~|dish:soup|schema:OR}", None),
        (5, "@dev>qry:order{ck:dev|dish:soup|schema:OR}", None),
        (6, "@dev>req:order{ck:dev|dish:soup}", None),
        (7, "@dev>req:order{chef:dev|dish:soup|schema:OR}", Some(101)),
    ] {
        let heard = host.takes(101, &frame(text, n, n.into(), ""));
        assert_eq!(heard.entries[0].to, to.map(member), "{text}");
        assert_eq!(
            heard.inbound.len(),
            usize::from(to.is_none_or(|to| to == 100)),
            "{text}"
        );
    }
}

#[test]
fn only_the_agent_that_was_asked_the_host_and_supervisors_answer() {
    let mut room = room();
    let done = || Outbound::owned(ChatDone::new("rye"));
    for by in [LAB, BANK, SHOP] {
        let asked = room.say(SHOP, &soup().to("lab"));
        let chain = asked.to_string();
        for answer in [
            done().in_chain(&*chain),
            done().in_chain(&*chain).caused_by(&asked),
            done().caused_by(&asked),
            Outbound::error(ErrorCode::INTERNAL_ERROR, "no").in_chain(&*chain),
        ] {
            let fate = fate(&mut room, by, &answer);
            assert_eq!(fate.err(), (by != LAB).then_some(ErrorCode::POLICY_DENIED));
            if by == LAB {
                break;
            }
        }
    }
    // A frame that names another frame of the chain as its cause does not answer the question, so it does not open the
    // chain to others.
    let asked = room.say(SHOP, &soup().to("lab"));
    let other = room.say(BANK, &soup().in_chain(asked.to_string()).to("bank"));
    let own = done().in_chain(asked.to_string()).caused_by(&other);
    assert!(fate(&mut room, BANK, &own).is_ok());
    let forged = done().in_chain(asked.to_string());
    assert_eq!(
        fate(&mut room, BANK, &forged),
        Err(ErrorCode::POLICY_DENIED)
    );
    assert!(fate(&mut room, LAB, &forged).is_ok());
    // The question has its answer now, so nobody waits.
    assert!(fate(&mut room, BANK, &forged).is_ok());
    let asked = room.say(SHOP, &soup().to("lab"));
    room.host_says(&done().in_chain(asked.to_string()));
    room.check_replicas();
}

#[test]
fn nobody_answers_for_another_from_another_chain_or_in_the_chain_of_a_third() {
    let mut room = room();
    let done = || Outbound::owned(ChatDone::new("rye"));
    let denied = Err(ErrorCode::POLICY_DENIED);
    let asked = room.say(SHOP, &soup().to("lab"));
    let elsewhere = done().in_chain("lunch").caused_by(&asked);
    assert_eq!(fate(&mut room, BANK, &elsewhere), denied);
    assert!(fate(&mut room, LAB, &elsewhere).is_ok());
    // The question has its answer now, so nobody waits.
    assert!(fate(&mut room, BANK, &elsewhere).is_ok());

    // The bank has begun this chain, and the shop asks in it.
    room.say(BANK, &soup().in_chain("plan"));
    room.say(SHOP, &soup().in_chain("plan").to("lab"));
    let answer = done().in_chain("plan");
    assert_eq!(fate(&mut room, BANK, &answer), denied);
    // The shop may answer the bank, and still waits for the lab.
    assert!(fate(&mut room, SHOP, &answer).is_ok());
    assert_eq!(fate(&mut room, BANK, &answer), denied);
    assert!(fate(&mut room, LAB, &answer).is_ok());
    assert!(fate(&mut room, BANK, &answer).is_ok());
    room.check_replicas();
}

/// A step of [`answers_are_judged_as_they_are_read`]: who speaks; whom the question is for, or `None` for an
/// answer; the chain, or `None` if the frame names no chain; and which question is named as the cause, counted back
/// from the last one.
type Step = (usize, Option<usize>, Option<usize>, Option<usize>);

fn step() -> impl Strategy<Value = Step> {
    let some = |end| prop::option::of(0..end);
    (0..3_usize, some(3_usize), some(2_usize), some(4_usize))
}

/// A question without an answer: who asks, who is asked, its id, and its chain.
struct Open {
    by: usize,
    to: usize,
    mid: Mid,
    chain: Mid,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// If an asker takes an accepted frame for its answer, this asker has asked the sender of the frame.
    #[test]
    fn answers_are_judged_as_they_are_read(steps in prop::collection::vec(step(), 1..24)) {
        let mut room = room();
        let mut open: Vec<Open> = Vec::new();
        for (by, to, chain, cause) in steps {
            let chain = chain.map(|chain| ["plan", "lunch"][chain]);
            let cause = cause.and_then(|back| open.iter().rev().nth(back));
            let cause = cause.map(|cause| cause.mid.clone());
            if to == Some(by) {
                continue;
            }
            let mut outbound = match to {
                Some(to) => soup().to(AGENTS[to]),
                None => Outbound::owned(ChatDone::new("rye")),
            };
            if let Some(chain) = chain {
                outbound = outbound.in_chain(chain);
            }
            if let Some(cause) = &cause {
                outbound = outbound.caused_by(cause);
            }
            let Ok(mid) = fate(&mut room, by, &outbound) else { continue };
            if let Some(to) = to {
                let chain = chain.map_or_else(|| mid.clone(), Mid::parse);
                open.push(Open { by, to, mid, chain });
                continue;
            }
            let text = entry(&mut room, &mid).text;
            let inbound = Inbound::new(1, member(100), text, CancelToken::new());
            let reads = |one: &&Open| one.by != by && inbound.answers(&one.mid, &one.chain).is_some();
            for asker in 0..3 {
                let mut read = open.iter().filter(reads).filter(|one| one.by == asker).peekable();
                let fits = read.peek().is_none() || read.any(|one| one.to == by);
                prop_assert!(fits, "{asker} takes {mid} of {by} for its answer");
            }
            let read: Vec<Mid> = open.iter().filter(reads).map(|one| one.mid.clone()).collect();
            open.retain(|one| !read.contains(&one.mid));
        }
        room.check_replicas();
    }
}

#[test]
fn pieces_of_an_answer_come_from_who_was_asked_or_from_who_asks() {
    let mut room = room();
    let asked = room.say(SHOP, &soup().to("lab"));
    let piece = |agent: &'static str| DynamicFrame::new(agent, "stream", "tokens").unwrap();
    for (by, agent, code) in [
        (BANK, "bank", Some(ErrorCode::POLICY_DENIED)),
        (LAB, "lab", None),
        (SHOP, "shop", None),
    ] {
        let piece = piece(agent);
        let piece = Outbound::message(&piece).in_chain(asked.to_string());
        assert_eq!(fate(&mut room, by, &piece).err(), code, "{agent}");
    }
}

/// An agent that is away keeps its request, also if the host and the agent start again meanwhile.
#[test]
fn a_request_waits_for_an_agent_that_is_away() {
    let mut room = room();
    let lab = member(102);
    room.host.disconnected(lab);
    let asked = room.say(SHOP, &soup().to("lab"));
    assert_eq!(entry(&mut room, &asked).to, Some(lab));
    let now = room.now;
    room.host.restart(now).unwrap();
    room.members[LAB].restart(now).unwrap();
    room.members[LAB].connected();
    room.pass(Duration::from_secs(60));
    assert_eq!(waiting(&room, ">req:chat{"), [0, 0, 1, 0]);
    let forged = Outbound::owned(ChatDone::new("rye")).in_chain(asked.to_string());
    assert_eq!(
        fate(&mut room, BANK, &forged),
        Err(ErrorCode::POLICY_DENIED)
    );
    room.check_replicas();
}

/// A refused frame takes a position, and no member gets an entry for it. A member that begins at this position has the
/// whole log nevertheless.
#[test]
fn a_side_that_begins_behind_a_refused_frame_has_the_log() {
    let mut room = room();
    let asked = room.say(SHOP, &soup().to("lab"));
    let forged = Outbound::owned(ChatDone::new("rye")).in_chain(asked.to_string());
    assert_eq!(
        fate(&mut room, BANK, &forged),
        Err(ErrorCode::POLICY_DENIED)
    );
    let lost = room.members.remove(LAB);
    drop(lost);
    let id = accp_testkit::Room::enter(&mut room, Shared::default(), options("lab")).unwrap();
    assert_eq!(id, member(102));
    room.settle();
    let lab = room.members.last().unwrap().session();
    assert!(lab.has_joined() && lab.position() < room.host.session().position());
    assert_eq!(lab.known(), lab.position());
}

#[test]
fn a_chain_has_room_for_so_many_requests_for_one_agent() {
    let mut host = open_host(options("hub"), Rules::default());
    for n in 1..=64 {
        host.takes(101, &frame("@dev>req:plan{}", n, n.into(), ",cid:c,to:qa"));
    }
    let refused = host.refuses(101, &frame("@dev>req:plan{}", 65, 65, ",cid:c,to:qa"));
    assert_eq!(refused.code, ErrorCode::BUDGET_EXCEEDED);
    host.takes(101, &frame("@dev>req:plan{}", 66, 65, ",cid:d,to:qa"));
}

#[derive(Debug, Clone)]
enum Act {
    /// A member asks itself, another member, or all members.
    Ask(usize, Option<usize>),
    /// A member answers a request: in the chain of the request, by the id of the request, or both.
    Answer(usize, usize, bool, bool),
    Restart(usize),
    Leave(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..3usize, prop::option::weighted(0.8, 0..3usize)).prop_map(|(by, to)| Act::Ask(by, to)),
        6 => (0..3usize, 0..8usize, any::<bool>(), any::<bool>())
            .prop_map(|(by, at, chain, id)| Act::Answer(by, at, chain || !id, id)),
        1 => (0..4usize).prop_map(Act::Restart),
        1 => (0..3usize).prop_map(Act::Leave),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever members ask and answer, a request reaches only the agent that it names, nobody else answers the
    /// request, and all replicas agree.
    #[test]
    fn requests_reach_one_agent_and_it_alone_answers(
        scope in prop_oneof![Just(Scope::Sender), Just(Scope::Shared)],
        acts in prop::collection::vec(act(), 1..24),
    ) {
        let mut room = Room::with(options("hub"), rules(scope), &AGENTS);
        // The requests that no frame has answered, with the member that each is for.
        let mut open: Vec<(Mid, Option<usize>)> = Vec::new();
        let mut meant: BTreeMap<Mid, Option<usize>> = BTreeMap::new();
        let mut here = [true; 3];
        for act in acts {
            match act {
                Act::Ask(by, to) if here[by] => {
                    let asked = to.map_or_else(soup, |to| soup().to(AGENTS[to]));
                    let mid = fate(&mut room, by, &asked).unwrap();
                    open.push((mid.clone(), to));
                    meant.insert(mid, to);
                }
                Act::Answer(by, at, names_chain, names_id) if here[by] && !open.is_empty() => {
                    let at = at % open.len();
                    let (asked, to) = open[at].clone();
                    let mut answer = Outbound::owned(ChatDone::new("rye"));
                    if names_chain {
                        answer = answer.in_chain(asked.to_string());
                    }
                    if names_id {
                        answer = answer.caused_by(&asked);
                    }
                    let fate = fate(&mut room, by, &answer);
                    let may = to.is_none_or(|to| to == by);
                    prop_assert_eq!(fate.is_ok(), may, "{:?}", fate);
                    if may {
                        open.remove(at);
                    }
                }
                Act::Restart(0) => room.host.restart(NOW).unwrap(),
                Act::Restart(index) => room.members[index - 1].restart(NOW).unwrap(),
                Act::Leave(index) if here[index] => {
                    let id = room.members[index].id;
                    room.host.leave(id, NOW);
                    here[index] = false;
                }
                _ => {}
            }
            room.settle();
            room.pass(Duration::from_secs(40));
        }
        for entry in room.host.log() {
            if let Some(to) = meant.get(&entry.mid) {
                prop_assert_eq!(entry.to, to.map(|to| room.members[to].id));
            }
        }
        for (index, side) in room.members.iter_mut().enumerate().filter(|(index, _)| here[*index]) {
            for entry in side.log() {
                let Some(to) = meant.get(&entry.mid) else { continue };
                let is_mine = to.map_or(entry.sender != side.id, |to| to == index);
                prop_assert_eq!(entry.is_due(), is_mine);
            }
        }
    }
}
