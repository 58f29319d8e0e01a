//! The codec with the standard registry, as the tests of conformance use it.

use accp_runtime::{DecodeError, DynamicFrame, EncodeError, EncodeOptions, ErrorCode, Registry};
use accp_tests::judges::agree;

/// Decodes a frame that both judges accept.
pub(crate) fn decode(text: &str) -> Result<DynamicFrame<'_>, DecodeError> {
    assert!(agree(text.as_bytes()), "{text}");
    DynamicFrame::decode(text, Registry::shared())
}

/// Returns the code of the error with which a frame is refused.
pub(crate) fn code_of(text: &str) -> ErrorCode {
    decode(text).unwrap_err().code()
}

/// Returns options under which all values stay inside the frame.
pub(crate) fn inline() -> EncodeOptions<'static> {
    EncodeOptions {
        inline: true,
        ..EncodeOptions::default()
    }
}

/// Encodes a message with all its values inside the frame.
pub(crate) fn encode(message: &DynamicFrame<'_>) -> Result<String, EncodeError> {
    message.encode_with(Registry::shared(), inline())
}

pub(crate) fn lookup<'a>() -> DynamicFrame<'a> {
    DynamicFrame::new("a", "qry", "lookup").unwrap()
}

/// Returns a registry with every type.
pub(crate) fn warehouse() -> Registry {
    Registry::from_json(include_str!("../registry/warehouse.json")).unwrap()
}
