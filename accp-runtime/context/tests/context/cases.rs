//! Exact lines and error texts, which the properties do not check.

use accp_context::{Checkpointer, Turn};
use accp_runtime::context::{Checkpoint, CheckpointHooks, ContextLimits, Digest, Trigger, Verdict};
use accp_runtime::session::Time;
use insta::assert_snapshot;

use super::Quarters;
use super::table::{QUIET, Table, frame, telling};

#[test]
fn the_current_frame_stays_with_its_request_and_those_in_flight() {
    let mut table = Table::default();
    table.say("@boss>req:plan{task:T0}");
    let in_flight = table.say("@boss>req:plan{task:T1}");
    table.say("@dev>wait:plan{task:T1|why:review}");
    let long = format!(
        "@boss>req:chat{{content:{}|turn:3|schema:CH}}",
        "Well_".repeat(120)
    );
    let request = table.say(&long);
    table.say("@dev>qry:lookup{src:$cold.p1}");
    let current = table.say("@dev>done:chat{content:Done.|schema:CH}");
    let checkpoint = table.turn(Turn {
        current: Some(current),
        parent: Some(request),
        in_flight: &[in_flight],
        triggers: &[Trigger::Done, Trigger::Comp, Trigger::Done],
        at: Time::from_secs(1_714_000_000),
        ..QUIET
    });
    assert_snapshot!(table.context(), @r"
    @warm>sync:ckpt_1{cold:p1-p5|sum:boss.req.plan;dev.wait.plan;dev.qry.lookup|facts:[[task,T0],[task,T1,{rationale:review}],[boss.chat,{turn:3}],[dev.lookup,{source:$cold.p1}]]}
    @boss>req:plan{task:T1}
    @boss>req:chat{ref:$cold.p4|turn:3|schema:CH|begins:Well_Well_Well_Well_Well_Well_Well_Well_Well_Well_Well_Well_Well_Well_Well_Well_Well_Well_Well_Well_Well_We}
    @dev>done:chat{content:Done.|schema:CH}
    ");
    assert_eq!(checkpoint.left(), [(1, 1), (3, 3), (5, 5)]);
    assert_eq!(checkpoint.covers(), 5);
    assert_snapshot!(frame(&checkpoint), @"@hub>sync:checkpoint{at:1714000000000|cold:p1-p5|covers:5|facts:[[task,T0],[task,T1,{rationale:review}],[boss.chat,{turn:3}],[dev.lookup,{source:$cold.p1}]]|id:ckpt_1|kept:[[2,6],[4,41,true],[6,10]]|left:[1,3,5]|on:[done,comp]|sum:boss.req.plan;dev.wait.plan;dev.qry.lookup|tok:44}");
    // Hot state still holds the whole frame. Only the context shows a preview of it.
    assert_eq!(table.hot.frame(request), Some(&*long));
}

#[test]
fn facts_are_about_the_id_of_their_record() {
    assert_snapshot!(Table::facts(&[
        "@pay>req:transaction{txn:tx_9|amt:142.5|acc:acct_7|schema:TX}",
        "@pay>done:transaction{txn:tx_9|stat:settled|schema:TX}",
    ]), @"[[transaction_id,tx_9,{account:acct_7,amount:142.5,status:settled}]]");
    // Records in a list have their own facts. A record without an id is named by its place in the
    // list.
    assert_snapshot!(Table::facts(&[
        "@t>done:tool{tool:get_booking|res:{booking_id:B7,user_id:mia,cabin:economy,\
         flights:[{flight_number:HAT1,price:152.5},{flight_number:HAT2,price:103.25}],\
         people:[{dob:1990-04-05},{dob:1991-01-01}],payment:{amount:255.75}}|schema:TC}",
    ]), @"[[booking_id,B7,{cabin:economy,payment_amount:255.75,user_id:mia}],[B7.people.1,{dob:1990-04-05}],[B7.people.2,{dob:1991-01-01}],[flight_number,HAT1,{price:152.5}],[flight_number,HAT2,{price:103.25}],[tool_name,get_booking]]");
    // `first-name` and `_` are not keys, so these facts are written as pairs.
    assert_snapshot!(
        Table::facts(&["@a>done:plan{data:{_:[[first-name,Ada],[zip,\"94107]]}|note:~|list:[a,b]}"]),
        @r#"[[a.plan,[[first-name,Ada],[list,[a,b]],[zip,"94107]]]]"#
    );
    assert_snapshot!(Table::facts(&[r#"@a>done:plan{_:[[_,[x,"]]]}"#]), @r#"[[a.plan,[[_,[x,"]]]]]"#);
    // If two values get one name, the first value counts.
    assert_snapshot!(Table::facts(&["@a>done:plan{data:{p:{q:{x:1}},r:{q:{x:2}}}}"]), @"[[a.plan,{q_x:1}]]");
    // These values are empty, too long, or about the session, so they give no facts.
    assert_snapshot!(Table::facts(&[
        "@user>req:chat{role:user|content:This_is_more_than_what_fits_in_fifty_characters_of_a_frame.|schema:CH}",
        "@a>sync:state{v:7|delta:{task_3:done}}",
        "@a>done:plan{deps:[]|note:\"|why:~}",
        "@a>done:plan{schema:NO|x:1}",
    ]), @"none");
}

#[test]
fn a_default_is_a_fact_where_something_else_was_said_before() {
    assert_snapshot!(
        Table::facts(&["@t>done:tool{tool:ping|schema:TC}"]),
        @"[[tool_name,ping]]"
    );
    assert_snapshot!(Table::facts(&[
        "@t>done:tool{tool:ping|stat:error|schema:TC}",
        "@t>done:tool{tool:ping|schema:TC}",
    ]), @"[[tool_name,ping,{status:ok}]]");
    let mut table = Table::default();
    table.say("@t>done:tool{tool:ping|stat:error|schema:TC}");
    table.phase(&[]);
    table.say("@t>done:tool{tool:ping|schema:TC}");
    table.phase(&[]);
    assert_eq!(table.warm.resolve("ckpt_1", "status"), Some("error".into()));
    assert_eq!(table.warm.resolve("ckpt_2", "status"), Some("ok".into()));
}

#[test]
fn what_warm_state_says_already_is_said_again_only_as_it_ages() {
    let mut table = Table::default();
    let mut said_at = Vec::new();
    for turn in 1..=8 {
        table.say("@a>done:plan{task:T1|status:open}");
        table.say(&format!("@b>done:plan{{order_id:O{turn}}}"));
        let checkpoint = table.phase(&[]);
        let facts = checkpoint.digest().map_or(&[][..], |digest| digest.facts());
        if facts.iter().any(|fact| fact.relationship() == "status") {
            said_at.push(turn);
        }
    }
    assert_eq!(said_at, [1, 3, 7]);
}

#[test]
fn a_path_leads_to_a_fact() {
    let mut table = Table::default();
    table.say("@a>done:plan{task:T1|note:late|progress:100}");
    table.say("@a>done:plan{task:T2|status:open}");
    table.say("@a>done:plan{task:T1|status:done}");
    table.phase(&[]);
    let resolve = |path: &str| {
        let value = table.warm.resolve("ckpt_1", path);
        value.map_or_else(|| "nothing".to_owned(), |value| value.to_string())
    };
    let paths = [
        "status",
        "T1.status",
        "T2.progress",
        "progress",
        "summary",
        "cold",
        "facts",
        "",
        "x",
    ];
    assert_snapshot!(paths.map(|path| format!("{path} -> {}", resolve(path))).join("\n"), @r"
    status -> done
    T1.status -> done
    T2.progress -> nothing
    progress -> 100
    summary -> a.done.plan*3
    cold -> p1-p3
    facts -> [[T2,status,open],[T2,task,T2],[T1,note,late],[T1,progress,100],[T1,status,done],[T1,task,T1]]
     -> {cold:p1-p3,facts:[[T2,status,open],[T2,task,T2],[T1,note,late],[T1,progress,100],[T1,status,done],[T1,task,T1]],summary:a.done.plan*3}
    x -> nothing
    ");
    for key in ["ckpt_0", "ckpt_2", "ckpt_01", "ckpt_", "ckpt_-1", "1", ""] {
        assert_eq!(table.warm.resolve(key, ""), None, "{key}");
    }
}

#[test]
fn the_oldest_checkpoints_become_one() {
    let mut table = Table::default();
    let mut before = String::new();
    let merged = loop {
        let turn = table.position;
        table.say("@a>done:plan{task:T1|status:open|amount:1.5}");
        for order in 0..12 {
            table.say(&format!(
                "@b>done:plan{{order_id:order_{turn}_{order}|price:{turn}.25}}"
            ));
        }
        let checkpoint = table.phase(&[]);
        if let Some((through, _)) = checkpoint.merged() {
            break through;
        }
        let context = table.context();
        assert!(context.starts_with(&before));
        before = context;
    };
    assert!(merged >= 2);
    assert!(table.warm.tokens() <= 1_500, "a quarter is free again");
    let first = &table.warm.digests()[0];
    assert_eq!(first.checkpoints(), (1, merged));
    assert_snapshot!(first.line(), @"@warm>sync:ckpt_7{from:ckpt_1|cold:p1-p91|sum:a.done.plan*7;b.done.plan*84|facts:[[order_id,order_65_0],[order_id,order_65_1,{price:65.25}],[order_id,order_65_6,{price:65.25}],[order_id,order_65_7,{price:65.25}],[order_id,order_65_8,{price:65.25}],[order_id,order_65_9,{price:65.25}],[order_id,order_65_10,{price:65.25}],[order_id,order_65_11,{price:65.25}],[order_id,order_78_0,{price:78.25}],[order_id,order_78_1,{price:78.25}],[order_id,order_78_2,{price:78.25}],[order_id,order_78_3,{price:78.25}],[order_id,order_78_4,{price:78.25}],[order_id,order_78_5,{price:78.25}],[order_id,order_78_6,{price:78.25}],[order_id,order_78_7,{price:78.25}],[order_id,order_78_8,{price:78.25}],[order_id,order_78_9,{price:78.25}],[order_id,order_78_10,{price:78.25}],[order_id,order_78_11,{price:78.25}]]}");
    // A reference to a merged checkpoint finds its facts in the new line.
    assert_eq!(
        table.warm.resolve("ckpt_1", "summary"),
        table.warm.resolve(&format!("ckpt_{merged}"), "summary")
    );
    // A later checkpoint states this fact again, so the merge has dropped it from the older line.
    assert_eq!(table.warm.resolve("ckpt_1", "T1.status"), None);
}

#[test]
fn a_checkpoint_of_nothing_takes_no_line() {
    let mut table = Table::default();
    let current = table.say("@a>comp:state{}");
    let checkpoint = table.turn(Turn {
        current: Some(current),
        triggers: &[Trigger::Comp],
        ..QUIET
    });
    assert_eq!(
        (checkpoint.id(), checkpoint.digest(), checkpoint.left()),
        (1, None, &[][..])
    );
    assert_eq!((table.warm.last(), table.warm.tokens()), (1, 0));
    assert_eq!(table.warm.resolve("ckpt_1", ""), None);
    assert_snapshot!(table.context(), @"@a>comp:state{}");
}

#[test]
fn a_frame_that_does_not_fit_calls_for_a_checkpoint_that_shows_it() {
    let limits = ContextLimits::DRAFT;
    let mut table = Table::default();
    let frame = |count| format!("@a>req:chat{{content:{}|schema:CH}}", "x".repeat(count));
    table.say(&frame(1_000));
    assert!(!table.hot.is_over_trigger(&limits));
    let current = table.say(&frame(1_200));
    assert!(table.hot.is_over_trigger(&limits) && table.hot.is_full());
    assert!(table.hot.lines().nth(1).unwrap().contains("ref:$cold.p2"));
    table.turn(Turn {
        current: Some(current),
        triggers: &[Trigger::Hot],
        ..QUIET
    });
    assert_eq!(table.context().lines().nth(1), Some(&*frame(1_200)));
    assert!(!table.hot.is_full());
    // A frame without room for a preview stays in hot state, but the context does not show it.
    let hidden = table.say(&format!("@{}>req:plan{{}}", "a".repeat(3_000)));
    assert!(table.hot.is_full());
    assert!(table.hot.frame(hidden).is_some());
    assert_eq!(table.context().lines().count(), 2);
}

#[test]
fn hooks_see_what_would_leave() {
    struct Two(Vec<u64>);
    impl CheckpointHooks for Two {
        fn before(&mut self, frozen: &accp_runtime::context::Frozen<'_>) -> Verdict {
            match frozen.leaving().count() {
                0..2 => Verdict::Veto("too few".into()),
                _ => Verdict::Go,
            }
        }
        fn after(&mut self, checkpoint: &Checkpoint) {
            self.0.push(checkpoint.id());
        }
    }
    let mut hooks = Two(Vec::new());
    let mut table = Table::default();
    table.say("@a>done:plan{}");
    let turn = QUIET;
    let checkpointer = Table::checkpointer();
    let frozen = checkpointer.freeze(&table.hot, &table.warm, turn);
    assert_eq!(hooks.before(&frozen), Verdict::Veto("too few".into()));
    assert_eq!(().before(&frozen), Verdict::Go);
    table.say("@a>done:plan{}");
    let frozen = checkpointer.freeze(&table.hot, &table.warm, turn);
    assert_eq!(
        (frozen.id(), frozen.covers(), frozen.kept()),
        (1, 2, &[][..])
    );
    assert_eq!(hooks.before(&frozen), Verdict::Go);
    hooks.after(&checkpointer.take(&frozen));
    assert_eq!(hooks.0, [1]);
}

#[test]
fn what_leaves_is_remembered_before_what_is_cut() {
    let mut table = Table::default();
    table.say("@a>done:plan{task:T1|note:a_word}");
    let current = table.say(&telling("b", "row"));
    let checkpoint = table.turn(Turn {
        current: Some(current),
        triggers: &[Trigger::Hot],
        ..QUIET
    });
    assert!(checkpoint.kept()[0].cut);
    assert_eq!(
        table.warm.resolve("ckpt_1", "T1.note"),
        Some("a_word".into())
    );
    // The facts of the other frame come first. Facts of the frame that was cut take the room that
    // is left.
    assert_eq!(
        table.warm.resolve("ckpt_1", "row0.row_id"),
        Some("row0".into())
    );
}

#[test]
fn a_frame_that_is_cut_tells_its_facts_once_and_once_more_when_it_leaves() {
    let mut table = Table::default();
    let request = table.say(&telling("a", "row"));
    assert!(table.phase(&[request]).digest().is_some());
    assert!(table.phase(&[request]).digest().is_none());
    assert!(
        table
            .phase(&[])
            .digest()
            .is_some_and(|digest| !digest.facts().is_empty())
    );
}

#[test]
fn a_checkpoint_fits_in_a_frame_whatever_its_budget() {
    let limits = ContextLimits {
        hot: u32::MAX,
        trigger: u32::MAX,
        checkpoint: u32::MAX,
        summary: u32::MAX,
        warm: 2_000,
    };
    let mut table = Table::default();
    let checkpointer = Checkpointer {
        limits,
        ..Table::checkpointer()
    };
    let mut in_flight = Vec::new();
    let mut merges = 0;
    for round in 0..3 {
        for turn in 0..300 {
            table.position += 1;
            let frame = telling(&format!("agent_{turn}"), &format!("row{round}x{turn}x"));
            table
                .hot
                .push(table.position, &frame, &Quarters, &limits)
                .unwrap();
            if turn % 2 == 0 {
                in_flight.push(table.position);
            }
        }
        let turn = Turn {
            current: Some(table.position),
            in_flight: &in_flight,
            triggers: &Trigger::ALL,
            ..QUIET
        };
        let checkpoint = checkpointer.take(&checkpointer.freeze(&table.hot, &table.warm, turn));
        let text = frame(&checkpoint);
        assert!(checkpoint.kept().len() <= 128);
        assert!(checkpoint.digest().unwrap().line().len() <= 3_000);
        merges += usize::from(checkpoint.merged().is_some());
        assert!(text.len() < 16 * 1024, "{}", text.len());
        table.hot.apply(&checkpoint);
        table.warm.apply(&checkpoint);
    }
    assert_eq!(merges, 1);
}

/// Besides the current frame and its request, at most 100 tokens stay hot. No other frame stays once hot state takes
/// more than 275 tokens: a quarter of the budget below the trigger is kept free for the next frames.
#[test]
fn what_stays_hot_leaves_room_for_the_next_frame() {
    for current in [10, 100, 250, 400, 900] {
        let mut table = Table::default();
        let mut say =
            |length: usize| table.say(&format!("@a>req:plan{{goal:{}}}", "x".repeat(length)));
        let in_flight: Vec<_> = (0..4).map(|_| say(120)).collect();
        let parent = say(100);
        let last = say(current);
        let checkpoint = table.turn(Turn {
            current: Some(last),
            parent: Some(parent),
            in_flight: &in_flight,
            triggers: &[Trigger::Done],
            ..QUIET
        });
        let tokens = |is_other: bool| -> u32 {
            let kept = checkpoint.kept().iter();
            let kept = kept.filter(|kept| in_flight.contains(&kept.position) == is_other);
            kept.map(|kept| kept.tokens).sum()
        };
        let (own, others) = (tokens(false), tokens(true));
        assert!(others <= 100, "{others} beside {own}");
        assert!(others == 0 || own + others <= 275, "{others} beside {own}");
        assert!(others > 0 || own > 200, "{own}");
    }
}

#[test]
fn a_line_without_room_for_a_summary_has_none() {
    let mut table = Table::default();
    table.say(&format!("@{}>done:plan{{task:T1}}", "a".repeat(60)));
    let mut line = |checkpoint| {
        let checkpointer = Checkpointer {
            limits: ContextLimits {
                checkpoint,
                ..ContextLimits::DRAFT
            },
            ..Table::checkpointer()
        };
        let turn = QUIET;
        let frozen = checkpointer.freeze(&table.hot, &table.warm, turn);
        checkpointer
            .take(&frozen)
            .digest()
            .map(Digest::line)
            .unwrap_or_default()
    };
    assert_snapshot!([40, 20, 7, 6].map(&mut line).join("\n"), @r"
    @warm>sync:ckpt_1{cold:p1|sum:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.done.plan|facts:[[task,T1]]}
    @warm>sync:ckpt_1{cold:p1|facts:[[task,T1]]}
    @warm>sync:ckpt_1{cold:p1}
    
    ");
}
