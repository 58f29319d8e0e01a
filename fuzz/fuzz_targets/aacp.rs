//! Fuzzes packets: the scanner, the reference parser and the validator must give the same verdict. A packet that was
//! read must be written back unchanged, and a packet that was written must be readable.
#![no_main]

use accp_aacp::{Packet, PacketBuf, Severity, Vocabulary, lint, validate};
use accp_registry::aacp::is_value_char;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let report = validate(bytes);
    for finding in report.findings() {
        assert!(finding.at.is_none_or(|at| at <= bytes.len()));
    }
    let read = Packet::parse_bytes(bytes);
    assert_eq!(read.is_ok(), report.is_valid());
    let Ok(packet) = read else {
        // If the grammar accepts a text that the reader refuses, a field is missing, empty or
        // repeated.
        if let Ok(tree) = accp_grammar::aacp::parse_bytes(bytes) {
            let keys = [
                "return-missing",
                "return-empty",
                "aacp-missing",
                "aacp-empty",
                "key-repeated",
            ];
            let mut errors = report.errors();
            assert!(
                errors.all(|error| keys.contains(&error.code.as_str())),
                "{tree}"
            );
        }
        return;
    };
    assert_eq!(packet.text().as_bytes(), bytes);
    let canonical = packet.to_string();
    let again = Packet::parse(&canonical).expect("what was read is written");
    assert_eq!(again.fields(), packet.fields());
    assert_eq!(again.to_string(), canonical);
    // Only a packet of version 1.0 may break the grammar.
    if packet.get("aacp") != Some("1.0") {
        let tree = accp_grammar::aacp::parse(&canonical).expect("the grammar takes it");
        assert_eq!(
            (tree.task, tree.dom, tree.to_string()),
            (packet.task(), packet.dom(), canonical.clone())
        );
    }
    let written = PacketBuf::new(packet.task(), packet.dom(), packet.fields().iter().copied());
    let written = written.expect("what was read can be written");
    assert_eq!(written.text(), canonical);

    assert!(
        report
            .findings()
            .iter()
            .all(|finding| finding.severity == Severity::Warning)
    );
    let english = Vocabulary::standard().english(&packet);
    assert!(english.chars().all(|c| c == '|' || is_value_char(c)));
    assert!(
        lint(&packet)
            .iter()
            .all(|note| note.field < packet.fields().len() + 2)
    );
});
