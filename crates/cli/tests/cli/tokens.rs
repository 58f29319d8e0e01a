//! Tests of `accp tokens`.

use serde_json::json;

use crate::cli::{GOOD, accp};

fn frames() -> String {
    let long = vec!["word"; 250].join(",");
    format!("{GOOD}\n\n{GOOD}[mid:49679033e07c,seq:3,ts:1714000000]\n@a>req:plan{{d:[{long}]}}\n")
}

#[test]
fn the_table_shows_parts_limits_and_totals() {
    let run = accp("tokens", frames());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.stdout, @r"
        line   header      body  metadata     total
           1        4        23         0        27
           3        4        23        20+       47
           4        4       505!        0       509!
         all       12       551        20       583

    3 frames, counted in o200k_base; over a soft limit (+): 1, over a hard one (!): 1
    ");
}

#[test]
fn json_is_an_object_a_line() {
    let run = accp("tokens --format json", frames());
    run.code_is(0);
    assert_eq!(
        run.json()[1],
        json!({
            "line": 3, "header": 4, "body": 23, "metadata": 20, "total": 47,
            "over_soft": ["metadata"], "over_hard": [],
            "encoding": "o200k_base", "substitute": false,
        })
    );
    assert_eq!(run.json()[2]["over_hard"], json!(["body", "total"]));
}

#[test]
fn the_encoding_is_the_one_of_the_model() {
    for (args, encoding, substitute) in [
        ("--encoding cl100k_base", "cl100k_base", false),
        ("--model gpt-4", "cl100k_base", false),
        ("--model claude-opus-4-5", "o200k_base", true),
    ] {
        let run = accp(("tokens --format json", args), GOOD);
        let found = &run.json()[0];
        assert_eq!(found["encoding"], encoding);
        assert_eq!(found["substitute"], substitute);
        let said = "counted with o200k_base as a substitute for the tokenizer of claude-opus-4-5, error of about 22 %";
        let note = found["note"].as_str().unwrap_or_default();
        assert_eq!(note.starts_with(said), substitute, "{found}");
        assert_eq!(run.stderr.starts_with(said), substitute, "{}", run.stderr);
        let run = accp(("tokens", args), GOOD);
        assert_eq!(
            run.stdout.contains("(substitute)"),
            substitute,
            "{}",
            run.stdout
        );
    }
}

#[test]
fn a_model_that_nobody_knows_is_misuse_with_the_nearest_names() {
    for (model, near) in [
        ("gpt4o", "gpt-4o"),
        ("claude-opsu-4-5", "claude-opus-4-5"),
        ("no-such-model", "gpt-5"),
    ] {
        for command in ["tokens", "primer", &format!("explain {GOOD} --tokens")] {
            let run = accp((command, ["--model", model]), GOOD);
            assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{command:?}");
            let said = format!("`{model}` is not the name of a known model; the nearest ");
            assert!(
                run.stderr.contains(&said) && run.stderr.contains(near),
                "{}",
                run.stderr
            );
        }
    }
}

#[test]
fn an_encoding_that_there_is_not_is_misuse() {
    accp("tokens --encoding p50k_base", "").code_is(2);
}

#[test]
fn what_is_no_frame_is_reported() {
    accp("tokens", format!("{GOOD}\n@a>b\n"))
        .code_is(1)
        .stderr_has("--> stdin:2:5");
    let run = accp("tokens --format json", "@a>b\n");
    run.code_is(1);
    assert_eq!(run.json()[0]["at"], 4);
}
