//! Snapshots and texts of a context, and the errors for malformed ones.

use accp_context::view::invented;
use accp_context::{Hot, Warm};
use accp_runtime::context::{Checkpoint, Fact};
use accp_runtime::{Message, Registry, Value};
use insta::assert_snapshot;

use super::INLINE;

#[test]
fn what_is_no_checkpoint_is_refused_with_the_param() {
    let whole = "id:ckpt_2|covers:7|at:0|on:[done]";
    let texts = [
        "@h>sync:state{}".to_owned(),
        "@h>sync:checkpoint{}".to_owned(),
        "@h>sync:checkpoint{id:ckpt_0|covers:7|at:0}".to_owned(),
        "@h>sync:checkpoint{id:ckpt_1|covers:-7|at:0}".to_owned(),
        "@h>sync:checkpoint{id:ckpt_1|covers:7}".to_owned(),
        "@h>sync:checkpoint{id:ckpt_1|covers:7|at:0|on:[soon]}".to_owned(),
        format!("@h>sync:checkpoint{{{whole}|left:[5-1]}}"),
        format!("@h>sync:checkpoint{{{whole}|kept:[[7,1],[6,1]]}}"),
        format!("@h>sync:checkpoint{{{whole}|old:ckpt_2}}"),
        format!("@h>sync:checkpoint{{{whole}|old:ckpt_1|old_tok:0}}"),
        format!("@h>sync:checkpoint{{{whole}|tok:9|cold:5}}"),
        format!("@h>sync:checkpoint{{{whole}|tok:9|sum:5}}"),
        format!("@h>sync:checkpoint{{{whole}|tok:9|facts:[[a,[[b,{{}}]]]]}}"),
        format!("@h>sync:checkpoint{{{whole}|tok:9|facts:[[[a],{{b:c}}]]}}"),
        format!("@h>sync:checkpoint{{{whole}|tok:9|from:ckpt_2}}"),
        format!("@h>sync:checkpoint{{{whole}|tok:9|late:ckpt_2|late_sum:a}}"),
        format!("@h>sync:checkpoint{{{whole}|tok:9|late:ckpt_1}}"),
        format!("@h>sync:checkpoint{{{whole}|tok:9|late_sum:a}}"),
    ];
    let errors = texts.map(|text| match Checkpoint::decode(&text) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.to_string(),
    });
    assert_snapshot!(errors.join("\n"), @"
    E1004 at byte 8: expected @..>sync:checkpoint
    E1004 at byte 19: expected the field `id`, which CheckpointSync requires
    E1004 at byte 0 in id: expected the key of a checkpoint, ckpt_1
    E1004 at byte 0 in covers: expected a position, an integer from 0
    E1004 at byte 37: expected the field `at`, which CheckpointSync requires
    E1004 at byte 0 in on: expected a list of triggers
    E1004 at byte 0 in left: expected a list of positions and ranges, 3 or 1-9
    E1004 at byte 0 in kept: expected a list of [position,tokens], ascending
    E1004 at byte 0 in old: expected the key of an earlier checkpoint, ckpt_1
    E1004 at byte 0 in old_tok: expected tokens, an integer from 1
    E1004 at byte 64 in CheckpointSync.cold: expected a string
    E1004 at byte 63 in CheckpointSync.sum: expected a string
    E1004 at byte 0 in facts: expected a list of [entity,{field:value}]
    E1004 at byte 0 in facts: expected a list of [entity,{field:value}]
    E1004 at byte 0 in from: expected an earlier checkpoint, ckpt_1
    E1004 at byte 0 in late: expected an earlier checkpoint and its summary
    E1004 at byte 0 in late: expected an earlier checkpoint and its summary
    E1004 at byte 0 in late: expected an earlier checkpoint and its summary
    ");
}

