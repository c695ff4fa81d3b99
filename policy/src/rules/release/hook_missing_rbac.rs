use std::collections::BTreeMap;

use serde_json::Value;

use crate::finding::{FieldPath, ReleaseProblem};
use crate::name::Name;
use crate::references::{DEFAULT_SERVICE_ACCOUNT, RefKind, api_client, has_token, pod, pod_account};
use crate::rules::declare::{Reach, declare_rule};
use crate::rules::steady::in_time;
use crate::subject::release::{Contents, HookDocument, Release, ResourceDocument};

declare_rule! {
    /// ## What it does
    ///
    /// Warns about a hook that runs before the release's resources and asks the API server for something, while the
    /// RoleBinding or ClusterRoleBinding of its account, or the Role or ClusterRole which that names, comes only after it:
    /// as a resource of the release that is not there yet, or as a hook that runs later. A hook counts that has an image
    /// such as `kubectl`, `helm`, `k8s-wait-for` or `kube-webhook-certgen`, that runs `kubectl`, `helm` or `oc`, or whose
    /// command line names the API server. It says nothing where any binding of the release is there in time.
    ///
    /// ## Why is this bad?
    ///
    /// Helm creates Roles and RoleBindings with the other resources, after the hooks of pre-install and pre-upgrade. Until
    /// then the API server answers that the account is not allowed to do what it asks for. The hook fails or waits, and on
    /// the first install it does so each time.
    ///
    /// ## Example
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-weight: "-10"
    /// ---
    /// apiVersion: rbac.authorization.k8s.io/v1
    /// kind: RoleBinding
    /// metadata:
    ///   name: orders-migrations
    /// roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
    /// subjects: [{kind: ServiceAccount, name: orders-migrations, namespace: shop}]
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// spec:
    ///   template:
    ///     spec:
    ///       serviceAccountName: orders-migrations
    ///       containers:
    ///         - name: wait
    ///           image: bitnami/kubectl:1.33
    ///           args: [wait, --for=condition=Ready, pod/database-0]
    /// ```
    ///
    /// ## Use instead
    ///
    /// ```yaml
    /// apiVersion: v1
    /// kind: ServiceAccount
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-weight: "-10"
    /// ---
    /// apiVersion: rbac.authorization.k8s.io/v1
    /// kind: RoleBinding
    /// metadata:
    ///   name: orders-migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    ///     helm.sh/hook-weight: "-10"
    /// roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
    /// subjects: [{kind: ServiceAccount, name: orders-migrations, namespace: shop}]
    /// ---
    /// apiVersion: batch/v1
    /// kind: Job
    /// metadata:
    ///   name: orders-migrations
    ///   labels:
    ///     app.kubernetes.io/component: migrations
    ///   annotations:
    ///     helm.sh/hook: pre-install,pre-upgrade
    /// spec:
    ///   template:
    ///     spec:
    ///       serviceAccountName: orders-migrations
    ///       containers:
    ///         - name: wait
    ///           image: bitnami/kubectl:1.33
    ///           args: [wait, --for=condition=Ready, pod/database-0]
    /// ```
    ///
    /// Argo CD applies such hooks in the same order, at each sync.
    ///
    /// ## References
    ///
    /// - Helm issue 11157: the Role of a hook
    /// - hmcts k8s-env-injector pull request 17: the RoleBinding of a hook comes after it
    summary: "a hook asks the API server for something before its account gets its Role or RoleBinding",
    check: Release(check, Reach::WarnsOfOthers),
}

