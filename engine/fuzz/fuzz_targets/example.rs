#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oleada_engine_fuzz::example(bytes));
