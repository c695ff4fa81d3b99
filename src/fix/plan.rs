//! The changes that a stream should see: those that are safe are planned, and the others left to people.

use std::collections::{BTreeMap, BTreeSet};

use helm::DeletePolicy;
use json_patch::jsonptr::Pointer;
use serde_json::Value;
use stable_hooks_policy::cluster::NoCluster;
use stable_hooks_policy::finding::Finding;
use stable_hooks_policy::note::NoteKind;
use stable_hooks_policy::object::MIGRATION_LABEL;
use stable_hooks_policy::references::{DEFAULT_SERVICE_ACCOUNT, RefKind};
use stable_hooks_policy::shown::Shown;
use stable_hooks_policy::{Request, RuleId, evaluate};

use super::edit::{ANNOTATIONS, Edit, apply};
use super::events::{Completions, complete};
use super::remark::{Options, Remark};
use super::stream::{Entry, Selection, Stream};
use crate::input::{Content, request_of};

const BEFORE_HOOK_CREATION: DeletePolicy = DeletePolicy::BeforeHookCreation;

#[derive(Default)]
pub(super) struct Plan {
    /// The new text of a document, by its place in the stream.
    pub(super) edits: BTreeMap<usize, String>,
    pub(super) remarks: Vec<Remark>,
}

/// An annotation that stays, and why.
struct Kept {
    key: &'static str,
    reason: String,
}

/// One Job or ServiceAccount of the stream.
struct Candidate<'s> {
    place: usize,
    entry: &'s Entry<'s>,
    is_selected: bool,
}

pub(super) fn plan<'s>(stream: &'s Stream<'s>, options: Options<'_>) -> Plan {
    let candidates = candidates(stream);
    let hooks = candidates.iter().filter(|candidate| candidate.is_selected && candidate.entry.is_helm_hook());
    let hooks = hooks.filter(|candidate| !candidate.entry.ignores(RuleId::HookEvents));
    let hooks: Vec<_> = hooks.map(|candidate| candidate.place).collect();
    let completions = if options.complete_events { complete(stream, &hooks) } else { Completions::new() };
    let mut plan = Plan::default();
    for candidate in &candidates {
        let entry = candidate.entry;
        if entry.is_in_list {
            if candidate.is_selected && entry.annotation(helm::HOOK).is_some() {
                let text = format!(
                    "{} stays as it is: Helm does not look into a List and installs its items as plain resources. Make the object a document of its own.",
                    helm::HOOK
                );
                plan.remarks.push(stream.remark(entry, text));
            }
        } else if candidate.is_selected {
            plan.mend(stream, candidate, &completions, options);
        } else if candidate.could_be_selected() && !candidate.wanted(stream, &completions).0.is_empty() {
            let text = format!(
                "its hook annotations stay as they are: no label says that it is a migration. Label it {MIGRATION_LABEL}: \"true\", or see the setting `selectors`."
            );
            plan.remarks.push(stream.remark(entry, text));
        }
    }
    plan
}

impl Plan {
    fn mend(
        &mut self,
        stream: &Stream<'_>,
        candidate: &Candidate<'_>,
        completions: &Completions,
        options: Options<'_>,
    ) {
        let Some(mut object) = stream.object(candidate.entry) else { return };
        let (edits, mut kept) = candidate.wanted(stream, completions);
        let mut entry = candidate.entry.clone();
        let mut changed: Option<String> = None;
        for edit in edits {
            let text = changed.as_deref().unwrap_or_else(|| stream.text(entry.document));
            match apply(text, &edit) {
                Ok(text) => {
                    changed = Some(text);
                    let written = Shown(entry.annotation(edit.key).unwrap_or_default()).to_string();
                    let text = format!("{} \"{written}\" is now \"{}\".", edit.key, Shown(&edit.value));
                    self.remarks.push(stream.remark(&entry, text));
                    entry.set_annotation(&mut object, edit.key, &edit.value);
                }
                Err(reason) => kept.push(Kept { key: edit.key, reason: reason.to_owned() }),
            }
        }
        for text in left_over(&entry, object, &kept, options) {
            self.remarks.push(stream.remark(&entry, text));
        }
        if let Some(changed) = changed.filter(|changed| changed != stream.text(entry.document)) {
            self.edits.insert(entry.document, changed);
        }
    }
}

