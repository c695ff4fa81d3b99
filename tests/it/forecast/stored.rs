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
pub(crate) const CANARY: &str = "correct-Horse-canary";

/// `kubectl get --raw`: the records of that kind, fifty on a page, as the API server lists them.
const PAGES: &str = r#"
url=$3 resource=${3%%\?*} resource=${resource##*/} ns='*' name='*' start=0
case $url in */namespaces/*) ns=${url#*/namespaces/} ns=${ns%%/*} ;; esac
case $url in *name%3D*) name=${url#*name%3D} name=${name%%[&%]*} ;; esac
case $url in *'&continue='*) start=${url##*continue=} ;; esac
case $url in *status%3Ddeployed*'&limit=50'*) ;; *) exit 3 ;; esac
if [ -e HERE/refused.raw ]; then echo 'Error from server (Forbidden): raw' >&2; exit 1; fi
if [ -e HERE/hangs.raw ]; then exec /bin/sleep 30; fi
if [ $start -gt 0 ] && [ -e HERE/expires ]; then
  /bin/rm HERE/expires
  echo 'Error from server (Expired): The provided continue parameter is too old' >&2
  exit 1
fi
number=0 comma= next=
printf '{"items":['
for file in HERE/${resource%s}.$ns.sh.helm.release.v1.$name.v*.json; do
  [ -s "$file" ] || continue
  number=$((number + 1))
  [ $number -gt $start ] || continue
  if [ $number -gt $((start + 50)) ]; then next=$((number - 1)); break; fi
  printf '%s' "$comma"
  /bin/cat "$file"
  comma=,
done
printf '],"metadata":{"continue":"%s"}}' "$next"
"#;

/// A chart as a record holds it.
pub(crate) fn chart(name: &str, templates: &[(&str, &str)]) -> Value {
    let file = |(name, text): &(&str, &str)| json!({"name": name, "data": STANDARD.encode(text)});
    json!({
        "metadata": {"apiVersion": "v2", "name": name, "version": "0.1.0"}, "lock": null, "schema": null,
        "templates": templates.iter().map(file).collect::<Vec<_>>(),
        "values": {}, "files": [{"name": "README.md", "data": STANDARD.encode("read me")}],
    })
}

/// A Job that is a hook where the condition holds.
pub(crate) fn job(condition: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{{{ .Release.Name }}}}-migrations\n  labels: {{stable-hooks/migration: \"true\"}}\n  {{{{- if {condition} }}}}\n  \
         annotations:\n    helm.sh/hook: post-install,pre-upgrade\n    helm.sh/hook-delete-policy: before-hook-creation\n  \
         {{{{- end }}}}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n        - {{name: migrate, \
         image: registry.example/orders}}\n"
    )
}

/// What Helm installed of such a Job.
pub(crate) fn installed_job(release: &str, template: &str, is_hook: bool) -> String {
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
pub(crate) struct Release<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) chart: Value,
    pub(crate) installed: String,
}

impl Release<'_> {
    /// The release's JSON in its only record.
    pub(crate) fn json(&self) -> Value {
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
pub(crate) struct Cluster {
    folder: PathBuf,
    /// The folder in which it is.
    pub(crate) kubectl: PathBuf,
}

impl Cluster {
    pub(crate) fn new(name: &str) -> Self {
        let folder = folder(&format!("forecast-{name}"));
        let here = folder.display();
        let pages = PAGES.replace("HERE", &here.to_string());
        // As the real one: a table of one namespace does not name it, and a selector selects.
        let script = format!(
            "echo \"$@\" >>{here}/called\nname=.\nif [ \"$1 $2\" = 'get --raw' ]; then\n{pages}\nexit\nfi\n\
             if [ $1 = apply ]; then /bin/cat \"$6\" >>{here}/applied; [ ! -e {here}/refused.apply ] || exit 1; exit; fi\n\
             if [ -e {here}/refused.$2.$3 ]; then echo \"Error from server (Forbidden): $2\" >&2; exit 1; fi\ncase \"$*\" in\n\
             *' go-template='*)\n\
             [ ! -e {here}/live.$2 ] || if [ $3 = -A ]; then exec /bin/cat {here}/live.$2; else exec /bin/sed -n \"/namespace=$4&/p\" {here}/live.$2; fi\nexit ;;\n\
             'get pods -n '*) exec /bin/cat {here}/pods.$4.json ;;\nesac\ncase \"$*\" in\n*,name=*) name=${{*#*,name=}} name=\"\\.v1\\.${{name%% *}}\\.v\" ;;\nesac\n\
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

    pub(crate) fn with(self, release: &Release<'_>) -> Self {
        self.with_json(release.namespace, release.name, &release.json())
    }

    /// A release in a Secret, whatever its JSON is.
    pub(crate) fn with_json(self, namespace: &str, name: &str, json: &Value) -> Self {
        let data = STANDARD.encode(STANDARD.encode(json.to_string()));
        self.with_data(namespace, name, &data)
    }

    pub(crate) fn with_data(self, namespace: &str, name: &str, data: &str) -> Self {
        self.stored("Secret", namespace, name, 1, data)
    }

    pub(crate) fn with_revision(self, release: &Release<'_>, revision: u64) -> Self {
        let data = STANDARD.encode(STANDARD.encode(release.json().to_string()));
        self.stored("Secret", release.namespace, release.name, revision, &data)
    }

    pub(crate) fn with_config_map(self, release: &Release<'_>) -> Self {
        self.stored("ConfigMap", release.namespace, release.name, 1, &STANDARD.encode(release.json().to_string()))
    }

    fn stored(self, kind: &str, namespace: &str, name: &str, revision: u64, data: &str) -> Self {
        let record = format!("sh.helm.release.v1.{name}.v{revision}");
        let object = json!({
            "apiVersion": "v1", "kind": kind, "type": "helm.sh/release.v1",
            "metadata": {
                "name": record, "namespace": namespace,
                "labels": {"owner": "helm", "name": name, "version": revision.to_string(), "status": "deployed"},
            },
            "data": {"release": data},
        });
        let kind = kind.to_lowercase();
        self.write(&format!("{kind}.{namespace}.{record}.json"), &object.to_string());
        self.listed(&format!("{kind}s"), &format!("{namespace}   {record}   1     3d    deployed\n"))
    }

    /// A release whose record is listed, and then no longer there.
    pub(crate) fn gone(self, namespace: &str, name: &str) -> Self {
        let record = format!("sh.helm.release.v1.{name}.v1");
        self.write(&format!("secret.{namespace}.{record}.json"), "");
        self.listed("secrets", &format!("{namespace}   {record}   1     3d    deployed\n"))
    }

    /// A hook that lives, as a template has it written; the namespace stands in it once, and not at the end.
    pub(crate) fn with_live(self, resource: &str, line: &str) -> Self {
        let path = self.folder.join(format!("live.{resource}"));
        let lines = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, format!("{lines}{line}\n")).unwrap();
        self
    }

    /// The Pods of a namespace.
    pub(crate) fn with_pods(self, namespace: &str, pods: &[Value]) -> Self {
        self.write(&format!("pods.{namespace}.json"), &json!({"kind": "List", "items": pods}).to_string());
        self
    }

    /// It may not list that resource: with `-A` of all namespaces, with `-n` of one.
    pub(crate) fn refusing(self, resource: &str, scope: &str) -> Self {
        self.write(&format!("refused.{resource}.{scope}"), "");
        self
    }

    /// It stores nothing.
    pub(crate) fn that_stores_nothing(self) -> Self {
        self.write("refused.apply", "");
        self
    }

    /// The Lists that were applied, one after the other.
    pub(crate) fn applied(&self) -> Vec<Value> {
        let applied = fs::read(self.folder.join("applied")).unwrap_or_default();
        serde_json::Deserializer::from_slice(&applied).into_iter().map(Result::unwrap).collect()
    }

    /// It reads no pages: `refused`, `hangs`; or the first that continues another one is too late: `expires`.
    pub(crate) fn whose_pages(self, what: &str) -> Self {
        self.write(if what == "expires" { what.to_owned() } else { format!("{what}.raw") }.as_str(), "");
        self
    }

    /// A line more in the table of that kind.
    pub(crate) fn listed(self, table: &str, line: &str) -> Self {
        let listed = fs::read_to_string(self.folder.join(table)).unwrap();
        self.write(table, &(listed + line));
        self
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).unwrap();
    }

    /// How `kubectl` was called, a line each.
    pub(crate) fn called(&self) -> String {
        fs::read_to_string(self.folder.join("called")).unwrap()
    }

    /// A folder for temporary ones.
    pub(crate) fn temporary(&self) -> PathBuf {
        let folder = self.folder.join("temporary");
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Without a Helm, which it does not need.
    pub(crate) fn orphans(&self, arguments: &[&str]) -> Command {
        let mut command = command(env!("CARGO_BIN_EXE_stable-hooks"), &[&self.kubectl]);
        command.arg("orphans").args(arguments);
        command
    }

    /// The verb, with this `kubectl` and the Helm in that folder.
    pub(crate) fn forecast(&self, helm: &Path, arguments: &[&str]) -> Command {
        let mut command = command(env!("CARGO_BIN_EXE_stable-hooks"), &[&self.kubectl, helm]);
        command.arg("forecast").args(arguments).env("TMPDIR", self.temporary());
        command
    }
}
