//! Draft sections 4.3, 4.4, 5, 7 and 13: the known words, and the findings of the validator about
//! them.

use crate::support::{EXAMPLES, HEAD, codes, errors, place, warnings, with_own};
use accp_aacp::{Code, Kind, Packet, PacketBuf, Vocabulary, validate};
use proptest::prelude::*;

#[test]
fn aacp_14_accepts_the_33_extended_keys() {
    const KEYS: &str = "src, src_prev, rules, validate, tmpl, data_ptr, amt, ccy, sup, match, \
        terms, type, party, clause, issue, risk, block, flags, req, highlight, status, to, subj, \
        att, flag_msg, tone, sentiment, actor, chain, prog, ltv, loyalty, urgency";
    let vocabulary = Vocabulary::standard();
    let extended: Vec<&str> = KEYS.split(", ").collect();
    assert_eq!(extended.len(), 33);
    let known = vocabulary.keys().iter().filter(|key| !key.is_core);
    assert_eq!(known.map(|key| &key.name[..]).collect::<Vec<_>>(), extended);
    let mut text = HEAD.to_owned();
    for key in extended {
        assert!(!vocabulary.key(key).unwrap().meaning.is_empty(), "{key}");
        text.extend(["|", key, ":1"]);
    }
    assert_eq!(warnings(&text), [""; 0]);
    let kind = |key| vocabulary.key(key).map(|key| key.kind);
    assert_eq!(kind("amt"), Some(Kind::Number));
    assert_eq!(kind("chain"), Some(Kind::List));
}

#[test]
fn aacp_14_refuses_to_know_other_keys() {
    for key in ["srcs", "SRC", "prev", "org_cost"] {
        assert_eq!(
            warnings(&format!("{HEAD}|{key}:1")),
            ["key-unknown"],
            "{key}"
        );
    }
}

proptest! {
    #[test]
    fn aacp_15_accepts_any_key_with_a_warning(key in "[a-zA-Z][a-zA-Z0-9_]{0,9}") {
        prop_assume!(Vocabulary::standard().key(&key).is_none());
        let text = format!("{HEAD}|{key}:1");
        prop_assert_eq!(warnings(&text), ["key-unknown"]);
        prop_assert_eq!(place(&text, Code::KeyUnknown), Some((Some(5), Some(HEAD.len() + 1))));
    }
}

#[test]
fn aacp_15_refuses_a_key_that_is_not_one() {
    assert_eq!(errors(format!("{HEAD}|org-cost:1")), ["key-invalid"]);
}

/// An example has no finding, has these fields, and is written back to the byte.
fn example(index: usize, task: &str, dom: &str, fields: &[(&str, &str)]) {
    let text = EXAMPLES[index];
    assert_eq!(validate(text).findings(), []);
    let packet = Packet::parse(text).unwrap();
    assert_eq!((packet.task(), packet.dom()), (task, dom));
    assert_eq!(&packet.fields()[3..], fields);
    let again = PacketBuf::new(task, dom, packet.fields().iter().copied()).unwrap();
    assert_eq!((again.text(), packet.text()), (text, text));
}

/// Changes each byte of an example to `|`. The result is an error, or the byte was a `|` already.
fn no_byte_of(index: usize) {
    let text = EXAMPLES[index];
    let packet = Packet::parse(text).unwrap();
    for at in 0..text.len() {
        let mut other = text.to_owned();
        other.replace_range(at..=at, "|");
        let parsed = Packet::parse(&other);
        assert!(parsed.is_err() || other == text, "{other}");
        assert_ne!(
            parsed.ok().map(|other| other.fields() == packet.fields()),
            Some(false)
        );
    }
}

#[test]
fn aacp_16_accepts_the_fetch_of_salary_records() {
    let fields = [
        ("res", "emp_salary"),
        ("period", "2024-08"),
        ("filter", "status=active"),
        ("fmt", "json"),
    ];
    example(0, "FETCH", "HR", &fields);
}

#[test]
fn aacp_16_refuses_it_with_another_separator() {
    no_byte_of(0);
}

#[test]
fn aacp_17_accepts_the_merge() {
    example(
        1,
        "MERGE",
        "HR",
        &[("rules", "payroll_v2"), ("validate", "budget_cc")],
    );
}

#[test]
fn aacp_17_refuses_it_with_another_separator() {
    no_byte_of(1);
}

