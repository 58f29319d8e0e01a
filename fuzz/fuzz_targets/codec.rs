//! Fuzzes the codec: a text that can be decoded has one canonical spelling, which decodes to the same message. The
//! strict reader must accept every frame that the lenient reader repaired.
#![no_main]

use accp_runtime::{DynamicFrame, EncodeOptions, Frame, Registry};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let registry = Registry::shared();
    if let Ok((frame, repairs)) = Frame::parse_lenient(text) {
        let repaired = frame.to_string();
        assert_eq!(Frame::parse(&repaired).as_ref(), Ok(&frame));
        let (again, none) = Frame::parse_lenient(&repaired).expect("a repaired frame is a frame");
        assert_eq!((again, none.len()), (frame, 0));
        if repairs.is_empty() {
            assert!(Frame::parse(text).is_ok());
        }
    }
    let Ok(message) = DynamicFrame::decode(text, registry) else {
        return;
    };
    let options = || EncodeOptions {
        inline: true,
        ..EncodeOptions::default()
    };
    // The canonical text may be longer than the given text, and exceed a limit.
    let Ok(canonical) = message.encode_with(registry, options()) else {
        return;
    };
    let again = DynamicFrame::decode(&canonical, registry).expect("canonical text decodes");
    assert_eq!(again, message);
    assert_eq!(
        again.encode_with(registry, options()).as_deref(),
        Ok(canonical.as_str())
    );
});
