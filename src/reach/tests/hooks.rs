//! How a value can decide about a hook inside of one template.

use super::{decide, deciders, deciders_with, files, reach};
use crate::reach::Role;

const HOOK: &str = "helm.sh/hook: pre-install\n{{ end }}{{ .Values.other.name }}";

fn guarded(guard: &str) -> String {
    format!("{guard}\n{HOOK}")
}

#[test]
fn every_guard_is_read() {
    let guards: [(&str, &[&str]); 38] = [
        ("{{ if .Values.a }}", &["a"]),
        ("{{ if $.Values.a.b }}", &["a.b"]),
        ("{{ with .Values.a }}", &["a"]),
        ("{{ range .Values.a }}", &["a"]),
        ("{{ range $k, $v := .Values.a }}", &["a"]),
        ("{{ range $k, $v := .Values.a }}{{ if $v.on }}x{{ break }}{{ end }}", &["a", "a.*.on"]),
        ("{{ range .Values.a }}{{ if .off }}{{ continue }}{{ end }}", &["a", "a.*.off"]),
        ("{{ if index .Values \"a\" \"b-c\" }}", &["a.b-c"]),
        ("{{ if index .Values.a .Values.k }}", &["a.*", "k"]),
        ("{{ if get .Values.a \"b\" }}", &["a.b"]),
        ("{{ if dig \"b\" \"c\" false .Values.a }}", &["a.b.c"]),
        ("{{ if default .Values.b .Values.a }}", &["a", "b"]),
        ("{{ if coalesce .Values.a .Values.b }}", &["a", "b"]),
        ("{{ if and .Values.a (not .Values.b) }}", &["a", "b"]),
        ("{{ if or .Values.a .Values.b }}", &["a", "b"]),
        ("{{ if ternary .Values.a .Values.b .Values.c }}", &["a", "b", "c"]),
        ("{{ if has \"x\" .Values.a }}", &["a"]),
        ("{{ if hasKey .Values.a \"b\" }}", &["a.b"]),
        ("{{ if (.Values.a).b }}", &["a.b"]),
        ("{{ if .Values.a | toString | eq \"true\" }}", &["a"]),
        ("{{ $x := .Values.a }}{{ if $x }}", &["a"]),
        ("{{ $x := false }}{{ if .Values.a }}{{ $x = true }}{{ end }}{{ if $x }}", &["a"]),
        ("{{ $x := dict \"b\" .Values.a }}{{ if $x.b }}", &["a"]),
        ("{{ $x := list .Values.other .Values.a }}{{ if index $x 1 }}", &["a"]),
        ("{{ $x := dict }}{{ $_ := set $x \"b\" .Values.a }}{{ if $x.b }}", &["a"]),
        ("{{ $x := dict }}{{ $y := $x }}{{ $_ := set $y \"b\" .Values.a }}{{ if $x.b }}", &["a"]),
        ("{{ $x := merge (dict) .Values.a }}{{ if $x.b }}", &["a.b"]),
        ("{{ $_ := set .Values \"b\" .Values.a }}{{ if .Values.b }}", &["a", "b"]),
        ("{{ $_ := set . \"b\" .Values.a }}{{ if $.b }}", &["a"]),
        ("{{ if .Values.a }}{{ $_ := unset .Values.m \"b\" }}{{ end }}{{ if .Values.m.b }}", &["a", "m.b"]),
        ("{{ if index (values (dict \"b\" .Values.a)) 0 }}", &["a"]),
        ("{{ if hasKey (dict .Values.a true) \"on\" }}", &["a"]),
        ("{{ $x := dict }}{{ $_ := set $x .Values.a 1 }}{{ range keys $x }}", &["a"]),
        ("{{ $x := pick .Values.m \"b\" }}{{ $_ := set $x.b \"c\" .Values.a }}{{ if .Values.m.b.c }}", &["a", "m.b.c"]),
        (
            "{{ $x := merge (dict) .Values.m }}{{ $_ := set $x.b \"c\" .Values.a }}{{ if .Values.m.b.c }}",
            &["a", "m.b.c"],
        ),
        (
            "{{ $b := dict }}{{ $x := omit (dict \"b\" $b) \"c\" }}{{ $_ := set $x.b \"c\" .Values.a }}{{ if $b.c }}",
            &["a"],
        ),
        ("{{ $b := dict }}{{ $x := merge (dict) (dict \"b\" $b) (dict \"b\" .Values.a) }}{{ if $b.c }}", &["a.c"]),
        ("{{ range append (list) (dict \"b\" (dict \"c\" .Values.a)) }}{{ if .b.c }}", &["a"]),
    ];
    for (guard, expected) in guards {
        decide(&guarded(guard), expected);
    }
}

#[test]
fn other_branches_are_read() {
    decide("{{ if .Values.a }}{{ else if .Values.b }}helm.sh/hook: test\n{{ end }}{{ .Values.other }}", &["a", "b"]);
    decide(
        "{{ with .Values.a }}{{ else with .Values.b }}helm.sh/hook: test\n{{ end }}{{ .Values.other }}",
        &["a", "b"],
    );
    decide("{{ range .Values.a }}{{ else }}helm.sh/hook: test\n{{ end }}{{ .Values.other }}", &["a"]);
}

