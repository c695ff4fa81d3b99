//! What the two policies say about themselves to Kubewarden, Rancher and Artifact Hub: one story.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use stable_hooks::input::value;
use stable_hooks_host::metadata;
use stable_hooks_policy::docs::{Policy, questions};
use stable_hooks_policy::rule::Family;
use stable_hooks_policy::settings::SETTINGS;
use stable_hooks_policy::{RuleId, Settings};

use crate::engines::{built, root};

/// One of the two ways in which the same bytes are annotated.
struct Package {
    policy: Policy,
    module: &'static str,
    metadata: &'static str,
    questions: &'static str,
    artifact_hub: &'static str,
    readme: &'static str,
}

const PACKAGES: [Package; 2] = [
    Package {
        policy: Policy::Objects,
        module: "annotated-policy.wasm",
        metadata: "policy/metadata.yml",
        questions: "policy/questions-ui.yml",
        artifact_hub: "policy/artifacthub-pkg.yml",
        readme: "policy/README.md",
    },
    Package {
        policy: Policy::Releases,
        module: "annotated-releases-policy.wasm",
        metadata: "policy/releases/metadata.yml",
        questions: "policy/releases/questions-ui.yml",
        artifact_hub: "policy/releases/artifacthub-pkg.yml",
        readme: "policy/releases/README.md",
    },
];