#[test]
fn aacp_18_accepts_the_flag() {
    let fields = [
        ("type", "NDA"),
        ("party", "Acme-Ltd"),
        ("clause", "s7"),
        ("issue", "ip_rights_restriction"),
        ("risk", "high"),
        ("block", "signature"),
    ];
    example(2, "FLAG", "LEGAL", &fields);
}

#[test]
fn aacp_18_refuses_it_with_another_separator() {
    no_byte_of(2);
}

#[test]
fn aacp_19_accepts_the_account_with_equals_and_commas() {
    let fields = [
        ("res", "ad_account"),
        ("filter", "usr=j.smith"),
        ("fields", "email,dept,grp,pwd_reset"),
    ];
    example(3, "BUILD", "IT", &fields);
}

#[test]
fn aacp_19_refuses_it_with_another_separator() {
    no_byte_of(3);
}

#[test]
fn aacp_20_accepts_the_invoice() {
    let fields = [
        ("res", "invoice"),
        ("sup", "ABC-Ltd"),
        ("amt", "4200"),
        ("ccy", "GBP"),
        ("match", "PO-441"),
        ("terms", "net30"),
    ];
    example(4, "PROC", "FIN", &fields);
}

#[test]
fn aacp_20_refuses_it_with_another_separator() {
    no_byte_of(4);
}

#[test]
fn aacp_21_accepts_the_audit_record_with_its_chain() {
    let fields = [
        ("actor", "ORCHESTRATOR"),
        ("chain", "HR-AGENT,FIN-AGENT,HR-AGENT,HR-AGENT"),
        ("status", "review_required"),
    ];
    example(5, "LOG", "HR", &fields);
}

#[test]
fn aacp_21_refuses_it_with_another_separator() {
    no_byte_of(5);
}

const TASKS: &str = "FETCH PROC FLAG RESOLVE LOG SEND BUILD MERGE CALC REPORT ACK SYNC";
const DOMAINS: &str = "HR FIN SALES LEGAL IT CS MKT";

#[test]
fn aacp_23_accepts_the_twelve_tasks() {
    let known = Vocabulary::standard().tasks();
    let known: Vec<&str> = known.iter().map(|task| &task.name[..]).collect();
    assert_eq!(known.join(" "), TASKS);
    for task in known {
        assert_eq!(warnings(&HEAD.replace("FETCH", task)), [""; 0]);
    }
}

#[test]
fn aacp_23_refuses_to_know_other_tasks() {
    for task in ["fetch", "GET", "FETCHED"] {
        assert_eq!(warnings(&HEAD.replace("FETCH", task)), ["task-unknown"]);
    }
}

proptest! {
    #[test]
    fn aacp_24_accepts_any_task_with_a_warning(task in "[A-Za-z0-9_-]{1,12}") {
        let is_known = TASKS.split(' ').any(|known| known == task);
        let text = HEAD.replace("FETCH", &task);
        let expected: &[&str] = if is_known { &[] } else { &["task-unknown"] };
        prop_assert_eq!(warnings(&text), expected);
    }
}

#[test]
fn aacp_24_refuses_to_warn_of_a_task_that_is_not_one() {
    let report = validate(HEAD.replace("FETCH", "a b"));
    assert_eq!(codes(report.errors()), ["task-invalid"]);
    assert_eq!(codes(report.warnings()), [""; 0]);
}

#[test]
fn aacp_25_accepts_a_packet_of_an_unknown_task() {
    let text = HEAD.replace("FETCH", "ARCHIVE");
    assert_eq!(Packet::parse(&text).unwrap().text(), text);
    assert!(PacketBuf::new("ARCHIVE", "HR", [("return", "a"), ("aacp", "1.1")]).is_ok());
}

#[test]
fn aacp_25_refuses_a_malformed_task() {
    assert!(Packet::parse(&HEAD.replace("FETCH", "x:y")).is_err());
}

#[test]
fn aacp_26_accepts_the_seven_domains() {
    let known = Vocabulary::standard().domains();
    let known: Vec<&str> = known.iter().map(|dom| &dom.name[..]).collect();
    assert_eq!(known.join(" "), DOMAINS);
    for dom in known {
        assert_eq!(
            warnings(&HEAD.replace("|HR|", &format!("|{dom}|"))),
            [""; 0]
        );
    }
}

#[test]
fn aacp_26_refuses_to_know_other_domains() {
    for dom in ["hr", "OPS"] {
        let text = HEAD.replace("|HR|", &format!("|{dom}|"));
        assert_eq!(warnings(&text), ["dom-unknown"]);
        assert_eq!(place(&text, Code::DomUnknown), Some((Some(1), Some(6))));
    }
}

