//! The reference parser of frames: properties that hold for every text, and the errors for each limit.

mod productions;

use accp_registry::lexical::Literal;
use proptest::prelude::*;

use super::*;
use crate::error::Expected;
use crate::testing;

fn fault(text: &str) -> (usize, Fault) {
    let error = parse(text).unwrap_err();
    (error.at(), error.fault().clone())
}

/// Returns a text that completes the beginning of a frame, if there is one.
///
/// The function does not depend on the place that the parser reports. It tries every part that can be missing:
/// nothing, a name or value, a key and value, the rest of an entry, the delimiter of an escape, or the header. After
/// the part, it closes all open brackets.
fn completion(before: &str) -> Option<String> {
    let mut closers = String::new();
    let mut is_escaped = false;
    for c in before.chars() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '{' => closers.push('}'),
            '[' => closers.push(']'),
            '}' | ']' => drop(closers.pop()),
            _ => {}
        }
    }
    let closers: String = closers.chars().rev().collect();
    let inside = ["", "a", "a:a", ":a", "@"].map(|middle| format!("{before}{middle}{closers}"));
    let header = [
        "@a>b:c{}", "a>b:c{}", ">b:c{}", "b:c{}", ":c{}", "c{}", "{}",
    ]
    .map(|rest| format!("{before}{rest}"));
    inside
        .into_iter()
        .chain(header)
        .find(|text| run(text).is_ok())
}

