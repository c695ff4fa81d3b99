use super::*;

#[test]
fn a_call_hands_the_payload_over_and_the_answer_back() {
    assert_eq!(policy(&guests::echo()).validate(b"{\"request\":{}}").unwrap(), b"{\"request\":{}}");
}

#[test]
fn every_call_has_the_name_of_kubewardens_operation() {
    let policy = policy(&guests::echo_operation());
    assert_eq!(policy.validate(b"{}").unwrap(), b"validate");
    assert_eq!(policy.validate_settings(b"{}").unwrap(), b"validate_settings");
    assert_eq!(policy.protocol_version().unwrap(), b"protocol_version");
}

#[test]
fn the_text_of_a_guest_error_is_kept() {
    let policy = policy(&guests::fails());
    assert_eq!(policy.validate(b"settings are missing"), guest_error("settings are missing"));
}

#[test]
fn a_guest_without_answer_and_error_is_an_error() {
    let no_answer = policy(&guests::guest("(i32.const 1)")).validate(b"{}");
    assert_eq!(no_answer, guest_error("No error message OR response set for call success"));
    let no_error = policy(&guests::guest("(i32.const 0)")).validate(b"{}");
    assert_eq!(no_error, guest_error("No error message set for call failure"));
}

#[test]
fn a_trap_has_a_fixed_text_and_the_next_call_works() {
    let policy = policy(&guests::guest(
        "(if (local.get $len) (then (unreachable)))
         (call $respond (i32.const 0) (i32.const 0)) (i32.const 1)",
    ));
    let error = policy.validate(b"secret").unwrap_err();
    assert_eq!(error, CallError::Trap);
    assert_eq!(error.to_string(), "the policy crashed (WebAssembly trap)");
    assert!(policy.protocol_version().unwrap().is_empty());
}

#[test]
fn a_pointer_outside_of_the_memory_is_a_trap() {
    let answer = guests::guest("(call $respond (i32.const 0x7ffffff0) (i32.const 9)) (i32.const 1)");
    assert_eq!(policy(&answer).validate(b"{}"), Err(CallError::Trap));
    let request = guests::guest("(call $request (i32.const 0) (i32.const 0x7ffffff0)) (i32.const 1)");
    assert_eq!(policy(&request).validate(b"{}"), Err(CallError::Trap));
}

#[test]
fn endless_recursion_is_a_trap() {
    let guest = guests::guest_with("(call $down) (i32.const 1)", "(func $down (call $down) (call $down))");
    assert_eq!(policy(&guest).validate(b"{}"), Err(CallError::Trap));
}

#[test]
fn a_trap_in_the_initialization_is_a_trap() {
    let guest = guests::guest_with("(i32.const 1)", r#"(func (export "wapc_init") (unreachable))"#);
    assert_eq!(policy(&guest).validate(b"{}"), Err(CallError::Trap));
}

#[test]
fn the_initialization_runs_before_the_call() {
    let guest = guests::guest_with(
        "(call $respond (i32.const 0) (i32.const 2)) (i32.const 1)",
        r#"(func (export "_start") (i32.store8 (i32.const 0) (i32.const 104)))
           (func (export "wapc_init") (i32.store8 (i32.const 1) (i32.const 105)))"#,
    );
    assert_eq!(policy(&guest).validate(b"{}").unwrap(), b"hi");
}

#[test]
fn no_state_survives_a_call() {
    let policy = policy(&guests::counts_calls());
    assert_eq!(policy.validate(b"{}").unwrap(), [1]);
    assert_eq!(policy.validate(b"{}").unwrap(), [1]);
}

#[test]
fn threads_share_a_policy() {
    let policy = policy(&guests::echo());
    std::thread::scope(|scope| {
        for n in 0..8u8 {
            let policy = &policy;
            scope.spawn(move || assert_eq!(policy.validate(&[n]).unwrap(), [n]));
        }
    });
}
