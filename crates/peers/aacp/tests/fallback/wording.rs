//! Which instructions share a packet, and which never do.

use std::time::Duration;

use accp_aacp::fallback::{
    Clock, Entry, EntryKey, Fallback, FallbackError, Instruction, LlmEncoder, MemoryRegistry,
    ModelError, NoModel, Options, Registry as _, Request, Source,
};
use accp_aacp::{Packet, Vocabulary};
use proptest::prelude::*;

struct Still;

impl Clock for Still {
    fn now(&mut self) -> u64 {
        1_800_000_000_000
    }

    fn wait(&mut self, _: Duration) {}

    fn random(&mut self) -> u64 {
        1
    }
}

/// Returns a registry with one entry, which was stored by a call of a model.
pub(super) fn stored(english: &str, packet: &str) -> MemoryRegistry {
    struct One(String);

    impl LlmEncoder for One {
        fn deadline(&self) -> Option<Duration> {
            Some(Duration::from_secs(1))
        }

        fn answer(&mut self, _: &Instruction, _: &str) -> Result<String, ModelError> {
            Ok(self.0.clone())
        }
    }

    let dom = Packet::parse(packet).unwrap().dom().to_owned();
    let mut fallback = Fallback::new(MemoryRegistry::default(), One(packet.to_owned()));
    let request = Request::new(english, &dom, "X", "2").unwrap();
    let options = Options {
        workflows: &[],
        ..Options::default()
    };
    let answer = fallback.encode(&request, options, &mut Still).unwrap();
    assert_eq!((answer.source, answer.llm_calls), (Source::Llm, 1));
    fallback.registry().clone()
}

/// Returns the source and the packet for an instruction, without a model and without workflows.
pub(super) fn asked(
    registry: &MemoryRegistry,
    english: &str,
    dom: &str,
) -> Option<(Source, String)> {
    asked_by(
        registry,
        english,
        dom,
        Options {
            workflows: &[],
            ..Options::default()
        },
    )
}

pub(super) fn asked_by(
    registry: &MemoryRegistry,
    english: &str,
    dom: &str,
    options: Options<'_>,
) -> Option<(Source, String)> {
    let mut fallback = Fallback::new(registry.clone(), NoModel);
    let request = Request::new(english, dom, "HR-Agent", "1").unwrap();
    let route = fallback.route(&request, options).unwrap();
    match fallback.encode(&request, options, &mut Still) {
        Ok(answer) => {
            assert_eq!(route.packet.as_ref(), Some(&answer.packet));
            assert_eq!(route.source, Some(answer.source));
            Some((answer.source, answer.packet.text().to_owned()))
        }
        Err(error) => {
            assert_eq!((error, route.source), (FallbackError::NoMatch, None));
            None
        }
    }
}

pub(super) const ENGLISH: &str = "Retrieve all active employee salary records for August 2024";
const PACKET: &str =
    "FETCH|HR|return:Z|p:3|aacp:1.1|res:emp_salary|period:2024-08|filter:status=active|fmt:json";
const ANSWER: &str = "FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:emp_salary|period:2024-08|filter:status=active|fmt:json";

#[test]
fn aacp_39_accepts_the_instruction_in_another_spacing() {
    let registry = stored(ENGLISH, PACKET);
    let spaced = format!("\n {} ", ENGLISH.replace(' ', "  "));
    assert_eq!(
        asked(&registry, &spaced, "HR"),
        Some((Source::Hash, ANSWER.to_owned()))
    );
}

#[test]
fn aacp_39_refuses_another_case_and_another_domain() {
    let registry = stored(ENGLISH, PACKET);
    let found = asked(&registry, &ENGLISH.to_lowercase(), "HR").map(|found| found.0);
    assert_ne!(found, Some(Source::Hash));
    assert_eq!(asked(&registry, ENGLISH, "FIN"), None);
}

