//! Conformance of the level that a session claims: LVL-01 (draft section 8). `docs/conformance.md`
//! lists the tests of each requirement.

use accp_runtime::context::{CheckpointHooks, Frozen, Verdict};
use accp_runtime::session::{Outbound, Rules, Session};

use crate::sessions::room::Room;
use crate::sessions::sides::{NOW, Node, counting, open_host, options, plan};

#[test]
fn lvl_01_accepts_level_3_where_the_host_counts() {
    let mut room = Room::counting(&["dev"]);
    assert_eq!(room.host.session().level(), 3);
    // A side that does not count tokens itself has level 3 too, with the budgets and checkpoints of
    // the host.
    assert_eq!(room.members[0].session().level(), 3);
    assert_eq!(room.host.state().tokenizer(), Some("o200k_base"));
    let stored = room.members[0].stored();
    let restored = Session::restore_member(options("dev"), &stored, NOW).unwrap();
    assert_eq!(restored.level(), 3);
}

/// The hello of the host says which level the session keeps to.
#[test]
fn lvl_01_accepts_the_level_in_the_hello() {
    for (hub, level) in [(counting("hub"), 3), (options("hub"), 1)] {
        let mut host = open_host(hub, Rules::default());
        let hello = "@dev>sync:registry{hash:c03a74|pos:0|v:1}[mid:910100000001,seq:0]";
        let sends = host.hears(101, hello, NOW).sends;
        let said = format!("|lvl:{level}|");
        let is_said =
            |text: &String| text.starts_with("@hub>sync:registry{") && text.contains(&said);
        assert!(sends.iter().any(is_said), "{sends:?}");
    }
}

/// Limits over those of the draft lower the level, on every side and after a restart of the host. A hook that puts
/// off a checkpoint lowers the level, too.
#[test]
fn lvl_01_refuses_to_claim_what_settings_and_hooks_switch_off() {
    let mut large = counting("hub");
    large.context.hot = 501;
    let mut wide = counting("hub");
    wide.frame_tokens.total.hard = 241;
    for (hub, level) in [(large, 1), (wide, 2)] {
        let mut room = Room::with(hub.clone(), Rules::default(), &["dev"]);
        let levels =
            |room: &Room| [&room.host, &room.members[0]].map(|side| side.session().level());
        assert_eq!(levels(&room), [level; 2]);
        // The host does not announce a level twice. After a change, the next frame announces the
        // new level.
        room.say(0, &Outbound::message(&plan("dev", 1)));
        for (options, level) in [(hub, level), (counting("hub"), 3)] {
            room.host.reopen_as(options);
            room.say(0, &Outbound::message(&plan("dev", 2)));
            assert_eq!(levels(&room), [level; 2]);
        }
        let log = room.host.log();
        let said = log
            .iter()
            .filter(|entry| entry.text.contains(">sync:level{"));
        assert_eq!(said.count(), 2);
    }
    let mut room = Room::counting(&["dev"]);
    room.host.hooks(Never);
    room.say(0, &Outbound::message(&plan("dev", 1)));
    assert_eq!(room.host.session().level(), 3);
    room.host.phase(NOW);
    room.say(0, &Outbound::message(&plan("dev", 2)));
    let stored = room.members[0].stored();
    let restored = Session::restore_member(options("dev"), &stored, NOW).unwrap();
    let levels = [room.host.session(), room.members[0].session(), &restored];
    assert_eq!(levels.map(Session::level), [1; 3]);
}

/// Puts off every checkpoint.
struct Never;

impl CheckpointHooks for Never {
    fn before(&mut self, _: &Frozen<'_>) -> Verdict {
        Verdict::Veto("not now".into())
    }
}

/// Without a counter there are neither checkpoints nor budgets, so levels 2 and 3 are not claimed.
/// Before the host has answered, no level is claimed.
#[test]
fn lvl_01_refuses_to_claim_what_is_switched_off() {
    let mut room = Room::with(options("hub"), Rules::default(), &["dev"]);
    room.enter(counting("qa"));
    for level in [
        room.host.session().level(),
        room.members[0].session().level(),
        room.members[1].session().level(),
    ] {
        assert_eq!(level, 1);
    }
    assert_eq!(room.host.phase(NOW), None);
    assert_eq!(room.host.session().budget().total.used, 0);
    assert_eq!(Session::member(counting("dev"), NOW).level(), 1);
}