/// Every Job and ServiceAccount; an account that a selected Job runs as is selected with it.
fn candidates<'s>(stream: &'s Stream<'s>) -> Vec<Candidate<'s>> {
    let judged = |(place, entry): (usize, &'s Entry<'s>)| {
        let is_selected = entry.selection? == Selection::Selected;
        Some(Candidate { place, entry, is_selected })
    };
    let mut candidates: Vec<_> = stream.objects.iter().enumerate().filter_map(judged).collect();
    let mut accounts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for job in candidates.iter().filter(|candidate| candidate.is_selected).map(|candidate| candidate.entry) {
        if let Some(account) = job.account.as_deref().filter(|account| *account != DEFAULT_SERVICE_ACCOUNT) {
            accounts.entry(account).or_default().insert(&job.head.namespace);
        }
    }
    for candidate in candidates.iter_mut().filter(|candidate| candidate.could_be_selected()) {
        let name = &candidate.entry.head.name;
        let kind = RefKind::ServiceAccount.as_str();
        let mut namespaces = accounts.get(name.as_str()).into_iter().flatten();
        candidate.is_selected |= namespaces.any(|namespace| candidate.entry.is_called("", kind, namespace, name));
    }
    candidates
}

impl Candidate<'_> {
    /// Nothing but its labels keeps it from being a migration.
    fn could_be_selected(&self) -> bool {
        self.entry.selection == Some(Selection::Possible)
    }

    /// The edits that are safe for what the annotations mean, and what has to stay.
    fn wanted(&self, stream: &Stream<'_>, completions: &Completions) -> (Vec<Edit>, Vec<Kept>) {
        let (mut edits, mut kept) = (Vec::new(), Vec::new());
        let Some(hook) = self.entry.annotation(helm::HOOK).filter(|_| self.entry.is_helm_hook()) else {
            return (edits, kept);
        };
        let events = match completions.get(&self.place) {
            Some(Ok(events)) => Some(*events),
            Some(Err(reason)) => {
                kept.push(Kept { key: helm::HOOK, reason: reason.clone() });
                self.entry.events()
            }
            None => self.entry.events(),
        };
        let events = events.filter(|_| !self.entry.ignores(RuleId::HookEvents));
        if let Some(normal) = events.map(|events| events.to_string()).filter(|normal| hook != normal) {
            edits.push(Edit { key: helm::HOOK, value: normal });
        }
        // Helm takes this policy where none is written, and fails to delete an object without a name.
        let written = self.entry.annotation(helm::HOOK_DELETE_POLICY).filter(|_| !self.entry.head.name.is_empty());
        let written = written.filter(|_| !self.entry.ignores(RuleId::HookDeletePolicy));
        if let Some(written) = written.filter(|_| !self.entry.delete_policies().contains(BEFORE_HOOK_CREATION)) {
            match self.deletion_obstacle(stream) {
                Some(reason) => kept.push(Kept { key: helm::HOOK_DELETE_POLICY, reason }),
                None => edits.push(Edit { key: helm::HOOK_DELETE_POLICY, value: with_before_hook_creation(written) }),
            }
        }
        (edits, kept)
    }

    /// Why deleting the object before it is created would do harm.
    fn deletion_obstacle(&self, stream: &Stream<'_>) -> Option<String> {
        if stream.holds_twice(self.entry) {
            return Some(
                "the stream has an object of that name more than once, and Helm would delete one for the other"
                    .to_owned(),
            );
        }
        let user = stream.user_of(self.entry)?;
        Some(format!("{user}, and the account's tokens would stop working at each upgrade"))
    }
}

