//! An unselected request is parsed once and copied never: counted in bytes allocated, not in time.

mod canonical;

use allocation_counter::measure;
use serde_json::Value;
use stable_hooks_policy::cluster::NoCluster;
use stable_hooks_policy::wire::validate;

/// The answer, and what is kept of the request beside its objects: a few short strings.
const ANSWER: u64 = 1024;

fn allocated(work: impl FnOnce()) -> u64 {
    measure(work).bytes_total
}

#[test]
fn an_unselected_request_allocates_what_parsing_it_once_allocates() {
    let payloads = canonical::payloads();
    let (name, payload) = payloads.first().expect("payloads");
    assert_eq!(*name, "unselected");
    let parsing = allocated(|| drop(serde_json::from_slice::<Value>(payload)));
    // The settings' defaults do not grow with the request; measured without an object to see.
    let no_object = br#"{"request":{"uid":"","operation":"DELETE","kind":{"version":"v1","kind":"Job"}}}"#;
    let settings = allocated(|| drop(validate(no_object, &NoCluster)));
    let judging = allocated(|| drop(validate(payload, &NoCluster)));
    assert!(judging <= parsing + settings + ANSWER, "{judging} bytes, parsing {parsing}, settings {settings}");
    // A second copy of the object would not fit into what is allowed.
    assert!(parsing > settings + ANSWER, "the request is too small to tell: {parsing} bytes, settings {settings}");
}
