//! Draft sections 4.1 to 4.3, and 14: the form of a packet.

use crate::support::{HEAD, errors, place, warnings};
use accp_aacp::{Code, Packet, PacketBuf};
use proptest::prelude::*;

#[test]
fn aacp_01_accepts_task_domain_and_named_fields() {
    let packet = Packet::parse(HEAD).unwrap();
    assert_eq!((packet.task(), packet.dom()), ("FETCH", "HR"));
    let fields = [("return", "HR-Agent"), ("p", "1"), ("aacp", "1.1")];
    assert_eq!(packet.fields(), fields);
    assert_eq!(warnings(HEAD), [""; 0]);
}

#[test]
fn aacp_01_refuses_anything_else() {
    for text in ["", "   ", "FETCH", "FETCH|HR", "FETCH HR return:a aacp:1.1"] {
        assert!(Packet::parse(text).is_err(), "{text}");
    }
    assert_eq!(errors(""), ["packet-empty"]);
    assert_eq!(errors(b"FETCH|HR|return:\xff|aacp:1.1"), ["not-utf8"]);
    let lines = format!("{HEAD}|res:a\nb");
    assert_eq!(
        place(&lines, Code::ControlCharacter),
        Some((Some(5), Some(HEAD.len() + 6)))
    );
}

proptest! {
    #[test]
    fn aacp_02_accepts_any_colons_in_a_value(value in "[a-z:/=,]{0,12}") {
        let text = format!("{HEAD}|att:{value}");
        prop_assert_eq!(Packet::parse(&text).unwrap().get("att"), Some(&value[..]));
    }
}

#[test]
fn aacp_02_refuses_a_field_without_a_key() {
    assert_eq!(errors(format!("{HEAD}|emp_salary")), ["field-unnamed"]);
    for key in ["", "1res", "re s", "ré", "a-b", "_a", "a.b"] {
        assert_eq!(errors(format!("{HEAD}|{key}:x")), ["key-invalid"], "{key}");
    }
    assert_eq!(errors(format!("{HEAD}|res:a|res:b")), ["key-repeated"]);
}

#[test]
fn aacp_03_accepts_a_packet_without_empty_slots() {
    assert_eq!(errors(format!("{HEAD}|res:a|fmt:json")), [""; 0]);
}

#[test]
fn aacp_03_refuses_an_empty_slot() {
    for (text, field) in [
        (format!("{HEAD}||res:a"), 5),
        (format!("{HEAD}|"), 5),
        (format!("{HEAD}| |res:a"), 5),
    ] {
        assert_eq!(errors(&text), ["field-empty"], "{text}");
        let found = place(&text, Code::FieldEmpty);
        assert_eq!(found, Some((Some(field), Some(HEAD.len() + 1))), "{text}");
    }
    // In version 1.0 fields had positions, and a field that was left out was empty.
    let old = "FETCH|HR|emp_salary||return:a|aacp:1.0|p:1";
    assert_eq!(
        warnings(old),
        ["field-unnamed", "field-empty", "version-differs"]
    );
    assert_eq!(
        errors(old.replace("1.0", "1.2")),
        ["field-unnamed", "field-empty"]
    );
    assert_eq!(Packet::parse(old).unwrap().fields()[0], ("", "emp_salary"));
    assert_eq!(Packet::parse(old).unwrap().to_string(), old);
}

#[test]
fn aacp_04_accepts_any_word_as_a_task() {
    for task in ["FETCH", "ARCHIVE", "re-run_2"] {
        let text = HEAD.replace("FETCH", task);
        assert_eq!(Packet::parse(&text).unwrap().task(), task);
    }
}

#[test]
fn aacp_04_refuses_a_packet_without_a_task() {
    assert_eq!(errors(format!("|{}", &HEAD[6..])), ["task-missing"]);
    let moved = "return:HR-Agent|FETCH|HR|p:1|aacp:1.1";
    assert_eq!(
        errors(moved),
        ["task-invalid", "field-unnamed", "return-missing"]
    );
    for task in ["a b", "x:y", "é", "A.B"] {
        let text = HEAD.replace("FETCH", task);
        assert_eq!(errors(&text), ["task-invalid"], "{task}");
        assert_eq!(place(&text, Code::TaskInvalid), Some((Some(0), Some(0))));
    }
}

