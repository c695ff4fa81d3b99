//! What a chart may be written like so that a value decides about its hooks.

use std::fs;
use std::path::Path;

use super::{HOOK, chart, flips, job, job_with, messages, sweep, write_chart};
use crate::chart_helm::pack;
use crate::chart_many::with_each;
use crate::cli::{code, stderr};
use crate::helms::folder;

/// Exactly these flips are found in a chart of these files.
fn assert_flips(name: &str, files: &[(&str, &str)], expected: &[&str]) {
    let chart = chart(name, files);
    assert_flips_in(name, &chart, expected);
}

fn assert_flips_in(name: &str, chart: &str, expected: &[&str]) {
    with_each(&format!("sweep-{name}-path"), |path| {
        let output = sweep(path, chart, &["-o", "json"]);
        let [mut told, mut expected] = [flips(&output), expected.iter().map(|row| (*row).to_owned()).collect()];
        told.sort();
        expected.sort();
        assert_eq!((code(&output), told), (0, expected), "{name}: {}", stderr(&output));
    });
}

#[test]
fn chart_sweep_two_switches_in_one_condition() {
    let template = job("m", "and .Values.job.enabled .Values.job.asHook");
    for (name, values, expected) in [
        // The second is told beside what the first has brought.
        (
            "and-one",
            "job: {enabled: true, asHook: false}\n",
            ["Job/m: job.asHook false > true", "Job/m: job.enabled true > false"],
        ),
        (
            "and-other",
            "job: {enabled: false, asHook: true}\n",
            ["Job/m: job.enabled false > true", "Job/m: job.asHook true > false"],
        ),
        (
            "and-all",
            "job: {enabled: true, asHook: true}\n",
            ["Job/m: job.asHook true > false", "Job/m: job.enabled true > false"],
        ),
    ] {
        assert_flips(name, &[("values.yaml", values), ("templates/job.yaml", &template)], &expected);
    }
}

#[test]
fn chart_sweep_a_text_of_a_schema_or_a_comparison() {
    let of_job = job("m", "eq .Values.mode \"hook\"");
    let template = format!("{{{{- if ne .Values.mode \"none\" }}}}\n{of_job}\n{{{{- end }}}}\n");
    let schema = r#"{"properties": {"mode": {"type": "string", "enum": ["hook", "job", "none"]}}}"#;
    // Neither of the two has the Job with the chart's own value.
    let files = [("values.yaml", "mode: none\n"), ("values.schema.json", schema), ("templates/job.yaml", &*template)];
    assert_flips("enum", &files, &["Job/m: mode \"hook\" > \"job\""]);
    let files = [("values.yaml", "mode: job\n"), ("templates/job.yaml", &*of_job)];
    assert_flips("eq", &files, &["Job/m: mode \"job\" > \"hook\""]);
    let of_list = job("m", "has \"hook\" .Values.modes");
    let files = [("values.yaml", "modes: [job]\n"), ("templates/job.yaml", &*of_list)];
    assert_flips("has", &files, &["Job/m: modes a list of 1 > a list of 2"]);
}

#[test]
fn chart_sweep_a_number_at_its_limit() {
    let template = job("m", "gt (int .Values.replicas) 3");
    assert_flips(
        "limit",
        &[("values.yaml", "replicas: 1\n"), ("templates/job.yaml", &template)],
        &["Job/m: replicas 1 > 4"],
    );
}

#[test]
fn chart_sweep_a_map_of_annotations() {
    let of_values = job_with(
        "m",
        "  {{- with .Values.job.annotations }}\n  annotations:\n    {{- toYaml . | nindent 4 }}\n  {{- end }}",
    );
    let values = "job:\n  annotations:\n    helm.sh/hook: pre-install,pre-upgrade\n";
    assert_flips(
        "annotations",
        &[("values.yaml", values), ("templates/job.yaml", &of_values)],
        &["Job/m: job.annotations a map of 1 > {}"],
    );
    let replaced = job_with(
        "m",
        &format!(
            "  annotations:\n  {{{{- if .Values.job.annotations }}}}\n    {{{{- toYaml .Values.job.annotations | nindent 4 }}}}\n  \
             {{{{- else }}}}\n    {HOOK}\n  {{{{- end }}}}"
        ),
    );
    assert_flips(
        "replaced",
        &[("values.yaml", "job:\n  annotations: {}\n"), ("templates/job.yaml", &replaced)],
        &["Job/m: job.annotations {} > a map of 1"],
    );
}

#[test]
fn chart_sweep_an_item_of_a_list_and_an_entry_of_a_map() {
    let of_job = job("{{ .name }}", ".hook");
    let template = format!("{{{{- range .Values.jobs }}}}\n{of_job}\n{{{{- end }}}}\n");
    let values = "jobs:\n- {name: k, hook: false}\n- name: m\n  hook: true\n";
    let expected = ["Job/k: jobs[0].hook false > true", "Job/m: jobs[1].hook true > false"];
    assert_flips("items", &[("values.yaml", values), ("templates/job.yaml", &template)], &expected);
    let values = "jobs:\n  one: {name: k, hook: false}\n  'o.ther': {name: m, hook: true}\n";
    let expected = ["Job/k: jobs.one.hook false > true", "Job/m: jobs.o\\.ther.hook true > false"];
    assert_flips("entries", &[("values.yaml", values), ("templates/job.yaml", &template)], &expected);
}

