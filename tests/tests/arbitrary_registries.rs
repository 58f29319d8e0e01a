//! All judges give one verdict on a frame of any registry. The judges are the check, the dynamic message, the host
//! of a session and the exported grammar. All accept what the encoder writes, and the values come back equal. If
//! one judge refuses a text, all refuse it with the same code.
//!
//! A long run: `PROPTEST_CASES=20000 cargo test --release -p accp-tests --test all arbitrary_registries`.

mod faults;
mod host;
mod registries;
mod renamed;
mod typed;

use std::cell::RefCell;
use std::collections::BTreeMap;

use accp_registry::Type;
use accp_registry::export::{Export, Options};
use accp_runtime::{DecodeError, DynamicFrame, EncodeOptions, ErrorCode, Registry, Value};
use accp_tests::machine::Machine;
use accp_tests::messages::{self, Metadata};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{TestRng, TestRunner};

use crate::codec::inline;
use faults::{Fault, Faulty, faulty};
use host::Host;
use registries::{Described, registry};

type Verdict = Result<(), ErrorCode>;

/// A registry, a message of it, and a choice of faults.
#[derive(Clone)]
struct Case {
    described: Described,
    message: DynamicFrame<'static>,
    /// Whether the schema lists the frame.
    listed: bool,
    faults: Vec<Index>,
    /// Raw texts of values, which replace values of the message.
    raw: Vec<String>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (described, message) = (&self.described, self.message.to_json());
        write!(f, "{message} of {described:?}")
    }
}

fn case() -> impl Strategy<Value = Case> {
    let choices = (any::<Index>(), any::<Index>(), 0..4_u8, any::<bool>());
    (registry(), choices).prop_flat_map(|(described, (schema, frame, open, long))| {
        let registry = &described.registry;
        // A record of a union is a value of a field in a frame, and not a frame.
        let schemas = registry.schemas().filter(|schema| schema.union.is_none());
        let schemas: Vec<_> = schemas.collect();
        let schema = schema.get(&schemas);
        let listed = schema
            .frames
            .iter()
            .map(|spec| [spec.intent(), spec.operation()]);
        let mut heads: Vec<_> = listed.collect();
        // A schema that lists no frame accepts all frames. A schema that lists some frames also accepts other
        // frames, but without defaults.
        if heads.is_empty() || open == 0 {
            heads = vec![["req", "unlisted"]];
        }
        let head = *frame.get(&heads);
        let listed = head[1] != "unlisted";
        let texts: Vec<String> = schema
            .fields
            .iter()
            .filter(|field| matches!(field.ty, Type::String | Type::Text | Type::Any))
            .map(|field| field.name.clone())
            .collect();
        let message = messages::frame(registry, schema, head, Metadata::Whole);
        let message = message.prop_map(move |mut message| {
            // The codec accepts any integer as `ttl`. A session accepts only smaller ones, so the
            // case has one of 16 bits.
            let ttl = &mut message.envelope.ttl;
            *ttl = ttl.map(|ttl| ttl & 0xffff);
            for name in texts.iter().filter(|_| long) {
                message = message.with(name.clone(), "more than fifty characters ".repeat(3));
            }
            message
        });
        let faults = prop::collection::vec(any::<Index>(), 8);
        let raw = prop::collection::vec(accp_grammar::testing::value(), 4);
        (Just(described), message, faults, raw).prop_map(
            move |(described, message, faults, raw)| Case {
                described,
                message,
                listed,
                faults,
                raw,
            },
        )
    })
}

/// Counts of the cases in a run.
#[derive(Debug, Default)]
struct Counts {
    /// Messages that every judge accepts.
    accepted: u64,
    /// Accepted messages whose frame the grammar describes.
    by_grammar: u64,
    /// The accepted messages with values that a session sends by reference.
    apart: u64,
    /// Accepted texts in which a raw value replaces a value of the message.
    raw_accepted: u64,
    raw_refused: u64,
    faults: BTreeMap<Fault, u64>,
}

/// Gives the verdict of `accp check`.
fn check(text: &str, registry: &Registry) -> Verdict {
    accp_grammar::parse_bytes(text.as_bytes()).map_err(|_| ErrorCode::PARSE_ERROR)?;
    let message = DynamicFrame::decode_bytes(text.as_bytes(), registry);
    message.map(drop).map_err(|error| error.code())
}

/// The judges of one registry.
struct Judges<'r> {
    registry: &'r Registry,
    host: Host,
    /// The grammar of the frame, if a schema lists it.
    grammar: Option<Machine>,
}

impl<'r> Judges<'r> {
    fn new(registry: &'r Registry, listed: Option<String>) -> Self {
        let grammar = listed.map(|frame| {
            let options = Options {
                frames: vec![frame],
                envelope: true,
            };
            let export = Export::of(registry, &options).unwrap();
            Machine::lark(export.grammar(Export::DEPTH).unwrap().to_lark())
        });
        Self {
            registry,
            host: Host::new(registry),
            grammar,
        }
    }

