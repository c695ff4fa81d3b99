//! Cost grows with the size of a release and no faster.

use super::{metered, record};

/// Of the cost for a hundred documents, per document.
const MOST: f64 = 1.1;

#[test]
fn fuel_for_a_release_grows_linearly() {
    let Some(guest) = metered() else { return };
    // With 60 names all manifests are read, and not only searched for the names in the hooks.
    let mut per_document = Vec::new();
    for names in [0, 60] {
        let each = |documents: usize| {
            let cost = guest.cost("validate", &record::naming(documents, names).payload()).accepted();
            #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
            let each = cost.fuel as f64 / documents as f64;
            each
        };
        let (few, many) = (each(100), each(5_000));
        assert!(many <= MOST * few, "{names} names: {few} units of fuel a document of 100, {many} of 5,000");
        per_document.push(many);
    }
    assert!(per_document.is_sorted_by(|searched, read| searched * MOST < *read), "{per_document:?} are too near");
}
