//! The contents of one record: its hooks and its resources, read as far as the rules ask.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::template::Template;
use crate::finding::{FieldPath, Problem, ReleaseProblem, Remedy};
use crate::ignore::{self, Ignored};
use crate::name::Name;
use crate::note::{Note, NoteKind};
use crate::object::Kind;
use crate::object::MIGRATION_LABEL;
use crate::references::{RefKind, api_client, possible_services, references, references_and_optional};
use crate::rule::RuleId;
use crate::selector::{Standing, is_labelled};
use crate::settings::Settings;
use helm::manifest::{self, Document, Wanted};
use helm::order::hook_order;
use helm::record::{DroppedHook, Record, RecordHook};
use helm::yaml::{self, Head};
use helm::{DeletePolicies, DeletePolicy, Event, Events};

/// A hook of the record, as Helm has parsed it.
pub(crate) struct HookDocument<'a> {
    pub(crate) key: Name,
    pub(crate) template: Template<'a>,
    pub(crate) events: Vec<Event>,
    pub(crate) weight: i64,
    /// `None` where no policy is written.
    pub(crate) policies: Option<DeletePolicies>,
    /// `helm.sh/resource-policy: keep`: Helm does not prune it.
    pub(crate) is_kept: bool,
    /// An item of a list that is the hook: it carries no hook annotation of its own.
    pub(crate) is_in_list: bool,
    pub(crate) standing: Standing,
    ignored: Ignored,
    /// The whole document, of a Job or a Pod: those Helm waits for.
    pub(crate) object: Option<Value>,
    /// `helm.sh/hook-output-log-policy` is written, whether this Helm knows it or not.
    pub(crate) asks_for_logs: bool,
    /// As the record holds it, with the list that it may be an item of.
    stored: &'a RecordHook,
}

/// A document of the record's manifest.
pub(crate) struct ResourceDocument<'a> {
    pub(crate) key: Name,
    pub(crate) template: Template<'a>,
    pub(crate) standing: Standing,
    ignored: Ignored,
    /// The whole document, of a Job.
    pub(crate) object: Option<Value>,
    document: Document<'a>,
}

pub(crate) struct Contents<'a> {
    /// In the order in which Helm runs hooks of one event.
    pub(crate) hooks: Vec<HookDocument<'a>>,
    /// Those that are [`wanted`], in the order of the manifest.
    pub(crate) resources: Vec<ResourceDocument<'a>>,
    pub(crate) conditional_templates: &'a BTreeSet<String>,
    pub(crate) dropped_hooks: &'a [DroppedHook],
    /// Where each key stands first: rules ask by key for every document, and a search each time would be quadratic.
    hook_places: BTreeMap<Name, usize>,
    resource_places: BTreeMap<Name, usize>,
    unreadable: usize,
    is_cut_off: bool,
}

