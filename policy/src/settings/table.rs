//! The meaning of each setting, for tables and forms.

use serde_json::{Value, json};

use super::parsed::Settings;
use super::words::{BaselineSource, Scope, Strictness, WeightMode};

/// One setting.
pub struct Setting {
    /// Dotted, as in error messages; `<rule>` stands for a rule's name.
    pub path: &'static str,
    /// Its value in settings; `None` for those of rules, each of which has its own.
    value: Option<fn(&Settings) -> Value>,
    pub help: &'static str,
    pub form: Form,
    pub obeyed_by: Obeyed,
}

impl Setting {
    /// The default, if it is one value.
    pub fn default(&self) -> Option<Value> {
        self.value.map(|value| value(&Settings::default()))
    }
}

/// How a form asks for a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One of the rule's levels, for each rule.
    Levels,
    Selectors,
    Texts,
    Text,
    Boolean,
    Integer,
    Choice(&'static [&'static str]),
}

/// The policies that do anything with a setting; both take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obeyed {
    ByBoth,
    ByObjects,
    ByReleases,
}

/// All settings, in the order in which problems are reported.
pub const SETTINGS: &[Setting] = &[
    Setting {
        path: "rules.<rule>",
        value: None,
        help: "the rule's level: off, warn, deny, and for some fix",
        form: Form::Levels,
        obeyed_by: Obeyed::ByBoth,
    },
    Setting {
        path: "selectors",
        value: Some(|settings| json!(settings.selectors)),
        help: "Kubernetes LabelSelectors; an object that one of them matches is a migration, `[{}]` matches all",
        form: Form::Selectors,
        obeyed_by: Obeyed::ByBoth,
    },
    Setting {
        path: "migrationLabels.keys",
        value: Some(|settings| json!(settings.migration_labels.keys)),
        help: "labels whose value says what an object is",
        form: Form::Texts,
        obeyed_by: Obeyed::ByBoth,
    },
    Setting {
        path: "migrationLabels.words",
        value: Some(|settings| json!(settings.migration_labels.words)),
        help: "an object is a migration when the value of one of these labels, split at everything that is no letter or digit, has one of these words",
        form: Form::Texts,
        obeyed_by: Obeyed::ByBoth,
    },
    Setting {
        path: "events.complete",
        value: Some(|settings| json!(settings.events.complete)),
        help: "`hook-events` adds the missing install or upgrade event; false: it only spells",
        form: Form::Boolean,
        obeyed_by: Obeyed::ByObjects,
    },
    Setting {
        path: "deletePolicy",
        value: Some(|settings| json!(settings.delete_policy.to_string())),
        help: "the normal form of `helm.sh/hook-delete-policy`; several policies separated by commas",
        form: Form::Text,
        obeyed_by: Obeyed::ByObjects,
    },
    Setting {
        path: "weights.job",
        value: Some(|settings| json!(settings.weights.job)),
        help: "the weight of a Job that has none",
        form: Form::Integer,
        obeyed_by: Obeyed::ByObjects,
    },
    Setting {
        path: "weights.serviceAccount",
        value: Some(|settings| json!(settings.weights.service_account)),
        help: "the weight of a ServiceAccount that has none",
        form: Form::Integer,
        obeyed_by: Obeyed::ByObjects,
    },
    Setting {
        path: "weights.mode",
        value: Some(|settings| json!(settings.weights.mode.word())),
        help: "keep: a weight that Helm can read stays; enforce: it becomes the weight above",
        form: Form::Choice(WeightMode::WORDS),
        obeyed_by: Obeyed::ByObjects,
    },
    Setting {
        path: "jobTtlSeconds",
        value: Some(|settings| json!(settings.job_ttl_seconds)),
        help: "the least `ttlSecondsAfterFinished` of a hook Job, in seconds",
        form: Form::Integer,
        obeyed_by: Obeyed::ByObjects,
    },
    Setting {
        path: "mutate",
        value: Some(|settings| json!(settings.mutate)),
        help: "false: never a patch; `fix` then acts as `warn`",
        form: Form::Boolean,
        obeyed_by: Obeyed::ByObjects,
    },
    Setting {
        path: "namespaces.ignore",
        value: Some(|settings| json!(settings.namespaces.ignore)),
        help: "names of namespaces whose objects are always allowed",
        form: Form::Texts,
        obeyed_by: Obeyed::ByBoth,
    },
    Setting {
        path: "releases.scope",
        value: Some(|settings| json!(settings.releases.scope.word())),
        help: "whose flip is denied in a release record: every Job and ServiceAccount; selected: only selected ones, the others are warned about; all: every kind",
        form: Form::Choice(Scope::WORDS),
        obeyed_by: Obeyed::ByReleases,
    },
    Setting {
        path: "releases.rollback",
        value: Some(|settings| json!(settings.releases.rollback.word())),
        help: "deny: a rollback can be denied too; it may be the only way out",
        form: Form::Choice(Strictness::WORDS),
        obeyed_by: Obeyed::ByReleases,
    },
    Setting {
        path: "releases.baseline",
        value: Some(|settings| json!(settings.releases.baseline.word())),
        help: "what a record is compared with: the live objects that it names; record: the record of the release's last good revision too, which needs the right to read it",
        form: Form::Choice(BaselineSource::WORDS),
        obeyed_by: Obeyed::ByReleases,
    },
    Setting {
        path: "releases.accept",
        value: Some(|settings| json!(settings.releases.accept)),
        help: "revisions that pass with warnings, each once: `namespace/name@revision`, the namespace being the one in which the release's records are stored; `namespace/name@revision:rule,rule` only for these rules",
        form: Form::Texts,
        obeyed_by: Obeyed::ByReleases,
    },
    Setting {
        path: "releases.acceptLabel",
        value: Some(|settings| json!(settings.releases.accept_label)),
        help: "the label `stable-hooks/accept-<rule>: \"<revision>\"` on a record lets that rule's findings of that revision pass with warnings, of every rule but `foreign-takeover`",
        form: Form::Boolean,
        obeyed_by: Obeyed::ByReleases,
    },
    Setting {
        path: "releases.undecodable",
        value: Some(|settings| json!(settings.releases.undecodable.word())),
        help: "a release record that cannot be read: allowed with a warning, or denied",
        form: Form::Choice(Strictness::WORDS),
        obeyed_by: Obeyed::ByReleases,
    },
    Setting {
        path: "releases.onLookupFailure",
        value: Some(|settings| json!(settings.releases.on_lookup_failure.word())),
        help: "a lookup that fails: what could not be checked is warned about, or the record is denied",
        form: Form::Choice(Strictness::WORDS),
        obeyed_by: Obeyed::ByReleases,
    },
    Setting {
        path: "releases.limits.lookups",
        value: Some(|settings| json!(settings.releases.limits.lookups)),
        help: "objects that are looked up for one record",
        form: Form::Integer,
        obeyed_by: Obeyed::ByReleases,
    },
    Setting {
        path: "releases.limits.revisions",
        value: Some(|settings| json!(settings.releases.limits.revisions)),
        help: "older revisions that are looked at to find the baseline record",
        form: Form::Integer,
        obeyed_by: Obeyed::ByReleases,
    },
    Setting {
        path: "releases.limits.inflatedBytes",
        value: Some(|settings| json!(settings.releases.limits.inflated_bytes)),
        help: "size of an inflated record, in bytes",
        form: Form::Integer,
        obeyed_by: Obeyed::ByReleases,
    },
    Setting {
        path: "releases.limits.documents",
        value: Some(|settings| json!(settings.releases.limits.documents)),
        help: "documents in a record's manifest",
        form: Form::Integer,
        obeyed_by: Obeyed::ByReleases,
    },
];

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Form, SETTINGS, Settings};
    use crate::testing::test;

    /// `{"a": {"b": value}}` for the path `a.b`.
    fn at(path: &str, value: Value) -> Value {
        path.rsplit('.').fold(value, |value, name| json!({ name: value }))
    }

    #[test]
    fn every_documented_default_is_taken_for_the_default() {
        for setting in SETTINGS.iter().skip(1) {
            let value = setting.default().unwrap();
            assert_eq!(Settings::parse(&at(setting.path, value)).unwrap(), Settings::default(), "{}", setting.path);
        }
    }

    #[test]
    fn every_field_is_documented() {
        let unknown = |path: &str| Settings::parse(&at(path, json!(1))).unwrap_err().to_string();
        let documented = |prefix: &str| {
            let paths = SETTINGS.iter().filter_map(|setting| setting.path.strip_prefix(prefix));
            let mut names: Vec<_> = paths.map(|path| path.split('.').next().unwrap_or(path)).collect();
            names.dedup();
            format!("expected one of {}", names.join(", "))
        };
        for prefix in ["", "migrationLabels.", "events.", "weights.", "namespaces.", "releases.", "releases.limits."] {
            let error = unknown(&format!("{prefix}nonsense"));
            assert!(error.ends_with(&documented(prefix)), "{error}");
        }
    }

    #[test]
    fn every_form_asks_for_what_is_taken() {
        let levels = json!({"identity-flip": "deny"});
        for setting in SETTINGS {
            let (good, bad) = match setting.form {
                Form::Levels => (vec![json!("deny")], json!("fix")),
                Form::Selectors => (vec![json!([]), json!([{"matchLabels": {"a": "b"}}])], levels.clone()),
                Form::Texts => (vec![json!([])], json!("a")),
                Form::Text => (vec![json!("hook-failed")], json!(1)),
                Form::Boolean => (vec![json!(true), json!(false)], json!("true")),
                Form::Integer => (vec![json!(0), json!(7)], json!("7")),
                Form::Choice(words) => (words.iter().map(|word| json!(word)).collect(), json!("other")),
            };
            let path = setting.path.replace("<rule>", "identity-flip");
            for good in good {
                assert!(Settings::parse(&at(&path, good.clone())).is_ok(), "{path} does not take {good}");
            }
            let error = Settings::parse(&at(&path, bad)).unwrap_err().to_string();
            if let Form::Choice(words) = setting.form {
                let (last, others) = words.split_last().unwrap();
                assert!(error.contains(&format!("expected {} or {last},", others.join(", "))), "{error}");
            }
        }
    }
}
