//! Helm's words about a chart that it cannot render, without the values that it quotes.

use std::collections::BTreeSet;

use serde_json::Value;

/// Stands in the place of every word that could be a part of a value.
const HIDDEN: &str = "***";

/// The words with which Helm, Go's templates, YAML and JSON schemas say what went wrong, whatever the values are.
const OWN_WORDS: &str = "\
    a additionalproperties after allowed an and annotations anchor are arg args argument arguments array associated at bad \
    be been block body boolean build but by calling can cannot character characters chart charts checking collection column comparison \
    compare constraint context control convert converting could decimal decode decoding defined dependencies did directory \
    document does don duplicate element else empty end eof error escape evaluate evaluating exceeded executing execution \
    expected expression failed fetch field fields file find flow following for found func function get go got gotpl greater \
    handle has have helm if improper in include incompatible incompatibletypes index installable int integer interface \
    into invalid is items json key keys kind kubernetes kubeversion least length less library line list lookup map mapping \
    match maximum maxitems maxlength may meet metadata minimum minitems minlength missing more most must need nil no not null \
    number object occurred of on one only operator or out parameter parse parsing pattern pointer properties property range release \
    render rendering requires required run s scalar schema schemas sequence set slice specifications start string struct \
    syntax t tab template templates than that the this to token too tpl type types unable unclosed undefined unexpected \
    unknown unmarshal unmarshaling unsupported unterminated validation value values variable version want was were \
    which while with wrong yaml you";

/// More is not read at a prompt. An error begins with its place and ends with its cause.
const FIRST_WORDS: usize = 60;
const LAST_WORDS: usize = 40;

/// Helm's error in one line. A word is shown if the chart's own texts or Helm itself have it and no value has it; `***`
/// stands in the place of the others, so that neither a value is shown nor what a template has made of one.
///
/// `texts` are the chart's templates, each path being one, too; `values` are those of the release, as JSON.
#[must_use]
pub fn without_values(said: &str, texts: &[&str], values: Option<&str>) -> String {
    let mut of_values = OfValues::default();
    let values: Value = values.and_then(|values| serde_json::from_str(values).ok()).unwrap_or_default();
    of_values.collect(&values);
    let longest = texts.iter().map(|text| text.lines().count()).max().unwrap_or_default();
    let of_chart: BTreeSet<_> = texts.iter().copied().flat_map(words).collect();
    let of_helm: BTreeSet<_> = OWN_WORDS.split_whitespace().collect();
    let is_known = |word: &str| {
        let lower = word.to_lowercase();
        (of_chart.contains(word) || of_helm.contains(lower.as_str())) && !of_values.words.contains(&lower)
    };
    // A number that a value has may still be a line, if there is such a line.
    let is_line = |text: &str| {
        let number = text.parse::<usize>();
        number.is_ok_and(|number| number <= longest || !of_values.words.contains(text))
    };
    let mut shown: Vec<&str> = Vec::new();
    for piece in error_of(said).split_whitespace() {
        let last = shown.last().copied().unwrap_or_default();
        let is_mark = words(piece).next().is_none();
        // Helm quotes a character of a text that it cannot read.
        let quotes = last == "character" || (is_mark && last == HIDDEN);
        let says_line = last == "line" && is_line(piece.trim_end_matches([':', ',']));
        let is_place = is_place(piece, texts, is_line);
        let is_shown = says_line || is_place || (words(piece).all(is_known) && !of_values.have_marks_of(piece));
        if !quotes && is_shown {
            shown.push(piece);
        } else if last != HIDDEN {
            shown.push(HIDDEN);
        }
    }
    if shown.len() > FIRST_WORDS + LAST_WORDS {
        shown.splice(FIRST_WORDS..shown.len() - LAST_WORDS, ["…"]);
    }
    shown.join(" ")
}

