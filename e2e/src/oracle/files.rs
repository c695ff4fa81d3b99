//! A pair as files and command lines.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::pair::{Feature, Kind, Layout, Object, Operation, Pair, Setting, Step, Stored, Via, Way};

pub const RELEASE: &str = "orders";

/// Long enough for a hook on a busy machine.
const TIMEOUT: &str = "15s";

/// The files of one of the versions: paths in the chart's folder, and what they hold.
#[must_use]
pub fn files(pair: &Pair, version: usize) -> Vec<(String, String)> {
    let Some(chart) = pair.charts.get(version) else { return Vec::new() };
    let number = version + 1;
    let mut files = vec![
        ("Chart.yaml".to_owned(), format!("apiVersion: v2\nname: orders\nversion: {number}.0.0\n")),
        ("values.yaml".to_owned(), format!("{:#}\n", json!({"global": chart.values}))),
    ];
    files.push(("templates/config.yaml".to_owned(), config(pair.is_alone)));
    match pair.layout {
        Layout::Chart => {}
        Layout::Subchart => {
            files
                .push(("charts/jobs/Chart.yaml".to_owned(), "apiVersion: v2\nname: jobs\nversion: 1.0.0\n".to_owned()));
        }
        Layout::Library => files.push((
            "charts/helpers/Chart.yaml".to_owned(),
            "apiVersion: v2\nname: helpers\nversion: 1.0.0\ntype: library\n".to_owned(),
        )),
    }
    for (index, object) in chart.objects.iter().enumerate() {
        let text = template(object);
        match pair.layout {
            Layout::Chart => files.push((format!("templates/o{index}.yaml"), text)),
            Layout::Subchart => files.push((format!("charts/jobs/templates/o{index}.yaml"), text)),
            Layout::Library => {
                let helper = format!("{{{{- define \"helpers.o{index}\" }}}}\n{text}{{{{- end }}}}\n");
                files.push((format!("charts/helpers/templates/_o{index}.tpl"), helper));
                files.push((format!("templates/o{index}.yaml"), format!("{{{{ include \"helpers.o{index}\" . }}}}\n")));
            }
        }
    }
    files
}

/// An object that is always plain, and one that the API server refuses where an upgrade shall fail.
fn config(is_alone: bool) -> String {
    let refused =
        "{{- if .Values.global.fail }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: Not_A_Name\n{{- end }}\n";
    let plain =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: orders\ndata:\n  image: {{ .Values.global.image }}\n---\n";
    if is_alone { refused.to_owned() } else { format!("{plain}{refused}") }
}

fn template(object: &Object) -> String {
    let mut lines = Vec::new();
    let only = [
        (Feature::OnlyOnInstall, ".Release.IsInstall"),
        (Feature::OnlyOnUpgrade, ".Release.IsUpgrade"),
        (Feature::OnlyWithValue, ".Values.global.present"),
    ];
    let conditions: Vec<_> =
        only.iter().filter(|(feature, _)| object.has(*feature)).map(|(_, condition)| *condition).collect();
    lines.extend(conditions.iter().map(|condition| format!("{{{{- if {condition} }}}}")));
    let own = manifest(object);
    if object.has(Feature::InList) || object.has(Feature::InHookList) {
        lines.extend(["apiVersion: v1".to_owned(), "kind: List".to_owned()]);
        if object.has(Feature::InHookList) {
            lines.push("metadata:".to_owned());
            lines.extend(annotations(object, "  "));
        }
        lines.push("items:".to_owned());
        let item = own.into_iter().enumerate().map(|(number, line)| {
            let indent = if number == 0 { "  - " } else { "    " };
            format!("{indent}{line}")
        });
        lines.extend(item);
    } else {
        lines.extend(own);
    }
    lines.extend(conditions.iter().map(|_| "{{- end }}".to_owned()));
    lines.join("\n") + "\n"
}

