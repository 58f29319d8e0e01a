//! Tiers, checkpoints and budgets after kills: ST, CKP and BUD-01.

use accp_runtime::context::{Checkpoint, Trigger};
use accp_runtime::session::{Input, Outbound, Reference, Rules};
use accp_runtime::{DynamicFrame, ErrorCode, Value};
use proptest::prelude::*;

use super::{LONG, calm, kill, kill_all, kill_all_and_calm};
use crate::sessions::returns::lose;
use crate::sessions::room::Room;
use crate::sessions::sides::{
    NOW, Node, Side, checkpoint, counting, dynamic, frame, member, numbers, open_host, options,
    plan, tokens,
};

fn host() -> Side {
    open_host(counting("hub"), Rules::default())
}

/// Returns the value of a reference, read at the host and at the first member.
fn read_by_both(room: &mut Room, key: &str) -> [Option<Value<'static>>; 2] {
    let reference = Reference::parse(key).unwrap();
    let host = room.host.driver.read(&reference).unwrap();
    [host, room.members[0].driver.read(&reference).unwrap()]
}

/// A conversation of `@dev`: for each frame its intent, the number of its words, and whether all sides are killed
/// after it.
fn turns() -> impl Strategy<Value = Vec<(&'static str, usize, bool)>> {
    let intent = prop::sample::select(vec!["req", "qry", "wait", "done", "esc"]);
    prop::collection::vec((intent, 0..60_usize, any::<bool>()), 1..10)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// After a kill, every side has the same hot and warm state as before, within the same budget. From then on it
    /// has the same context as a side that was never killed.
    #[test]
    fn bud_01_budgets_and_context_are_the_same_after_a_kill(turns in turns()) {
        let mut room = Room::counting(&["dev"]);
        let mut unharmed = Room::counting(&["dev"]);
        for (at, (intent, words, is_killed)) in turns.into_iter().enumerate() {
            let message = dynamic("dev", intent, "plan").with("step", at as i64).with("list", numbers(words));
            room.say(0, &Outbound::message(&message));
            unharmed.say(0, &Outbound::message(&message));
            if is_killed {
                let before = (room.host.session().budget(), room.host.session().context());
                kill_all(&mut room);
                let after = (room.host.session().budget(), room.host.session().context());
                prop_assert_eq!(&before, &after);
                room.pass(LONG);
            }
            let budget = room.host.session().budget();
            let counted: usize = room.host.state().hot().lines().map(|line| tokens(&format!("{line}\n"))).sum();
            prop_assert_eq!(budget.hot.used as usize, counted);
            prop_assert!(budget.hot.used <= 500 && budget.warm.used <= 2000);
            prop_assert_eq!(room.members[0].session().budget(), budget);
            prop_assert_eq!(room.host.session().context(), unharmed.host.session().context());
        }
        calm(&mut room);
    }
}

/// After a kill, the frame that `aid` names is still the parent of the frame with the `aid`.
#[test]
fn st_01_the_parent_stays_hot_after_a_kill() {
    for (aid, expected) in [(",aid:101000001003", &[1, 3, 5][..]), ("", &[1, 5])] {
        let mut host = host();
        for n in 1..=4 {
            let intent = if n == 1 { "req" } else { "sync" };
            let head = format!("@dev>{intent}:note{{n:{n}}}");
            host.takes(101, &frame(&head, n, n.into(), ",cid:lunch"));
        }
        kill(&mut host);
        host.takes(101, &frame("@dev>done:plan{n:5}", 5, 5, aid));
        kill(&mut host);
        let hot_state: String = host.state().hot().lines().collect();
        let shown = (1..=5).filter(|n| hot_state.contains(&format!("{{n:{n}}}")));
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{hot_state}");
    }
}