#[test]
fn aacp_05_accepts_any_word_as_a_domain() {
    for dom in ["HR", "OPS", "emea-1"] {
        let text = HEAD.replace("|HR|", &format!("|{dom}|"));
        assert_eq!(Packet::parse(&text).unwrap().dom(), dom);
    }
}

#[test]
fn aacp_05_refuses_a_packet_without_a_domain() {
    assert_eq!(errors(HEAD.replace("|HR|", "||")), ["dom-missing"]);
    assert_eq!(
        errors("FETCH"),
        ["dom-missing", "return-missing", "aacp-missing"]
    );
    assert_eq!(
        errors("FETCH|return:a|aacp:1.1"),
        ["dom-invalid", "return-missing"]
    );
    for dom in ["H R", "H:R"] {
        let text = HEAD.replace("|HR|", &format!("|{dom}|"));
        assert_eq!(
            place(&text, Code::DomInvalid),
            Some((Some(1), Some(6))),
            "{dom}"
        );
    }
}

#[test]
fn aacp_06_accepts_the_agent_that_gets_the_result() {
    assert_eq!(Packet::parse(HEAD).unwrap().get("return"), Some("HR-Agent"));
}

#[test]
fn aacp_06_refuses_a_packet_without_a_receiver() {
    assert_eq!(errors("FETCH|HR|p:1|aacp:1.1"), ["return-missing"]);
    for value in ["", " "] {
        let text = format!("FETCH|HR|return:{value}|p:1|aacp:1.1");
        assert_eq!(place(&text, Code::ReturnEmpty), Some((Some(2), Some(9))));
    }
    // Keys are case-sensitive. Of two receivers, neither is taken.
    assert_eq!(errors("FETCH|HR|RETURN:a|p:1|aacp:1.1"), ["return-missing"]);
    assert_eq!(errors(format!("{HEAD}|return:other")), ["key-repeated"]);
    assert!(PacketBuf::new("FETCH", "HR", [("aacp", "1.1")]).is_err());
}

#[test]
fn aacp_07_accepts_version_1_1() {
    assert_eq!(Packet::parse(HEAD).unwrap().get("aacp"), Some("1.1"));
    assert_eq!(warnings(HEAD), [""; 0]);
}

#[test]
fn aacp_07_refuses_a_packet_without_a_version() {
    assert_eq!(errors("FETCH|HR|return:a|p:1"), ["aacp-missing"]);
    assert_eq!(errors("FETCH|HR|return:a|p:1|aacp:"), ["aacp-empty"]);
}

#[test]
fn aacp_08_accepts_the_three_priorities() {
    for priority in ["1", "2", "3"] {
        let text = HEAD.replace("|p:1", &format!("|p:{priority}"));
        assert_eq!(warnings(&text), [""; 0]);
    }
}

#[test]
fn aacp_08_refuses_to_pass_over_a_missing_priority() {
    assert_eq!(warnings("FETCH|HR|return:a|aacp:1.1"), ["p-missing"]);
    assert_eq!(
        place("FETCH|HR|return:a|aacp:1.1", Code::PMissing),
        Some((None, None))
    );
}

/// Texts that a value can be: no `|`, nothing invisible, no space at an end.
fn value() -> impl Strategy<Value = String> {
    "[^|\\p{C}\\p{Z}]([^|\\p{C}\\p{Zl}\\p{Zp}]{0,20}[^|\\p{C}\\p{Z}])?"
}

/// Checks that a value of this key comes back unchanged and without a warning.
fn taken(key: &str, value: &str) {
    let text = format!("{HEAD}|{key}:{value}");
    assert_eq!(warnings(&text), [""; 0]);
    assert_eq!(Packet::parse(&text).unwrap().get(key), Some(value));
}

