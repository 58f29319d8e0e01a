//! A registry loads or is refused. A registry that loads has a hash and equals its own JSON.
#![no_main]

use accp_registry::Registry;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(registry) = Registry::from_json(text) {
        let json = registry.to_json().to_string();
        let again = Registry::from_json(&json).expect("what it writes, it reads");
        assert_eq!(again.hash(), registry.hash());
    }
});
