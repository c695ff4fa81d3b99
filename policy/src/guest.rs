//! The waPC exports, and the port to the cluster over host calls.

use wapc_guest::{CallResult, host_call, register_function};

use crate::cluster::{Cluster, Lookup, Query};
use crate::wire;

/// Called by the host once for each instance.
#[expect(unsafe_code, reason = "waPC finds this function by its name")]
#[unsafe(no_mangle)]
extern "C" fn wapc_init() {
    register_function("validate", |payload| answer(wire::validate(payload, &HostCluster)));
    register_function("validate_settings", |payload| answer(wire::validate_settings(payload)));
    register_function("protocol_version", |_| answer(wire::protocol_version()));
}

#[expect(clippy::unnecessary_wraps, reason = "the signature is waPC's; an error would reach the user as code 500")]
fn answer(response: Vec<u8>) -> CallResult {
    Ok(response)
}

/// The cluster as Kubewarden's host capability `kubernetes` shows it.
struct HostCluster;

impl Cluster for HostCluster {
    fn get(&self, query: &Query<'_>) -> Lookup {
        let answer = host_call("kubewarden", "kubernetes", "get_resource", &wire::lookup_request(query));
        wire::lookup_answer(answer.map_err(|error| error.to_string()))
    }
}
