//! The same unit tests run natively and, with `make test-wasm`, as wasm in Node.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use core::prelude::v1::test;
#[cfg(target_arch = "wasm32")]
pub(crate) use wasm_bindgen_test::wasm_bindgen_test as test;
