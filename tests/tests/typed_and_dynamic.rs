//! Typed decoding and the dynamic message accept the same frames, read the same values and write
//! the same text.

use accp_runtime::profiles::{
    ChatReq, ErrorFail, InferStream, ScheduleReq, ToolDone, ToolReq, TransactionReq,
};
use accp_runtime::{DecodeFrame, DynamicFrame, EncodeFrame, EncodeOptions, Registry, Typed};
use accp_tests::messages::{as_typed, holds_reference};
use proptest::prelude::*;

/// Reads a text both ways, and compares the results.
fn compare<T>(text: &str) -> Result<(), TestCaseError>
where
    T: for<'a> Reads<'a>,
{
    T::compare(text)
}

trait Reads<'a> {
    fn compare(text: &'a str) -> Result<(), TestCaseError>;
}

macro_rules! reads {
    ($($frame:ident),*) => {$(
        impl<'a> Reads<'a> for $frame<'static> {
            fn compare(text: &'a str) -> Result<(), TestCaseError> {
                both::<$frame<'a>>(text)
            }
        }
    )*};
}

reads!(
    ChatReq,
    ErrorFail,
    InferStream,
    ScheduleReq,
    ToolDone,
    ToolReq,
    TransactionReq
);

fn both<'a, T: DecodeFrame<'a> + EncodeFrame>(text: &'a str) -> Result<(), TestCaseError> {
    let registry = Registry::shared();
    let options = || EncodeOptions {
        inline: true,
        ..EncodeOptions::default()
    };
    match (
        Typed::<T>::decode(text),
        DynamicFrame::decode(text, registry),
    ) {
        (Ok(typed), Ok(message)) => {
            let mut written = String::new();
            typed
                .encode_into(&mut written, options())
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
            // Every field in the typed frame's text has the value that the dynamic reader found.
            let again = DynamicFrame::decode(&written, registry)
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
            let held = as_typed(&message, registry).encode_with(registry, options());
            let held = held.map_err(|e| TestCaseError::fail(e.to_string()))?;
            let held = DynamicFrame::decode(&held, registry)
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
            for (name, value) in again.payload.iter() {
                prop_assert_eq!(held.payload.get(name), Some(value), "{} in {}", name, text);
            }
            prop_assert_eq!(&again.envelope, &message.envelope);
            prop_assert_eq!(again.encode_with(registry, options()), Ok(written));
        }
        // If a frame has several faults, the two readers may report different faults.
        (Err(_), Err(_)) => {}
        // The dynamic reader passes on a reference and a frame without a schema. The type cannot hold
        // them.
        (Err(typed), Ok(message)) => {
            let refers = message
                .payload
                .iter()
                .any(|(_, value)| holds_reference(value));
            prop_assert!(refers || message.schema.is_none(), "{}\n{}", text, typed);
        }
        // Only the dynamic reader checks keys that the type does not have.
        (Ok(_), Err(message)) => {
            let twice = message.expected().contains("once");
            prop_assert!(twice, "{}\n{}", text, message);
        }
    }
    Ok(())
}

/// Returns a frame with these params. Some are missing, doubled or of another type.
fn frame(
    head: &'static str,
    params: &'static [(&'static str, &'static str, &'static str)],
    code: &'static str,
) -> impl Strategy<Value = String> {
    let value = |usual: &'static str| {
        prop_oneof![
            8 => Just(usual.to_owned()),
            1 => accp_grammar::testing::value(),
            1 => accp_grammar::testing::scalar(),
            1 => prop::sample::select(vec!["~", "$cold.k1", "true", "7", "1.5", "007", "[]", "{}", "\"x_y", r"\@dev", "%", "[~]", "[a,~]", "{k:~}"])
                .prop_map(str::to_owned),
        ]
    };
    let params: Vec<_> = params
        .iter()
        .map(|&(full, short, usual)| {
            let key = prop_oneof![1 => Just(full), 3 => Just(short)];
            let count = prop_oneof![1 => Just(0_usize), 8 => Just(1), 1 => Just(2)];
            (key, value(usual), count)
                .prop_map(|(key, value, count)| vec![format!("{key}:{value}"); count])
        })
        .collect();
    let unknown = prop::option::weighted(0.2, accp_grammar::testing::scalar());
    let schema = prop_oneof![8 => Just(Some(code)), 1 => Just(None), 1 => Just(Some("XX"))];
    let metadata = prop_oneof![
        Just(""),
        Just("[mid:100001000001,seq:1,cid:x]"),
        Just("[msg_id:a,seq:007,ttl:-1,of:x,cid:\"a_b]"),
        Just("[mid:a,mid:b]"),
        Just("[seq:x]"),
        Just("[ts:1.5]"),
        Just("[cid:~]"),
        Just("[of:[1]]"),
    ];
    (
        params,
        unknown,
        schema,
        metadata,
        any::<prop::sample::Index>(),
    )
        .prop_map(move |(params, unknown, schema, metadata, at)| {
            let mut params = params.concat();
            params.extend(unknown.map(|value| format!("zzz:{value}")));
            if let Some(code) = schema {
                params.insert(at.index(params.len() + 1), format!("schema:{code}"));
            }
            format!("@a>{head}{{{}}}{metadata}", params.join("|"))
        })
}

proptest! {
    #[test]
    fn of_a_task(text in frame(
        "req:schedule",
        &[("assignee", "asgn", "dev"), ("task", "task", "x"), ("priority", "pri", "high"), ("deadline", "dead", "d"), ("deps", "deps", "[a,b]")],
        "TA",
    )) {
        compare::<ScheduleReq<'static>>(&text)?;
    }

    #[test]
    fn of_a_chat(text in frame(
        "req:chat",
        &[("role", "role", "user"), ("content", "content", "Hi_there"), ("turn", "turn", "1"), ("lang", "lang", "en")],
        "CH",
    )) {
        compare::<ChatReq<'static>>(&text)?;
    }

    #[test]
    fn of_a_tool_call(text in frame("req:tool", &[("tool_name", "tool", "x"), ("arguments", "args", "{q:1}")], "TC")) {
        compare::<ToolReq<'static>>(&text)?;
    }

    #[test]
    fn of_a_tool_result(text in frame("done:tool", &[("tool_name", "tool", "x"), ("result", "res", "[1,~]"), ("status", "stat", "ok")], "TC")) {
        compare::<ToolDone<'static>>(&text)?;
    }

    #[test]
    fn of_a_transaction(text in frame(
        "req:transaction",
        &[("transaction_id", "txn", "t1"), ("amount", "amt", "142.5"), ("currency", "currency", "EUR"), ("retryable", "retryable", "true")],
        "TX",
    )) {
        compare::<TransactionReq<'static>>(&text)?;
    }

    #[test]
    fn of_a_chunk(text in frame(
        "stream:infer",
        &[("chunk_index", "idx", "0"), ("total_chunks", "tot", "3"), ("data", "d", "Hello"), ("is_final", "done", "false")],
        "ST",
    )) {
        compare::<InferStream<'static>>(&text)?;
    }

    #[test]
    fn of_an_error(text in frame("fail:error", &[("code", "code", "E3001"), ("msg", "msg", "timed_out"), ("retry", "retry", "true")], "ER")) {
        compare::<ErrorFail<'static>>(&text)?;
    }
}
