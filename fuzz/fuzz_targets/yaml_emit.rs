//! See `firstpass_fuzz::yaml_emit`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| firstpass_fuzz::yaml_emit(data));