impl HookDocument<'_> {
    /// It installs, upgrades or rolls back: Helm may flip it. Tests and deletions are no part of a release's life.
    pub(crate) fn is_part_of_the_release(&self) -> bool {
        self.events.iter().any(|event| !event.is_test_or_delete())
    }

    /// Helm acts on before-hook-creation also where no policy is written.
    pub(crate) fn is_deleted_before_creation(&self) -> bool {
        self.policies.as_ref().is_none_or(|policies| policies.contains(DeletePolicy::BeforeHookCreation))
    }

    /// An upgrade runs it, before or after it touches the resources.
    pub(crate) fn runs_at_upgrades(&self) -> bool {
        [Event::PreUpgrade, Event::PostUpgrade].iter().any(|event| self.events.contains(event))
    }

    /// It is a Job or a Pod: Helm waits for its end.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.object.is_some()
    }

    pub(crate) fn is_deleted_after_success(&self) -> bool {
        self.policies.as_ref().is_some_and(|policies| policies.contains(DeletePolicy::HookSucceeded))
    }

    /// Helm 3.18 and later print its logs before they delete it with that policy: those of a Job or a Pod with a name.
    pub(crate) fn prints_logs(&self, at: DeletePolicy) -> bool {
        self.can_print_logs() && self.stored.output_log_policies.iter().any(|policy| policy == at.as_str())
    }

    /// Helm finds its pods by its name, and does not look into a list.
    pub(crate) fn can_print_logs(&self) -> bool {
        !self.key.name.is_empty() && !self.is_in_list
    }

    /// The annotation is written, and a Helm before 3.18 has not read it.
    pub(crate) fn asks_for_logs_in_vain(&self) -> bool {
        self.asks_for_logs && self.stored.output_log_policies.is_empty()
    }

    /// The whole document, read now.
    pub(crate) fn read(&self) -> Option<Value> {
        let limits = yaml::Limits::default();
        if !self.is_in_list {
            return Some(yaml::parse(&self.stored.manifest, &limits).ok()??.1);
        }
        let items = manifest::items(&self.stored.manifest, &limits);
        let is_it = |head: &Head| head.kind == self.key.kind && head.name == self.key.name;
        items.into_iter().find(|(head, _)| is_it(head)).map(|(_, item)| item)
    }

    /// What happens to it where that object is not there: the API server refuses a Pod without its account at once.
    pub(crate) fn without(&self, needed: &Name) -> &'static str {
        if self.key.kind == "Pod" && needed.kind == "ServiceAccount" {
            "The API server would refuse it"
        } else {
            "It would wait until the timeout"
        }
    }

    /// Something that a rule reports of it.
    pub(crate) fn problem(&self, path: FieldPath, message: String, remedy: impl Into<Remedy>) -> ReleaseProblem {
        ReleaseProblem::new(&self.key, self.standing, Problem::new(path, message, remedy))
    }

    /// The events as an annotation spells them.
    pub(crate) fn events_text(&self) -> String {
        self.events().map(|events| events.to_string()).unwrap_or_default()
    }

    pub(crate) fn events(&self) -> Option<Events> {
        Events::of(self.events.iter().copied())
    }
}

impl ResourceDocument<'_> {
    /// Something that a rule reports of it.
    pub(crate) fn problem(&self, path: FieldPath, message: String, remedy: impl Into<Remedy>) -> ReleaseProblem {
        ReleaseProblem::new(&self.key, self.standing, Problem::new(path, message, remedy))
    }

    /// Its text holds the word; cheaper than reading it.
    pub(crate) fn mentions(&self, word: &str) -> bool {
        self.document.text.contains(word)
    }

    /// `helm.sh/resource-policy: keep`: Helm does not prune it.
    pub(crate) fn is_kept(&self) -> bool {
        helm::is_kept(&self.document.head)
    }

    /// It stands in a list, into which Helm does not look: its own events say nothing to Helm.
    pub(crate) fn has_events_in_vain(&self) -> bool {
        self.document.item.is_some() && self.document.head.annotations.contains_key(helm::HOOK)
    }

    /// Not a letter of it differs.
    pub(crate) fn is_the_same_as(&self, other: &Self) -> bool {
        self.document.text == other.document.text
    }

    /// The whole document, read now.
    pub(crate) fn read(&self) -> Option<Value> {
        self.document.object(&yaml::Limits::default())
    }
}

/// The hooks of a record, in the order in which Helm runs those of one event.
pub(super) fn hooks<'a>(record: &'a Record, settings: &Settings) -> Vec<HookDocument<'a>> {
    let mut hooks: Vec<_> = record.hooks.iter().collect();
    hooks.sort_by(|a, b| hook_order(a, b));
    let mut objects = Vec::with_capacity(hooks.len());
    for hook in hooks {
        read_hook(&mut objects, hook, record, settings);
    }
    objects
}

/// The resources that a rule can ask for.
pub(super) fn wanted<'h>(hooks: impl Iterator<Item = &'h HookDocument<'h>> + Clone) -> Wanted {
    let objects = hooks.clone().filter_map(|hook| hook.object.as_ref());
    let references = objects.clone().flat_map(references_and_optional).map(|reference| reference.name);
    let services: BTreeSet<_> = objects.clone().flat_map(possible_services).collect();
    let needs_rights = objects.clone().any(|object| api_client(object).is_some());
    let wanted = Wanted::nothing()
        .with_kind("Job")
        .with_kind("ServiceAccount")
        .with_kind_and("Service", services.iter().map(String::as_str))
        .with(references.chain(hooks.map(|hook| hook.key.name.as_str())));
    if needs_rights { wanted.with_kind("Role").with_kind("RoleBinding") } else { wanted }
}

