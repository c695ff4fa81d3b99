//! Values that come from other charts, and what is said of the charts themselves.

use std::collections::BTreeSet;

use super::{files, of_hooks, reach};
use crate::reach::{Blind, Literal, Pattern, Role};

const JOB: &str = "{{ if .Values.on }}helm.sh/hook: test{{ end }}";

#[test]
fn a_subchart_s_values_stand_under_its_key() {
    let chart = files([
        ("Chart.yaml", "name: shop\ndependencies:\n- {name: db, alias: one, condition: one.enabled, tags: [data]}"),
        ("charts/db/Chart.yaml", "name: db"),
        ("charts/db/templates/job.yaml", JOB),
    ]);
    assert_eq!(of_hooks(&reach(&chart)), ["one.enabled", "one.on", "tags.data"]);
    let chart = files([
        ("Chart.yaml", "name: shop\napiVersion: v1"),
        ("requirements.yaml", "dependencies:\n- {name: db, condition: db.enabled}"),
        ("charts/db/Chart.yaml", "name: db"),
        ("charts/db/templates/job.yaml", "{{ if .Values.global.on }}helm.sh/hook: test{{ end }}"),
    ]);
    assert_eq!(of_hooks(&reach(&chart)), ["db.enabled", "global.on"]);
}

#[test]
fn imported_values_are_those_of_the_subchart() {
    let chart = files([
        ("Chart.yaml", "name: shop\ndependencies:\n- {name: db, import-values: [data, {child: a, parent: up}]}"),
        ("templates/job.yaml", "{{ if and .Values.up.on .Values.x }}helm.sh/hook: test{{ end }}"),
        ("charts/db/Chart.yaml", "name: db"),
    ]);
    let found = of_hooks(&reach(&chart));
    for value in ["db.a.on", "db.exports.data.x", "up.on", "x"] {
        assert!(found.iter().any(|found| found == value), "{value} is not among {found:?}");
    }
}

#[test]
fn of_a_name_the_template_counts_that_helm_parses_last() {
    let on = |value: &str| format!("{{{{ define \"on\" }}}}{{{{ .Values.{value} }}}}{{{{ end }}}}");
    let chart = files([
        ("Chart.yaml", "name: shop"),
        ("templates/job.yaml", "{{ if include \"on\" . }}helm.sh/hook: test{{ end }}"),
        ("templates/_a.tpl", &on("first")),
        ("templates/_b.tpl", &on("second")),
        ("templates/_0.tpl", "{{ define \"on\" }} {{/* nothing */}} {{ end }}"),
        ("templates/0/_a.tpl", &on("deeper")),
        ("charts/db/Chart.yaml", "name: db"),
        ("charts/db/templates/_a.tpl", &on("below")),
    ]);
    assert_eq!(of_hooks(&reach(&chart)), ["first"]);
}

#[test]
fn what_a_chart_takes_hangs_on_whether_the_other_is_there() {
    let chart = files([
        ("Chart.yaml", "name: shop\ndependencies:\n- {name: db, condition: db.enabled, import-values: [data]}"),
        ("templates/job.yaml", "{{ if .Values.x }}helm.sh/hook: test{{ end }}"),
        ("charts/db/Chart.yaml", "name: db"),
    ]);
    let found = of_hooks(&reach(&chart));
    for value in ["db.enabled", "db.exports.data.x", "x"] {
        assert!(found.iter().any(|found| found == value), "{value} is not among {found:?}");
    }
}

#[test]
fn what_one_chart_writes_into_global_another_reads() {
    let chart = files([
        ("Chart.yaml", "name: shop"),
        ("charts/a/Chart.yaml", "name: a"),
        ("charts/a/templates/a.yaml", "{{ $_ := set .Values.global.m \"on\" .Values.x }}"),
        ("charts/b/Chart.yaml", "name: b"),
        ("charts/b/templates/b.yaml", "{{ if .Values.global.m.on }}helm.sh/hook: test{{ end }}"),
    ]);
    assert_eq!(of_hooks(&reach(&chart)), ["a.x", "global.m.on"]);
}

#[test]
fn a_decision_about_what_is_written_is_reached_like_it() {
    let chart = files([
        ("Chart.yaml", "name: shop"),
        ("templates/a.yaml", "{{ if .Values.x }}{{ $_ := set .Values \"y\" 1 }}{{ end }}"),
        ("templates/job.yaml", "kind: Job\ndata: {{ .Values.y }}"),
    ]);
    let reach = reach(&chart);
    assert!(reach.deciders.is_empty() && reach.reached.contains(&Pattern::of(&["x".to_owned()])), "{reach:?}");
}

