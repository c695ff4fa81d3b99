//! Every rule for charts, asked about one text that Argo CD syncs.

use std::collections::BTreeSet;

use crate::finding::ReleaseProblem;
use crate::rule::{Effect, Level, Mending, RuleId};
use crate::rules;
use crate::rules::declare::Check;
use crate::selector::Standing;
use crate::settings::Settings;
use crate::sync::Syncs;
use crate::verdict::Found;

/// Every finding about the syncs of a chart, in the order of the registry.
pub(crate) fn check(syncs: &Syncs<'_>, settings: &Settings) -> Found {
    let (mut findings, mut ignored) = (Vec::new(), Vec::new());
    let mut denied = BTreeSet::new();
    for id in RuleId::ALL {
        let level = settings.level(*id);
        if level == Level::Off {
            continue;
        }
        let Check::Chart(check) = rules::check(*id) else { continue };
        for ReleaseProblem { object, standing, problem } in check(syncs) {
            let Some(effect) = level.effect(!problem.warn_at_most, Mending::Impossible) else { continue };
            if standing == Standing::OptedOut {
                continue;
            }
            if syncs.new.ignores(&object, *id) {
                ignored.push(problem.found(*id, effect, object));
                continue;
            }
            // What fails is mended first: the denial's change mends the warning, or shows it anew.
            if effect == Effect::Warn && denied.contains(&object) {
                continue;
            }
            if effect == Effect::Deny {
                denied.insert(object.clone());
            }
            findings.push(problem.found(*id, effect, object));
        }
    }
    Found { findings, ignored, notes: syncs.new.notes_on_ignored() }
}
