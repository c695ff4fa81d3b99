//! What a release record costs inside the wasm, against a guest that only inflates the same bytes.

use crate::meter::Guest;
use crate::record::{self, DOCUMENTS_OF_ONE_MIB};
use crate::{Guests, Ratio, best_of, count_ratio, grouped, table};

const ROUNDS: usize = 20;

/// A typical record, and one of the size that Kubernetes stores at most, 1 MiB in a Secret.
const DOCUMENTS: [(&str, usize); 2] = [("typical", 28), ("1 MiB", DOCUMENTS_OF_ONE_MIB)];

/// The table of both records.
pub(crate) fn section(guests: &Guests) -> String {
    let rows = DOCUMENTS.map(|(name, documents)| row(guests, name, documents));
    let header = [
        "record",
        "stored",
        "inflated",
        "documents",
        "fuel",
        "fuel / floor",
        "time / floor",
        "ms",
        "memory / inflated",
    ];
    format!(
        "## A release record\n\nGoals for the record of 1 MiB: at most 2.2 times inflating it, and 4 times its size in \
         memory.\n\n{}\nThe floor inflates the same gzip and checks that it is UTF-8. *stored*, *inflated*: bytes in the Secret, \
         and of the JSON in it. *ms*: the quickest of {ROUNDS}, on the machine that wrote this page; policy-server gives a \
         policy 2,000. *memory*: the linear memory at its peak. A fresh instance each time, {ROUNDS} pairs.\n",
        table(header, &rows)
    )
}

fn row(guests: &Guests, name: &str, documents: usize) -> [String; 9] {
    let (policy, floor) = (&guests.policy, &guests.floor);
    let record = record::packed(documents);
    let payload = record.payload();
    let judged = policy.metered.cost("validate", &payload).accepted();
    let work = |guest: &Guest, operation, bytes: &[u8]| assert!(guest.cost(operation, bytes).memory > 0);
    let judge = || work(&policy.quick, "validate", &payload);
    let time = Ratio::of(ROUNDS, judge, || work(&floor.quick, "inflate", &record.gzip));
    let rounds = u32::try_from(ROUNDS).unwrap_or(1);
    [
        name.to_owned(),
        grouped(record.stored),
        grouped(record.inflated),
        grouped(documents),
        grouped(judged.fuel),
        format!("{:.2}", count_ratio(judged.fuel, floor.metered.cost("inflate", &record.gzip).fuel)),
        time.to_string(),
        format!("{:.2}", best_of(rounds, judge).as_secs_f64() * 1000.0),
        format!("{:.2}", count_ratio(judged.memory as u64, record.inflated as u64)),
    ]
}