#[test]
fn aacp_43_accepts_an_answer_and_stores_it_with_its_keywords() {
    let mut registry = stored(ENGLISH, PACKET);
    let entries = registry.page("HR", None, 9).unwrap();
    let keywords = [
        "2024-08", "active", "employee", "records", "retrieve", "salary",
    ];
    assert_eq!(entries[0].keywords(), keywords);
    assert_eq!(entries[0].instruction().text(), ENGLISH);
    let again = "Please retrieve the active employee salary records for August 2024";
    assert_eq!(
        asked(&registry, ENGLISH, "HR").map(|found| found.0),
        Some(Source::Hash)
    );
    assert_eq!(
        asked(&registry, again, "HR").map(|found| found.0),
        Some(Source::Pattern)
    );
}

#[test]
fn the_same_in_other_words_is_the_same_packet() {
    let registry = stored(ENGLISH, PACKET);
    for (english, source) in [
        (ENGLISH, Source::Hash),
        (
            "  Retrieve all active employee salary  records for August\n2024 ",
            Source::Hash,
        ),
        (
            "Please retrieve the active employee salary records for August 2024.",
            Source::Pattern,
        ),
        (
            "Could you please retrieve all active employee's salary records for Aug 2024?",
            Source::Pattern,
        ),
        (
            "I would like you to retrieve the active employee salary records for 2024-08",
            Source::Pattern,
        ),
        (
            "For August of 2024, retrieve the active employee salary records",
            Source::Pattern,
        ),
    ] {
        assert_eq!(
            asked(&registry, english, "HR"),
            Some((source, ANSWER.to_owned())),
            "{english}"
        );
    }
}

#[test]
fn aacp_41_accepts_another_value_in_its_place() {
    let registry = stored(ENGLISH, PACKET);
    for english in [
        "Retrieve all active employee salary records for September 2024",
        "Retrieve all active employee salary records for 2024-09",
    ] {
        let packet = ANSWER.replace("2024-08", "2024-09");
        assert_eq!(
            asked(&registry, english, "HR"),
            Some((Source::Pattern, packet))
        );
    }
    let registry = stored(
        "Pay invoice PO-441 of Acme Ltd, 4,200 GBP",
        "PROC|FIN|return:A|aacp:1.1|sup:Acme-Ltd|amt:4200|ccy:GBP|match:PO-441",
    );
    let packet = "PROC|FIN|return:HR-Agent|p:1|aacp:1.1|amt:50|ccy:EUR|sup:Beta-Inc|match:PO-9";
    let found = asked(&registry, "Pay invoice PO-9 of Beta Inc, 50 EUR", "FIN");
    assert_eq!(found, Some((Source::Pattern, packet.to_owned())));
}

#[test]
fn aacp_41_refuses_what_says_something_else() {
    let registry = stored(ENGLISH, PACKET);
    assert_eq!(asked(&registry, ENGLISH, "FIN"), None);
    for english in [
        "Delete all active employee salary records for August 2024",
        "Retrieve and delete all active employee salary records for August 2024",
        "Retrieve all inactive employee salary records for August 2024",
        "Retrieve all active employee bonus records for August 2024",
        "Retrieve all active contractor salary records for August 2024",
        "Retrieve all active employee salary records for August",
        "Retrieve all active employee salary records for August and September 2024",
        "Retrieve all active employee salary records for August 2024 in Berlin",
        "Retrieve all active employee salary records for August 2024 as XML",
        "Do not retrieve all active employee salary records for August 2024",
        "Retrieve the last active employee salary records for August 2024",
        "Retrieve all active employee salary records until August 2024",
        "Retrieve the top 5 active employee salary records for August 2024",
        "Retrieve five active employee salary records for August 2024",
        "Retrieve all active employee salary records for August 2024 to the auditor",
        "Retrieve all active employee salary records for march 2024 and august 2024",
        "retrieve",
        "All active employee salary records for August 2024",
        "Retrieved all active employee salary records for August 2024",
        "Have all active employee salary records for August 2024 been retrieved?",
        "Retrieve all active employee salary record for August 2024",
        "Retrieve each active employee salary records for August 2024",
        "Retrieve our active employee salary records for August 2024",
        "Retrieve all active employee salary records from August 2024",
        "Retrieve all active, employee salary records for August 2024",
        "Retrieve back all active employee salary records for August 2024",
        "Retrieve all active #employee salary records for August 2024",
    ] {
        assert_eq!(asked(&registry, english, "HR"), None, "{english}");
    }
}