impl<'a> Contents<'a> {
    pub(super) fn of(hooks: Vec<HookDocument<'a>>, record: &'a Record, wanted: &Wanted, settings: &Settings) -> Self {
        let most = usize::try_from(settings.releases.limits.documents).unwrap_or(usize::MAX);
        let limits = manifest::Limits { documents: most, ..manifest::Limits::default() };
        let mut documents = manifest::documents(&record.manifest, wanted, &limits);
        let resources: Vec<_> = documents.by_ref().map(|document| read_resource(document, record, settings)).collect();
        let (unreadable, is_cut_off) = (documents.unreadable(), documents.is_cut_off());
        let (conditional_templates, dropped_hooks) = (&record.conditional_templates, &record.dropped_hooks);
        let hook_places = places(hooks.iter().map(|hook| &hook.key));
        let resource_places = places(resources.iter().map(|resource| &resource.key));
        let mut contents = Self {
            hooks,
            resources,
            conditional_templates,
            dropped_hooks,
            hook_places,
            resource_places,
            unreadable,
            is_cut_off,
        };
        contents.select_accounts_of_selected_jobs();
        contents
    }

    /// A hook or a resource of that name is in it.
    pub(crate) fn holds(&self, key: &Name) -> bool {
        self.hook(key).is_some() || self.resource(key).is_some()
    }

    pub(crate) fn hook(&self, key: &Name) -> Option<&HookDocument<'a>> {
        self.hooks.get(*self.hook_places.get(key)?)
    }

    /// Helm runs the first hook before the second, where both run at one event.
    pub(crate) fn runs_before(&self, first: &Name, second: &Name) -> bool {
        self.hook_places.get(first) < self.hook_places.get(second)
    }

    pub(crate) fn resource(&self, key: &Name) -> Option<&ResourceDocument<'a>> {
        self.resources.get(*self.resource_places.get(key)?)
    }

    /// The documents under that name switch the rule off.
    pub(crate) fn ignores(&self, key: &Name, rule: RuleId) -> bool {
        let hook = self.hook(key).map(|hook| &hook.ignored);
        let resource = self.resource(key).map(|resource| &resource.ignored);
        ignore::all_include(hook.into_iter().chain(resource), rule)
    }

    pub(crate) fn notes_on_ignored(&self) -> Vec<Note> {
        let hooks = self.hooks.iter().map(|hook| (&hook.key, &hook.ignored));
        ignore::notes(hooks.chain(self.resources.iter().map(|resource| (&resource.key, &resource.ignored))))
    }

    /// Notes on documents that could not be read, or that were too many.
    pub(super) fn notes(&self) -> impl Iterator<Item = Note> {
        let unreadable = (self.unreadable > 0)
            .then(|| format!("{} documents of the release could not be read and were not judged", self.unreadable));
        let cut_off = self.is_cut_off.then(|| {
            "the release has more documents than releases.limits.documents; the rest was not judged".to_owned()
        });
        unreadable.into_iter().chain(cut_off).map(|text| Note::new(NoteKind::NotRead, text))
    }

    /// A ServiceAccount is part of a migration when a selected Job of the same release runs as it.
    fn select_accounts_of_selected_jobs(&mut self) {
        let jobs =
            self.hooks.iter().filter(|hook| hook.standing == Standing::Migration).map(|hook| (&hook.key, &hook.object));
        let plain = self.resources.iter().filter(|resource| resource.standing == Standing::Migration);
        let mut accounts = BTreeSet::new();
        for (key, object) in jobs.chain(plain.map(|resource| (&resource.key, &resource.object))) {
            let named =
                object.iter().flat_map(references).filter(|reference| reference.kind == RefKind::ServiceAccount);
            accounts.extend(named.map(|reference| Name::core("ServiceAccount", &key.namespace, reference.name)));
        }
        let hooks = self.hooks.iter_mut().map(|hook| (&hook.key, &mut hook.standing));
        let resources = self.resources.iter_mut().map(|resource| (&resource.key, &mut resource.standing));
        for (key, standing) in hooks.chain(resources) {
            if *standing == Standing::Other && accounts.contains(key) {
                *standing = Standing::Migration;
            }
        }
    }
}

