//! Conformance of the standard profiles: PRO (draft section 10).
//! `docs/conformance.md` leads from each requirement to its tests.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use accp_registry::Schema;
use accp_runtime::profiles::{
    ChatDone, ChatMessageFrame, ChatReq, ErrorFail, InferStream, ScheduleDone, ScheduleReq,
    TaskAssignmentFrame, ToolCallFrame, ToolDone, ToolReq, TransactionDone, TransactionFrame,
    TransactionReq,
};
use accp_runtime::{
    AccpFrame, AgentId, Decimal, DecodeError, DecodeFrame, EncodeFrame, Envelope, ErrorCode, Map,
    Message, Registry, Typed, Value,
};
use accp_tests::judges::agree;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

fn typed<T>(frame: T, envelope: Envelope<'_>) -> Typed<'_, T> {
    Typed::new(AgentId::new("a").unwrap(), frame, envelope)
}

fn request() -> Envelope<'static> {
    Envelope::new("100001000001", 1)
}

fn answer() -> Envelope<'static> {
    Envelope::new("100001000002", 2).answering("100001000001")
}

/// The text of a typed frame, after both judges and both readers have agreed on it.
fn written<T>(typed: &Typed<'_, T>) -> String
where
    T: EncodeFrame + PartialEq + std::fmt::Debug,
    T: for<'a> DecodeFrame<'a>,
{
    let text = typed.encode().unwrap();
    round_trip(&text, typed);
    text
}

fn round_trip<T>(text: &str, typed: &Typed<'_, T>)
where
    T: PartialEq + std::fmt::Debug,
    T: for<'a> DecodeFrame<'a>,
{
    assert!(agree(text.as_bytes()), "{text}");
    assert_eq!(Typed::decode(text).unwrap(), *typed);
}

/// The payload by full names, after both judges and a second writing agreed on the frame.
fn payload(text: &str) -> Json {
    assert!(agree(text.as_bytes()), "{text}");
    let message = Message::decode(text, Registry::shared()).unwrap();
    assert_eq!(message.encode(Registry::shared()).unwrap(), text);
    Value::Map(message.payload).to_json()
}
