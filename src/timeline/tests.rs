//! The model and its rows, from records alone.
use helm::operation::Operation;
use helm::record::{Record, RecordHook};
use stable_hooks_policy::finding::Needed;
use stable_hooks_policy::name::Name;

use super::contents::Contents;
use super::layout::{Cell, Layout, Row, fold_text};
use super::model::{Deleted, Entry, LaneOf, Need, Side, Timeline};
use crate::judged::{Finding, Level};

fn document(kind: &str, name: &str, more: &str) -> String {
    format!("---\n# Source: shop/templates/all.yaml\nkind: {kind}\nmetadata: {{name: {name}{more}}}\n")
}

fn record(version: u64, manifest: &[String], hooks: Vec<RecordHook>) -> Record {
    let (name, namespace) = ("orders".to_owned(), "shop".to_owned());
    Record { name, namespace, version, manifest: manifest.concat(), hooks, ..Record::default() }
}

fn hook(kind: &str, name: &str, events: &str, weight: i64, policies: &str) -> RecordHook {
    let split = |list: &str| list.split_terminator(',').map(str::to_owned).collect::<Vec<_>>();
    RecordHook {
        kind: kind.to_owned(),
        name: name.to_owned(),
        manifest: document(kind, name, ""),
        events: split(events),
        weight,
        delete_policies: split(policies),
        ..RecordHook::default()
    }
}

/// A job that needs a Secret.
fn needing(name: &str, events: &str, secret: &str) -> RecordHook {
    let spec =
        format!("spec: {{template: {{spec: {{containers: [{{envFrom: [{{secretRef: {{name: {secret}}}}}]}}]}}}}}}\n");
    let found = hook("Job", name, events, 0, "");
    RecordHook { manifest: found.manifest.clone() + &spec, ..found }
}

fn install(record: &Record) -> Contents {
    Contents::of(record, Operation::Install)
}

fn upgrade(record: &Record) -> Contents {
    Contents::of(record, Operation::Upgrade)
}

fn object(kind: &str, name: &str) -> Name {
    let [group, kind, namespace, name] = ["", kind, "shop", name].map(str::to_owned);
    Name { group, kind, namespace, name }
}

fn finding(rule: &str, object: Name, message: &str) -> Finding {
    let (path, help) = (String::new(), String::new());
    Finding {
        rule: Some(rule.to_owned()).filter(|rule| !rule.is_empty()),
        note: None,
        level: Level::Deny,
        object,
        path,
        message: message.to_owned(),
        help,
        needs: None,
        template: None,
        values: Vec::new(),
    }
}

/// One line for each thing that happens.
fn outline(side: &Side) -> Vec<String> {
    let mut lines = Vec::new();
    for phase in &side.phases {
        for lane in &phase.lanes {
            let of = match &lane.of {
                LaneOf::Weight(weight) => weight.to_string(),
                LaneOf::Kind(_) => "-".to_owned(),
            };
            for Entry { object, deletes, .. } in &lane.entries {
                let deletes = deletes.map(|deletes| format!(": {deletes}")).unwrap_or_default();
                lines.push(format!("{:?} {of} {} {}{deletes}", phase.stage, object.kind, object.name));
            }
        }
    }
    lines
}

fn compared(before: &Contents, after: &Contents, found: Vec<Finding>) -> Timeline {
    let sides = (Side::new(before, None), Side::new(after, Some(before)));
    Timeline::new("orders".to_owned(), "shop".to_owned(), Some((sides.0, Vec::new())), (sides.1, found))
}

#[test]
fn an_operation_runs_hooks_by_weight_and_creates_resources_by_kind() {
    let manifest = [document("Widget", "w", ""), document("Job", "plain", ""), document("ServiceAccount", "sa", "")];
    let hooks = vec![
        hook("Job", "late", "pre-install", 10, ""),
        hook("Job", "early", "pre-install,post-install", -5, "hook-succeeded"),
        hook("Job", "of-upgrades", "pre-upgrade", 0, ""),
        hook("Pod", "of-tests", "test", 0, ""),
    ];
    let side = Side::new(&install(&record(1, &manifest, hooks)), None);
    assert_eq!(
        outline(&side),
        [
            "PreHooks -5 Job early",
            "PreHooks 10 Job late",
            "PreHooksDeleted -5 Job early",
            "Resources - ServiceAccount sa",
            "Resources - Job plain",
            "Resources - Widget w",
            "PostHooks -5 Job early",
            "PostHooksDeleted -5 Job early",
        ]
    );
}