#[test]
fn a_hook_is_met_however_its_annotation_is_written() {
    let written: [(&str, &[&str]); 10] = [
        ("\"helm.sh/hook\": {{ .Values.a }}", &["a"]),
        ("helm.sh/hook: {{ ternary \"test\" .Values.b .Values.a }}", &["a", "b"]),
        ("{{ if .Values.a }}{{ toYaml (dict \"helm.sh/hook\" \"test\") }}{{ end }}", &["a"]),
        (
            "{{ $x := dict }}{{ if .Values.a }}{{ $_ := set $x \"helm.sh/hook\" \"test\" }}{{ end }}{{ toYaml $x }}",
            &["a"],
        ),
        ("{{ if .Values.a }}{{ printf \"helm.sh/%s: test\" \"hook\" }}{{ end }}", &["a"]),
        ("{{ define \"h\" }}helm.sh/hook: test{{ end }}{{ if .Values.a }}{{ include \"h\" . }}{{ end }}", &["a"]),
        ("{{ define \"h\" }}helm.sh/hook: test{{ end }}{{ if .Values.a }}{{ template \"h\" . }}{{ end }}", &["a"]),
        (
            "{{ define \"h\" }}{{ if .Values.a }}helm.sh/hook: test{{ end }}{{ end }}{{ include \"h\" . | nindent 4 }}",
            &["a"],
        ),
        ("{{ if .Values.a }}{{ block \"h\" . }}helm.sh/hook: test{{ end }}{{ end }}", &["a"]),
        ("{{ if .Values.a }}{{ tpl \"helm.sh/hook: test\" . }}{{ end }}", &["a"]),
    ];
    for (template, expected) in written {
        decide(template, expected);
    }
    for template in [
        "{{ if .Values.a }}\n# helm.sh/hook: test\n{{ end }}",
        "{{ if .Values.a }}{{/* helm.sh/hook: test */}}{{ end }}",
        "{{ if .Values.a }}helm.sh/hook-weight: \"1\"{{ end }}",
    ] {
        assert_eq!(deciders(template), [""; 0], "{template}");
    }
}

#[test]
fn named_templates_are_read_with_what_they_are_given() {
    let called: [(&str, &[&str]); 7] = [
        ("{{ define \"on\" }}{{ .x }}{{ end }}{{ if include \"on\" (dict \"x\" .Values.a) }}", &["a"]),
        ("{{ define \"on\" }}{{ .Values.a }}{{ end }}{{ if eq (include \"on\" .) \"true\" }}", &["a"]),
        ("{{ define \"s.on\" }}{{ .Values.a }}{{ end }}{{ if include (printf \"%s.on\" \"s\") . }}", &["a"]),
        ("{{ define \"on\" }}{{ .Values.a }}{{ end }}{{ $n := \"on\" }}{{ if include $n . }}", &["a"]),
        ("{{ define \"on\" }}b: {{ .Values.a }}{{ end }}{{ if (include \"on\" . | fromYaml).b }}", &["a"]),
        (
            "{{ define \"on\" }}{{ $_ := set .m \"b\" .v }}{{ end }}{{ $m := dict }}{{ include \"on\" (dict \"m\" $m \"v\" .Values.a) }}{{ if $m.b }}",
            &["a"],
        ),
        (
            "{{ define \"on\" }}{{ if .n }}{{ include \"on\" (dict \"n\" .n.n) }}{{ end }}{{ .n.x }}{{ end }}{{ if include \"on\" (dict \"n\" .Values.a) }}",
            &["a.x"],
        ),
    ];
    for (template, expected) in called {
        decide(&guarded(template), expected);
    }
}

#[test]
fn a_kind_that_a_block_begins_is_read_to_its_end() {
    for template in [
        "kind: {{ if .Values.a }}Cron{{ end }}Job\n{{ .Values.other }}",
        "kind: {{ if .Values.a }}Job{{ else }}Pod{{ end }}\n{{ .Values.other }}",
        "kind: {{ range .Values.a }}Service{{ end }}Account\n{{ .Values.other }}",
    ] {
        let reach = reach(&files([("Chart.yaml", "name: shop"), ("templates/job.yaml", template)]));
        let found: Vec<_> = reach.deciders.iter().map(|(value, decider)| (value.to_string(), decider.role)).collect();
        assert_eq!(found, [("a".to_owned(), Role::Object)], "{template}");
    }
    assert!(
        reach(&files([
            ("Chart.yaml", "name: shop"),
            ("templates/a.yaml", "kind: Pod{{ if .Values.a }}\nspec: {}{{ end }}")
        ]))
        .deciders
        .is_empty()
    );
}

#[test]
fn maps_that_are_merged_are_written_into() {
    let template = "{{ $_ := merge (dict) .Values.m .Values.n }}{{ if .Values.m.b.c }}helm.sh/hook: test{{ end }}";
    assert_eq!(deciders_with(template, "{m: {b: {c: false}, d: 1}, n: {b: {c: true}}}"), ["m.b.c", "n.b.c"]);
}

#[test]
fn values_that_are_objects_are_read() {
    for (template, values) in [
        ("{{ range .Values.a }}\n---\n{{ toYaml . }}{{ end }}", "a: [{kind: Job}]"),
        ("{{ tpl .Values.a . }}", "a: 'kind: Job'"),
    ] {
        let chart = files([("Chart.yaml", "name: shop"), ("values.yaml", values), ("templates/a.yaml", template)]);
        let found: Vec<_> =
            reach(&chart).deciders.into_iter().map(|(value, decider)| (value.to_string(), decider.role)).collect();
        assert!(found.contains(&("a".to_owned(), Role::Object)), "{template} {found:?}");
    }
}

#[test]
fn values_that_are_templates_or_annotations_are_read() {
    let template = "{{ if tpl .Values.a . }}helm.sh/hook: test{{ end }}";
    assert_eq!(deciders_with(template, "a: '{{ .Values.b }}'"), ["a", "b"]);
    let template = "annotations: {{ toYaml .Values.annotations | nindent 4 }}";
    assert_eq!(deciders_with(template, "annotations: {helm.sh/hook: test}"), ["annotations"]);
    assert_eq!(deciders_with(template, "annotations: {}"), [""; 0]);
}