#[test]
fn a_value_that_cannot_be_replaced_with_certainty_is_a_call() {
    for (english, packet, other) in [
        // The packet has the value in a second place, as a part of a field.
        (
            "Send the August 2024 report",
            "SEND|HR|return:A|aacp:1.1|period:2024-08|subj:report_2024_08",
            "Send the September 2024 report",
        ),
        // The packet has digits that the instruction does not have.
        (
            "Send the report of August 2024",
            "SEND|HR|return:A|aacp:1.1|period:2024-08|filter:quarter=Q3",
            "Send the report of October 2024",
        ),
        // The number 5 has two meanings in this instruction.
        (
            "Order 5 chairs for room 5",
            "PROC|FIN|return:A|aacp:1.1|amt:5|res:chairs|filter:room=5",
            "Order 7 chairs for room 5",
        ),
        // The packet does not have the value Alice, so there is nothing to replace.
        (
            "Send the report to Alice",
            "SEND|HR|return:A|aacp:1.1|to:fin_director",
            "Send the report to Bob",
        ),
        // The name of the month is also another word.
        (
            "send the report of may 2024",
            "SEND|HR|return:A|aacp:1.1|filter:month=5",
            "send the report of march 2024",
        ),
        // One word replaces another, and the packet has neither.
        (
            "Order ten comfortable chairs for the new office on the northern side of the river",
            "PROC|HR|return:A|aacp:1.1|filter:site=4",
            "Order ten comfortable chairs for the new office on the southern side of the river",
        ),
        // The roles of two values may have been exchanged.
        (
            "Move the seat of Alice next to Bob",
            "PROC|HR|return:A|aacp:1.1|res:seat|filter:emp=Alice",
            "Move the seat of Bob next to Alice",
        ),
        (
            "Send the report to the finance director of the group as soon as it is ready for review",
            "SEND|HR|return:A|aacp:1.1|to:director",
            "Send the report to the sales director of the group as soon as it is ready for review",
        ),
        (
            "Pay £100 for the cab",
            "PROC|FIN|return:A|aacp:1.1|amt:100|res:cab",
            "Pay $100 for the cab",
        ),
    ] {
        let dom = Packet::parse(packet).unwrap().dom().to_owned();
        let registry = stored(english, packet);
        assert!(asked(&registry, english, &dom).is_some());
        assert_eq!(asked(&registry, other, &dom), None, "{other}");
    }
}

#[test]
fn two_entries_that_fit_equally_and_differ_decide_nothing() {
    let mut registry = stored(ENGLISH, PACKET);
    let other = "Retrieve all active employee salary records for May 2024";
    let asks = "Retrieve the active employee salary records for June 2024";
    let first = asked(&registry, asks, "HR");
    assert_eq!(first.map(|found| found.0), Some(Source::Pattern));
    let packet = Packet::parse("FETCH|HR|return:A|aacp:1.1|res:pay|period:2024-05").unwrap();
    let instruction = Instruction::new(other).unwrap();
    let entry = Entry::new(instruction, "HR", &packet, Vocabulary::standard()).unwrap();
    let ask = accp_aacp::fallback::ClaimRequest {
        holder: 1,
        waited: None,
        now: 1,
        lease: 1,
    };
    let key = entry.key();
    let claimed = registry.claim(&key, &ask).unwrap();
    let accp_aacp::fallback::Claimed::Decided(accp_aacp::fallback::ClaimDecision::Call(claim)) =
        claimed
    else {
        panic!("{claimed:?}");
    };
    registry.settle(&key, &claim, Ok(&entry)).unwrap();
    assert_eq!(asked(&registry, asks, "HR"), None);
}

#[test]
fn the_threshold_bounds_how_many_words_may_differ() {
    let registry = stored(ENGLISH, PACKET);
    let english = ENGLISH.replace("salary records", "salary data records");
    let at = |threshold| {
        let options = Options {
            threshold,
            workflows: &[],
            ..Options::default()
        };
        asked_by(&registry, &english, "HR", options).is_some()
    };
    assert!(at(0.75) && !at(0.9));
}