fn manifest(object: &Object) -> Vec<String> {
    let api_version = if object.kind == Kind::Job { "batch/v1" } else { "v1" };
    let mut lines = vec![
        format!("apiVersion: {api_version}"),
        format!("kind: {}", object.kind.name()),
        "metadata:".to_owned(),
        if object.has(Feature::GenerateName) {
            format!("  generateName: {}-", object.name)
        } else {
            format!("  name: {}", object.name)
        },
    ];
    // Of a migration more is denied than of other objects.
    lines.extend(["  labels:".to_owned(), "    app.kubernetes.io/component: migrations".to_owned()]);
    if object.has(Feature::Namespace) {
        lines.push("  namespace: {{ .Release.Namespace }}".to_owned());
    }
    if object.has(Feature::InHookList) {
        lines.extend(["  annotations:".to_owned(), "    team: orders".to_owned()]);
    } else {
        lines.extend(annotations(object, "  "));
    }
    if object.kind == Kind::Job {
        lines.extend(spec(object));
    }
    lines
}

fn spec(object: &Object) -> Vec<String> {
    let mut lines = vec!["spec:".to_owned(), "  backoffLimit: 0".to_owned()];
    if object.has(Feature::Ttl) {
        lines.push("  ttlSecondsAfterFinished: 1".to_owned());
    }
    lines.extend(["  template:", "    spec:", "      restartPolicy: Never"].map(str::to_owned));
    for feature in &object.features {
        if let Feature::Account(name) = feature {
            lines.push(format!("      serviceAccountName: {name}"));
        }
    }
    let image = if object.has(Feature::ImageOfValues) {
        "{{ .Values.global.image }}"
    } else if object.has(Feature::OtherImage) {
        "orders:2"
    } else {
        "orders:1"
    };
    lines.extend([
        "      containers:".to_owned(),
        "        - name: migrate".to_owned(),
        format!("          image: {image}"),
    ]);
    lines
}

fn annotations(object: &Object, indent: &str) -> Vec<String> {
    let mut lines = vec![format!("{indent}annotations:"), format!("{indent}  team: orders")];
    let mut hook = Vec::new();
    let depth = if object.has(Feature::InList) { 8 } else { indent.len() + 2 };
    let events = |events: &str| format!("{indent}  helm.sh/hook: {}", json!(events));
    let (before, own, after) = match object.way {
        Way::Plain => (None, None, None),
        Way::Hook => (None, Some(events(object.events)), None),
        Way::If(condition) => (
            Some(format!("{indent}  {{{{- if {condition} }}}}")),
            Some(events(object.events)),
            Some(format!("{indent}  {{{{- end }}}}")),
        ),
        Way::Ternary(on_upgrade) => {
            let on_install = object.events;
            let choice = format!("{{{{ ternary \"{on_install}\" \"{on_upgrade}\" .Release.IsInstall | quote }}}}");
            (None, Some(format!("{indent}  helm.sh/hook: {choice}")), None)
        }
        Way::Annotations => {
            let block =
                format!("{{{{- with .Values.global.annotations }}}}{{{{ toYaml . | nindent {depth} }}}}{{{{- end }}}}");
            (None, Some(format!("{indent}  {block}")), None)
        }
        Way::Tpl => {
            let block = format!("{{{{- tpl .Values.global.block . | nindent {depth} }}}}");
            (None, Some(format!("{indent}  {block}")), None)
        }
        Way::Events => (None, Some(format!("{indent}  helm.sh/hook: {{{{ .Values.global.events | quote }}}}")), None),
    };
    hook.extend(before);
    hook.extend(own);
    for feature in &object.features {
        match feature {
            Feature::DeletePolicy(policy) => {
                hook.push(format!("{indent}  helm.sh/hook-delete-policy: {}", json!(policy)));
            }
            Feature::Weight(weight) => hook.push(format!("{indent}  helm.sh/hook-weight: {}", json!(weight))),
            _ => {}
        }
    }
    hook.extend(after);
    lines.extend(hook);
    if object.has(Feature::Kept) {
        lines.push(format!("{indent}  helm.sh/resource-policy: keep"));
    }
    lines
}