fn check(release: &Release<'_>) -> Vec<ReleaseProblem> {
    let (places, rights) = (BTreeMap::new(), Vec::new());
    let (mut clients, mut accounts) = (Vec::new(), Accounts { release, places, rights });
    for hook in release.hooks_now() {
        let Some(object) = hook.object.as_ref().filter(|_| release.runs_before_resources(hook)) else { continue };
        // Without a token it asks as nobody.
        let Some(field) = api_client(object).filter(|_| pod(object).is_none_or(has_token)) else { continue };
        let account = pod_account(object).unwrap_or(DEFAULT_SERVICE_ACCOUNT);
        let account = Name::core(RefKind::ServiceAccount.as_str(), &hook.key.namespace, account);
        clients.push((hook, field, accounts.place(account)));
    }
    if clients.is_empty() {
        return Vec::new();
    }
    accounts.read(&release.record);
    if let Some(baseline) = &release.baseline {
        accounts.read(baseline);
    }
    let mut problems = Vec::new();
    for (hook, field, place) in clients {
        if let Some(late) = accounts.rights.get(place).and_then(|rights| rights.late_for(release, hook)) {
            problems.push(comes_too_early(release, hook, &field, late));
        }
    }
    problems
}

const GROUP: &str = "rbac.authorization.k8s.io";

/// What the release gives to one account.
#[derive(Default)]
struct Rights<'a> {
    /// Some are there before the operation begins, or nobody can tell.
    may_be_there: bool,
    /// The hook with which the first of them are complete.
    first: Option<&'a HookDocument<'a>>,
    /// What the operation makes after its first hooks: a binding, or the role of one.
    late: Option<Late<'a>>,
}

#[derive(Clone, Copy)]
enum Late<'a> {
    Resource(&'a ResourceDocument<'a>),
    Hook(&'a HookDocument<'a>),
}

/// When an object is there.
#[derive(Clone, Copy)]
enum When<'a> {
    Before,
    Unknown,
    /// From when this hook of the first event has run.
    With(&'a HookDocument<'a>),
    Late(Late<'a>),
    Never,
}

impl<'a> Rights<'a> {
    fn add(&mut self, release: &Release<'_>, given: When<'a>) {
        match given {
            When::Before | When::Unknown => self.may_be_there = true,
            When::With(hook) => {
                let is_first = |first: &HookDocument<'_>| release.record.runs_before(&hook.key, &first.key);
                if self.first.is_none_or(is_first) {
                    self.first = Some(hook);
                }
            }
            When::Late(late) => self.late = self.late.or(Some(late)),
            When::Never => {}
        }
    }

    /// What comes too late for this hook, where nothing else is there in time.
    fn late_for(&self, release: &Release<'_>, hook: &HookDocument<'_>) -> Option<Late<'a>> {
        let is_in_time = self.first.is_some_and(|first| release.record.runs_before(&first.key, &hook.key));
        if self.may_be_there || is_in_time { None } else { self.first.map(Late::Hook).or(self.late) }
    }
}

/// The accounts that are asked for, by their names, and what the release gives to each.
struct Accounts<'a> {
    release: &'a Release<'a>,
    places: BTreeMap<Name, usize>,
    rights: Vec<Rights<'a>>,
}