/// A reference into a checkpoint still works after a kill, and the next checkpoint has another name.
#[test]
fn st_02_checkpoints_can_be_referred_to_after_a_kill() {
    let mut host = host();
    let request = "@dev>req:schedule{asgn:dev|task:T1|pri:high|schema:TA}";
    host.takes(101, &frame(request, 1, 1, ""));
    let done = "@dev>done:schedule{task:T1|stat:complete|schema:TA}";
    host.takes(101, &frame(done, 2, 2, ",cid:101000001001"));
    host.phase(NOW).unwrap();
    host.carries_out(NOW);
    kill(&mut host);
    let resolve = |key: &str| host.session().resolve(key);
    assert_eq!(resolve("warm.ckpt_2.priority"), Some("high".into()));
    assert_eq!(resolve("warm.ckpt_3"), None);
    let ask = |key: &str, n| frame(&format!("@dev>qry:lookup{{of:${key}}}"), n, 3, "");
    let missing = host.refuses(101, &ask("warm.ckpt_3.priority", 9));
    assert_eq!(missing.code, ErrorCode::REF_NOT_FOUND);
    host.takes(101, &ask("warm.ckpt_2.priority", 10));
    assert_eq!(host.phase(NOW).map(|next| next.id()), Some(3));
}

/// After a kill, both sides still read the values of earlier frames and of earlier puts, and no key is
/// given twice.
#[test]
fn st_03_cold_state_is_read_after_a_kill() {
    let mut room = Room::counting(&["dev"]);
    let long = |n: i64| format!("{n} so ").repeat(20);
    for n in 1..=2 {
        room.say(0, &Outbound::message(&plan("dev", n).with("goal", long(n))));
    }
    kill_all_and_calm(&mut room);
    room.say(0, &Outbound::message(&plan("dev", 3).with("goal", long(3))));
    for n in 1..=3 {
        let key = format!("cold.k101_{n}");
        let reference = Reference::parse(&key).unwrap();
        let read = room.host.driver.read(&reference).unwrap();
        assert_eq!(read, Some(Value::from(long(n))));
    }
    let ask = dynamic("dev", "qry", "lookup").with("of", Value::Ref("cold.k101_1".into()));
    room.say(0, &Outbound::message(&ask));
    for entry in room.host.frames() {
        let read = read_by_both(&mut room, &format!("cold.p{}", entry.position));
        assert_eq!(
            read,
            [(); 2].map(|()| Some(Value::from(entry.text.to_string())))
        );
    }
    let none = Reference::parse("cold.k101_4").unwrap();
    assert_eq!(room.host.driver.read(&none).ok().flatten(), None);
    room.check_replicas();
}

// ---- Triggers ----------------------------------------------------------------------

/// Kills a host before or after its batch with the last frame and its checkpoint is durable. The sender
/// then sends the frame again. The host takes the checkpoint once, with this trigger, and its context
/// equals that of a host that was never killed.
fn is_taken_once(trigger: Trigger, heads: &[&str]) {
    for is_durable in [false, true] {
        let (mut host, mut unharmed) = (host(), host());
        let (last, before) = heads.split_last().unwrap();
        for (head, n) in before.iter().zip(1..) {
            for side in [&mut host, &mut unharmed] {
                let heard = side.takes(101, &frame(head, n, n.into(), ""));
                assert_eq!(heard.checkpoints(), []);
            }
        }
        let n = heads.len() as u32;
        let text = frame(last, n, n.into(), "");
        unharmed.takes(101, &text);
        host.session_mut()
            .receive(member(101), text.as_bytes(), NOW);
        if is_durable {
            host.carries_out(NOW);
        }
        kill(&mut host);
        assert_eq!(host.state().warm().last(), u64::from(is_durable));
        let again = host.hears(101, &text, NOW).checkpoints();
        assert_eq!(again.len(), usize::from(!is_durable));
        kill(&mut host);
        let log = host.log();
        let all: Vec<Checkpoint> = log.iter().filter_map(checkpoint).collect();
        let [only] = &all[..] else { panic!("{all:?}") };
        assert_eq!(only.triggers(), [trigger]);
        assert_eq!(host.session().context(), unharmed.session().context());
    }
}

#[test]
fn ckp_01_done_triggers_once_whoever_is_killed() {
    is_taken_once(
        Trigger::Done,
        &["@dev>wait:plan{a:1}", "@dev>done:plan{a:2}"],
    );
}

#[test]
fn ckp_02_hot_state_triggers_once_whoever_is_killed() {
    let line = |words| {
        format!(
            "@dev>sync:plan{{notes:[{}]}}",
            vec!["word"; words].join(",")
        )
    };
    let (large, small) = (line(170), line(60));
    let counted = [&large, &small].map(|line| tokens(&format!("{line}\n")));
    assert!(
        counted[0] <= 400 && counted[0] + counted[1] > 400,
        "{counted:?}"
    );
    is_taken_once(Trigger::Hot, &[&large, &small]);
}