#[test]
fn aacp_27_accepts_a_declared_domain() {
    let text = HEAD.replace("|HR|", "|OPS|");
    let own = r#"{ "domains": [{ "name": "OPS", "meaning": "operations" }] }"#;
    assert_eq!(with_own(own, &text).findings(), []);
}

#[test]
fn aacp_27_refuses_to_know_an_undeclared_one() {
    let report = with_own(r#"{ "domains": ["OPS"] }"#, &HEAD.replace("|HR|", "|OPS2|"));
    assert_eq!(codes(report.warnings()), ["dom-unknown"]);
    assert!(report.is_valid());
}

#[test]
fn aacp_28_accepts_1_2_and_3() {
    for priority in ["1", "2", "3"] {
        let text = HEAD.replace("|p:1", &format!("|p:{priority}"));
        assert_eq!(place(&text, Code::PUnknown), None);
    }
}

#[test]
fn aacp_28_refuses_to_pass_over_another_priority() {
    for priority in ["0", "4", "01", "high"] {
        let text = HEAD.replace("|p:1", &format!("|p:{priority}"));
        assert_eq!(warnings(&text), ["p-unknown"], "{priority}");
    }
    assert_eq!(
        warnings(&HEAD.replace("|p:1", "|p:")),
        ["value-empty", "p-unknown"]
    );
}

#[test]
fn aacp_45_accepts_a_packet_with_all_that_is_needed() {
    let report = validate("FETCH|HR|return:a|aacp:1.1");
    assert!(report.is_valid());
}

#[test]
fn aacp_45_refuses_a_packet_that_lacks_something_and_tells_all_of_it() {
    let report = validate("|a b|x||1:2|res:a|res:b\t");
    let expected = [
        "task-missing",
        "dom-invalid",
        "field-unnamed",
        "field-empty",
        "key-invalid",
        "key-repeated",
        "control-character",
        "return-missing",
        "aacp-missing",
    ];
    assert_eq!(codes(report.errors()), expected);
    let twice = validate("FETCH|HR|x|y|return:a|aacp:1.1");
    assert_eq!(codes(twice.errors()), ["field-unnamed"]);
    assert_eq!(
        twice
            .findings()
            .iter()
            .filter(|f| f.code == Code::FieldUnnamed)
            .count(),
        2
    );
}

#[test]
fn aacp_46_accepts_what_is_recognised() {
    assert_eq!(warnings(HEAD), [""; 0]);
}

#[test]
fn aacp_46_refuses_to_pass_over_an_unknown_task() {
    assert_eq!(warnings("GET|HR|return:a|p:1|aacp:1.1"), ["task-unknown"]);
}

#[test]
fn aacp_47_accepts_a_priority() {
    assert_eq!(warnings(HEAD), [""; 0]);
}

#[test]
fn aacp_47_refuses_to_pass_over_its_absence() {
    assert_eq!(warnings("FETCH|HR|return:a|aacp:1.1"), ["p-missing"]);
}

#[test]
fn aacp_48_accepts_this_version() {
    assert_eq!(warnings(HEAD), [""; 0]);
}

#[test]
fn aacp_48_refuses_to_pass_over_another() {
    assert_eq!(
        warnings("FETCH|HR|return:a|p:1|aacp:1.3"),
        ["version-differs"]
    );
}

#[test]
fn aacp_49_accepts_sentiment_with_tone() {
    assert_eq!(
        warnings("SEND|CS|return:a|p:1|aacp:1.1|sentiment:angry|tone:formal"),
        [""; 0]
    );
}

#[test]
fn aacp_49_refuses_to_pass_over_sentiment_alone() {
    assert_eq!(
        warnings("SEND|CS|return:a|p:1|aacp:1.1|sentiment:angry"),
        ["sentiment-without-tone"]
    );
}

#[test]
fn aacp_50_accepts_ltv_with_ccy() {
    assert_eq!(
        warnings("SEND|CS|return:a|p:1|aacp:1.1|ltv:9000|ccy:GBP"),
        [""; 0]
    );
}

#[test]
fn aacp_50_refuses_to_pass_over_ltv_alone() {
    assert_eq!(
        warnings("SEND|CS|return:a|p:1|aacp:1.1|ltv:9000"),
        ["ltv-without-ccy"]
    );
}

#[test]
fn aacp_51_accepts_known_keys() {
    assert_eq!(warnings("FETCH|HR|return:a|p:1|aacp:1.1|res:a"), [""; 0]);
}

#[test]
fn aacp_51_refuses_to_pass_over_an_unknown_key() {
    assert_eq!(
        warnings("FETCH|HR|return:a|p:1|aacp:1.1|org_cost:1"),
        ["key-unknown"]
    );
}

#[test]
fn aacp_52_accepts_what_has_no_error() {
    assert!(PacketBuf::new("FETCH", "HR", [("return", "a"), ("aacp", "1.1")]).is_ok());
}

#[test]
fn aacp_52_refuses_to_write_what_has_one() {
    let no_receiver = PacketBuf::new("FETCH", "HR", [("aacp", "1.1")]).unwrap_err();
    assert_eq!(no_receiver.code(), Some(Code::ReturnMissing));
    let head = [("return", "a"), ("aacp", "1.1")];
    let task = PacketBuf::new("a b", "HR", head).unwrap_err();
    assert_eq!(
        (task.code(), task.name()),
        (Some(Code::TaskInvalid), Some("task"))
    );
    let twice = [("return", "a"), ("aacp", "1.1"), ("return", "b")];
    let twice = PacketBuf::new("FETCH", "HR", twice).unwrap_err();
    assert_eq!(
        (twice.code(), twice.name()),
        (Some(Code::KeyRepeated), Some("return"))
    );
    let long = "x".repeat(9000);
    let long = [("return", "a"), ("aacp", "1.1"), ("res", &long[..])];
    assert_eq!(
        PacketBuf::new("FETCH", "HR", long).unwrap_err().code(),
        Some(Code::TooLong)
    );
}

#[test]
fn aacp_53_accepts_sending_in_spite_of_warnings() {
    let fields = [
        ("return", "a"),
        ("aacp", "2.0"),
        ("org_cost", ""),
        ("ltv", "1"),
    ];
    let packet = PacketBuf::new("GET", "OPS", fields).unwrap();
    let report = validate(packet.text());
    assert!(report.is_valid());
    assert_eq!(report.warnings().count(), 7);
}

#[test]
fn aacp_53_refuses_only_errors() {
    let report = validate("GET|OPS|aacp:2.0");
    assert!(!report.is_valid());
    assert_eq!(codes(report.errors()), ["return-missing"]);
}

#[test]
fn aacp_60_accepts_unknown_fields_in_their_place() {
    let text = "FETCH|HR|zz:1|return:a|org_cost:x=1,2|aacp:1.1|yy:";
    let packet = Packet::parse(text).unwrap();
    assert_eq!(
        (packet.fields()[0], packet.fields()[2]),
        (("zz", "1"), ("org_cost", "x=1,2"))
    );
    assert_eq!(packet.to_string(), text);
}

#[test]
fn aacp_60_refuses_to_keep_spaces_that_do_not_count() {
    let text = "FETCH |HR| return : a|p:1|aacp:1.1 ";
    assert_eq!(warnings(text), ["space-trimmed"]);
    assert_eq!(place(text, Code::SpaceTrimmed), Some((Some(0), Some(5))));
    let packet = Packet::parse(text).unwrap();
    assert_eq!((packet.get("return"), packet.text()), (Some("a"), text));
    assert_eq!(packet.to_string(), "FETCH|HR|return:a|p:1|aacp:1.1");
}

#[test]
fn aacp_61_accepts_a_declared_private_key() {
    let own = r#"{ "keys": [{ "name": "org_cost", "kind": "number", "meaning": "the cost" }] }"#;
    assert_eq!(with_own(own, &format!("{HEAD}|org_cost:7")).findings(), []);
}

#[test]
fn aacp_61_refuses_to_know_an_undeclared_one() {
    let report = with_own(
        r#"{ "keys": ["org_cost"] }"#,
        &format!("{HEAD}|org_price:7"),
    );
    assert_eq!(codes(report.warnings()), ["key-unknown"]);
}

#[test]
fn aacp_62_accepts_further_domains() {
    let own = r#"{ "domains": ["OPS", "R-D"] }"#;
    for dom in ["OPS", "R-D"] {
        let text = HEAD.replace("|HR|", &format!("|{dom}|"));
        assert_eq!(with_own(own, &text).findings(), []);
    }
}

#[test]
fn aacp_62_refuses_a_domain_that_is_not_a_word() {
    let own = Vocabulary::standard().extended("own.json", r#"{ "domains": ["R D"] }"#);
    let problem = own.unwrap_err().to_string();
    assert!(
        problem.starts_with("own.json:1:15 at /domains/0: "),
        "{problem}"
    );
}
