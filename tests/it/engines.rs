//! The two engines, asked together: they must agree byte for byte.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use json_patch::Patch;
use kubewarden_policy_sdk as sdk;
use serde_json::{Value, json};
use stable_hooks::engine::{Answer, Engine, Native, ValidationResponse, judge, payload};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_host::runtime::Policy;

/// Far more than needed: a busy machine must not fail a test.
const TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The annotated wasm; without it only the native core is asked, which CI does not accept.
pub(crate) fn wasm() -> Option<PathBuf> {
    built("annotated-policy.wasm")
}

pub(crate) fn built(name: &str) -> Option<PathBuf> {
    let path = root().join(name);
    if path.exists() {
        return Some(path);
    }
    let advice = format!("{name} is missing: make {name}");
    assert!(std::env::var_os("CI").is_none(), "{advice}");
    eprintln!("SKIPPED inside the wasm: {advice}");
    None
}

/// The objects policy.
pub(crate) fn guest() -> Option<&'static Policy> {
    modules().map(|[objects, _]| objects)
}

/// The releases policy.
pub(crate) fn releases() -> Option<&'static Policy> {
    modules().map(|[_, releases]| releases)
}

/// Both policies, compiled once, since they differ in their metadata only.
fn modules() -> Option<&'static [Policy; 2]> {
    static MODULES: OnceLock<Option<[Policy; 2]>> = OnceLock::new();
    let load = || {
        let paths = [wasm()?, built("annotated-releases-policy.wasm")?];
        let [one, other] = paths.map(|path| std::fs::read(path).unwrap());
        let objects = Policy::from_bytes(&one, Arc::new(ClusterView::default()), TIMEOUT).unwrap();
        let releases = objects.annotated_as(&one, &other).unwrap();
        Some([objects, releases])
    };
    MODULES.get_or_init(load).as_ref()
}

/// Both engines' bytes for one payload; panics where they differ.
pub(crate) fn validate(bytes: &[u8]) -> Vec<u8> {
    let native = Native::default().validate(bytes).unwrap();
    if let Some(guest) = guest() {
        let wasm = guest.validate(bytes).unwrap();
        assert_eq!(String::from_utf8_lossy(&native), String::from_utf8_lossy(&wasm), "native and wasm differ");
    }
    native
}

#[test]
fn engines_speak_the_protocol_of_kubewarden_s_sdk() {
    let settings = |settings: &Value| -> sdk::settings::SettingsValidationResponse {
        let native = Native::default().validate_settings(settings.to_string().as_bytes()).unwrap();
        serde_json::from_slice(&native).unwrap()
    };
    let [good, bad] = [json!({}), json!({"nope": 1})].map(|given| settings(&given));
    assert!(good.valid && good.message.is_none());
    assert!(!bad.valid && bad.message.is_some_and(|message| message.contains("\nnope: unknown field")));
    let version = sdk::metadata::ProtocolVersion::try_from(stable_hooks_policy::wire::protocol_version()).unwrap();
    assert_eq!(version, sdk::metadata::ProtocolVersion::V1);
}

/// The verdict of both engines on one request.
pub(crate) fn ask(request: &Value, settings: &Value) -> Answer {
    let bytes = validate(&payload(request, settings));
    answer(&Native::default(), request, settings, &bytes)
}

/// The native engine's verdict without bytes between, which is the one that it gave as bytes.
fn answer(native: &Native, request: &Value, settings: &Value, bytes: &[u8]) -> Answer {
    let response: ValidationResponse = serde_json::from_slice(bytes).unwrap();
    let read: sdk::response::ValidationResponse = serde_json::from_slice(bytes).unwrap();
    assert_eq!(json!(read), json!(response), "Kubewarden reads another answer");
    match judge(native, request.clone(), settings) {
        Ok(answer) => {
            assert_eq!(json!(answer.response), json!(response), "read from bytes, the answer is another");
            answer
        }
        Err(error) => {
            assert_eq!((response.code, response.message.as_deref()), (Some(400), Some(error.to_string().as_str())));
            Answer { response, patch: Patch::default() }
        }
    }
}

/// The verdict of both engines on one request that may ask about this cluster.
pub(crate) fn ask_with(request: &Value, settings: &Value, cluster: ClusterView) -> Answer {
    let cluster = Arc::new(cluster);
    let native = Native::new(Arc::clone(&cluster));
    let payload = payload(request, settings);
    let bytes = native.validate(&payload).unwrap();
    if let Some(policy) = releases() {
        let wasm = policy.with_cluster(cluster).validate(&payload).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&wasm), "native and wasm differ");
    }
    answer(&native, request, settings, &bytes)
}

/// A cluster that holds just these objects.
pub(crate) fn cluster<'a>(objects: impl IntoIterator<Item = &'a Value>) -> ClusterView {
    let items: Vec<_> = objects.into_iter().collect();
    stable_hooks::cluster::read(json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string().as_bytes())
        .unwrap()
}

/// The items of an audit annotation, none where it is not there.
pub(crate) fn annotated(answer: &Answer, name: &str) -> Vec<Value> {
    let annotations = answer.response.audit_annotations.as_ref();
    let items = annotations.and_then(|annotations| annotations.get(name));
    items.map(|json| serde_json::from_str(json).unwrap()).unwrap_or_default()
}

/// Every file below a folder with that ending, in the order of their paths.
pub(crate) fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no {ending} file below {folder}");
    found
}

/// A path as it is written down: below the project, with slashes.
pub(crate) fn relative(path: &Path) -> String {
    let parts = path.strip_prefix(root()).unwrap().iter();
    parts.map(|part| part.to_str().unwrap()).collect::<Vec<_>>().join("/")
}