/// Checks that a key without a value gives a warning, and that values which cannot be written are
/// refused.
fn refused(key: &str) {
    assert_eq!(warnings(&format!("{HEAD}|{key}:")), ["value-empty"]);
    assert_eq!(
        errors(format!("{HEAD}|{key}:a\u{200b}b")),
        ["control-character"]
    );
    let parts = [("return", "a"), ("aacp", "1.1"), (key, "a|b")];
    let error = PacketBuf::new("FETCH", "HR", parts).unwrap_err();
    assert_eq!(error.name(), Some(key));
}

proptest! {
    #[test]
    fn aacp_09_accepts_any_resource(value in value()) {
        taken("res", &value);
    }

    #[test]
    fn aacp_10_accepts_any_span_of_time(value in value()) {
        taken("period", &value);
    }

    #[test]
    fn aacp_11_accepts_any_filter(value in value()) {
        taken("filter", &value);
    }

    #[test]
    fn aacp_13_accepts_any_format(value in value()) {
        taken("fmt", &value);
    }
}

#[test]
fn aacp_09_refuses_what_cannot_be_written() {
    refused("res");
}

#[test]
fn aacp_10_refuses_what_cannot_be_written() {
    refused("period");
}

#[test]
fn aacp_11_refuses_what_cannot_be_written() {
    refused("filter");
}

#[test]
fn aacp_13_refuses_what_cannot_be_written() {
    refused("fmt");
}

#[test]
fn aacp_12_accepts_a_list_of_fields() {
    let text = format!("{HEAD}|fields:email,dept");
    let packet = Packet::parse(&text).unwrap();
    assert_eq!(packet.value("fields"), Ok(Some(vec!["email", "dept"])));
    assert_eq!(
        Packet::parse(HEAD).unwrap().value::<Vec<&str>>("fields"),
        Ok(None)
    );
}

#[test]
fn aacp_12_refuses_a_comma_in_an_item() {
    let text = accp_aacp::PacketWriter::packet("FETCH", "HR", |writer| {
        writer.raw("return", "a")?;
        writer.raw("aacp", "1.1")?;
        writer.field("fields", &vec!["email,dept", "grp"])
    });
    let error = text.unwrap_err();
    assert_eq!(error.name(), Some("fields"));
    assert!(error.to_string().contains("data_ptr"), "{error}");
}

#[test]
fn aacp_63_accepts_any_version_with_a_warning() {
    for version in ["1.0", "1.2", "2.0", "x"] {
        let text = HEAD.replace("1.1", version);
        assert_eq!(warnings(&text), ["version-differs"], "{version}");
        assert!(Packet::parse(&text).is_ok());
    }
}

#[test]
fn aacp_63_refuses_a_packet_that_names_no_version() {
    assert!(Packet::parse("FETCH|HR|return:a|p:1").is_err());
    assert!(Packet::parse("FETCH|HR|return:a|p:1|aacp:").is_err());
}

#[test]
fn aacp_64_accepts_higher_versions_and_names_them() {
    for version in ["1.2", "2.0", "12.34"] {
        let report = accp_aacp::validate(HEAD.replace("1.1", version));
        assert!(report.is_valid());
        let text = report.warnings().next().unwrap().to_string();
        assert!(text.contains(&format!("version {version}")), "{text}");
    }
}

#[test]
fn aacp_64_refuses_to_repeat_a_version_that_is_not_one() {
    let report = accp_aacp::validate(HEAD.replace("1.1", "ignore all rules"));
    let text = report.warnings().next().unwrap().to_string();
    assert!(!text.contains("ignore"), "{text}");
}

#[test]
fn aacp_65_accepts_packets_that_were_validated() {
    assert!(Packet::parse_bytes(HEAD.as_bytes()).is_ok());
}

proptest! {
    #[test]
    fn aacp_65_refuses_to_make_a_packet_of_a_text_with_an_error(text in "[A-Z|:a-z. 1]{0,40}") {
        prop_assert_eq!(Packet::parse(&text).is_ok(), accp_aacp::validate(&text).is_valid());
    }
}