fn places<'k>(keys: impl Iterator<Item = &'k Name>) -> BTreeMap<Name, usize> {
    let mut places = BTreeMap::new();
    for (place, key) in keys.enumerate() {
        places.entry(key.clone()).or_insert(place);
    }
    places
}

/// Adds the objects of one hook: a list is its items, which Helm creates and deletes together.
fn read_hook<'a>(objects: &mut Vec<HookDocument<'a>>, hook: &'a RecordHook, record: &Record, settings: &Settings) {
    let limits = yaml::Limits::default();
    // Helm has read this document already; where we cannot, its own list still says what runs.
    let head = yaml::head(&hook.manifest, &limits).unwrap_or_default();
    let is_list = hook.kind.ends_with("List");
    let items = if is_list { manifest::items(&hook.manifest, &limits) } else { Vec::new() };
    if items.is_empty() {
        let key = key(&head, &hook.kind, &hook.name, record);
        objects.push(HookObject { key, head: &head, item: None }.read(hook, settings));
    }
    for (head, item) in items {
        let key = key(&head, &head.kind, &head.name, record);
        objects.push(HookObject { key, head: &head, item: Some(item) }.read(hook, settings));
    }
}

/// One object that a hook creates.
struct HookObject<'h> {
    key: Name,
    head: &'h Head,
    /// Where the hook is a list that holds it.
    item: Option<Value>,
}

impl HookObject<'_> {
    fn read<'a>(self, hook: &'a RecordHook, settings: &Settings) -> HookDocument<'a> {
        let Self { key, head, item } = self;
        let events: Vec<_> = hook.events.iter().filter_map(|event| Event::parse(event)).collect();
        let is_part_of_the_release = events.iter().any(|event| !event.is_test_or_delete());
        let policies =
            (!hook.delete_policies.is_empty()).then(|| DeletePolicies::parse(&hook.delete_policies.join(",")));
        let is_waited_for = key.is_waited_for();
        let is_in_list = item.is_some();
        let document = || yaml::parse(&hook.manifest, &yaml::Limits::default()).ok().flatten().map(|(_, value)| value);
        let is_migration = is_labelled(settings, |key| head.labels.get(key).map(String::as_str));
        HookDocument {
            object: is_waited_for.then(|| item.or_else(document)).flatten(),
            key,
            template: Template(&hook.path),
            events,
            weight: hook.weight,
            policies,
            is_kept: helm::is_kept(head),
            is_in_list,
            standing: standing(head, is_part_of_the_release && is_migration),
            asks_for_logs: head.annotations.contains_key(helm::HOOK_OUTPUT_LOG_POLICY),
            stored: hook,
            ignored: Ignored::of_head(head),
        }
    }
}

fn read_resource<'a>(document: Document<'a>, record: &Record, settings: &Settings) -> ResourceDocument<'a> {
    let head = &document.head;
    let key = key(head, &head.kind, &head.name, record);
    let is_job = key.judged_kind() == Some(Kind::Job);
    let is_migration = is_labelled(settings, |key| head.labels.get(key).map(String::as_str));
    ResourceDocument {
        object: is_job.then(|| document.object(&yaml::Limits::default())).flatten(),
        key,
        template: Template(document.path),
        standing: standing(head, is_migration),
        ignored: Ignored::of_head(head),
        document,
    }
}

fn standing(head: &Head, is_migration: bool) -> Standing {
    match head.labels.get(MIGRATION_LABEL).map(String::as_str) {
        Some("false") => Standing::OptedOut,
        _ if is_migration => Standing::Migration,
        _ => Standing::Other,
    }
}

/// As the record names it, which can say more than its head.
fn key(head: &Head, kind: &str, name: &str, record: &Record) -> Name {
    let [kind, name] = [kind, name].map(str::to_owned);
    Name { kind, name, ..Name::of(head, &record.namespace) }
}
