//! See `firstpass_fuzz::kustomize_build`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| firstpass_fuzz::kustomize_build(data));