#[test]
fn ckp_03_esc_triggers_once_whoever_is_killed() {
    is_taken_once(Trigger::Esc, &["@dev>wait:plan{a:1}", "@dev>esc:plan{a:2}"]);
}

/// If the host lost a phase boundary in a kill, the caller signals it again. A boundary that was kept
/// needs no second signal.
#[test]
fn ckp_04_a_phase_triggers_once_whoever_is_killed() {
    for is_durable in [false, true] {
        let mut host = host();
        host.takes(101, &frame("@dev>wait:plan{a:1}", 1, 1, ""));
        host.session_mut().handle(Input::Phase, NOW).unwrap();
        if is_durable {
            host.carries_out(NOW);
        }
        kill(&mut host);
        assert_eq!(host.state().warm().last(), u64::from(is_durable));
        if !is_durable {
            host.phase(NOW).unwrap();
            host.carries_out(NOW);
            kill(&mut host);
        }
        let log = host.log();
        let all: Vec<Checkpoint> = log.iter().filter_map(checkpoint).collect();
        let [only] = &all[..] else { panic!("{all:?}") };
        assert_eq!(only.triggers(), [Trigger::Phase]);
        assert_eq!(host.session().budget().hot.used, 0);
    }
}

#[test]
fn ckp_05_comp_triggers_once_whoever_is_killed() {
    is_taken_once(
        Trigger::Comp,
        &["@dev>wait:plan{a:1}", "@dev>comp:plan{a:2}"],
    );
}

// ---- What a checkpoint says and keeps ----------------------------------------------

/// A member that got no frames before the kill, and a member that joins late, have the same facts and the same
/// summary as the host, word for word.
#[test]
fn ckp_07_facts_and_summary_are_the_same_on_every_side_after_a_kill() {
    let mut room = Room::counting(&["dev", "qa"]);
    lose(&mut room, |passed| passed.to == member(102));
    for (intent, task, stage) in [
        ("wait", "T1", "cut"),
        ("wait", "T2", "glued"),
        ("done", "T1", "sold"),
    ] {
        let message = dynamic("dev", intent, "task")
            .with("task", task)
            .with("stage", stage);
        room.say(0, &Outbound::message(&message));
    }
    let now = room.now;
    room.host.phase(now).unwrap();
    room.settle();
    kill_all_and_calm(&mut room);
    room.enter(options("late"));
    let digests = room.host.state().warm().digests().to_vec();
    let facts: Vec<String> = digests
        .iter()
        .flat_map(|digest| digest.facts().iter().map(ToString::to_string))
        .collect();
    for expected in ["[T2,stage,glued]", "[T1,stage,sold]"] {
        assert!(facts.iter().any(|fact| fact == expected), "{facts:?}");
    }
    for side in &room.members {
        assert_eq!(side.session().state().warm().digests(), digests);
    }
    assert!(digests.iter().all(|digest| tokens(digest.summary()) <= 100));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Frozen frames are read back byte for byte on both sides, over a link that fails and after kills.
    #[test]
    fn ckp_08_what_was_frozen_is_read_back_after_a_kill(
        said in prop::collection::vec((prop::sample::select(vec!["req", "done", "esc"]), "\\PC{0,90}"), 1..6),
    ) {
        let mut room = Room::counting(&["dev"]);
        for (intent, text) in &said {
            let message = DynamicFrame::new("dev", intent, "plan").unwrap().with("goal", text.as_str());
            room.say(0, &Outbound::message(&message));
        }
        let is_sent = |text: &&str| text.contains(":plan{");
        let sent: Vec<String> = room.passed(101, 100).filter(is_sent).map(str::to_owned).collect();
        let now = room.now;
        room.host.phase(now).unwrap();
        room.settle();
        kill_all_and_calm(&mut room);
        let frames = room.host.frames();
        prop_assert_eq!(frames.len(), sent.len());
        for ((entry, sent), (_, text)) in frames.iter().zip(&sent).zip(&said) {
            prop_assert_eq!(&*entry.text, sent);
            let read = read_by_both(&mut room, &format!("cold.p{}", entry.position));
            prop_assert_eq!(read, [(); 2].map(|()| Some(Value::from(sent.as_str()))));
            let goal = room.host.payload(sent).get("goal").cloned();
            prop_assert_eq!(goal, Some(Value::from(text.as_str())));
        }
    }
}
