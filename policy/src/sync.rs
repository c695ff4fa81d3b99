//! What Argo CD makes of a chart's rendered text: the objects, each with its phases, its wave, and what becomes of the
//! object that is there already (gitops-engine `pkg/sync`, and seen on Argo CD 3.1).

use std::collections::BTreeMap;

use helm::manifest;
use helm::order::kind_order;
use helm::write::Document;
use helm::yaml::{self, Head};
use helm::{DeletePolicies, DeletePolicy, Event, Events};
use serde_json::Value;

use crate::argocd::{self, Phase};
use crate::finding::{FieldPath, Problem, ReleaseProblem};
use crate::ignore::{self, IGNORE, Ignored};
use crate::name::Name;
use crate::note::Note;
use crate::object::{Kind, MIGRATION_LABEL};
use crate::pod_template::{JobField, Old};
use crate::references::{Reference, Services, named_services, references};
use crate::rule::RuleId;
use crate::selector::Standing;
use crate::shown::Shown;
use crate::subject::release::Template;

/// The objects of one text in git.
#[derive(Debug, Default)]
pub struct Manifest {
    /// In the order of the text.
    pub objects: Vec<Desired>,
    /// More than one document can have a name.
    places: BTreeMap<Name, Vec<usize>>,
}

/// One object, as git wants it.
#[derive(Debug)]
pub struct Desired {
    pub name: Name,
    /// From the chart's name on; empty where the text does not say it.
    pub template: String,
    pub role: Role,
    pub wave: i64,
    /// The annotation to write another wave with.
    pub(crate) wave_key: &'static str,
    /// Those of a hook.
    policies: DeletePolicies,
    has_generated_name: bool,
    is_opted_out: bool,
    ignored: Ignored,
    /// Those of its annotation.
    sync_options: Vec<String>,
    /// The annotation that makes it a hook, with its value.
    pub hook: Option<(&'static str, String)>,
    pub object: Value,
}

/// The part that an object plays in a sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    Resource,
    /// With the types of its annotation, those of Helm's events translated; without any it is never run.
    Hook(Vec<&'static str>),
    /// `argocd.argoproj.io/hook: Skip`.
    Skipped,
}

/// When in a sync: the phase, and the wave in it.
pub type Moment = (Phase, i64);

impl Manifest {
    /// The objects of rendered documents; one without a namespace goes to this one.
    pub fn of(documents: &[Document], namespace: &str) -> Self {
        let limits = yaml::Limits::default();
        let mut objects = Vec::new();
        for document in documents {
            let items = if document.head.kind.ends_with("List") {
                manifest::items(&document.text, &limits)
            } else {
                Vec::new()
            };
            let is_list = !items.is_empty() || document.head.kind == "List";
            for (head, item) in items {
                objects.push(Desired::of(&head, &document.template, namespace, item));
            }
            if is_list {
                continue;
            }
            let read = yaml::parse(&document.text, &limits).ok().flatten();
            let object = read.map_or(Value::Null, |(_, object)| object);
            objects.push(Desired::of(&document.head, &document.template, namespace, object));
        }
        let mut places = BTreeMap::<_, Vec<_>>::new();
        for (place, object) in objects.iter().enumerate() {
            places.entry(object.name.clone()).or_default().push(place);
        }
        Self { objects, places }
    }

    /// All objects of that name.
    pub fn named(&self, name: &Name) -> impl Iterator<Item = &Desired> + use<'_> {
        self.places.get(name).into_iter().flatten().filter_map(|place| self.objects.get(*place))
    }

    /// The first object of that name.
    pub fn get(&self, name: &Name) -> Option<&Desired> {
        self.named(name).next()
    }

    /// More than one document has that name.
    pub(crate) fn has_twice(&self, name: &Name) -> bool {
        self.named(name).nth(1).is_some()
    }

    /// The object under that name switches the rule off for itself.
    pub(crate) fn ignores(&self, name: &Name, rule: RuleId) -> bool {
        ignore::all_include(self.named(name).map(|object| &object.ignored), rule)
    }

    pub(crate) fn notes_on_ignored(&self) -> Vec<Note> {
        ignore::notes(self.objects.iter().map(|object| (&object.name, &object.ignored)))
    }

    /// The objects of one phase, in the order in which Argo CD applies them: by wave, then by kind, then by name.
    pub fn applied_in(&self, phase: Phase) -> Vec<&Desired> {
        let mut applied: Vec<_> = self.objects.iter().filter(|object| object.phases().contains(&phase)).collect();
        applied.sort_by(|a, b| {
            let by_kind = || kind_order(&a.name.kind, &b.name.kind);
            a.wave.cmp(&b.wave).then_with(by_kind).then_with(|| a.name.name.cmp(&b.name.name))
        });
        applied
    }

