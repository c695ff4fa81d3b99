//! The main flow, top to bottom; the only place that knows the order.

use crate::cluster::Cluster;
use crate::judge::{charts, objects, releases};
use crate::note::{Note, NoteKind};
use crate::renders::Renders;
use crate::request::{Change, Request};
use crate::settings::Settings;
use crate::subject::change::Context;
use crate::sync::Syncs;
use crate::verdict::{Found, Verdict, decide};

/// Judges one request. It cannot fail: all that can go wrong went wrong in `parse`.
pub fn evaluate(request: &Request, settings: &Settings, cluster: &dyn Cluster) -> Verdict {
    let ignored = request.namespace.as_deref().is_some_and(|namespace| settings.ignores_namespace(namespace));
    if ignored || request.change.is_harmless_update() {
        return Verdict::allow();
    }
    if let Change::Release(stored) = &request.change {
        return releases::judge(stored, settings, cluster);
    }
    let Some(context) = Context::new(request, settings) else {
        return Verdict::allow();
    };
    let malformed = context.object.malformed().map(|text| Note::new(NoteKind::NotRead, text));
    let mut notes: Vec<_> = malformed.into_iter().collect();
    if !context.is_selected && !context.was_selected {
        return Verdict { notes, ..Verdict::allow() };
    }
    let found = objects::check(&context);
    notes.extend(found.notes);
    decide(Found { notes, ..found })
}

/// Judges a chart as Argo CD syncs it.
pub fn evaluate_syncs(syncs: &Syncs<'_>, settings: &Settings) -> Found {
    charts::of_syncs(syncs, settings)
}

/// Judges a chart as Helm upgrades it with the same values.
pub fn evaluate_renders(renders: &Renders<'_>, settings: &Settings) -> Found {
    charts::of_renders(renders, settings)
}
