//! The scanner and the reference parser agree on arbitrary bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    accp_tests::judges::agree(bytes);
});