/// Items that Helm does not know stay: only their author knows what they were meant to be.
fn with_before_hook_creation(written: &str) -> String {
    let mut items = vec![BEFORE_HOOK_CREATION.as_str().to_owned()];
    for item in helm::items(written).filter(|item| !item.is_empty()) {
        if !items.contains(&item) {
            items.push(item);
        }
    }
    items.join(",")
}

/// The findings that the policy still has in the annotations, each with the reason why it was not mended here.
fn left_over(entry: &Entry<'_>, object: Value, kept: &[Kept], options: Options<'_>) -> Vec<String> {
    let request = request_of(Content::Manifest(object), false);
    let verdict = Request::parse(request).map(|request| evaluate(&request, options.settings, &NoCluster));
    let findings: Vec<Finding> = verdict.iter().flat_map(|verdict| verdict.all_findings().cloned()).collect();
    let is_about = |finding: &Finding, key: &str| annotation(finding).is_some_and(|about| about == key);
    let in_vain = verdict.iter().flat_map(|verdict| &verdict.notes).filter(|note| note.kind == NoteKind::NotIgnored);
    let mut texts: Vec<_> = in_vain.map(|note| format!("{}.", note.message)).collect();
    for finding in &findings {
        let Some(key) = annotation(finding) else { continue };
        // Helm's default holds, and there is nothing to mend.
        let has_default = matches!(finding.rule, RuleId::HookWeight | RuleId::HookDeletePolicy);
        if has_default && entry.annotation(&key).is_none() {
            continue;
        }
        let kept = kept.iter().find(|kept| kept.key == key).map(|kept| kept.reason.as_str());
        let reason = kept.unwrap_or_else(|| general_reason(finding.rule, entry, options));
        texts.push(format!("{} It stays as it is: {reason}. {}", finding.message, finding.remedy));
    }
    for Kept { key, reason } in kept.iter().filter(|kept| !findings.iter().any(|found| is_about(found, kept.key))) {
        let value = Shown(entry.annotation(key).unwrap_or_default()).to_string();
        texts.push(format!("{key} stays \"{value}\": {reason}."));
    }
    texts
}

/// The annotation that the finding is about.
fn annotation(finding: &Finding) -> Option<String> {
    let (parent, key) = Pointer::parse(finding.path.as_str()).ok()?.split_back()?;
    (parent == ANNOTATIONS).then(|| key.decoded().into_owned())
}

/// Why this verb never mends what such a rule finds.
fn general_reason(rule: RuleId, entry: &Entry<'_>, options: Options<'_>) -> &'static str {
    let lacks_event = entry.events().is_some_and(|events| events.completed() != events);
    match rule {
        RuleId::HookEvents if lacks_event && !options.complete_events => "events are added only with --complete-events",
        RuleId::HookEvents => "it reads the same to Helm",
        RuleId::HookDeletePolicy => "without that policy Helm would leave there what it deletes today",
        RuleId::HookWeight => "another weight could change the order of the hooks",
        RuleId::ArgocdAnnotations => "only Helm's annotations are mended here",
        RuleId::PlainMigration => "making a hook of it would be a flip",
        _ => "what is meant only the chart's author can say",
    }
}

#[cfg(test)]
mod tests {
    use helm::{DeletePolicies, DeletePolicy};

    use super::with_before_hook_creation;

    #[test]
    fn the_policy_is_put_before_the_others() {
        for (written, expected) in [
            ("hook-succeeded", "before-hook-creation,hook-succeeded"),
            (" Hook-Failed , hook-failed,", "before-hook-creation,hook-failed"),
            ("", "before-hook-creation"),
            ("hook-succeded", "before-hook-creation,hook-succeded"),
            ("hook-fa\u{130}led", "before-hook-creation,hook-failed"),
        ] {
            let mended = with_before_hook_creation(written);
            assert_eq!(mended, expected);
            assert!(DeletePolicies::parse(&mended).contains(DeletePolicy::BeforeHookCreation));
        }
    }
}
