//! Fuzzes values: every JSON value that is written into a frame is read back equal.
#![no_main]

use accp_runtime::{DecodeOptions, DynamicFrame, EncodeOptions, Limits, Registry, Value};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(json) = serde_json::from_slice::<serde_json::Value>(bytes) else {
        return;
    };
    let registry = Registry::shared();
    let value = Value::from_json(&json);
    assert_eq!(value.to_exact_json(), json);
    let message = DynamicFrame::new("a", "qry", "lookup")
        .expect("fits the grammar")
        .with("field", value);
    let options = EncodeOptions {
        limits: Limits::NONE,
        inline: true,
        ..EncodeOptions::default()
    };
    // Even without limits, the value may be nested too deep for any frame.
    let Ok(frame) = message.encode_with(registry, options) else {
        return;
    };
    let options = DecodeOptions {
        limits: Limits::NONE,
        marks: true,
    };
    let back =
        DynamicFrame::decode_with(&frame, registry, &options).expect("what was encoded decodes");
    assert_eq!(
        back.payload.get("field").map(Value::to_exact_json),
        Some(json)
    );
});
