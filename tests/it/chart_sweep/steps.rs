//! Values that matter only beside others, and how few renders it takes to find them.

use std::fmt::Write;

use super::{chart, flips, job, messages, sweep, title};
use crate::chart_many::with_each;
use crate::cli::{code, stderr};

/// How many renders the output tells of.
fn renders(title: &str) -> usize {
    let (_, rest) = title.split_once("tried in ").unwrap_or_else(|| panic!("{title}"));
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

/// Exactly these flips are found, in no more than that many renders.
fn assert_within(name: &str, (values, templates): (&str, &str), most: usize, expected: &[&str]) {
    let chart = chart(name, &[("values.yaml", values), ("templates/jobs.yaml", templates)]);
    with_each(&format!("sweep-{name}-path"), |path| {
        let output = sweep(path, &chart, &["-o", "json"]);
        let [mut told, mut expected] = [flips(&output), expected.iter().map(|row| (*row).to_owned()).collect()];
        told.sort();
        expected.sort();
        assert_eq!((code(&output), told), (0, expected), "{name}: {}", stderr(&output));
        let title = title(&sweep(path, &chart, &[]));
        assert!(renders(&title) <= most, "{name}: {title}");
    });
}

#[test]
fn chart_sweep_independent_jobs_are_not_tried_in_every_combination() {
    let (mut values, mut templates) = (String::new(), String::new());
    for name in ["a", "b", "c"] {
        writeln!(values, "{name}: {{enabled: false, asHook: false}}").unwrap();
        let job = job(name, &format!(".Values.{name}.asHook"));
        write!(templates, "{{{{- if .Values.{name}.enabled }}}}\n{job}\n{{{{- end }}}}\n").unwrap();
    }
    let expected = ["a", "b", "c"].map(|name| format!("Job/{name}: {name}.asHook false > true"));
    assert_within("independent", (&values, &templates), 24, &expected.each_ref().map(String::as_str));
}

#[test]
fn chart_sweep_what_changes_nothing_beside_a_switch_is_tried_at_once() {
    let texts = ["b", "c", "d", "e", "f", "g", "h", "i"];
    let values = texts.map(|name| format!("{name}: job\n")).concat();
    let asked = texts.map(|name| format!("(eq .Values.{name} \"hook\")")).join(" ");
    // All of them are asked for, and one decides.
    let of_job = job("m", &format!("and (eq .Values.e \"hook\") (or true {asked})"));
    let templates = format!("{{{{- if .Values.enabled }}}}\n{of_job}\n{{{{- end }}}}\n");
    let values = format!("enabled: false\n{values}");
    // One for the switch, two for each text, and then not as many again: "hook" and "" of all, and halves of the first.
    assert_within("at-once", (&values, &templates), 17 + 9, &["Job/m: e \"job\" > \"hook\""]);
}

#[test]
fn chart_sweep_two_switches_that_only_together_make_a_hook() {
    let values = "job: {a: false, b: false, c: false, d: false}\n";
    let template = job("m", "or (and .Values.job.b .Values.job.d) (and .Values.job.a .Values.job.c false)");
    assert_within("together", (values, &template), 12, &["Job/m: job.d false > true"]);
    let chart = chart("together-says", &[("values.yaml", values), ("templates/job.yaml", &template)]);
    with_each("sweep-together-says-path", |path| {
        let message = &messages(&sweep(path, &chart, &["-o", "json"]))[0];
        let begins = "flips, where `job.b` is true, when an upgrade changes the value `job.d` from false to true";
        assert!(message.starts_with(begins), "{message}");
    });
}

#[test]
fn chart_sweep_two_switches_bring_a_job_that_a_third_value_flips() {
    let of_job = job("m", ".Values.asHook");
    let template = format!("{{{{- if and .Values.enabled .Values.too }}}}\n{of_job}\n{{{{- end }}}}\n");
    // One of them may be a value that nobody has set.
    for (name, values) in
        [("two-bring", "enabled: false\ntoo: false\nasHook: false\n"), ("unset", "too: false\nasHook: false\n")]
    {
        assert_within(name, (values, &template), 12, &["Job/m: asHook false > true"]);
    }
}

#[test]
fn chart_sweep_does_not_try_what_a_schema_refuses() {
    let template = job("m", "eq .Values.mode \"hook\"");
    let schema = r#"{"properties": {"mode": {"type": "string", "enum": ["hook", "job"]}}}"#;
    let files = [("values.yaml", "mode: job\n"), ("values.schema.json", schema), ("templates/job.yaml", &*template)];
    let chart = chart("schema-text", &files);
    with_each("sweep-schema-text-path", |path| {
        let output = sweep(path, &chart, &["-o", "json"]);
        assert_eq!(
            (flips(&output), stderr(&output)),
            (vec!["Job/m: mode \"job\" > \"hook\"".to_owned()], String::new())
        );
        assert_eq!(renders(&title(&sweep(path, &chart, &[]))), 1);
    });
}
