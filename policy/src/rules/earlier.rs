//! What to change where a hook needs something of the release that Helm makes only after it.

use helm::operation::Operation;

use crate::finding::Remedy;
use crate::name::Name;
use crate::references::RefKind;
use crate::subject::release::{HookDocument, Release, Template};

/// The events with which the hook runs when the release's resources are there.
pub(crate) fn later(hook: &HookDocument<'_>) -> String {
    hook.events().map(|events| events.after_resources().to_string()).unwrap_or_default()
}

/// Bring the object, which `template` makes, along as an earlier hook, or run this one when the object is there.
pub(crate) fn brought_along(
    release: &Release<'_>,
    hook: &HookDocument<'_>,
    key: &Name,
    template: Template<'_>,
) -> Remedy {
    let (hook_key, later) = (helm::HOOK, later(hook));
    // Helm would delete a claim that is a hook, with its data; and a rollback renders no new hook.
    if key.kind == RefKind::PersistentVolumeClaim.as_str() || release.operation == Operation::Rollback {
        return hook.template.remedy(format!("write {hook_key}: \"{later}\"."));
    }
    template.remedy(format!(
        "render {} as a hook, under a new name where the release is installed or anything else uses it: {hook_key}: \
         \"{}\", {}: \"{}\". Or write {hook_key}: \"{later}\" for {} (in {}).",
        key.seen_from(&hook.key.namespace),
        hook.events_text(),
        helm::HOOK_WEIGHT,
        hook.weight.saturating_sub(10),
        hook.key.seen_from(&hook.key.namespace),
        hook.template.place()
    ))
}
