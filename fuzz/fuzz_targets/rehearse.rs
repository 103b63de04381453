//! See `firstpass_fuzz::rehearse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| firstpass_fuzz::rehearse(data));
