use std::time::Instant;

use super::*;

const LIMIT: Duration = Duration::from_millis(150);

#[test]
fn a_loop_is_stopped_in_time_and_the_next_call_works() {
    let policy = policy_in(&guests::loops_when_asked(), ClusterView::default(), LIMIT);
    for _ in 0..2 {
        let begin = Instant::now();
        let error = policy.validate(b"{}").unwrap_err();
        let took = begin.elapsed();
        assert_eq!(error, CallError::TimedOut(LIMIT));
        assert_eq!(error.to_string(), "the policy was stopped, it did not answer within 150ms");
        assert!(took >= LIMIT, "stopped after {took:?}");
        assert!(policy.protocol_version().unwrap().is_empty());
    }
}

#[test]
fn every_call_has_the_whole_limit() {
    let policy = policy_in(&guests::echo(), ClusterView::default(), LIMIT);
    std::thread::sleep(LIMIT * 2);
    assert_eq!(policy.validate(b"{}").unwrap(), b"{}");
}

#[test]
fn it_holds_for_the_initialization_too() {
    let guest = guests::guest_with("(i32.const 1)", r#"(func (export "wapc_init") (loop $for_ever (br $for_ever)))"#);
    let policy = policy_in(&guest, ClusterView::default(), LIMIT);
    assert_eq!(policy.validate(b"{}"), Err(CallError::TimedOut(LIMIT)));
}
