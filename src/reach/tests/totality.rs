//! Whatever a template says, reading it comes to an end.

use proptest::prelude::*;

use super::{decide, files, reach};
use crate::reach::Blind;

#[test]
fn templates_that_include_each_other_come_to_an_end() {
    decide(
        "{{ define \"a\" }}{{ include \"b\" . }}{{ if .Values.x }}helm.sh/hook: test{{ end }}{{ end }}\
         {{ define \"b\" }}{{ include \"a\" (dict \"Values\" .Values \"n\" .) }}{{ end }}{{ include \"a\" . }}",
        &["x"],
    );
}

#[test]
fn templates_that_include_each_other_are_both_read() {
    decide(
        "{{ define \"a\" }}{{ if .n }}{{ include \"b\" (dict \"n\" .n \"x\" .x) }}{{ .x }}{{ end }}{{ end }}\
         {{ define \"b\" }}{{ include \"a\" (dict \"n\" .n \"x\" .x) }}{{ end }}\
         {{ $_ := include \"a\" (dict \"n\" .Values.n \"x\" .Values.x) }}\
         {{ if include \"b\" (dict \"n\" .Values.n \"x\" .Values.x) }}helm.sh/hook: test{{ end }}",
        &["n", "x"],
    );
}

#[test]
fn a_map_that_holds_itself_comes_to_an_end() {
    decide(
        "{{ $x := dict }}{{ range .Values.list }}{{ $_ := set $x . $x }}{{ $x = dict \"x\" $x \"y\" . }}{{ end }}\
         {{ if $x.x.x.y }}helm.sh/hook: test{{ end }}",
        &["list"],
    );
}

#[test]
fn a_long_chain_of_else_is_refused() {
    let template = format!("{{{{ if .Values.a }}}}{}{{{{ end }}}}", "{{ else if .Values.b }}".repeat(30_000));
    let chart = files([("Chart.yaml", "name: shop"), ("templates/job.yaml", &template)]);
    let blind = reach(&chart).blind;
    assert!(matches!(blind.first(), Some(Blind::Unparsed { .. })), "{blind:?}");
    let template = format!("{{{{ if .Values.a }}}}{}{{{{ end }}}}", "{{ else if .Values.b }}".repeat(15_000));
    let chart = files([("Chart.yaml", "name: shop"), ("templates/job.yaml", &template)]);
    assert!(reach(&chart).blind.is_empty());
}

const WORDS: [&str; 44] = [
    "{{",
    "}}",
    "{{-",
    "-}}",
    " ",
    "if",
    "else",
    "end",
    "with",
    "range",
    "define",
    "template",
    "block",
    "include",
    "break",
    "continue",
    "\"a\"",
    "\"b\"",
    "`c`",
    "'d'",
    "$",
    "$x",
    ":=",
    "=",
    ",",
    ".",
    ".Values",
    ".a",
    "(",
    ")",
    "|",
    "dict",
    "set",
    "merge",
    "tpl",
    "1",
    "-0x1p",
    "nil",
    "/*",
    "*/",
    "\n",
    "é",
    "\"\\",
    "helm.sh/hook:",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn soup_comes_to_an_end(words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..60)) {
        for separator in ["", " "] {
            let template = words.join(separator);
            let action = format!("{{{{ {template} }}}}");
            reach(&files([("Chart.yaml", "name: shop"), ("templates/a.yaml", &template), ("templates/b.yaml", &action)]));
        }
    }
}
