//! An unselected request is read once, in part, and copied never: counted in bytes allocated, not in time.

mod canonical;

use allocation_counter::measure;
use serde_json::Value;
use stable_hooks_policy::cluster::NoCluster;
use stable_hooks_policy::wire::validate;

fn allocated(work: impl FnOnce()) -> u64 {
    measure(work).bytes_total
}

#[test]
fn an_unselected_request_is_read_in_part_and_copied_never() {
    let payloads = canonical::payloads();
    let (name, payload) = payloads.first().expect("payloads");
    assert_eq!(*name, "unselected");
    let parsing = allocated(|| drop(serde_json::from_slice::<Value>(payload)));
    // The settings' defaults do not grow with the request; measured without an object to see.
    let no_object = br#"{"request":{"uid":"","operation":"DELETE","kind":{"version":"v1","kind":"Job"}}}"#;
    let settings = allocated(|| drop(validate(no_object, &NoCluster)));
    let judging = allocated(|| drop(validate(payload, &NoCluster)));
    let read = judging - settings;
    assert!(read <= parsing / 4, "{read} bytes, reading everything takes {parsing}");
    // A second copy of what is read would not fit into what is allowed.
    assert!(2 * read > parsing / 4, "too much is allowed to tell: {read} bytes, reading everything takes {parsing}");
}