/// Sentences of a verb, nouns, and values of each kind.
fn sentence() -> impl Strategy<Value = (String, Vec<String>, String)> {
    let verb = prop_oneof![
        Just("Retrieve"),
        Just("Delete"),
        Just("Send"),
        Just("Cancel")
    ];
    let value = prop_oneof![
        "[1-9][0-9]{0,4}",
        "(January|May|August|September) 20[0-9]{2}",
        "20[0-9]{2}-(0[1-9]|1[0-2])",
        "20[0-9]{2}-(0[1-9]|1[0-2])-[12][0-9]",
        "[A-Z]{2,3}-[0-9]{1,3}",
        "(Acme|Beta|Gamma|Delta)",
        "[a-z]\\.[a-z]{3,5}",
    ];
    let values = proptest::collection::vec(value, 1..4);
    let name = prop_oneof![Just("invoice"), Just("order"), Just("contract")];
    (verb, name, values).prop_map(|(verb, name, values)| {
        let of = values.join(" with ");
        (
            format!("{verb} the open {name} records, about {of}"),
            values,
            verb.to_owned(),
        )
    })
}

/// Returns a packet with these values, each in a field of its own.
fn packet_of(values: &[String]) -> String {
    const KEYS: [&str; 3] = ["filter", "res", "subj"];
    let month = |value: &String| {
        let months = [
            ("January", "01"),
            ("May", "05"),
            ("August", "08"),
            ("September", "09"),
        ];
        let found = months.iter().find_map(|(name, number)| {
            let year = value.strip_prefix(name)?.trim();
            Some(format!("{year}-{number}"))
        });
        found.unwrap_or_else(|| value.clone())
    };
    let fields = KEYS
        .iter()
        .zip(values)
        .map(|(key, value)| format!("|{key}:{}", month(value)));
    format!("FETCH|HR|return:A|aacp:1.1{}", fields.collect::<String>())
}

proptest! {
    /// An answer without a model has the values of the instruction and no others.
    #[test]
    fn an_answer_has_the_values_that_were_asked(one in sentence(), other in sentence()) {
        let registry = stored(&one.0, &packet_of(&one.1));
        if let Some((source, text)) = asked(&registry, &other.0, "HR") {
            prop_assert_eq!(&other.2, &one.2, "another verb");
            let found = Packet::parse(&text).unwrap();
            let wanted = packet_of(&other.1);
            let wanted = Packet::parse(&wanted).unwrap();
            let mut found: Vec<&str> = found.fields()[3..].iter().map(|field| field.1).collect();
            let mut wanted: Vec<&str> = wanted.fields()[2..].iter().map(|field| field.1).collect();
            found.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(found, wanted, "by {:?} of {} for {}", source, one.0, other.0);
        }
    }

    /// A changed value changes the packet, wherever the value is in the instruction.
    #[test]
    fn a_changed_value_changes_the_packet(one in sentence(), at in 0..3_usize, new in "[A-Z]{2}[0-9]{3}") {
        let mut values = one.1.clone();
        let at = at % values.len();
        prop_assume!(values[at] != new);
        let english = one.0.replacen(&values[at], &new, 1);
        prop_assume!(english != one.0);
        values[at] = new;
        let packet = packet_of(&one.1);
        let registry = stored(&one.0, &packet);
        if let Some((_, text)) = asked(&registry, &english, "HR") {
            let old = asked(&registry, &one.0, "HR").unwrap().1;
            prop_assert_ne!(text, old, "{}", english);
        }
    }

    #[test]
    fn any_text_can_be_asked_and_stored(one in "\\PC{1,60}", other in "\\PC{1,60}") {
        prop_assume!(Instruction::new(&one).is_ok() && Instruction::new(&other).is_ok());
        let registry = stored(&one, PACKET);
        let same = Instruction::new(&one) == Instruction::new(&other);
        let found = asked(&registry, &other, "HR").map(|found| found.0);
        prop_assert_eq!(found == Some(Source::Hash), same);
    }
}

#[test]
fn a_key_is_an_id_in_a_domain() {
    let key = |english: &str, dom: &str| EntryKey {
        dom: dom.to_owned(),
        id: Instruction::new(english).unwrap().id(),
    };
    assert_eq!(
        key("Fetch it", "HR").to_string(),
        "e018908048247627ddebde534bcfa0ef84a2b5f36453b8b38225a36d6382e0e2 in HR",
    );
}
