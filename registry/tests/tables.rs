//! Agreement of the tables with the draft.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use accp_registry::{
    ABBREVIATIONS, Abbreviation, Category, ENVELOPE, EnvelopeField, EnvelopeKind, ErrorCode,
    Intent, OPERATIONS, Requirement, abbreviate, expand, is_core_operation,
};
use proptest::prelude::*;

#[test]
fn intents_of_section_4_1_and_11_2() {
    let codes: Vec<&str> = Intent::CORE.iter().map(|intent| intent.as_str()).collect();
    assert_eq!(
        codes,
        [
            "req", "done", "fail", "wait", "esc", "comp", "sync", "qry", "ack", "cancel", "stream",
            "end"
        ]
    );
    assert_eq!(Intent::ALL[12..], [Intent::PING, Intent::PONG]);
    for intent in Intent::ALL {
        assert_eq!(Intent::lookup(intent.as_str()), Some(*intent));
        assert_eq!(Intent::lookup(&intent.as_str().to_uppercase()), None);
    }
    for unknown in ["", "re", "reqq", "request"] {
        assert_eq!(Intent::lookup(unknown), None);
    }
    assert_eq!(
        format!("{:>5}|{:?}", Intent::REQ, Intent::END),
        "  req|Intent(end)"
    );
    assert_eq!(Intent::SYNC.meaning(), "Synchronize");
}

#[test]
fn error_codes_of_section_3_6() {
    let rows = ErrorCode::ALL.iter().map(|code| {
        let retryable = if code.is_retryable().unwrap() {
            "Yes"
        } else {
            "No"
        };
        format!("{code} {} {retryable}", code.name().unwrap())
    });
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            "E1001 PARSE_ERROR No",
            "E1002 INVALID_INTENT No",
            "E1003 UNKNOWN_SCHEMA No",
            "E1004 INVALID_TYPE No",
            "E2001 REF_NOT_FOUND No",
            "E2002 REF_EXPIRED No",
            "E2003 BUDGET_EXCEEDED No",
            "E3001 TIMEOUT Yes",
            "E3002 DUPLICATE No",
            "E3003 SEQUENCE_GAP Yes",
            "E4001 TOOL_NOT_FOUND No",
            "E4002 TOOL_EXEC_FAILED Yes",
            "E4003 TOOL_SCHEMA_MISMATCH No",
            "E5001 POLICY_DENIED No",
            "E5002 UNAUTHORIZED_REF No",
            "E9999 INTERNAL_ERROR Yes",
        ]
    );
    let category = |number| ErrorCode::new(number).unwrap().category();
    for (number, expected) in [
        (1001, Category::Parse),
        (2001, Category::State),
        (3001, Category::Transport),
        (4001, Category::Tool),
        (5001, Category::Policy),
        (9999, Category::Internal),
        (6000, Category::Other),
        (0, Category::Other),
    ] {
        assert_eq!(category(number), expected);
    }
}

proptest! {
    #[test]
    fn every_error_code_comes_back(number in 0..10_000_u16) {
        let code = ErrorCode::new(number).unwrap();
        prop_assert_eq!(code.to_string().parse(), Ok(code));
        prop_assert_eq!(code.number(), number);
        prop_assert_eq!(code.name().is_some(), ErrorCode::ALL.contains(&code));
    }

    #[test]
    fn nothing_else_is_an_error_code(text in "[Ee]?[0-9+]{0,6}") {
        let is_one = text.len() == 5 && text.starts_with('E') && text[1..].bytes().all(|b| b.is_ascii_digit());
        prop_assert_eq!(text.parse::<ErrorCode>().is_ok(), is_one);
    }
}

#[test]
fn an_error_code_has_four_digits() {
    assert_eq!(ErrorCode::new(10_000), None);
    let error = "1001".parse::<ErrorCode>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "an error code is E and four digits, as in E1001"
    );
}

#[test]
fn operations_of_section_4_3() {
    assert_eq!(
        OPERATIONS.join(", "),
        "analyze, plan, execute, review, approve, reject, fetch, transform, summarize, classify, \
         generate, validate, schedule, notify, merge, split, route, cache, purge"
    );
    assert!(is_core_operation("purge") && !is_core_operation("lookup"));
}

#[test]
fn abbreviations_of_section_4_2() {
    let rows = ABBREVIATIONS
        .iter()
        .map(|entry| format!("{}={}", entry.short, entry.full));
    assert_eq!(
        rows.collect::<Vec<_>>().join(" "),
        "d=data f=findings nx=next_action src=source dst=destination q=query fmt=format pri=priority \
         err=error v=version ts=timestamp ttl=time_to_live ctx=context who=target when=temporal \
         why=rationale"
    );
    for entry in ABBREVIATIONS {
        assert_eq!(expand(entry.short), Some(entry.full));
        assert_eq!(abbreviate(entry.full), Some(entry.short));
        assert_eq!(expand(entry.full), None);
    }
    assert_eq!(Abbreviation::lookup("d").unwrap().also, Some("dataset"));
    assert_eq!(Abbreviation::lookup("f").unwrap().also, Some("fields"));
    assert_eq!(
        (abbreviate("dataset"), abbreviate("fields"), abbreviate("d")),
        (None, None, None)
    );
}

#[test]
fn envelope_of_section_3_5() {
    let rows = ENVELOPE.iter().map(|field| {
        let kind = if field.kind == EnvelopeKind::Integer {
            "integer"
        } else {
            "string"
        };
        format!("{} {} {kind} {}", field.full, field.short, field.required)
    });
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            "msg_id mid string MUST",
            "sequence seq integer MUST",
            "timestamp ts integer MUST",
            "correlation_id cid string SHOULD",
            "causation_id aid string MAY",
            "session_id sid string SHOULD",
            "ttl ttl integer MAY",
        ]
    );
    assert_eq!(
        EnvelopeField::lookup("cid"),
        EnvelopeField::lookup("correlation_id")
    );
    assert_eq!(EnvelopeField::lookup("id"), None);
    assert!(Requirement::Must > Requirement::Should);
}