/// The lines of what Helm said that it has not said before.
#[must_use]
pub fn lines_besides(said: &str, before: &str) -> String {
    let known: BTreeSet<_> = before.lines().collect();
    said.split_inclusive('\n').filter(|line| !known.contains(line.trim_end_matches(['\r', '\n']))).collect()
}

/// The dependencies that Helm misses in a chart's `charts/` folder, as it lists them.
#[must_use]
pub fn missing_dependencies(said: &str) -> Option<&str> {
    let (_, names) = said.rsplit_once("missing in charts/ directory: ")?;
    names.lines().next().map(str::trim)
}

/// The `helm.sh/hook` of each document that Helm says it has left out, because it knows no such event.
#[must_use]
pub fn dropped_hooks(said: &str) -> Vec<String> {
    // Helm 3, then Helm 4.
    let words = ["skipping unknown hook: ", "skipping unknown hooks\" hookTypes="];
    let value =
        |line: &str| words.iter().find_map(|words| Some(line.split_once(words)?.1.trim_matches('"').to_owned()));
    said.lines().filter_map(value).collect()
}

/// The error alone, without the warnings before it and the hint at a flag of `helm`.
#[must_use]
pub fn error_of(said: &str) -> &str {
    let error = said.split_once("Error: ").map_or(said, |(_, error)| error);
    error.split_once("\n\nUse --debug").map_or(error, |(error, _)| error)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The words of the values; their keys are the chart's.
#[derive(Default)]
struct OfValues {
    words: BTreeSet<String>,
    /// The texts between blanks, with all their marks.
    pieces: BTreeSet<String>,
}

impl OfValues {
    fn collect(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => fields.values().for_each(|value| self.collect(value)),
            Value::Array(items) => items.iter().for_each(|value| self.collect(value)),
            Value::String(text) => {
                self.words.extend(words(text).map(str::to_lowercase));
                self.pieces.extend(text.split_whitespace().map(str::to_owned));
            }
            Value::Number(number) => self.words.extend(words(&number.to_string()).map(str::to_owned)),
            Value::Bool(_) | Value::Null => {}
        }
    }

    /// A password can be nothing but marks; a single mark is in every text.
    fn have_marks_of(&self, said: &str) -> bool {
        let is_marks = |text: &str| words(text).next().is_none() && text.chars().nth(1).is_some();
        // Helm puts a text into quotes, and may show only a part of it.
        let bare = said.trim_matches(['.', ',', ':', ';', '"', '\'', '`', '(', ')']);
        let is_of = |piece: &String| {
            (is_marks(piece) && said.contains(piece.as_str())) || (is_marks(bare) && piece.contains(bare))
        };
        self.pieces.iter().any(is_of)
    }
}

/// `(chart/templates/job.yaml:3:14):` of a template of the chart.
fn is_place(piece: &str, texts: &[&str], is_line: impl Fn(&str) -> bool) -> bool {
    let mut parts = piece.trim_matches(['(', ')', ':', '"', ',']).split(':');
    let path = parts.next().and_then(|path| path.split_once('/'));
    path.is_some_and(|(_, path)| texts.contains(&path)) && parts.all(is_line)
}

#[cfg(test)]
mod tests {
    use super::{dropped_hooks, lines_besides, without_values};

    const TEXTS: [&str; 3] = [
        "templates/a.yaml",
        "{{ .Values.db.password }}{{ tpl (printf \"{{ %s\" .Values.x) . }}{{ fail \"it goes out\" }} ^a$",
        "{\"name\":\"bad\",\"kubeVersion\":\">=1.99\"}",
    ];

