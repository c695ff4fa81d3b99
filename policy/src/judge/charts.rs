//! Every rule for charts, asked about the texts that Argo CD syncs, or about those that Helm renders.

use std::collections::BTreeSet;

use crate::finding::{Finding, ReleaseProblem};
use crate::renders::Renders;
use crate::rule::{Effect, Level, Mending, RuleId};
use crate::rules;
use crate::rules::declare::Check;
use crate::selector::Standing;
use crate::settings::Settings;
use crate::sync::Syncs;

/// Every finding about the syncs of a chart.
pub(crate) fn of_syncs(syncs: &Syncs<'_>, settings: &Settings) -> Vec<Finding> {
    findings(settings, |check| match check {
        Check::Syncs(check) => check(syncs),
        Check::Object(_) | Check::Release(..) | Check::Renders(_) => Vec::new(),
    })
}

/// Every finding about two renders of a chart.
pub(crate) fn of_renders(renders: &Renders<'_>, settings: &Settings) -> Vec<Finding> {
    findings(settings, |check| match check {
        Check::Renders(check) => check(renders),
        Check::Object(_) | Check::Release(..) | Check::Syncs(_) => Vec::new(),
    })
}

/// In the order of the registry.
fn findings(settings: &Settings, problems: impl Fn(Check) -> Vec<ReleaseProblem>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut denied = BTreeSet::new();
    for id in RuleId::ALL {
        let level = settings.level(*id);
        if level == Level::Off {
            continue;
        }
        for ReleaseProblem { object, standing, problem } in problems(rules::check(*id)) {
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