impl Accounts<'_> {
    fn place(&mut self, account: Name) -> usize {
        let place = *self.places.entry(account).or_insert(self.rights.len());
        if place == self.rights.len() {
            self.rights.push(Rights::default());
        }
        place
    }

    /// Adds what the bindings of one revision give: one walk.
    fn read(&mut self, contents: &Contents<'_>) {
        let is_binding =
            |key: &Name| key.group == GROUP && (key.kind == "RoleBinding" || key.kind == "ClusterRoleBinding");
        for hook in &contents.hooks {
            if is_binding(&hook.key) {
                self.add(&hook.key, hook.read());
            }
        }
        for resource in &contents.resources {
            if is_binding(&resource.key) {
                self.add(&resource.key, resource.read());
            }
        }
    }

    fn add(&mut self, key: &Name, binding: Option<Value>) {
        let Some(binding) = binding else { return };
        let given = when_given(self.release, key, &binding);
        for subject in binding.get("subjects").and_then(Value::as_array).into_iter().flatten() {
            // The API server refuses an account without a namespace.
            let [kind, namespace, name] = ["kind", "namespace", "name"].map(|field| text(subject, field));
            // All accounts or those of a namespace, or one as its user.
            if name.starts_with("system:serviceaccount") && !matches!(given, When::Late(_)) {
                self.rights.iter_mut().for_each(|rights| rights.add(self.release, given));
            }
            let place = self.places.get(&Name::core(kind, namespace, name));
            if let Some(rights) = place.and_then(|place| self.rights.get_mut(*place)) {
                rights.add(self.release, given);
            }
        }
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// When both the binding and its role are there.
fn when_given<'a>(release: &'a Release<'a>, key: &Name, binding: &Value) -> When<'a> {
    let role = binding.get("roleRef").unwrap_or(&Value::Null);
    let (kind, name) = (text(role, "kind"), text(role, "name"));
    // What has no namespace stands in a record under that of the release.
    let namespace = if kind == "ClusterRole" { release.objects_namespace } else { &key.namespace };
    let role = Name { group: key.group.clone(), ..Name::core(kind, namespace, name) };
    // A role that the release does not make is another's, and there.
    let role = if release.record.holds(&role) { when(release, &role) } else { When::Before };
    match (when(release, key), role) {
        (When::Never, _) | (_, When::Never) => When::Never,
        (When::Late(late), _) | (_, When::Late(late)) => When::Late(late),
        (When::Unknown, _) | (_, When::Unknown) => When::Unknown,
        (When::With(one), When::With(other)) if release.record.runs_before(&one.key, &other.key) => When::With(other),
        (When::With(hook), _) | (_, When::With(hook)) => When::With(hook),
        (When::Before, When::Before) => When::Before,
    }
}

fn when<'a>(release: &'a Release<'a>, key: &Name) -> When<'a> {
    match (release.exists_before(key), release.record.hook(key), release.record.resource(key)) {
        (Some(true), _, _) => When::Before,
        (None, _, _) => When::Unknown,
        (Some(false), Some(hook), _) if release.runs_before_resources(hook) => When::With(hook),
        (Some(false), Some(hook), _) if release.runs_after_resources(hook) => When::Late(Late::Hook(hook)),
        (Some(false), _, Some(resource)) => When::Late(Late::Resource(resource)),
        (Some(false), _, None) => When::Never,
    }
}

fn comes_too_early(release: &Release<'_>, hook: &HookDocument<'_>, field: &str, late: Late<'_>) -> ReleaseProblem {
    let account = hook.object.as_ref().and_then(pod_account).unwrap_or(DEFAULT_SERVICE_ACCOUNT);
    let account = Name::core(RefKind::ServiceAccount.as_str(), "", account);
    let (why, remedy) = match late {
        Late::Resource(resource) => {
            let wanted = resource.key.seen_from(&hook.key.namespace);
            let pre = release.operation.pre().as_str();
            let is_binding = resource.key.kind.ends_with("Binding");
            let role = if is_binding { ", and its Role where this release has one," } else { "" };
            let remedy = resource.template.remedy(format!(
                "render {wanted}{role} as a hook, under a new name where the release is installed or anything else uses it: \
                 {}: \"{}\", {}: \"{}\".",
                helm::HOOK,
                hook.events_text(),
                helm::HOOK_WEIGHT,
                hook.weight.saturating_sub(10)
            ));
            (format!("this release creates {wanted} only after a {pre} hook"), remedy)
        }
        Late::Hook(later) => {
            let wanted = later.key.seen_from(&hook.key.namespace);
            (format!("{wanted} is a hook that runs after it"), in_time(later, hook))
        }
    };
    let message = format!(
        "asks the API server for something ({field}) as {account}, whose rights come too late: {why}. Until then the API \
         server refuses what they are for."
    );
    hook.problem(FieldPath::annotation(helm::HOOK), message, remedy)
}
