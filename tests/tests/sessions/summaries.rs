//! Summaries that come after their checkpoint, as those of a model do.

mod refused;

use std::time::Duration;

use accp_runtime::Value;
use accp_runtime::context::{CheckpointHooks, Digest, Frozen, Verdict};
use accp_runtime::session::{
    Event, Input, InputError, MemberId, Outbound, Reference, Rules, Scope, SummaryError,
};
use insta::assert_snapshot;

use crate::sessions::lineage::{copy, decide, restore};
use crate::sessions::room::Room;
use crate::sessions::sides::{
    NOW, Node, Side, counting, dynamic, frame, open_host, options, rules, tokens,
};

fn late(scope: Scope) -> Rules {
    Rules {
        late_summaries: true,
        ..rules(scope)
    }
}

fn host() -> Side {
    open_host(counting("hub"), late(Scope::Shared))
}

/// Returns the summaries that were asked for, each with the positions of the frames that left hot state.
fn wanted(events: &[Event]) -> Vec<(u64, Vec<u64>)> {
    let wanted = |event: &Event| match event {
        Event::SummaryWanted { checkpoint, left } => Some((*checkpoint, left.clone())),
        _ => None,
    };
    events.iter().filter_map(wanted).collect()
}

/// Lets `@dev` do the task of this number. The frame triggers a checkpoint, and the frames of the previous
/// task leave hot state.
fn task(host: &mut Side, n: u32) -> Vec<(u64, Vec<u64>)> {
    let text = format!("@dev>done:plan{{task:T{n}|fee:{n}.25}}");
    wanted(&host.takes(101, &frame(&text, n, n.into(), "")).events)
}