    /// The Services among its objects.
    pub fn services(&self) -> Services<'_> {
        Name::services(self.objects.iter().map(|object| &object.name))
    }
}

impl Desired {
    fn of(head: &Head, template: &str, namespace: &str, mut object: Value) -> Self {
        // An item of a list need not say what it is, and who compares it has to know a Secret.
        if let Some(fields) = object.as_object_mut() {
            fields.entry("kind").or_insert_with(|| head.kind.as_str().into());
        }
        let annotation = |key: &str| head.annotations.get(key).map(String::as_str);
        let items = |key: &str| annotation(key).into_iter().flat_map(argocd::items).map(str::to_owned);
        let (role, hook) = role(&annotation);
        let written: Vec<_> = items(argocd::HOOK_DELETE_POLICY).chain(items(helm::HOOK_DELETE_POLICY)).collect();
        // The policies of both families count; other words are nothing.
        let is_written = |policy: &DeletePolicy| {
            written.iter().any(|item| item == policy.as_str() || item == argocd::delete_policy(*policy))
        };
        let policies: Vec<_> =
            DeletePolicy::ALL.iter().filter(|policy| is_written(policy)).map(|policy| policy.as_str()).collect();
        let policies =
            if policies.is_empty() { DeletePolicies::default() } else { DeletePolicies::parse(&policies.join(",")) };
        let wave = annotation(argocd::SYNC_WAVE).and_then(helm::weight);
        let is_of_helm = wave.is_none() && hook.as_ref().is_some_and(|(key, _)| *key == helm::HOOK);
        let wave_key = if is_of_helm { helm::HOOK_WEIGHT } else { argocd::SYNC_WAVE };
        let has_generated_name = head.name.is_empty();
        let generated = object.pointer("/metadata/generateName").and_then(Value::as_str);
        let name = Name {
            group: head.group().to_owned(),
            kind: head.kind.clone(),
            namespace: if head.namespace.is_empty() { namespace } else { &head.namespace }.to_owned(),
            name: match generated {
                Some(prefix) if has_generated_name => format!("{prefix}*"),
                _ => head.name.clone(),
            },
        };
        Self {
            name,
            template: template.to_owned(),
            role,
            wave: wave.or_else(|| annotation(helm::HOOK_WEIGHT).and_then(helm::weight)).unwrap_or_default(),
            wave_key,
            policies,
            has_generated_name,
            is_opted_out: head.labels.get(MIGRATION_LABEL).is_some_and(|label| label == "false"),
            ignored: Ignored::of(annotation(IGNORE)),
            sync_options: items(argocd::SYNC_OPTIONS).collect(),
            hook,
            object,
        }
    }

    /// The phases that apply it, each once.
    pub fn phases(&self) -> Vec<Phase> {
        match &self.role {
            Role::Resource => vec![Phase::Sync],
            Role::Hook(types) => Phase::ALL.into_iter().filter(|phase| types.contains(&phase.as_str())).collect(),
            Role::Skipped => Vec::new(),
        }
    }

    /// When a sync first comes to it.
    pub fn first_moment(&self) -> Option<Moment> {
        self.phases().first().map(|phase| (*phase, self.wave))
    }

    pub fn is_hook(&self) -> bool {
        matches!(self.role, Role::Hook(_))
    }

    /// No sync runs this hook, nor a failed one, nor the end of the application.
    pub fn is_never_run(&self) -> bool {
        matches!(&self.role, Role::Hook(types) if types.is_empty())
    }

    /// A hook whose last run is deleted before the next one.
    pub fn is_deleted_before_creation(&self) -> bool {
        self.is_hook() && self.policies.contains(DeletePolicy::BeforeHookCreation)
    }

    /// A hook that is deleted when the sync has succeeded.
    pub fn is_deleted_after_success(&self) -> bool {
        self.is_hook() && self.policies.contains(DeletePolicy::HookSucceeded)
    }

    /// A hook that is deleted when the sync has failed.
    pub fn is_deleted_after_failure(&self) -> bool {
        self.is_hook() && self.policies.contains(DeletePolicy::HookFailed)
    }

    pub fn has_generated_name(&self) -> bool {
        self.has_generated_name
    }

    /// Argo CD deletes what it cannot change, and makes it anew; under server-side apply it refuses to.
    pub fn is_forced(&self) -> bool {
        self.has_option(argocd::FORCE) && !self.has_option(argocd::SERVER_SIDE_APPLY)
    }

