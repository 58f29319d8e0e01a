//! Compares the types of compiled registries with dynamic messages. Both give one text, and one verdict with one code.

use std::sync::{Arc, LazyLock};

use accp_registry::Registry;
use accp_runtime::{DecodeFrame, DynamicFrame, EncodeFrame, ErrorCode, Typed, Value, profiles};
use accp_tests::messages::{self, Metadata, as_typed, holds_reference};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::arbitrary_registries::faults::{Fault, Faulty, faulty};
use crate::arbitrary_registries::shortened;
use crate::codec::inline;
use crate::generated::goldens::{
    enums, every_type, formats, formats_owned, frames, names, nested, renamed, unions,
};

/// Reads a text as a type, and writes it again.
pub(crate) type Through = fn(&str) -> Result<String, ErrorCode>;

/// A type and its registry.
#[derive(Clone)]
struct Subject {
    registry: Arc<Registry>,
    code: &'static str,
    head: [&'static str; 2],
    through: Through,
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.head.join(":"), self.code)
    }
}

pub(crate) fn through<'a, T: DecodeFrame<'a> + EncodeFrame>(
    text: &'a str,
) -> Result<String, ErrorCode> {
    let typed = Typed::<T>::decode(text).map_err(|error| error.code())?;
    let mut out = String::new();
    let written = typed.encode_into(&mut out, inline());
    written.map(|()| out).map_err(|error| error.code())
}

macro_rules! subjects {
    ($($json:expr => $($frame:ty: $code:literal $intent:literal $operation:literal),*;)*) => {{
        let mut subjects = Vec::new();
        $(
            let registry = Arc::new($json);
            $(subjects.push(Subject {
                registry: registry.clone(),
                code: $code,
                head: [$intent, $operation],
                through: |text| through::<$frame>(text),
            });)*
        )*
        subjects
    }};
}

static SUBJECTS: LazyLock<Vec<Subject>> = LazyLock::new(|| {
    let of = |json| Registry::from_json(json).unwrap();
    subjects! {
        Registry::standard() =>
            profiles::ChatReq<'_>: "CH" "req" "chat",
            profiles::ChatDone<'_>: "CH" "done" "chat",
            profiles::ErrorFail<'_>: "ER" "fail" "error",
            profiles::InferStream<'_>: "ST" "stream" "infer",
            profiles::ScheduleReq<'_>: "TA" "req" "schedule",
            profiles::ScheduleDone<'_>: "TA" "done" "schedule",
            profiles::ToolReq<'_>: "TC" "req" "tool",
            profiles::ToolDone<'_>: "TC" "done" "tool",
            profiles::TransactionReq<'_>: "TX" "req" "transaction",
            profiles::TransactionDone<'_>: "TX" "done" "transaction";
        of(every_type::REGISTRY_JSON) =>
            every_type::CounterSync: "CN" "sync" "counter",
            every_type::StoreReq<'_>: "SM" "req" "store",
            every_type::StoreDone<'_>: "SM" "done" "store";
        of(enums::REGISTRY_JSON) => enums::SignalSync<'_>: "SG" "sync" "signal";
        of(formats::REGISTRY_JSON) =>
            formats::StampReq<'_>: "SP" "req" "stamp",
            formats::StampDone<'_>: "SP" "done" "stamp",
            formats_owned::StampReq: "SP" "req" "stamp";
        of(frames::REGISTRY_JSON) =>
            frames::JobRunReq<'_>: "JB" "req" "run",
            frames::RunDone<'_>: "JB" "done" "run",
            frames::NotifyReq<'_>: "JB" "req" "notify",
            frames::ProbeRunReq<'_>: "PB" "req" "run";
        of(names::REGISTRY_JSON) =>
            names::N2dViewReq<'_>: "3D" "req" "2d_view",
            names::SelfReq<'_>: "3D" "req" "self";
        of(nested::REGISTRY_JSON) =>
            nested::FindingSync<'_>: "FD" "sync" "finding",
            nested::ReportDone<'_>: "RP" "done" "report";
        of(renamed::REGISTRY_JSON) =>
            renamed::PayReq<'_>: "IV" "req" "pay",
            renamed::PayDone<'_>: "IV" "done" "pay";
        of(unions::REGISTRY_JSON) =>
            unions::OrderReq<'_>: "OD" "req" "order",
            unions::OrderDone<'_>: "OD" "done" "order";
    }
});

/// Returns a type, and a message with fields that the type has.
fn case() -> impl Strategy<Value = (Subject, DynamicFrame<'static>, Vec<Index>)> {
    select(&SUBJECTS[..]).prop_flat_map(|subject| {
        let schema = subject.registry.schema(subject.code).unwrap();
        let message = messages::frame(&subject.registry, schema, subject.head, Metadata::Whole);
        let spec = schema.frame(&subject.head).unwrap();
        // The type of a frame has only the fields that the registry lists for the frame.
        let about = spec.fields.clone();
        let required: Vec<String> = schema.required(&subject.head).map(str::to_owned).collect();
        let message = message.prop_map(move |mut message| {
            let has = |names: &[String], name: &str| names.iter().any(|other| other == name);
            let is_about = |name: &str| about.as_ref().is_none_or(|about| has(about, name));
            let is_kept = |(name, value): &(&str, &Value<'_>)| {
                has(&required, name) || is_about(name) && !holds_reference(value)
            };
            let payload = message.payload.iter().filter(is_kept);
            message.payload = payload
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect();
            message
        });
        (
            Just(subject.clone()),
            message,
            prop::collection::vec(any::<Index>(), 8),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_type_and_a_message_give_one_verdict((subject, message, faults) in case()) {
        let Subject { registry, through, .. } = &subject;
        if message.payload.iter().any(|(_, value)| holds_reference(value)) {
            return Ok(());
        }
        let text = match message.encode_with(registry, inline()) {
            Ok(text) => text,
            // A map that is written as pairs may nest its values too deep.
            Err(error) if error.to_string().contains("deeper") => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        // A typed frame leaves out fields that are not given.
        let held = as_typed(&message, registry).encode_with(registry, inline());
        let held = held.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(through(&text), Ok(held), "{:?}: {}", subject, text);
        let all = faulty(&message, registry);
        for index in &faults {
            let Faulty { fault, text, .. } = index.get(&all);
            // A type skips a key that it does not know, so it may accept a key that comes twice.
            if *fault == Fault::Twice {
                continue;
            }
            let read = DynamicFrame::decode(text, registry).unwrap_err().code();
            prop_assert_eq!(through(text), Err(read), "{:?}: {}", fault, shortened(text));
        }
    }
}