fn supply(host: &mut Side, checkpoint: u64, text: &str) -> Result<(), SummaryError> {
    match host.session_mut().supply_summary(checkpoint, text, NOW) {
        Ok(()) => Ok(()),
        Err(InputError::Summary(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

/// Returns the late summaries in warm state.
fn carried(host: &Side) -> Vec<(u64, String)> {
    let digests = host.state().warm().digests().iter();
    let late = digests.filter_map(Digest::late);
    late.map(|(of, text)| (of, text.to_owned())).collect()
}

fn invented(words: &[&str]) -> Result<(), SummaryError> {
    let words = words.iter().map(|&word| word.to_owned());
    Err(SummaryError::Invented(words.collect()))
}

/// A member does the task of this number, under a chain of its own.
fn does(room: &mut Room, n: i64) {
    let done = dynamic("dev", "done", "plan")
        .with("task", format!("T{n}"))
        .with("n", n);
    room.say(0, &Outbound::message(&done));
}

/// Returns the `$warm` value of a key at the host and at the first member.
fn read_by_both(room: &mut Room, key: &str) -> [Option<Value<'static>>; 2] {
    let reference = Reference::parse(key).unwrap();
    let host = room.host.driver.read(&reference).unwrap();
    [host, room.members[0].driver.read(&reference).unwrap()]
}

// ---- From the question to the context ----------------------------------------------

#[test]
fn the_next_checkpoint_carries_a_late_summary_to_all_sides() {
    let mut room = Room::with(counting("hub"), late(Scope::Shared), &["dev", "qa"]);
    does(&mut room, 1);
    assert_eq!(wanted(&room.host.events), [], "nothing has left");
    does(&mut room, 2);
    let asked = wanted(&room.host.events);
    let [(2, left)] = &asked[..] else {
        panic!("{asked:?}");
    };
    // The positions and the texts are those of the log.
    let session = room.host.session();
    let frames: Vec<_> = session.frames_to_sum_up().collect();
    let [(position, text)] = frames[..] else {
        panic!("{frames:?}");
    };
    assert_eq!(*left, [position]);
    assert_eq!(text, "@dev>done:plan{n:1|task:T1}");
    let text = text.to_owned();
    let logged = room.host.frames();
    let logged = logged.iter().find(|entry| entry.position == left[0]);
    assert!(logged.unwrap().text.starts_with(&text));

    let now = room.now;
    let host = room.host.session_mut();
    host.supply_summary(2, "Dev has  done\n T1.", now).unwrap();
    let before = room.host.session().context();
    room.check_replicas();
    does(&mut room, 3);
    room.check_replicas();
    let digest = room.members[0].state().warm().digests().last().unwrap();
    assert_eq!(digest.late(), Some((2, "Dev has done T1.")));
    assert_eq!(digest.summary(), "dev.done.plan", "its own comes later");
    assert_snapshot!(digest.line(), @r#"@warm>sync:ckpt_3{cold:p7|sum:dev.done.plan|late:ckpt_2|late_sum:"Dev_has_done_T1.|facts:[[task,T2,{n:2}]]}"#);
    // The earlier text of the context stays as it was. The facts of the checkpoint come after it.
    let context = room.members[0].session().context();
    let shown = before.split_once("@facts").unwrap().1;
    let shown = shown.split("\n@").next().unwrap();
    assert!(context.contains(shown), "{context}");
    assert_snapshot!(context, @"
    @=X(a,b) defines X(1,2) and X[rows]; $cold.p7 is message 7
    @facts ckpt_2 p5: dev.done.plan
    {n:1,task:T1}
    @facts ckpt_2: Dev has done T1.
    @facts ckpt_3 p7: dev.done.plan
    {n:2,task:T2}
    @dev>done:plan{n:3,task:T3}
    ");
    for (key, expected) in [
        ("warm.ckpt_2.summary", "Dev has done T1."),
        ("warm.ckpt_3.summary", "dev.done.plan"),
    ] {
        let both = [(); 2].map(|()| Some(Value::from(expected)));
        assert_eq!(read_by_both(&mut room, key), both);
    }
    let Some(Value::Map(whole)) = &read_by_both(&mut room, "warm.ckpt_2")[1] else {
        panic!("no map");
    };
    assert_eq!(whole.get("summary"), Some(&"Dev has done T1.".into()));
    // A member that joins later starts from the same state.
    room.enter(options("ops"));
    room.check_replicas();
    assert_eq!(wanted(&room.members[0].events), [], "only a host is asked");
}

/// A host that is not asked for late summaries behaves as before. So does a host whose caller never
/// supplies one.
#[test]
fn nothing_changes_without_a_late_summary() {
    let mut options = counting("hub");
    options.snapshot_entries = 1;
    let [mut off, mut on] =
        [rules(Scope::Shared), late(Scope::Shared)].map(|rules| open_host(options.clone(), rules));
    for n in 1..90 {
        assert_eq!(task(&mut off, n), []);
        assert_eq!(task(&mut on, n).len(), usize::from(n > 1));
        assert_eq!(off.session().frames_to_sum_up().count(), 0);
    }
    let logs = [&mut off, &mut on].map(|host| {
        let log = host.log().into_iter();
        log.map(|entry| entry.text.to_string()).collect::<Vec<_>>()
    });
    assert_eq!(logs[0], logs[1]);
    assert!(!logs[0].join("\n").contains("late"));
    assert_eq!(off.state(), on.state());
    assert!(
        off.state()
            .warm()
            .digests()
            .iter()
            .any(|digest| digest.checkpoints().0 < digest.checkpoints().1)
    );
    let snapshot = |host: &mut Side| host.stored().snapshot.unwrap().text;
    assert!(!snapshot(&mut off).contains(r#""summary":{"#));
    assert!(snapshot(&mut on).contains(r#""summary":{"#));
    let error = supply(&mut off, 89, "Dev planned.").unwrap_err();
    assert_eq!(error, SummaryError::NotWanted(89));
    assert_snapshot!(error, @"no summary of ckpt_89 is wanted: only of the last checkpoint, if frames left with it and Rules::late_summaries is set");
    // Once the rule is off, the host asks for no summary, although its snapshot has the frames.
    on = reopen_with(on, rules(Scope::Shared));
    assert_eq!(wanted(&on.events), []);
    assert_eq!(on.session().frames_to_sum_up().count(), 0);
}

/// Opens a host again from its store, with other rules.
fn reopen_with(host: Side, rules: Rules) -> Side {
    let (store, options) = (host.store.clone(), host.options.clone());
    drop(host);
    let mut host = Side::open(MemberId::HOST, store, vec![], options, Some(rules), NOW).unwrap();
    host.carries_out(NOW);
    host
}

/// A checkpoint with which no frame leaves hot state carries the late summary, too. The host asks for no summary of
/// such a checkpoint.
#[test]
fn a_checkpoint_without_frames_carries_a_late_summary() {
    let mut host = host();
    task(&mut host, 1);
    assert!(host.phase(NOW).is_some());
    host.events.clear();
    host.carries_out(NOW);
    let first = host.frames()[0].position;
    assert_eq!(wanted(&host.events), [(2, vec![first])]);
    supply(&mut host, 2, "Dev did T1.").unwrap();
    let empty = host.phase(NOW).unwrap();
    assert_eq!((empty.left(), empty.id()), (&[][..], 3));
    host.events.clear();
    host.carries_out(NOW);
    assert_eq!(wanted(&host.events), []);
    assert_eq!(carried(&host), [(2, "Dev did T1.".to_owned())]);
    let context = host.session().context();
    assert!(
        context.ends_with("@facts ckpt_2: Dev did T1.\n"),
        "{context}"
    );
    assert_eq!(
        supply(&mut host, 3, "Nothing."),
        Err(SummaryError::NotWanted(3))
    );
}

/// A hook that puts off every second checkpoint.
struct Second(bool);

impl CheckpointHooks for Second {
    fn before(&mut self, _: &Frozen<'_>) -> Verdict {
        self.0 = !self.0;
        if self.0 {
            Verdict::Go
        } else {
            Verdict::Veto("later".into())
        }
    }
}

#[test]
fn a_checkpoint_that_is_put_off_carries_it_later() {
    let mut host = host();
    task(&mut host, 1);
    host.hooks(Second(false));
    assert_eq!(task(&mut host, 2).len(), 1);
    supply(&mut host, 2, "Dev did T1.").unwrap();
    assert_eq!(task(&mut host, 3), []);
    assert_eq!(carried(&host), []);
    assert_eq!(task(&mut host, 4).len(), 1);
    assert_eq!(carried(&host), [(2, "Dev did T1.".to_owned())]);
}

/// The summary is cut to 100 tokens, and the line of its checkpoint to 200.
#[test]
fn a_late_summary_is_cut_like_any_summary() {
    let mut host = host();
    task(&mut host, 1);
    task(&mut host, 2);
    supply(&mut host, 2, &"Dev planned T1 with care. ".repeat(100)).unwrap();
    task(&mut host, 3);
    let [(2, text)] = &carried(&host)[..] else {
        panic!("{:?}", carried(&host));
    };
    assert!(text.starts_with("Dev planned T1 with care. Dev") && text.ends_with(" ..."));
    let wire = Value::from(text.as_str()).to_string();
    assert!((80..=100).contains(&tokens(&wire)), "{text}");
    let digest = host.state().warm().digests().last().unwrap();
    assert!(digest.tokens() <= 200);
    assert!(!digest.facts().is_empty(), "there is room for facts");
}

/// A merge of checkpoints uses the late summary instead of the first summary. The values of the checkpoint stay as
/// they are.
#[test]
fn a_merge_takes_the_late_summaries() {
    let mut host = counting("hub");
    host.context.warm = 400;
    let mut room = Room::with(host, late(Scope::Shared), &["dev"]);
    let (mut count, mut whole) = (0, 0);
    for n in 1..60 {
        does(&mut room, n);
        let asked = wanted(&std::mem::take(&mut room.host.events));
        let now = room.now;
        // Every third checkpoint gets no late summary.
        for (checkpoint, _) in asked.iter().filter(|(of, _)| of % 3 > 0) {
            let text = format!("Dev; did T{0}; {0}*{0};{0}*{0}", n - 1);
            let host = room.host.session_mut();
            host.supply_summary(*checkpoint, &text, now).unwrap();
        }
        let warm = room.host.state().warm().digests();
        let Some(merged) = warm
            .first()
            .filter(|digest| digest.checkpoints().0 < digest.checkpoints().1)
        else {
            continue;
        };
        count += 1;
        whole += usize::from(!merged.summary().ends_with("..."));
        let (first, last) = merged.checkpoints();
        assert_eq!(merged.late(), None);
        let text = merged.summary();
        for of in (first..=last).filter(|_| !text.ends_with("...")) {
            // With this checkpoint, the frames of the previous task have left hot state.
            let said = format!("did T{0}; {0}*{0};{0}*{0}", of - 1);
            assert_eq!(text.contains(&said), of > 1 && of % 3 > 0, "{of}: {text}");
        }
        assert!(text.contains("dev.done.plan"), "{text}");
    }
    assert!(count > 10 && whole > 0);
    room.check_replicas();
}

// ---- Restarts ----------------------------------------------------------------------

/// A host that starts again from its log or from a snapshot asks for the summary again: a summary that
/// no checkpoint carries yet was only in memory.
#[test]
fn a_host_that_starts_again_asks_again() {
    for awaits in [false, true] {
        let mut host = host();
        if awaits {
            host = host.awaiting(NOW).unwrap();
            host.restart_as(host.options.clone());
        }
        task(&mut host, 1);
        let asked = task(&mut host, 2);
        assert_eq!(asked.len(), 1);
        let frames = |host: &Side| {
            let frames = host.session().frames_to_sum_up();
            frames
                .map(|(at, text)| (at, text.to_owned()))
                .collect::<Vec<_>>()
        };
        let before = frames(&host);
        for snapshot_entries in [1000, 1, 1] {
            assert_eq!(supply(&mut host, 2, "Dev did T1."), Ok(()));
            let mut options = host.options.clone();
            options.snapshot_entries = snapshot_entries;
            host.reopen_as(options);
            host.events.clear();
            host.carries_out(NOW);
            assert_eq!(wanted(&host.events), asked);
            assert_eq!(frames(&host), before);
            host.events.clear();
            host.carries_out(NOW);
            assert_eq!(wanted(&host.events), [], "once");
        }
        assert!(host.stored().snapshot.is_some());
        host.greets(NOW);
        assert_eq!(supply(&mut host, 2, "Dev did T9."), invented(&["T9"]));
        assert_eq!(supply(&mut host, 2, "Dev did T1 at last."), Ok(()));
        task(&mut host, 3);
        let expected = [(2, "Dev did T1 at last.".to_owned())];
        assert_eq!(carried(&host), expected);
        host.restart_as(host.options.clone());
        assert_eq!(carried(&host), expected);
    }
}

/// A host that gets a checkpoint back from a member asks for its summary.
#[test]
fn a_host_that_recovers_a_checkpoint_asks_for_its_summary() {
    let mut room = Room::with(counting("hub"), late(Scope::Sender), &["dev"]);
    does(&mut room, 1);
    let backup = copy(&room);
    for n in 2..5 {
        does(&mut room, n);
    }
    let last = room.host.state().warm().last();
    room.host.events.clear();
    restore(&mut room, backup);
    assert_eq!(wanted(&room.host.events), []);
    decide(&mut room, Input::Recover).unwrap();
    let asked = wanted(&room.host.events);
    let [(checkpoint, _)] = asked[..] else {
        panic!("{asked:?}");
    };
    assert!(checkpoint >= last);
    let now = room.now;
    let host = room.host.session_mut();
    assert!(host.supply_summary(checkpoint, "Dev did T9.", now).is_err());
    let text = "Dev went on.";
    host.supply_summary(checkpoint, text, now).unwrap();
    does(&mut room, 5);
    room.pass(Duration::from_secs(32));
    room.check_replicas();
    assert_eq!(
        carried(&room.host).last(),
        Some(&(checkpoint, text.to_owned()))
    );
}
