//! What one AdmissionRequest costs: natively, in a fresh instance and in one that is used again.

use std::hint::black_box;

use serde_json::Value;
use stable_hooks_policy::cluster::NoCluster;
use stable_hooks_policy::wire::validate;

use crate::meter::Guest;
use crate::{Guests, Ratio, canonical, count_ratio, grouped, table};

const ROUNDS: usize = 2000;

/// The table of the canonical requests.
pub(crate) fn section(guests: &Guests) -> String {
    let rows: Vec<_> = canonical::payloads().iter().map(|(name, payload)| row(guests, name, payload)).collect();
    let header =
        ["request", "bytes", "fuel", "fuel / floor", "time / floor, fresh", "time / floor, reused", "native / parsing"];
    format!(
        "## A request\n\nGoals, in fuel and in a fresh instance's time: unselected at most 1.3 times the floor, with a patch \
         at most twice.\n\n{}\n\
         *secret*: one that is no release record. *Fresh*: a new instance for each request, as policy-server makes it; *reused*: the same instance again, as `kwctl \
         bench` does; *native*: the same code without wasm, as in the command line, against reading the payload into a \
         tree natively. {ROUNDS} pairs each.\n",
        table(header, &rows)
    )
}

fn row(guests: &Guests, name: &str, payload: &[u8]) -> [String; 7] {
    let (policy, floor) = (&guests.policy, &guests.floor);
    let fuel = policy.metered.cost("validate", payload).fuel;
    let call = |guest: &Guest| drop(black_box(guest.cost("validate", payload)));
    let fresh = Ratio::of(ROUNDS, || call(&policy.quick), || call(&floor.quick));
    let (mut judge, mut parser) = (policy.quick.instance(), floor.quick.instance());
    let reused = Ratio::of(ROUNDS, || drop(judge.cost("validate", payload)), || drop(parser.cost("validate", payload)));
    let native = Ratio::of(
        ROUNDS,
        || drop(black_box(validate(payload, &NoCluster))),
        || drop(black_box(serde_json::from_slice::<Value>(payload))),
    );
    [
        name.to_owned(),
        grouped(payload.len()),
        grouped(fuel),
        format!("{:.2}", count_ratio(fuel, floor.metered.cost("validate", payload).fuel)),
        fresh.to_string(),
        reused.to_string(),
        native.to_string(),
    ]
}