proptest! {
    #[test]
    fn valid_frames_are_accepted_and_written_back(text in testing::frame_text()) {
        let frame = parse(&text).unwrap();
        prop_assert_eq!(frame.to_string(), &*text);
        for params in [Some(&frame.payload), frame.metadata.as_ref()].into_iter().flatten() {
            check_spans(&text, params);
        }
        let slice = |span: Span| &text[span.start..span.end];
        prop_assert_eq!(slice(frame.agent_span()), frame.agent);
        prop_assert_eq!(slice(frame.intent_span()), frame.intent);
        prop_assert_eq!(slice(frame.operation_span()), frame.operation);
    }

    #[test]
    fn a_frame_cut_short_fails_at_its_end(text in testing::frame_text()) {
        for end in 0..text.len() {
            if let Err(error) = parse(&text[..end]) {
                prop_assert_eq!(error.at(), end);
                prop_assert_eq!(error.found(), None);
            }
        }
    }

    #[test]
    fn a_fault_is_at_the_first_byte_that_cannot_stand(bytes in testing::mutated()) {
        let text = String::from_utf8_lossy(&bytes);
        if let Err(error) = run(&text) {
            let at = error.at();
            prop_assert!(completion(&text[..at]).is_some(), "{} is too late", at);
            let Fault::Expected(expected) = error.fault() else { unreachable!() };
            prop_assert!(!expected.is_empty());
            if let Some(found) = error.found() {
                let with = &text[..at + found.len_utf8()];
                prop_assert_eq!(completion(with), None, "{} is too early", at);
            } else {
                prop_assert_eq!(at, text.len());
            }
        }
    }

    #[test]
    fn what_is_expected_can_stand_there(bytes in testing::mutated()) {
        let text = String::from_utf8_lossy(&bytes);
        if let Err(error) = run(&text) {
            let Fault::Expected(expected) = error.fault() else { unreachable!() };
            let before = &text[..error.at()];
            for one in expected {
                let next = match one {
                    Expected::Mark(mark) => mark.to_string(),
                    Expected::End => String::new(),
                    Expected::Delimiter => "~".to_owned(),
                    _ => "a".to_owned(),
                };
                let text = format!("{before}{next}");
                prop_assert!(completion(&text).is_some(), "{one:?} cannot follow {before}");
                prop_assert!(*one != Expected::End || run(&text).is_ok());
            }
        }
    }

    #[test]
    fn an_expected_set_is_complete(bytes in testing::mutated()) {
        // A mark can follow if and only if the error names the mark, or expects a delimiter, or expects a value that
        // can begin with the mark.
        let text = String::from_utf8_lossy(&bytes);
        if let Err(error) = run(&text) {
            let Fault::Expected(expected) = error.fault() else { unreachable!() };
            let before = &text[..error.at()];
            for mark in "@>:{}[]|,".chars() {
                let starts_value = matches!(mark, '{' | '[') && expected.contains(&Expected::Value);
                let is_expected = expected.contains(&Expected::Mark(mark))
                    || expected.contains(&Expected::Delimiter)
                    || starts_value;
                let can_stand = completion(&format!("{before}{mark}")).is_some();
                prop_assert_eq!(is_expected, can_stand, "{:?} after {}", mark, before);
            }
            prop_assert_eq!(expected.contains(&Expected::End), run(before).is_ok());
        }
    }

    #[test]
    fn bytes_and_text_are_one(bytes in testing::mutated()) {
        match std::str::from_utf8(&bytes) {
            Ok(text) => prop_assert_eq!(parse_bytes(&bytes), parse(text)),
            Err(error) => {
                let place = parse_bytes(&bytes).unwrap_err().at();
                prop_assert!(place <= error.valid_up_to());
                let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap();
                let before = parse(valid).err().map_or(valid.len(), |error| error.at());
                prop_assert_eq!(place, before);
            }
        }
    }

    #[test]
    fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(error) = parse_bytes(&bytes) {
            prop_assert!(error.at() <= bytes.len());
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn a_scalar_matches_the_narrowest_production(raw in testing::scalar()) {
        let text = format!("@a>b:c{{k:{raw}}}");
        let frame = parse(&text).unwrap();
        let ValueKind::Scalar(scalar) = &frame.payload[0].value.kind else {
            unreachable!()
        };
        prop_assert_eq!(scalar.raw, &*raw);
        prop_assert_eq!(scalar.rule, narrowest(&raw));
        match scalar.literal() {
            Literal::Boolean(_) => prop_assert_eq!(scalar.rule, ScalarRule::Boolean),
            Literal::Integer(_) => prop_assert_eq!(scalar.rule, ScalarRule::Integer),
            Literal::Decimal(_) => prop_assert_eq!(scalar.rule, ScalarRule::Decimal),
            _ => {}
        }
    }
}

/// Returns the production that a literal should match. This is computed without the grammar.
fn narrowest(raw: &str) -> ScalarRule {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = raw.strip_prefix('-').unwrap_or(raw);
    match number.split_once('.') {
        _ if matches!(raw, "true" | "false") => ScalarRule::Boolean,
        None if is_digits(number) => ScalarRule::Integer,
        Some((whole, places)) if is_digits(whole) && is_digits(places) => ScalarRule::Decimal,
        _ => ScalarRule::String,
    }
}

fn check_spans(text: &str, params: &[Param<'_>]) {
    for param in params {
        assert_eq!(&text[param.span.start..param.span.end], param.to_string());
        assert_eq!(
            &text[param.key_span().start..param.key_span().end],
            param.key
        );
        check_value_spans(text, &param.value);
    }
}

fn check_value_spans(text: &str, value: &Value<'_>) {
    assert_eq!(&text[value.span.start..value.span.end], value.to_string());
    match &value.kind {
        ValueKind::Array(elements) => elements.iter().for_each(|one| check_value_spans(text, one)),
        ValueKind::Map(entries) => check_spans(text, entries),
        ValueKind::Scalar(_) | ValueKind::Null | ValueKind::Ref(_) => {}
    }
}

#[test]
fn repeated_keys_are_kept() {
    let frame = parse("@a>b:c{k:1|k:2|m:{x:1,x:2}}").unwrap();
    let keys: Vec<_> = frame.payload.iter().map(|param| param.key).collect();
    assert_eq!(keys, ["k", "k", "m"]);
    let ValueKind::Map(entries) = &frame.payload[2].value.kind else {
        unreachable!()
    };
    assert_eq!(entries.len(), 2);
}

#[test]
fn hostile_input_is_refused_at_once() {
    let fill = |start: &str, unit: &str| {
        let room = Limits::default().frame_bytes - start.len();
        format!("{start}{}", unit.repeat(room / unit.len()))
    };
    let within = |text: String| fault(&text);
    assert_eq!(
        within(fill("", "[")),
        (0, Fault::Expected(vec![Expected::Mark('@')]))
    );
    assert_eq!(within(fill("@a>b:c{d:", "[")), (14, Fault::Depth(5)));
    assert_eq!(within(fill("@a>b:c{d:", "{a:")), (24, Fault::Depth(5)));
    assert_eq!(within(fill("@a>b:c{d:", "[{a:")), (18, Fault::Depth(5)));
    assert_eq!(within(fill("@a>b:c{d:", "\\")).0, 65536);
    assert_eq!(within(fill("@a>b:c{d:1x", "\\\\")).0, 65535);
    assert_eq!(within(fill("@a>b:c{d:x", "]")).0, 10);
    assert_eq!(within(fill("@", "a")).0, 65536);
    assert_eq!(within(fill("@a>b:c{d:", "1")).0, 65536);
    assert_eq!(within(fill("@a>b:c{d:[", "1,")), (65536, expected_value()));
    assert_eq!(within(fill("@a>b:c{", "a:1|")).0, 65535);
    let long = fill("@a>b:c{d:", "x") + "x}";
    assert_eq!(fault(&long), (65536, Fault::FrameBytes(65536)));
    assert_eq!(parse_bytes(&vec![0xff; 70_000]).unwrap_err().at(), 65536);
}

fn expected_value() -> Fault {
    Fault::Expected(vec![Expected::Value])
}

#[test]
fn a_limit_is_met_by_one_more() {
    let list = |count: usize, unit: &str, separator: &str| vec![unit; count].join(separator);
    let params = |count| format!("@a>b:c{{{}}}", list(count, "k:1", "|"));
    assert!(parse(&params(256)).is_ok());
    assert_eq!(fault(&params(257)), (7 + 256 * 4, Fault::Params(256)));
    let pairs = |count| format!("@a>b:c{{}}[{}]", list(count, "k:1", ","));
    assert!(parse(&pairs(256)).is_ok());
    assert_eq!(fault(&pairs(257)).1, Fault::Params(256));
    let elements = |count| format!("@a>b:c{{k:[{}]}}", list(count, "1", ","));
    assert!(parse(&elements(4095)).is_ok());
    assert_eq!(
        fault(&elements(4096)),
        (10 + 4095 * 2, Fault::Elements(4096))
    );
    let entries = |count| format!("@a>b:c{{k:{{{}}}}}", list(count, "k:1", ","));
    assert!(parse(&entries(4095)).is_ok());
    assert_eq!(fault(&entries(4096)).1, Fault::Elements(4096));
}

#[test]
fn a_fault_before_an_over_deep_bracket_comes_first() {
    let at = |text: &str| fault(text);
    assert_eq!(at("@a>b:c{k:[[[[[[1]]]]]]}"), (14, Fault::Depth(5)));
    assert_eq!(at("@a>b-c{k:[[[[[[1]]]]]]}").0, 4);
    assert!(matches!(
        at("@a>b:c{k:[[[[[x[1]]]]]]}"),
        (15, Fault::Expected(_))
    ));
    assert!(matches!(at("@a>b:c{k:[[[[[1,]"), (16, Fault::Expected(_))));
    assert!(parse(r"@a>b:c{k:[[[[[\[\{\\]]]]]}").is_ok());
}