fn text(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

pub(crate) fn yaml(file: &str) -> Value {
    value(text(file).as_bytes()).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn packages_have_every_annotation_that_kwctl_scaffold_artifacthub_requires() {
    for package in PACKAGES {
        let annotations = &yaml(package.metadata)["annotations"];
        for name in
            ["title", "version", "description", "ociUrl", "url", "source", "license", "author", "severity", "category"]
        {
            let found = annotations[format!("io.kubewarden.policy.{name}")].as_str().unwrap_or_default();
            // `kwctl push` drops annotations of several lines.
            assert!(!found.is_empty() && found.lines().count() == 1, "{}: {name}: {found:?}", package.metadata);
        }
        for name in ["displayName", "resources", "keywords"] {
            assert!(annotations[format!("io.artifacthub.{name}")].is_string(), "{}: {name}", package.metadata);
        }
    }
}

#[test]
fn packages_on_artifact_hub_say_what_the_metadata_says() {
    for package in PACKAGES {
        let metadata = yaml(package.metadata);
        let annotation = |name: &str| metadata["annotations"][format!("io.{name}")].as_str().unwrap();
        let [version, image] = ["version", "ociUrl"].map(|name| annotation(&format!("kubewarden.policy.{name}")));
        let hub = yaml(package.artifact_hub);
        let keywords: Vec<_> = annotation("artifacthub.keywords").split(',').map(str::trim).collect();
        let (author, address) = annotation("kubewarden.policy.author").split_once(" <").unwrap();
        for (field, expected) in [
            ("/version", json!(version)),
            ("/name", json!(annotation("kubewarden.policy.title"))),
            ("/displayName", json!(annotation("artifacthub.displayName"))),
            ("/description", json!(annotation("kubewarden.policy.description"))),
            ("/license", json!(annotation("kubewarden.policy.license"))),
            ("/homeURL", json!(annotation("kubewarden.policy.url"))),
            ("/containersImages", json!([{"name": "policy", "image": format!("{image}:v{version}")}])),
            ("/keywords", json!(keywords)),
            ("/maintainers", json!([{"name": author, "email": address.trim_end_matches('>')}])),
            ("/provider", json!({"name": "stable-hooks"})),
            ("/annotations/kubewarden~1mutation", json!(metadata["mutating"].to_string())),
            ("/annotations/kubewarden~1resources", json!(annotation("artifacthub.resources"))),
            ("/annotations/kubewarden~1questions-ui", json!(text(package.questions))),
        ] {
            assert_eq!(hub.pointer(field), Some(&expected), "{}{field}: make artifacthub", package.artifact_hub);
        }
        let embedded = |name: &str| hub["annotations"][name].as_str().map(|text| value(text.as_bytes()).unwrap());
        assert_eq!(embedded("kubewarden/rules").as_ref(), Some(&metadata["rules"]), "{}", package.artifact_hub);
        let looked_up = embedded("kubewarden/contextAwareResources").unwrap_or_else(|| json!([]));
        assert_eq!(kinds(&looked_up), kinds(&metadata["contextAwareResources"]), "{}", package.artifact_hub);
    }
}

#[test]
fn packages_are_laid_out_for_artifact_hub_with_their_pages_and_owners() {
    let id = "7d8f3c1e-0000-4000-8000-000000000000";
    let owners = yaml("artifacthub-repo.yml")["owners"].clone();
    for (folder, given, told) in [("hub", "", None), ("hub-verified", id, Some(id))] {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        if place.exists() {
            fs::remove_dir_all(&place).unwrap();
        }
        let mut layout = Command::new(root().join("policy/artifacthub-branch"));
        let status = layout.current_dir(root()).arg(&place).env("REPOSITORY_ID", given).status();
        assert!(status.unwrap().success());
        let repository = value(&fs::read(place.join("artifacthub-repo.yml")).unwrap()).unwrap();
        assert_eq!(repository["owners"], owners);
        assert_eq!(repository["repositoryID"].as_str(), told);
        for package in &PACKAGES {
            for file in [package.artifact_hub, package.readme] {
                assert_eq!(fs::read_to_string(place.join(file)).unwrap(), text(file));
            }
            assert_eq!(yaml(package.artifact_hub)["maintainers"], owners);
        }
    }
}

#[test]
fn packages_pages_can_be_read_elsewhere() {
    for package in PACKAGES {
        let page = text(package.readme);
        let mut targets = page.split("](").skip(1);
        assert!(targets.clone().count() > 2, "{}", package.readme);
        assert!(targets.all(|target| target.starts_with("https://")), "{}: a link into the repository", package.readme);
    }
}

/// The kinds in a list of `apiVersion` and `kind`, in no order.
pub(crate) fn kinds(list: &Value) -> BTreeSet<(&str, &str)> {
    let items = list.as_array().unwrap().iter();
    items.map(|item| (item["apiVersion"].as_str().unwrap(), item["kind"].as_str().unwrap())).collect()
}

#[test]
fn packages_have_one_version() {
    for file in ["policy/metadata.yml", "policy/releases/metadata.yml"] {
        let version = &yaml(file)["annotations"]["io.kubewarden.policy.version"];
        assert_eq!(version, env!("CARGO_PKG_VERSION"), "{file}");
    }
}

#[test]
fn packages_name_the_least_kubewarden_and_the_docs_the_same() {
    let [rollout, troubleshooting] = ["docs/rollout.md", "docs/troubleshooting.md"].map(text);
    for package in PACKAGES {
        let metadata = yaml(package.metadata);
        let version = metadata["minimumKubewardenVersion"].as_str().unwrap();
        // Kubewarden reads a whole version there, and compares its first two numbers.
        let [major, minor, "0"] = version.split('.').collect::<Vec<_>>()[..] else { panic!("{version}") };
        assert!(rollout.contains(&format!("Kubewarden {major}.{minor} or later")), "{}", package.metadata);
        assert!(troubleshooting.contains(&format!("Kubewarden {major}.{minor}")), "{}", package.metadata);
    }
}

#[test]
fn packages_are_what_the_modules_carry() {
    for package in PACKAGES {
        let Some(module) = built(package.module) else { continue };
        let module = fs::read(module).unwrap();
        let least = format!("\"minimumKubewardenVersion\":{}", yaml(package.metadata)["minimumKubewardenVersion"]);
        assert!(String::from_utf8_lossy(&module).contains(&least), "{}: {least}", package.module);
        let mut carried = metadata::read(&module).unwrap().unwrap();
        let mut described = serde_json::from_value::<metadata::Metadata>(yaml(package.metadata)).unwrap();
        described.protocol_version = Some("v1".to_owned());
        // kwctl sorts what is looked up, and adds two annotations of its own.
        described.context_aware_resources.sort();
        carried.context_aware_resources.sort();
        for name in ["io.kubewarden.kwctl", "io.kubewarden.policy.usage"] {
            carried.annotations.remove(name);
        }
        assert_eq!(carried, described);
    }
}

#[test]
fn packages_forms_begin_with_the_defaults() {
    for package in PACKAGES {
        let mut settings = json!({});
        for question in yaml(package.questions)["questions"].as_array().unwrap() {
            let path = question["variable"].as_str().unwrap();
            set(&mut settings, path, question["default"].clone());
            let options = question.get("options").map(|options| options.as_array().unwrap());
            assert!(options.is_none_or(|options| options.contains(&question["default"])), "{path}");
        }
        assert_eq!(Settings::parse(&settings).unwrap(), Settings::default(), "{}", package.questions);
    }
}

#[test]
fn packages_forms_ask_for_every_setting() {
    let asked: String = PACKAGES.iter().map(|package| questions(package.policy)).collect();
    // A policy does nothing with the settings of the rules for charts.
    let rules = RuleId::ALL.iter().filter(|id| id.family() != Family::Chart).map(|id| format!("rules.{id}"));
    let others = SETTINGS.iter().map(|setting| setting.path.to_owned()).filter(|path| !path.contains('<'));
    for path in rules.chain(others) {
        assert!(asked.contains(&format!("- variable: \"{path}\"\n")), "no form asks for {path}");
    }
}

/// Puts a value at a dotted path.
fn set(settings: &mut Value, path: &str, value: Value) {
    let place = path.split('.').fold(settings, |place, name| &mut place[name]);
    *place = value;
}