#[test]
fn what_one_chart_merges_into_a_map_of_global_another_reads() {
    let written = |text: &str, read: &str| {
        let template = format!("{{{{ if {read} }}}}helm.sh/hook: test{{{{ end }}}}");
        let chart = files([
            ("Chart.yaml", "name: parent\ndependencies: [{name: a}, {name: b}]"),
            ("values.yaml", "{global: {m: {on: true, sub: {flag: true}}}, a: {m0: {sub: {flag: true}}}}"),
            ("charts/a/Chart.yaml", "name: a"),
            ("charts/a/templates/a.yaml", text),
            ("charts/b/Chart.yaml", "name: b"),
            ("charts/b/templates/b.yaml", template.as_str()),
        ]);
        let found = of_hooks(&reach(&chart));
        found.iter().any(|found| "a.m0.sub.flag".starts_with(found.as_str()))
    };
    let merges = "{{ $x := merge (omit $.Values.global.m \"on\") .Values.m0 }}";
    let deep = "{{ $x := deepCopy (merge (omit $.Values.global.m \"on\") (index (dict \"a\" (get .Values \"m0\") \"b\" $.Values.global.m) \"a\")) }}";
    assert_eq!(
        [
            written(merges, ".Values.global.m.sub.flag"),
            written(merges, "dig \"sub\" \"flag\" false .Values.global.m"),
            written(merges, "dig \"sub\" \"flag\" false (merge (omit $.Values.global.m \"on\") .Values.x)"),
            written(deep, ".Values.global.m.sub.flag"),
        ],
        [true; 4]
    );
}

#[test]
fn a_subchart_reads_the_templates_in_global() {
    let chart = files([
        ("Chart.yaml", "name: shop"),
        ("values.yaml", "global: {t: '{{ .Values.x }}'}"),
        ("charts/db/Chart.yaml", "name: db"),
        ("charts/db/templates/a.yaml", "{{ if tpl .Values.global.t . }}helm.sh/hook: test{{ end }}"),
    ]);
    assert_eq!(of_hooks(&reach(&chart)), ["db.x", "global.t"]);
}

#[test]
fn a_library_s_templates_are_read_where_they_are_called() {
    let chart = files([
        ("Chart.yaml", "name: shop"),
        ("templates/job.yaml", "{{ include \"lib.job\" . }}"),
        ("templates/NOTES.txt", "{{ if .Values.notes }}helm.sh/hook: test{{ end }}"),
        ("charts/lib/Chart.yaml", "name: lib\ntype: library"),
        (
            "charts/lib/templates/_job.tpl",
            "{{ define \"lib.job\" }}{{ if .Values.on }}helm.sh/hook: test{{ end }}{{ end }}",
        ),
        ("charts/lib/templates/own.yaml", "{{ if .Values.own }}helm.sh/hook: test{{ end }}"),
    ]);
    let reach = reach(&chart);
    assert_eq!(of_hooks(&reach), ["on"]);
    let on = Pattern::of(&["on".to_owned()]);
    assert_eq!(reach.deciders[&on].files, BTreeSet::from(["templates/job.yaml".to_owned()]));
}

#[test]
fn a_checksum_of_another_template_is_read_but_decides_nothing() {
    let chart = files([
        ("Chart.yaml", "name: shop"),
        ("templates/config.yaml", "{{ .Values.config }}"),
        (
            "templates/job.yaml",
            "kind: Job\nhelm.sh/hook: test\nsum: {{ include (print $.Template.BasePath \"/config.yaml\") . | sha256sum }}",
        ),
    ]);
    let reach = reach(&chart);
    assert_eq!(of_hooks(&reach), [""; 0]);
    assert!(reach.reached.contains(&Pattern::of(&["config".to_owned()])), "{reach:?}");
}

#[test]
fn literals_and_roles_are_told() {
    let chart = files([
        ("Chart.yaml", "name: shop"),
        (
            "templates/job.yaml",
            "{{ if ne .Values.mode \"none\" }}\nkind: Job\n{{ end }}\n{{ if .Values.dict }}\n\
             {{ toYaml (dict \"kind\" \"ServiceAccount\") }}\n{{ end }}",
        ),
    ]);
    let reach = reach(&chart);
    let mode = &reach.deciders[&Pattern::of(&["mode".to_owned()])];
    assert_eq!((mode.role, &mode.literals), (Role::Object, &BTreeSet::from([Literal::Text("none".to_owned())])));
    assert_eq!(reach.deciders[&Pattern::of(&["dict".to_owned()])].role, Role::Object);
    assert!(reach.reached.contains(&Pattern::of(&["mode".to_owned()])));
}

#[test]
fn blind_spots_are_told() {
    let chart = files([
        ("Chart.yaml", "name: shop"),
        (
            "templates/job.yaml",
            "helm.sh/hook: test\n{{ lookup \"v1\" \"Secret\" \"a\" \"b\" }}{{ .Capabilities.KubeVersion }}\
             {{ include .Values.name . }}",
        ),
        ("templates/worse.yaml", "{{ if }}"),
        ("templates/plain.yaml", "{{ lookup \"v1\" \"Secret\" \"a\" \"b\" }}"),
    ]);
    let blind = reach(&chart).blind;
    let file = "templates/job.yaml".to_owned();
    for spot in
        [Blind::Lookup { file: file.clone() }, Blind::Capabilities { file: file.clone() }, Blind::ComputedName { file }]
    {
        assert!(blind.contains(&spot), "{spot:?} is not among {blind:?}");
    }
    assert!(blind.iter().any(|spot| matches!(spot, Blind::Unparsed { file, .. } if file == "templates/worse.yaml")));
    assert_eq!(blind.len(), 4, "{blind:?}");
}