    const VALUES: &str = r#"{"db": {"password": "correct-Horse-hunter2", "port": 5432, "marks": "$%^&*!# =-="}, "on": true,
        "mode": "fail"}"#;

    fn shown(said: &str) -> String {
        without_values(said, &TEXTS, Some(VALUES))
    }

    #[test]
    fn what_both_helms_say_of_a_document_that_they_drop_is_understood() {
        let helm3 =
            "manifest_sorter.go:199: info: skipping unknown hook: \"pre-install, pre update\"\nwalk.go: found\n";
        let helm4 = "level=INFO msg=\"skipping unknown hooks\" hookTypes=pre-update\nlevel=INFO msg=\"skipping unknown \
                     hooks\" hookTypes=\"\"\n";
        assert_eq!(dropped_hooks(helm3), ["pre-install, pre update"]);
        assert_eq!(dropped_hooks(helm4), ["pre-update", ""]);
        assert_eq!(lines_besides("a\nb\r\nc", "c\na\n"), "b\r\n");
    }

    #[test]
    fn what_says_nothing_of_a_value_is_shown() {
        for said in [
            "parse error at (bad/templates/a.yaml:1): function \"password\" not defined",
            "execution error at (bad/templates/a.yaml:1:3): it goes out",
            "template: bad/templates/a.yaml:1:40: executing \"bad/templates/a.yaml\" at <.Values.db.password>: nil pointer \
             evaluating interface {}.password",
            "YAML parse error on bad/templates/a.yaml: error converting YAML to JSON: yaml: line 5433: did not find \
             expected ',' or ']'",
            "chart requires kubeVersion: >=1.99 which is incompatible with Kubernetes",
            "library charts are not installable",
        ] {
            assert_eq!(shown(&format!("level=WARN\nError: {said}\n\nUse --debug flag")), said);
        }
    }

    #[test]
    fn a_number_that_a_value_has_may_be_a_line_that_there_is() {
        let shown = |said| without_values(said, &TEXTS, Some("{\"replicas\": 1, \"port\": 80}"));
        assert_eq!(shown("at bad/templates/a.yaml:1 line 1"), "at bad/templates/a.yaml:1 line 1");
        assert_eq!(shown("at bad/templates/a.yaml:80 line 80"), "at *** line ***");
    }

    #[test]
    fn of_a_long_story_the_beginning_and_the_end_are_told() {
        let said = shown(&format!("Error: at the start{} it goes out", " of a chart".repeat(100)));
        assert!(said.starts_with("at the start of a chart"), "{said}");
        assert!(said.contains(" … ") && said.ends_with("it goes out"), "{said}");
        assert_eq!(said.split(' ').count(), 101);
    }

    #[test]
    fn no_value_is_shown_nor_what_became_of_it() {
        for (said, expected) in [
            (
                "Error: at (bad/templates/a.yaml:1:3): it Y29ycmVjdA== goes out",
                "at (bad/templates/a.yaml:1:3): it *** goes out",
            ),
            (
                "Error: cannot parse template \"{{ correct-Horse-hunter2\": template",
                "cannot parse template \"{{ *** template",
            ),
            (
                "Error: at '/db/password': 'CORRECT-horse-hunter2' does not match pattern '^a$'",
                "at '/db/password': *** does not match pattern '^a$'",
            ),
            ("Error: yaml: unmarshal `correct...` into int", "yaml: unmarshal *** into int"),
            ("Error: bad character U+002D '-' in template", "bad character *** in template"),
            ("Error: invalid character 'a' after", "invalid character *** after"),
            ("Error: got 5432, want string", "got *** want string"),
            ("Error: it goes FAIL out", "it goes *** out"),
            ("Error: in elsewhere/templates/b.yaml:1", "in ***"),
            ("Error: cannot find line 5432", "cannot find line ***"),
            ("Error: at bad/templates/a.yaml:5432", "at ***"),
            ("Error: the password $%^&*!# is wrong", "the password *** is wrong"),
            ("Error: the password:$%^&*!# is %^&*... wrong", "the *** is *** wrong"),
            ("Error: the password \"=-=\" is wrong", "the password *** is wrong"),
        ] {
            assert_eq!(shown(said), expected);
        }
    }
}