#[test]
fn what_is_no_snapshot_is_refused() {
    let hot = r#"{"items":[{"position":1,"tokens":3,"cut":false,"text":"@a>req:x{}\n@b>req:x{}"}],
                  "squeezed":false,"checkpoint":0,"reset":0}"#;
    let warm = |line: &str| format!(r#"{{"digests":[{{"tokens":9,"line":{line:?}}}],"last":1}}"#);
    let errors = [
        serde_json::from_str::<Hot>(hot).unwrap_err(),
        serde_json::from_str::<Warm>(&warm("@warm>sync:ckpt_1{sum:x}\n")).unwrap_err(),
        serde_json::from_str::<Warm>(&warm("@warm>sync:ckpt{sum:x}")).unwrap_err(),
        serde_json::from_str::<Warm>(&warm("@warm>sync:ckpt_1{facts:[a]}")).unwrap_err(),
    ];
    assert_snapshot!(errors.map(|error| error.to_string()).join("\n"), @r"
    E1001 at byte 10: expected '[' or the end after '}', found '\n'
    E1001 at byte 24: expected '[' or the end after '}', found '\n' at line 1 column 61
    E1004 at byte 0 in operation: expected the key of a checkpoint, ckpt_1 at line 1 column 57
    E1004 at byte 0 in facts: expected a list of [entity,{field:value}] at line 1 column 63
    ");
}

#[test]
fn a_fact_is_written_and_read() {
    let fact = Fact::new(
        &Value::from("planner.plan"),
        "first-name",
        &Value::from("12"),
    );
    assert_eq!(fact.to_string(), r#"[planner.plan,first-name,"12]"#);
    assert_eq!(fact.entity(), Value::from("planner.plan"));
    assert_eq!(fact.value(), Value::from("12"));
}

#[test]
fn a_value_keeps_its_marks_when_a_text_is_checked() {
    // Each text against a frame without a value: what counts as a value, and where it ends.
    for (text, expected) in [
        ("(T1), \"T2\"; T3's T1", &["T1", "T2", "T3"][..]),
        ("at 10:30, for $1,234.50.", &["10:30", "1,234.50"]),
        ("-5 to +7 - or 3-4, 50%", &["-5", "7", "3-4", "50"]),
        ("mia@x.org: https://x.org/a", &["mia@x.org", "x.org/a"]),
        (r"C:\temp\log and __a_b__", &[r"temp\log", "_a_b_"]),
        (
            "2024\u{2011}05 \u{2075} \u{661}",
            &["2024\u{2011}05", "\u{2075}", "\u{661}"],
        ),
        ("Planner and/or dev, e.g. a well-known one: dev.", &[]),
        ("", &[]),
    ] {
        let frames = ["@a>sync:b{}"].into_iter();
        let found = invented(text, frames, &[], Registry::shared());
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_value_stands_in_a_frame_or_behind_its_references() {
    let written = |message: Message<'_>, registry: &Registry| {
        let text = message.encode_with(registry, INLINE).unwrap();
        text.trim_end_matches("[]").to_owned()
    };
    let standard = Registry::shared();
    let message = |agent, intent, operation| Message::new(agent, intent, operation).unwrap();
    let done = message("dev_1", "done", "schedule")
        .under("TA")
        .with("task", "a_b c");
    let deps = vec![Value::from("T1"), Value::from("x_y, z")];
    let query = message("qa", "req", "find_it").with("no", 12.5_f64.to_string());
    let query = query.with("q", vec![Value::from(-7), Value::from("at 10:30")]);
    let query = query
        .with("src", Value::Ref("cold.k1_1".into()))
        .with("t", "caf\u{e9}");
    let frames = [
        written(done.with("progress", 40).with("deps", deps), standard),
        written(query, standard),
        "@qa>req:x{id_2:W9|schema:ZZ}".to_owned(),
    ];
    let of = |text| {
        let frames = frames.iter().map(String::as_str);
        let behind = [Value::from("order W2, please"), Value::from(3)];
        invented(text, frames, &behind, standard)
    };
    for known in [
        "dev_1 find_it T1",
        "40 12.5 10:30",
        "W2 3 cold.k1_1",
        "W9 id_2",
    ] {
        assert_eq!(of(known), [""; 0], "{known}");
    }
    for unknown in [
        "dev_2", "4", "2.5", "30", "7", "W", "C3", "T1x", "k1_2", "W2.", "x_y_z",
    ] {
        let is_value = unknown != "W" && unknown != "W2.";
        assert_eq!(of(unknown).len(), usize::from(is_value), "{unknown}");
    }
}
