#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| stable_hooks_fuzz::guest::guest(input));
