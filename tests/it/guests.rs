//! waPC policies small enough to read, written by hand.

/// Where the guests keep things in their memory.
const LAYOUT: &str = r#"(memory (export "memory") 4)
  (global $operation i32 (i32.const 4096))
  (global $message i32 (i32.const 8192))
  (global $answer i32 (i32.const 65536))"#;

const IMPORTS: &str = r#"
  (import "wapc" "__guest_request" (func $request (param i32 i32)))
  (import "wapc" "__guest_response" (func $respond (param i32 i32)))
  (import "wapc" "__guest_error" (func $fail (param i32 i32)))
  (import "wapc" "__host_call" (func $host_call (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wapc" "__host_response" (func $host_response (param i32)))
  (import "wapc" "__host_response_len" (func $host_response_len (result i32)))
  (import "wapc" "__host_error" (func $host_error (param i32)))
  (import "wapc" "__host_error_len" (func $host_error_len (result i32)))
  (import "wapc" "__console_log" (func $log (param i32 i32)))"#;

/// A module without anything of waPC in it.
pub(crate) fn wasm(wat: &str) -> Vec<u8> {
    wat::parse_str(wat).expect("the test's WAT is valid")
}

/// A policy whose `__guest_call` has this body; `more` is put beside it.
pub(crate) fn guest_with(body: &str, more: &str) -> Vec<u8> {
    wasm(&format!(
        r#"(module {IMPORTS} {LAYOUT} {more}
             (func (export "__guest_call") (param $op_len i32) (param $len i32) (result i32) {body}))"#
    ))
}

pub(crate) fn guest(body: &str) -> Vec<u8> {
    guest_with(body, "")
}

/// Answers with what it was asked.
pub(crate) fn echo() -> Vec<u8> {
    guest(
        "(call $request (global.get $operation) (global.get $message))
         (call $respond (global.get $message) (local.get $len))
         (i32.const 1)",
    )
}

/// Answers with the name of the operation.
pub(crate) fn echo_operation() -> Vec<u8> {
    guest(
        "(call $request (global.get $operation) (global.get $message))
         (call $respond (global.get $operation) (local.get $op_len))
         (i32.const 1)",
    )
}

/// Reports what it was asked as its error.
pub(crate) fn fails() -> Vec<u8> {
    guest(
        "(call $request (global.get $operation) (global.get $message))
         (call $fail (global.get $message) (local.get $len))
         (i32.const 0)",
    )
}

/// Passes what it was asked on to the host; answers with the host's answer, or fails with its error.
pub(crate) fn asks_host(binding: &str, namespace: &str, operation: &str) -> Vec<u8> {
    let (b, n, o) = (binding.len(), namespace.len(), operation.len());
    guest_with(
        &format!(
            "(local $answered i32)
             (call $request (global.get $operation) (global.get $message))
             (local.set $answered (call $host_call
               (i32.const 0) (i32.const {b}) (i32.const 100) (i32.const {n}) (i32.const 200) (i32.const {o})
               (global.get $message) (local.get $len)))
             (if (local.get $answered)
               (then
                 (call $host_response (global.get $answer))
                 (call $respond (global.get $answer) (call $host_response_len)))
               (else
                 (call $host_error (global.get $answer))
                 (call $fail (global.get $answer) (call $host_error_len))))
             (local.get $answered)"
        ),
        &format!(
            r#"(data (i32.const 0) "{binding}") (data (i32.const 100) "{namespace}") (data (i32.const 200) "{operation}")"#
        ),
    )
}

/// Counts its calls in its memory and answers with the count, one byte.
pub(crate) fn counts_calls() -> Vec<u8> {
    guest(
        "(i32.store8 (i32.const 0) (i32.add (i32.load8_u (i32.const 0)) (i32.const 1)))
         (call $respond (i32.const 0) (i32.const 1))
         (i32.const 1)",
    )
}

/// Never returns when it was asked something, else answers with nothing.
pub(crate) fn loops_when_asked() -> Vec<u8> {
    guest(
        "(if (local.get $len) (then (loop $for_ever (br $for_ever))))
         (call $respond (i32.const 0) (i32.const 0))
         (i32.const 1)",
    )
}
