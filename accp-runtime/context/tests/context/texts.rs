//! Snapshots and texts of a context, and the errors for malformed snapshots and texts.

use accp_context::{Hot, Warm};
use accp_runtime::Value;
use accp_runtime::context::{Checkpoint, Fact};
use insta::assert_snapshot;

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