    /// Judges a text, and fails unless all judges give one verdict.
    fn judge(
        &mut self,
        text: &str,
        shown: &str,
    ) -> Result<Option<DynamicFrame<'static>>, TestCaseError> {
        let read = DynamicFrame::decode(text, self.registry);
        let verdict = read.as_ref().map(drop).map_err(DecodeError::code);
        prop_assert_eq!(check(text, self.registry), verdict, "check: {}", shown);
        let delivered = self.host.receive(text);
        // If the text that the host cannot read is itself an error, the host does not answer.
        let is_silent = |code: ErrorCode| text.contains(">fail:").then_some(code);
        let refused = |told: &Option<ErrorCode>| told.or_else(|| is_silent(verdict.err()?));
        let hosted = delivered.as_ref().map(drop).map_err(refused);
        let verdict = verdict.map_err(Some);
        prop_assert_eq!(hosted, verdict, "host: {} {:?}", shown, read);
        if let (Ok(read), Ok(delivered)) = (&read, &delivered) {
            prop_assert_eq!(&read.payload, &delivered.payload, "host: {}", shown);
        }
        if let (Err(error), Some(grammar)) = (&read, &self.grammar) {
            // No grammar can express that each key of a map comes only once, or limit a count.
            let beyond =
                error.expected().contains("once") || error.expected().starts_with("at most");
            prop_assert!(
                beyond || !grammar.takes(text),
                "grammar: {} {}",
                shown,
                error
            );
        }
        Ok(read.ok().map(DynamicFrame::into_owned))
    }
}

fn run(case: &Case, counts: &RefCell<Counts>) -> Result<(), TestCaseError> {
    let Case {
        described, message, ..
    } = case;
    let registry = &described.registry;
    let code = message.schema.as_deref().unwrap();
    let head = [message.intent.as_str(), &*message.operation];
    let mut judges = Judges::new(registry, case.listed.then(|| head.join(":")));
    let mut counts = counts.borrow_mut();
    let text = match message.encode_with(registry, inline()) {
        Ok(text) => text,
        // A map that is written as pairs may nest its values too deep.
        Err(error) => {
            prop_assert!(error.to_string().contains("deeper"), "{}", error);
            return Ok(());
        }
    };
    let whole = described.completed(&message.payload, code, &head);
    // A member sends the message. Its long values are sent separately, and are put back in.
    let sent = judges.host.send(message);
    let sent = sent.map_err(|code| TestCaseError::fail(format!("session: {code} {text}")))?;
    prop_assert_eq!(&sent.payload, &whole, "session: {}", text);
    let short = message.encode_with(registry, EncodeOptions::default());
    counts.apart += u64::from(short.is_err());

    let read = judges.judge(&text, &text)?;
    let read = read.ok_or_else(|| TestCaseError::fail(format!("refused: {text}")))?;
    prop_assert_eq!(&read.payload, &whole, "message: {}", text);
    prop_assert_eq!(&read.envelope, &message.envelope, "message: {}", text);
    let again = read.encode_with(registry, inline());
    prop_assert_eq!(again.as_ref(), Ok(&text));
    counts.accepted += 1;
    if let Some(grammar) = &judges.grammar {
        prop_assert!(grammar.takes(&text), "grammar: {}", text);
        counts.by_grammar += 1;
    }

    let all = faulty(message, registry);
    for index in &case.faults {
        let Faulty {
            fault,
            text,
            message,
        } = index.get(&all);
        let shown = shortened(text);
        prop_assert!(
            judges.judge(text, &shown)?.is_none(),
            "accepted {:?}: {}",
            fault,
            shown
        );
        let code = DynamicFrame::decode(text, registry).unwrap_err().code();
        if let Some(message) = message {
            let written = message.encode_with(registry, inline()).map(drop);
            let written = written.map_err(|error| error.code());
            prop_assert_eq!(written, Err(code), "encode, {:?}: {}", fault, shown);
            // If a value is too large for a frame, a session does not refuse it, but sends it
            // separately.
            if !matches!(fault, Fault::Elements | Fault::Bytes | Fault::Depth) {
                let sent = judges.host.send(message).map(drop);
                prop_assert_eq!(sent, Err(code), "session, {:?}: {}", fault, shown);
            }
        }
        *counts.faults.entry(*fault).or_default() += 1;
    }

    // Here each raw value takes the place of some value of the message. The judges need not
    // refuse it, but they must agree.
    let names: Vec<&str> = message.payload.iter().map(|(name, _)| name).collect();
    for (raw, index) in case.raw.iter().zip(&case.faults) {
        // A host refuses a reference to a value that no side has put.
        if names.is_empty() || raw.contains('$') {
            continue;
        }
        let hole = Value::Ref("HOLE".into());
        let hole = message.clone().with(index.get(&names).to_string(), hole);
        let Ok(text) = hole.encode_with(registry, inline()) else {
            continue;
        };
        let text = text.replace("$HOLE", raw);
        match judges.judge(&text, &text)? {
            Some(_) => counts.raw_accepted += 1,
            None => counts.raw_refused += 1,
        }
    }
    Ok(())
}

/// Returns the start of a text, for people.
fn shortened(text: &str) -> String {
    text.chars().take(600).collect()
}

#[test]
fn all_judges_give_one_verdict() {
    let counts = RefCell::default();
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    // Each run has the same cases, so that the counts are the same.
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let result = runner.run(&case(), |case| run(&case, &counts));
    if let Err(error) = result {
        panic!("{error}");
    }
    let counts = counts.into_inner();
    println!("{counts:?}");
    let Counts {
        accepted,
        by_grammar,
        apart,
        raw_accepted,
        raw_refused,
        faults,
    } = &counts;
    let each = [accepted, by_grammar, apart, raw_accepted, raw_refused];
    assert!(each.iter().all(|count| **count > 0), "{counts:?}");
    assert_eq!(faults.len(), Fault::ALL.len(), "{counts:?}");
}