    /// It stays where git has it no more.
    pub fn is_never_pruned(&self) -> bool {
        self.has_option(argocd::NO_PRUNE)
    }

    fn has_option(&self, option: &str) -> bool {
        self.sync_options.iter().any(|written| written == option)
    }

    /// What a sync of it has made is still there at the next one.
    pub fn is_left(&self) -> bool {
        !self.phases().is_empty() && !self.is_deleted_after_success() && !self.has_generated_name
    }

    /// What is there already is deleted first.
    pub(crate) fn is_made_anew(&self) -> bool {
        self.is_deleted_before_creation() || self.has_generated_name
    }

    /// The first field that cannot be changed in the Job that is there, where Argo CD patches that: then the sync fails.
    pub fn failing_patch(&self, old: &Self) -> Option<String> {
        if !self.is_job() || self.is_made_anew() || self.is_forced() || !old.is_left() {
            return None;
        }
        self.immutable_difference(old)
    }

    pub(crate) fn is_job(&self) -> bool {
        self.name.judged_kind() == Some(Kind::Job)
    }

    /// A Job or a Pod: the sync waits for its end.
    pub fn is_waited_for(&self) -> bool {
        self.name.is_waited_for()
    }

    /// The first field that differs, of those that a Job keeps for life.
    pub(crate) fn immutable_difference(&self, old: &Self) -> Option<String> {
        let field = Old::Applied.difference_for_life(self.object.get("spec")?, old.object.get("spec")?)?;
        Some(match field {
            JobField::Template(path) => format!("spec.template{path}"),
            JobField::OfTheJob(field) => format!("spec.{field}"),
        })
    }

    /// The objects that its pods need or name, with the field.
    pub fn needs<'a>(&'a self, services: &Services<'a>) -> Vec<(Name, Reference<'a>)> {
        if !self.is_waited_for() {
            return Vec::new();
        }
        let named = named_services(&self.object, &self.name.namespace, services);
        let needs = references(&self.object).into_iter().chain(named);
        let key = |reference: &Reference<'_>| {
            let namespace = reference.namespace.unwrap_or(&self.name.namespace);
            Name::core(reference.kind.as_str(), namespace, reference.name)
        };
        needs.map(|reference| (key(&reference), reference)).collect()
    }

    /// The annotation that makes it a hook.
    pub(crate) fn hook_key(&self) -> &'static str {
        self.hook.as_ref().map_or(helm::HOOK, |(key, _)| *key)
    }

    /// The annotation that makes it a hook, as a field.
    pub(crate) fn hook_field(&self) -> FieldPath {
        FieldPath::annotation(self.hook_key())
    }

    /// The annotation that makes it a hook, as it is written.
    pub(crate) fn hook_text(&self) -> String {
        self.hook.as_ref().map(|(key, value)| format!("{key}: \"{}\"", Shown(value))).unwrap_or_default()
    }

    /// The same annotation with another value: in the words of its own family.
    pub(crate) fn hook_of(&self, phase: Phase) -> String {
        let of_helm = match phase {
            Phase::PreSync => "pre-install,pre-upgrade",
            Phase::Sync | Phase::PostSync => "post-install,post-upgrade",
        };
        match &self.hook {
            Some((argocd::HOOK, _)) => format!("{}: \"{}\"", argocd::HOOK, phase.as_str()),
            Some(_) | None => format!("{}: \"{of_helm}\"", helm::HOOK),
        }
    }

    /// Something that a rule reports of it.
    pub(crate) fn problem(&self, path: FieldPath, message: String, remedy: String) -> ReleaseProblem {
        let standing = if self.is_opted_out { Standing::OptedOut } else { Standing::Migration };
        ReleaseProblem::new(&self.name, standing, Problem::new(path, message, Template(&self.template).remedy(remedy)))
    }
}

