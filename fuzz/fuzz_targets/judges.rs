//! Fuzzes frames: the scanner and the reference parser must give the same verdict on arbitrary bytes.
#![no_main]

// The target includes the file by its path, because the crate accp-tests depends on a database and
// a grammar engine.
#[path = "../../tests/src/judges.rs"]
mod judges;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    judges::agree(bytes);
});
