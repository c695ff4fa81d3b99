//! Releases as Helm stores them, and a `kubectl` of ours that reads them from files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use helm::record::ApplyMethod;
use helm::write::Revision;
use serde_json::{Value, json};
use stable_hooks::render::Render;

use crate::helms::{command, folder, path_with_script};

/// Nothing in a report or an error may say it.
pub(super) const CANARY: &str = "correct-Horse-canary";

/// A chart as a record holds it.
pub(super) fn chart(name: &str, templates: &[(&str, &str)]) -> Value {
    let file = |(name, text): &(&str, &str)| json!({"name": name, "data": STANDARD.encode(text)});
    json!({
        "metadata": {"apiVersion": "v2", "name": name, "version": "0.1.0"}, "lock": null, "schema": null,
        "templates": templates.iter().map(file).collect::<Vec<_>>(),
        "values": {}, "files": [{"name": "README.md", "data": STANDARD.encode("read me")}],
    })
}

/// A Job that is a hook where the condition holds.
pub(super) fn job(condition: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{{{ .Release.Name }}}}-migrations\n  labels: {{stable-hooks/migration: \"true\"}}\n  {{{{- if {condition} }}}}\n  \
         annotations:\n    helm.sh/hook: post-install,pre-upgrade\n    helm.sh/hook-delete-policy: before-hook-creation\n  \
         {{{{- end }}}}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n        - {{name: migrate, \
         image: registry.example/orders}}\n"
    )
}

/// What Helm installed of such a Job.
pub(super) fn installed_job(release: &str, template: &str, is_hook: bool) -> String {
    let annotations = "  annotations:\n    helm.sh/hook: post-install,pre-upgrade\n    helm.sh/hook-delete-policy: \
                       before-hook-creation\n";
    let annotations = if is_hook { annotations } else { "" };
    format!(
        "---\n# Source: {template}\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {release}-migrations\n  labels: {{stable-hooks/migration: \"true\"}}\n{annotations}spec:\n  \
         template:\n    spec:\n      restartPolicy: Never\n      containers:\n        - {{name: migrate, image: \
         registry.example/orders}}\n"
    )
}

/// One release in the cluster.
pub(super) struct Release<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) chart: Value,
    pub(super) installed: String,
}

impl Release<'_> {
    /// The release's JSON in its only record.
    pub(super) fn json(&self) -> Value {
        let (render, templates) = (Render::read(self.installed.as_bytes()), std::collections::BTreeMap::new());
        let (name, namespace, apply_method) = (self.name, self.namespace, ApplyMethod::ClientSide);
        let (render, templates) = (&render, &templates);
        let revision = Revision {
            name,
            namespace,
            version: 1,
            status: "deployed",
            chart: render.chart(),
            documents: &render.documents,
            templates,
            apply_method,
            dropped_hooks: None,
        };
        let mut json = revision.record();
        json["chart"] = self.chart.clone();
        json["config"] = json!({"password": CANARY});
        json
    }
}

/// What the `kubectl` of ours knows.
pub(super) struct Cluster {
    folder: PathBuf,
    /// The folder in which it is.
    pub(super) kubectl: PathBuf,
}

impl Cluster {
    pub(super) fn new(name: &str) -> Self {
        let folder = folder(&format!("forecast-{name}"));
        let here = folder.display();
        // As the real one: a table of one namespace does not name it, and a selector selects.
        let script = format!(
            "echo \"$@\" >>{here}/called\nname=.\ncase \"$*\" in\n*,name=*) name=${{*#*,name=}} name=\"\\.v1\\.${{name%% *}}\\.v\" ;;\nesac\n\
             case \"$*\" in\n\
             'get secrets -n '*|'get configmaps -n '*) exec /bin/sed -n \"/$name/s/^$4 *//p\" {here}/$2 ;;\n\
             'get secrets -A '*|'get configmaps -A '*) exec /bin/sed -n \"/$name/p\" {here}/$2 ;;\n\
             'get '*) exec /bin/cat \"{here}/$2.$5.$3.json\" ;;\n\
             'version '*) echo '{{\"serverVersion\": {{\"gitVersion\": \"v1.36.3\"}}}}' ;;\n\
             'api-versions') echo batch/v1 ;;\n\
             'api-resources '*) echo 'jobs batch/v1 true Job' ;;\n\
             'config '*) printf shop ;;\nesac"
        );
        let kubectl = path_with_script(&format!("forecast-{name}-kubectl"), "kubectl", &script);
        fs::write(folder.join("secrets"), "").unwrap();
        fs::write(folder.join("configmaps"), "").unwrap();
        Self { folder, kubectl }
    }

    pub(super) fn with(self, release: &Release<'_>) -> Self {
        self.with_json(release.namespace, release.name, &release.json())
    }

    /// A release in a Secret, whatever its JSON is.
    pub(super) fn with_json(self, namespace: &str, name: &str, json: &Value) -> Self {
        let data = STANDARD.encode(STANDARD.encode(json.to_string()));
        self.with_data(namespace, name, &data)
    }

    pub(super) fn with_data(self, namespace: &str, name: &str, data: &str) -> Self {
        self.stored("Secret", namespace, name, data)
    }

    pub(super) fn with_config_map(self, release: &Release<'_>) -> Self {
        self.stored("ConfigMap", release.namespace, release.name, &STANDARD.encode(release.json().to_string()))
    }

    fn stored(self, kind: &str, namespace: &str, name: &str, data: &str) -> Self {
        let record = format!("sh.helm.release.v1.{name}.v1");
        let object = json!({
            "apiVersion": "v1", "kind": kind, "type": "helm.sh/release.v1",
            "metadata": {
                "name": record, "namespace": namespace,
                "labels": {"owner": "helm", "name": name, "version": "1", "status": "deployed"},
            },
            "data": {"release": data},
        });
        let kind = kind.to_lowercase();
        self.write(&format!("{kind}.{namespace}.{record}.json"), &object.to_string());
        self.listed(&format!("{kind}s"), &format!("{namespace}   {record}   1     3d    deployed\n"))
    }

    /// A line more in the table of that kind.
    pub(super) fn listed(self, table: &str, line: &str) -> Self {
        let listed = fs::read_to_string(self.folder.join(table)).unwrap();
        self.write(table, &(listed + line));
        self
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).unwrap();
    }

    /// How `kubectl` was called, a line each.
    pub(super) fn called(&self) -> String {
        fs::read_to_string(self.folder.join("called")).unwrap()
    }

    /// A folder for temporary ones.
    pub(super) fn temporary(&self) -> PathBuf {
        let folder = self.folder.join("temporary");
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// The verb, with this `kubectl` and the Helm in that folder.
    pub(super) fn forecast(&self, helm: &Path, arguments: &[&str]) -> Command {
        let mut command = command(env!("CARGO_BIN_EXE_stable-hooks"), &[&self.kubectl, helm]);
        command.arg("forecast").args(arguments).env("TMPDIR", self.temporary());
        command
    }
}
