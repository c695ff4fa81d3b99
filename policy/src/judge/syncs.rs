//! Every rule for charts, asked about one text that Argo CD syncs.

use std::collections::BTreeSet;

use crate::finding::{Finding, ReleaseProblem};
use crate::rule::{Effect, Level, Mending, RuleId};
use crate::rules;
use crate::rules::declare::Check;
use crate::selector::Standing;
use crate::settings::Settings;
use crate::sync::Syncs;

/// Every finding about the syncs of a chart, in the order of the registry.
pub(crate) fn check(syncs: &Syncs<'_>, settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut denied = BTreeSet::new();
    for id in RuleId::ALL {
        let level = settings.level(*id);
        if level == Level::Off {
            continue;
        }
        let Check::Chart(check) = rules::check(*id) else { continue };
        for ReleaseProblem { object, standing, problem } in check(syncs) {
            let Some(effect) = level.effect(!problem.warn_at_most, Mending::Impossible) else { continue };
            // What fails is mended first: the denial's change mends the warning, or shows it anew.
            if standing == Standing::OptedOut || (effect == Effect::Warn && denied.contains(&object)) {
                continue;
            }
            if effect == Effect::Deny {
                denied.insert(object.clone());
            }
            findings.push(problem.found(*id, effect, object));
        }
    }
    findings
}
