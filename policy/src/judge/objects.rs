//! Every rule for objects, asked about one change.

use crate::finding::{Finding, Problem};
use crate::rule::{Family, Level, Mending, RuleId};
use crate::rules;
use crate::rules::declare::Check;
use crate::subject::change::{Context, Occasion};

/// Every finding about an object, in the order of the registry.
pub(crate) fn check(context: &Context<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in RuleId::ALL {
        let level = context.settings.level(*id);
        // Form rules check only the new object; identity rules also compare the old one.
        if level == Level::Off || (id.family() == Family::Form && !context.is_selected) {
            continue;
        }
        let Check::Object(check) = rules::check(*id) else { continue };
        let Some(problem) = check(context) else { continue };
        let Some(effect) = level.effect(!problem.warn_at_most, mending(context, &problem)) else { continue };
        findings.push(problem.found(*id, effect, context.name.clone()));
    }
    findings
}

fn mending(context: &Context<'_>, problem: &Problem) -> Mending {
    if problem.edits.is_empty() || !context.settings.mutate {
        Mending::Impossible
    } else if context.occasion == Occasion::Audit {
        Mending::OnlyReported
    } else {
        Mending::Possible
    }
}