#[test]
fn chart_sweep_a_value_of_a_subchart_packed_or_not() {
    let template = job("m", ".Values.asHook");
    let files = [("values.yaml", "# about\nasHook: false\n"), ("templates/job.yaml", &*template)];
    let parent = folder("sweep-subchart");
    write_chart(&parent, "c", &[]);
    write_chart(&parent.join("charts/db"), "db", &files);
    let parent = parent.to_str().unwrap().to_owned();
    assert_flips_in("subchart", &parent, &["Job/m: db.asHook false > true"]);
    with_each("sweep-subchart-place", |path| {
        let output = sweep(path, &parent, &["-o", "json"]);
        let place = &crate::chart_renders::result(&output)["findings"][0]["values"][0]["place"];
        assert_eq!(*place, serde_json::json!({"file": format!("{parent}/charts/db/values.yaml"), "line": 2}));
    });
    pack(Path::new(&format!("{parent}/charts/db")), "db", Path::new(&format!("{parent}/charts/db-0.1.0.tgz")));
    fs::remove_dir_all(format!("{parent}/charts/db")).unwrap();
    assert_flips_in("subchart-packed", &parent, &["Job/m: db.asHook false > true"]);
    let packed = folder("sweep-subchart-all").join("c-0.1.0.tgz");
    pack(Path::new(&parent), "c", &packed);
    assert_flips_in("subchart-all", packed.to_str().unwrap(), &["Job/m: db.asHook false > true"]);
}

#[test]
fn chart_sweep_what_chart_yaml_says_of_a_subchart() {
    let head = "apiVersion: v2\nname: c\nversion: 0.1.0\ndependencies:\n- {name: db, version: 0.1.0, repository: ''";
    let child = "apiVersion: v2\nname: db\nversion: 0.1.0\n";
    let own = job("m", ".Values.asHook");
    let global = job("m", ".Values.global.asHook");
    let parent = job("p", ".Values.job.asHook");
    for (name, dependency, values, templates, expected) in [
        ("alias", ", alias: store}", "store: {}\n", [&*own, ""], &["Job/m: store.asHook false > true"][..]),
        ("global", "}", "global: {asHook: false}\n", [&*global, ""], &["Job/m: global.asHook false > true"]),
        (
            "condition",
            ", condition: db.enabled}",
            "db: {enabled: false}\n",
            [&*own, ""],
            &["Job/m: db.asHook false > true"],
        ),
        ("tags", ", tags: [data]}", "tags: {data: false}\n", [&*own, ""], &["Job/m: db.asHook false > true"]),
        (
            "import-values",
            ", import-values: [{child: job, parent: job}]}",
            "other: 1\n",
            ["", &*parent],
            &["Job/p: job.asHook false > true"],
        ),
    ] {
        let files = [
            ("Chart.yaml", &*format!("{head}{dependency}\n")),
            ("values.yaml", values),
            ("templates/job.yaml", templates[1]),
            ("charts/db/Chart.yaml", child),
            ("charts/db/values.yaml", "asHook: false\njob: {asHook: false}\n"),
            ("charts/db/templates/job.yaml", templates[0]),
        ];
        assert_flips(name, &files, expected);
    }
}

#[test]
fn chart_sweep_a_hook_in_a_helper_a_dict_or_a_value_that_is_a_template() {
    let helper = format!(
        "{{{{- define \"c.hook\" }}}}{{{{- if .Values.asHook }}}}annotations: {{{HOOK}}}{{{{- end }}}}{{{{- end }}}}"
    );
    let included = job_with("m", "  {{- include \"c.hook\" . | nindent 2 }}");
    let files =
        [("values.yaml", "asHook: false\n"), ("templates/_c.tpl", &*helper), ("templates/job.yaml", &*included)];
    assert_flips("helper", &files, &["Job/m: asHook false > true"]);
    let of_dict = job("{{ .name }}", ".hook");
    let helper = format!("{{{{- define \"c.job\" }}}}\n{of_dict}\n{{{{- end }}}}");
    let included = "{{ include \"c.job\" (dict \"name\" \"m\" \"hook\" .Values.asHook) }}\n";
    let files = [("values.yaml", "asHook: false\n"), ("templates/_c.tpl", &*helper), ("templates/job.yaml", included)];
    assert_flips("dict", &files, &["Job/m: asHook false > true"]);
    let values =
        format!("asHook: false\nmeta: |-\n  {{{{- if .Values.asHook }}}}annotations: {{{HOOK}}}{{{{- end }}}}\n");
    let of_value = job_with("m", "  {{- tpl .Values.meta . | nindent 2 }}");
    assert_flips(
        "tpl",
        &[("values.yaml", &values), ("templates/job.yaml", &of_value)],
        &["Job/m: asHook false > true", "Job/m: meta a text > \"\""],
    );
}

#[test]
fn chart_sweep_a_value_that_counts_in_upgrades_alone() {
    let template = job("m", "and .Release.IsUpgrade .Values.asHook");
    let chart = chart("upgrades", &[("values.yaml", "asHook: false\n"), ("templates/job.yaml", &template)]);
    with_each("sweep-upgrades-path", |path| {
        let output = sweep(path, &chart, &["-o", "json"]);
        assert_eq!(flips(&output), ["Job/m: asHook false > true"]);
        // A release with the value that was upgraded once has a hook.
        let message = &messages(&output)[0];
        let begins = "flips when an upgrade changes the value `asHook` from false to true, and from true to false. From \
                      false to true it is a resource";
        assert!(message.starts_with(begins), "{message}");
    });
}

#[test]
fn chart_sweep_a_service_account_beside_its_job() {
    let account = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: m\n  {{- if .Values.asHook }}\n  \
                   annotations: {helm.sh/hook: pre-install}\n  {{- end }}\n";
    let both = [&job("m", ".Values.asHook"), account].concat();
    assert_flips(
        "account",
        &[("values.yaml", "asHook: false\n"), ("templates/job.yaml", &both)],
        &["ServiceAccount/m: asHook false > true", "Job/m: asHook false > true"],
    );
}