#[test]
fn what_succeeded_is_deleted_in_reverse_order_but_no_definition() {
    let hooks = vec![
        hook("Job", "b", "post-install", 5, "hook-succeeded"),
        hook("CustomResourceDefinition", "crd", "post-install", 1, "hook-succeeded"),
        hook("Job", "a", "post-install", 0, "hook-succeeded"),
    ];
    let lines = outline(&Side::new(&install(&record(1, &[], hooks)), None));
    assert_eq!(lines.last_chunk(), Some(&["PostHooksDeleted 5 Job b", "PostHooksDeleted 0 Job a"].map(str::to_owned)));
    assert!(!lines.contains(&"PostHooksDeleted 1 CustomResourceDefinition crd".to_owned()));
}

#[test]
fn an_upgrade_says_what_a_hook_finds_in_its_place() {
    let first = record(
        1,
        &[document("Job", "flips", "")],
        vec![
            hook("Job", "stays", "pre-install,pre-upgrade", 0, ""),
            hook("Job", "gone", "pre-install,pre-upgrade", 1, "before-hook-creation,hook-succeeded"),
            hook("Job", "new", "pre-upgrade", 2, ""),
        ],
    );
    let mut hooks = first.hooks.clone();
    hooks.push(hook("Job", "flips", "pre-upgrade", 3, ""));
    let side = Side::new(&upgrade(&record(2, &[], hooks)), Some(&install(&first)));
    assert_eq!(
        outline(&side),
        [
            "PreHooks 0 Job stays: replaces its last run",
            "PreHooks 1 Job gone",
            "PreHooks 2 Job new",
            "PreHooks 3 Job flips: deletes the resource of that name first",
            "PreHooksDeleted 1 Job gone",
            "Pruned - Job flips: deletes what the hook has just made",
        ]
    );
}

#[test]
fn what_is_kept_or_already_deleted_is_not_pruned() {
    let keep = ", annotations: {helm.sh/resource-policy: keep}";
    let first = [
        document("Job", "kept-hook", ""),
        document("Job", "deleted-hook", ""),
        document("Secret", "kept", keep),
        document("Secret", "pruned", ""),
    ];
    let mut kept = hook("Job", "kept-hook", "pre-upgrade", 0, "");
    kept.manifest = document("Job", "kept-hook", keep);
    let deleted = hook("Job", "deleted-hook", "pre-upgrade", 0, "hook-succeeded");
    let side =
        Side::new(&upgrade(&record(2, &[], vec![kept, deleted])), Some(&install(&record(1, &first, Vec::new()))));
    let pruned: Vec<_> = outline(&side).into_iter().filter(|line| line.starts_with("Pruned")).collect();
    assert_eq!(pruned, ["Pruned - Secret pruned"]);
}

#[test]
fn a_post_hook_of_a_resource_deletes_it() {
    let after = record(1, &[document("Job", "both", "")], vec![hook("Job", "both", "post-install", 0, "")]);
    let side = Side::new(&install(&after), None);
    let last = side.entries().last().map(|(_, entry)| entry.deletes);
    assert_eq!(last, Some(Some(Deleted::Resource)));
}

#[test]
fn a_hook_that_was_deleted_before_it_runs_again_replaces_nothing() {
    let events = "pre-upgrade,post-upgrade";
    let gone = hook("Job", "gone", events, 0, "before-hook-creation,hook-succeeded");
    let stays = hook("Job", "stays", events, 1, "before-hook-creation");
    let side = Side::new(&upgrade(&record(2, &[], vec![gone, stays])), Some(&install(&record(1, &[], vec![]))));
    let at_the_end: Vec<_> = outline(&side).into_iter().filter(|line| line.starts_with("PostHooks ")).collect();
    assert_eq!(at_the_end, ["PostHooks 0 Job gone", "PostHooks 1 Job stays: replaces its last run"]);
}

#[test]
fn a_flip_crosses_and_is_marked_where_it_bites() {
    let before = install(&record(1, &[document("Job", "migrate", ""), document("Job", "same", "")], Vec::new()));
    let hooks = vec![hook("Job", "migrate", "pre-upgrade", 0, "")];
    let after = upgrade(&record(2, &[document("Job", "same", "")], hooks));
    let said = vec![finding("release-identity-flip", object("Job", "migrate"), "flips")];
    let timeline = compared(&before, &after, said);
    let layout = Layout::new(&timeline);
    let [crossing] = layout.crossings.as_slice() else { panic!("one crossing") };
    assert!(crossing.is_trouble && crossing.object.name == "migrate" && crossing.rows.0 > crossing.rows.1);
    let marked: Vec<_> = timeline.after.entries().filter(|(_, entry)| !entry.findings.is_empty()).collect();
    let stages: Vec<_> = marked.iter().map(|(stage, entry)| format!("{stage:?} {:?}", entry.findings)).collect();
    assert_eq!(stages, ["PreHooks [1]", "Pruned [1]"]);
    let shared = layout.rows.iter().filter_map(|row| match row.cells() {
        (Some(before), Some(after)) => Some((before.entry.object.name.as_str(), after.entry.object.name.as_str())),
        _ => None,
    });
    assert_eq!(shared.collect::<Vec<_>>(), [("same", "same")]);
}