impl Setting {
    /// As Helm reads it from the command line.
    #[must_use]
    pub fn read(&self) -> Value {
        match (self.via, &self.value) {
            (Via::SetString, value) if !value.is_string() => json!(value.to_string()),
            // `--set image=` is an empty text, and so is everything that is no other scalar.
            (_, value) => value.clone(),
        }
    }

    fn flag(&self) -> Option<[String; 2]> {
        let text = |value: &Value| match value {
            Value::String(text) => text.replace(',', "\\,"),
            other => other.to_string(),
        };
        let (key, value) = (self.key, &self.value);
        match self.via {
            Via::File => None,
            Via::Set => Some(["--set".to_owned(), format!("global.{key}={}", text(value))]),
            Via::SetString => Some(["--set-string".to_owned(), format!("global.{key}={}", text(value))]),
            Via::SetJson => Some(["--set-json".to_owned(), format!("global.{key}={value}")]),
        }
    }
}

impl Step {
    /// What goes into the file that `-f` names, if there is one.
    #[must_use]
    pub fn values_file(&self) -> Option<String> {
        let own: serde_json::Map<_, _> = self
            .settings
            .iter()
            .filter(|setting| setting.via == Via::File)
            .map(|setting| (setting.key.to_owned(), setting.value.clone()))
            .collect();
        (!own.is_empty()).then(|| format!("{:#}\n", json!({"global": own})))
    }

    /// The flags of values, in the order in which they are given.
    #[must_use]
    pub fn value_flags(&self, file: &str) -> Vec<[String; 2]> {
        let file = self.values_file().map(|_| ["-f".to_owned(), file.to_owned()]);
        file.into_iter().chain(self.settings.iter().filter_map(Setting::flag)).collect()
    }

    #[must_use]
    pub fn stored_flag(&self) -> Option<&'static str> {
        match self.stored {
            Stored::ByDefault => None,
            Stored::Reuse => Some("--reuse-values"),
            Stored::Reset => Some("--reset-values"),
            Stored::ResetThenReuse => Some("--reset-then-reuse-values"),
        }
    }

    /// Helm's arguments; `folder` has the two charts and the files of values.
    #[must_use]
    pub fn arguments(&self, folder: &str, number: usize) -> Vec<String> {
        let chart = format!("{folder}/v{}", self.chart + 1);
        let words: &[&str] = match self.operation {
            Operation::Install => &["install", RELEASE, &chart],
            Operation::Upgrade => &["upgrade", RELEASE, &chart],
            Operation::FailingUpgrade => &["upgrade", RELEASE, &chart, "--set", "global.fail=true"],
            Operation::Uninstall => &["uninstall", RELEASE, "--keep-history"],
            Operation::Replace => &["install", RELEASE, &chart, "--replace"],
            Operation::Rollback => &["rollback", RELEASE, "1"],
        };
        let mut arguments: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        arguments.extend(self.value_flags(&format!("{folder}/values-{number}.yaml")).concat());
        arguments.extend(self.stored_flag().map(str::to_owned));
        arguments.extend(["--timeout", TIMEOUT].map(str::to_owned));
        arguments
    }
}

/// The whole pair as text: every file that is not always the same.
#[must_use]
pub fn shown(pair: &Pair) -> String {
    let mut text = String::new();
    let [first, second] = [files(pair, 0), files(pair, 1)];
    let versions = if first.iter().zip(&second).skip(1).all(|(one, other)| one == other) && first.len() == second.len()
    {
        vec![("v1 (and v2)", first)]
    } else {
        vec![("v1", first), ("v2", second)]
    };
    for (version, files) in versions {
        for (path, content) in files {
            let _ = write!(text, "--- {version}/{path}\n{content}");
        }
    }
    for (number, step) in pair.steps.iter().enumerate() {
        if let Some(content) = step.values_file() {
            let _ = write!(text, "--- values-{number}.yaml\n{content}");
        }
    }
    text
}
