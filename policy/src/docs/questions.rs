//! The form in which Rancher asks for a policy's settings: Kubewarden's `questions-ui.yml`.

use std::fmt;

use serde_json::Value;

use crate::rule::{Family, RuleId};
use crate::rules;
use crate::settings::{Form, Obeyed, SETTINGS, Setting};

/// The two ways in which the same bytes are annotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    Objects,
    Releases,
}

impl Policy {
    fn obeys(self, setting: &Setting) -> bool {
        match setting.obeyed_by {
            Obeyed::ByBoth => true,
            Obeyed::ByObjects => self == Self::Objects,
            Obeyed::ByReleases => self == Self::Releases,
        }
    }

    fn rules(self) -> impl Iterator<Item = RuleId> {
        let is_obeyed = move |id: &RuleId| match id.family() {
            Family::Identity | Family::Form => self == Self::Objects,
            Family::Release => self == Self::Releases,
            Family::Chart => false,
        };
        RuleId::ALL.iter().copied().filter(is_obeyed)
    }
}

/// All that a policy obeys, asked for in the order of the table of settings.
pub fn questions(policy: Policy) -> String {
    let mut form = "questions:\n".to_owned();
    for setting in SETTINGS.iter().filter(|setting| policy.obeys(setting)) {
        let Setting { path, help, .. } = setting;
        let default = setting.default().unwrap_or_default().to_string();
        let question = |kind, options, more| Question {
            variable: path,
            kind,
            options,
            default: &default,
            group: "Settings",
            tooltip: help,
            more,
        };
        let question = match setting.form {
            Form::Levels => {
                form.extend(policy.rules().map(|id| level(path, id)));
                continue;
            }
            Form::Choice(words) => question("enum", words, ""),
            Form::Text => question("string", &[], ""),
            Form::Texts => question("array[", &[], ""),
            Form::Selectors => question("sequence[", &[], MATCH_LABELS),
            Form::Boolean => question("boolean", &[], ""),
            Form::Integer => question("int", &[], ""),
        };
        form.push_str(&question.to_string());
    }
    form
}

/// The questions about each selector. There is no form for a list in a list.
const MATCH_LABELS: &str = r#"  sequence_questions:
  - variable: "matchLabels"
    type: "map["
    default: {}
    label: "matchLabels"
    group: "Settings"
    tooltip: "labels that an object must all have; matchExpressions can be written as YAML"
"#;

/// The question for a rule's level.
fn level(path: &str, id: RuleId) -> String {
    let levels: Vec<_> = id.levels().iter().map(|level| level.as_str()).collect();
    let question = Question {
        variable: &path.replace("<rule>", id.as_str()),
        kind: "enum",
        options: &levels,
        default: &quoted(id.default_level().as_str()),
        group: "Rules",
        tooltip: rules::summary(id),
        more: "",
    };
    question.to_string()
}

struct Question<'a> {
    variable: &'a str,
    kind: &'a str,
    options: &'a [&'a str],
    /// JSON, which is YAML too.
    default: &'a str,
    group: &'a str,
    tooltip: &'a str,
    /// Further fields, as they are written.
    more: &'a str,
}

impl fmt::Display for Question<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "- variable: {}\n  type: {}", quoted(self.variable), quoted(self.kind))?;
        if !self.options.is_empty() {
            writeln!(
                f,
                "  options: [{}]",
                self.options.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ")
            )?;
        }
        writeln!(
            f,
            "  default: {}\n  label: {}\n  group: {}",
            self.default,
            quoted(self.variable),
            quoted(self.group)
        )?;
        write!(f, "  tooltip: {}\n{}", quoted(self.tooltip), self.more)
    }
}

/// As JSON spells it, so that no word is taken for a boolean.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
