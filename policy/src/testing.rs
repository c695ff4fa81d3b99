//! The same unit tests run natively and, with `make test-wasm`, as wasm in Node.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use core::prelude::v1::test;
#[cfg(target_arch = "wasm32")]
pub(crate) use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::request::{Change, Request};

/// A request that asks for this change and says nothing else.
pub(crate) fn asking(change: Change) -> Request {
    Request { name: None, namespace: None, change }
}
