//! Every rule for charts, asked about the texts that Argo CD syncs, or about those that Helm renders.

use std::collections::BTreeSet;

use crate::finding::ReleaseProblem;
use crate::name::Name;
use crate::renders::Renders;
use crate::rule::{Effect, Level, Mending, RuleId};
use crate::rules;
use crate::rules::declare::Check;
use crate::selector::Standing;
use crate::settings::Settings;
use crate::sync::Syncs;
use crate::verdict::Found;

/// Every finding about the syncs of a chart.
pub(crate) fn of_syncs(syncs: &Syncs<'_>, settings: &Settings) -> Found {
    let problems = |check| match check {
        Check::Syncs(check) => check(syncs),
        Check::Object(_) | Check::Release(..) | Check::Renders(_) => Vec::new(),
    };
    let found = check(settings, problems, |object, rule| syncs.new.ignores(object, rule));
    Found { notes: syncs.new.notes_on_ignored(), ..found }
}

/// Every finding about two renders of a chart. What is written in vain to ignore a rule is told with the records of both.
pub(crate) fn of_renders(renders: &Renders<'_>, settings: &Settings) -> Found {
    let problems = |check| match check {
        Check::Renders(check) => check(renders),
        Check::Object(_) | Check::Release(..) | Check::Syncs(_) => Vec::new(),
    };
    check(settings, problems, |object, rule| renders.ignores(object, rule))
}

/// In the order of the registry.
fn check(
    settings: &Settings,
    problems: impl Fn(Check) -> Vec<ReleaseProblem>,
    is_ignored: impl Fn(&Name, RuleId) -> bool,
) -> Found {
    let (mut findings, mut ignored) = (Vec::new(), Vec::new());
    let mut denied = BTreeSet::new();
    for id in RuleId::ALL {
        let level = settings.level(*id);
        if level == Level::Off {
            continue;
        }
        for ReleaseProblem { object, standing, problem } in problems(rules::check(*id)) {
            let Some(effect) = level.effect(!problem.warn_at_most, Mending::Impossible) else { continue };
            if standing == Standing::OptedOut {
                continue;
            }
            if is_ignored(&object, *id) {
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
    Found { findings, ignored, notes: Vec::new() }
}
