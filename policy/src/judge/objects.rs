//! Every rule for objects, asked about one change.

use crate::finding::Problem;
use crate::ignore;
use crate::rule::{Family, Level, Mending, RuleId};
use crate::rules;
use crate::rules::declare::Check;
use crate::subject::change::{Context, Occasion};
use crate::verdict::Found;

/// Every finding about an object, in the order of the registry.
pub(crate) fn check(context: &Context<'_>) -> Found {
    let (mut findings, mut ignored) = (Vec::new(), Vec::new());
    for id in RuleId::ALL {
        let level = context.settings.level(*id);
        // Form rules check only the new object; identity rules also compare the old one.
        if level == Level::Off || (id.family() == Family::Form && !context.is_selected) {
            continue;
        }
        let Check::Object(check) = rules::check(*id) else { continue };
        let Some(problem) = check(context) else { continue };
        let Some(effect) = level.effect(!problem.warn_at_most, mending(context, &problem)) else { continue };
        let list = if context.ignored.includes(*id) { &mut ignored } else { &mut findings };
        list.push(problem.found(*id, effect, context.name.clone()));
    }
    Found { findings, ignored, notes: ignore::notes([(&context.name, &context.ignored)]) }
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
