//! The scanner and the reference parser agree on arbitrary bytes.
#![no_main]

// By its path, because accp-tests itself brings a database and a grammar engine.
#[path = "../../tests/src/judges.rs"]
mod judges;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    judges::agree(bytes);
});