#[test]
fn what_a_hook_needs_is_late_where_a_finding_says_so() {
    let manifest = [document("Secret", "db", ""), document("Secret", "db-2", "")];
    let hooks = vec![needing("migrate", "pre-install", "db"), needing("seed", "pre-install", "db-2")];
    let contents = install(&record(1, &manifest, hooks));
    let field = "spec.template.spec.containers[0].envFrom[0].secretRef";
    let about = |field: &str| {
        let needs = Some(Needed { object: object("Secret", "db-2"), field: field.to_owned() });
        let finding = Finding { needs, ..finding("hook-missing-dependency", object("Job", "seed"), "comes later") };
        let after = (Side::new(&contents, None), vec![finding]);
        let timeline = Timeline::new("orders".to_owned(), "shop".to_owned(), None, after);
        timeline.after.needs.iter().map(|need| (need.object.name.clone(), need.late)).collect::<Vec<_>>()
    };
    assert_eq!(about(field), [("db".to_owned(), false), ("db-2".to_owned(), true)]);
    assert!(about("spec.another").iter().all(|(_, late)| !late));
}

#[test]
fn a_service_is_named_and_not_needed() {
    let object = |kind: &str| object(kind, "db");
    let timeline = Timeline::new("orders".to_owned(), "shop".to_owned(), None, {
        (Side::new(&install(&record(1, &[], Vec::new())), None), Vec::new())
    });
    for (kind, late, text) in [
        ("Secret", true, "needs Secret db, which comes too late"),
        ("Service", true, "names Service db, which comes only later"),
        ("Service", false, "names Service db"),
    ] {
        let need = Need { hook: object("Job"), object: object(kind), field: String::new(), late };
        assert_eq!(need.text(&timeline), text);
    }
}

#[test]
fn logs_that_are_taken_away_are_marked_at_the_deletion() {
    let hooks = vec![hook("Job", "migrate", "pre-install", 0, "hook-succeeded")];
    let side = Side::new(&install(&record(1, &[], hooks)), None);
    let found = vec![finding("hook-log-retention", object("Job", "migrate"), "")];
    let timeline = Timeline::new(String::new(), String::new(), None, (side, found));
    let marked = timeline.after.entries().filter(|(_, entry)| !entry.findings.is_empty());
    assert_eq!(marked.map(|(stage, _)| format!("{stage:?}")).collect::<Vec<_>>(), ["PreHooksDeleted"]);
}

#[test]
fn what_is_not_looked_for_is_folded() {
    let services = (0..5_000).map(|number| document("Service", &format!("s{number}"), ""));
    let manifest: Vec<_> =
        services.chain([document("ServiceAccount", "sa", ""), document("Secret", "needed", "")]).collect();
    let contents = install(&record(1, &manifest, vec![needing("migrate", "post-install", "needed")]));
    let timeline = Timeline::new(String::new(), "shop".to_owned(), None, (Side::new(&contents, None), Vec::new()));
    let layout = Layout::new(&timeline);
    let rows = layout.rows.iter().map(|row| match row {
        Row::Stage { .. } => "stage".to_owned(),
        Row::Entry { before, after } => {
            let name = |cell: &Cell<'_>| cell.entry.object.name.clone();
            before.iter().chain(after).map(name).collect()
        }
        Row::Folded { after, is_rest, .. } => fold_text(after.len(), *is_rest),
    });
    assert_eq!(rows.collect::<Vec<_>>(), ["stage", "sa", "needed", "5000 more resources", "stage", "migrate"]);
}

#[test]
fn the_same_finding_of_both_sides_has_one_number() {
    let contents = install(&record(1, &[document("Job", "a", "")], Vec::new()));
    let said =
        || vec![finding("job-template-change", object("Job", "a"), "x"), finding("", object("Job", "a"), "not judged")];
    let side = || (Side::new(&contents, None), said());
    let timeline = Timeline::new(String::new(), String::new(), Some(side()), side());
    assert_eq!((timeline.findings.len(), timeline.notes.as_slice()), (1, ["not judged".to_owned()].as_slice()));
}
