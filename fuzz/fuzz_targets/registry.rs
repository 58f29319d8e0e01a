//! Fuzzes registries: a document is read or refused, without a panic. A registry that was read has a hash, and is
//! equal after it was written as JSON and read again.
#![no_main]

use accp_registry::Registry;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(registry) = Registry::from_json(text) {
        let json = registry.to_json().to_string();
        let again = Registry::from_json(&json).expect("what it writes, it reads");
        assert_eq!(again.hash(), registry.hash());
    }
});