/// The part that the annotations give an object, and the one of them that makes it a hook.
fn role<'a>(annotation: &impl Fn(&str) -> Option<&'a str>) -> (Role, Option<(&'static str, String)>) {
    let of_argocd = annotation(argocd::HOOK);
    if let Some(value) = of_argocd {
        let types = argocd::hook_types(value);
        // Helm's events count only where Argo CD's own annotation says nothing that it knows.
        if !types.is_empty() {
            return (Role::Hook(types), Some((argocd::HOOK, value.to_owned())));
        }
        // Words that it does not know are nothing to it.
        if argocd::items(value).any(|item| item == argocd::SKIP) {
            return (Role::Skipped, None);
        }
    }
    // Argo CD reads each event as it is written, and passes over those that it does not know.
    let of_helm = annotation(helm::HOOK).filter(|value| *value != "crd-install");
    let events = |value: &str| {
        Event::ALL
            .iter()
            .copied()
            .filter(|event| argocd::items(value).any(|item| item == event.as_str()))
            .collect::<Vec<_>>()
    };
    match (of_helm, of_argocd) {
        (Some(value), _) => {
            let types = Events::of(events(value)).map(argocd::hook_types_of).unwrap_or_default();
            (Role::Hook(types), Some((helm::HOOK, value.to_owned())))
        }
        (None, Some(value)) => (Role::Hook(Vec::new()), Some((argocd::HOOK, value.to_owned()))),
        (None, None) => (Role::Resource, None),
    }
}

/// What is synced, and what it is compared with.
#[derive(Debug, Clone, Copy)]
pub struct Syncs<'a> {
    /// The text that was synced before; without it this is the first sync.
    pub old: Option<&'a Manifest>,
    pub new: &'a Manifest,
    /// The same chart and values, rendered once more a minute later.
    pub again: Option<&'a Manifest>,
    /// That once more, as revision 2 of a release: a name that differs has the revision in it.
    pub as_revision_2: Option<&'a Manifest>,
}

#[cfg(test)]
mod tests {
    use super::{Manifest, Role};
    use crate::argocd::Phase;
    use crate::testing::test;
    use helm::write::Document;
    use helm::yaml::{Limits, head};
    use serde_json::Value;

    fn one(annotations: &str) -> Manifest {
        let text = format!("apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\n  annotations: {{{annotations}}}\n");
        let document = Document::new(&text, head(&text, &Limits::default()).unwrap(), Value::Null);
        Manifest::of(&[document], "shop")
    }

    fn phases(annotations: &str) -> Vec<&'static str> {
        one(annotations).objects[0].phases().into_iter().map(Phase::as_str).collect()
    }

    #[test]
    fn both_families_of_annotations_add_up_to_phases() {
        assert_eq!(phases(""), ["Sync"]);
        assert_eq!(phases("helm.sh/hook: 'pre-install,pre-upgrade'"), ["PreSync"]);
        assert_eq!(phases("helm.sh/hook: 'post-install,pre-upgrade'"), ["PreSync", "PostSync"]);
        assert_eq!(phases("helm.sh/hook: pre-install, argocd.argoproj.io/hook: PostSync"), ["PostSync"]);
        assert_eq!(phases("helm.sh/hook: pre-install, argocd.argoproj.io/hook: none"), ["PreSync"]);
        assert_eq!(phases("helm.sh/hook: crd-install"), ["Sync"]);
        for never in ["helm.sh/hook: test", "helm.sh/hook: 'pre-rollback,Pre-Install'", "argocd.argoproj.io/hook: none"]
        {
            assert!(phases(never).is_empty() && one(never).objects[0].is_never_run(), "{never}");
        }
        for other in ["argocd.argoproj.io/hook: Skip", "argocd.argoproj.io/hook: SyncFail", "helm.sh/hook: pre-delete"]
        {
            assert!(phases(other).is_empty() && !one(other).objects[0].is_never_run(), "{other}");
        }
        assert_eq!(one("argocd.argoproj.io/hook: Skip, helm.sh/hook: test").objects[0].role, Role::Skipped);
    }

    #[test]
    fn a_wave_of_argocd_goes_before_a_weight_of_helm() {
        let wave = |annotations| one(annotations).objects[0].wave;
        assert_eq!(wave("helm.sh/hook-weight: '5'"), 5);
        assert_eq!(wave("helm.sh/hook-weight: '5', argocd.argoproj.io/sync-wave: '-1'"), -1);
        assert_eq!(wave("helm.sh/hook-weight: '5', argocd.argoproj.io/sync-wave: x"), 5);
        assert_eq!(wave("helm.sh/hook-weight: x"), 0);
    }

    #[test]
    fn policies_of_both_families_count_and_other_words_do_not() {
        let policies = |annotations: &str| {
            let manifest = one(&format!("helm.sh/hook: pre-install, {annotations}"));
            let job = &manifest.objects[0];
            [job.is_deleted_before_creation(), job.is_deleted_after_success(), job.is_deleted_after_failure()]
        };
        assert_eq!(policies(""), [true, false, false]);
        assert_eq!(policies("helm.sh/hook-delete-policy: never"), [true, false, false]);
        assert_eq!(policies("helm.sh/hook-delete-policy: hook-failed"), [false, false, true]);
        let both = "helm.sh/hook-delete-policy: hook-failed, argocd.argoproj.io/hook-delete-policy: HookSucceeded";
        assert_eq!(policies(both), [false, true, true]);
    }
}
