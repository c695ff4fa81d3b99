//! Kubewarden's wire format around the pure function: payload bytes in, response bytes out.
//!
//! It never fails and never repeats a byte of the payload beyond what the rules show: an error that leaves a guest
//! becomes a message for the user, and a payload can hold a Secret.

mod payload;
mod text;

use std::collections::BTreeMap;

use json_patch::Patch;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::cluster::{Cluster, Lookup, Query, Unavailable};
use crate::evaluate::evaluate;
use crate::request::{Change, Request, RequestError};
use crate::settings::Settings;
use crate::verdict::{Decision, Verdict};

/// The audit annotation that holds all findings as JSON.
pub const FINDINGS_ANNOTATION: &str = "findings";

/// The audit annotation that holds, as JSON too, the findings whose object has switched the rule off.
pub const IGNORED_ANNOTATION: &str = "ignored";

/// The audit annotation that holds as JSON what could not be judged.
pub const NOTES_ANNOTATION: &str = "notes";

/// The audit annotation that says with what a release was compared.
pub const BASELINE_ANNOTATION: &str = "baseline";

/// The version of Kubewarden's protocol.
const PROTOCOL: &str = "v1";

/// The request or the settings cannot be judged.
const BAD_INPUT: u16 = 400;

/// A rule denies. 409, 422 and 500 would make Flux, Argo CD and the audit scanner do something else.
const DENIED: u16 = 403;

/// Answers `validate`: `{"request": AdmissionRequest, "settings": {…}}` to the SDK's `ValidationResponse`.
pub fn validate(payload: &[u8], cluster: &dyn Cluster) -> Vec<u8> {
    to_json(&respond(payload, cluster))
}

/// An object in its normal form, and as it was.
pub struct Normalized {
    pub before: Value,
    pub after: Value,
}

/// Answers a request that was read already, as [`validate`] answers its bytes.
pub fn answer(request: Request, settings: &Value, cluster: &dyn Cluster) -> Response<Normalized> {
    judged(request, settings, cluster, |request, patch| {
        let before = request.change.into_object()?.into_raw();
        let mut after = before.clone();
        json_patch::patch(&mut after, patch).ok()?;
        Some(Normalized { before, after })
    })
}

fn judged<T>(
    request: Request,
    settings: &Value,
    cluster: &dyn Cluster,
    mutated: impl FnOnce(Request, &Patch) -> Option<T>,
) -> Response<T> {
    match Settings::parse(settings) {
        Ok(settings) => {
            let verdict = evaluate(&request, &settings, cluster);
            response(request, verdict, mutated)
        }
        Err(errors) => bad_input(errors.to_string()),
    }
}

/// Answers `validate_settings`: the settings to the SDK's `SettingsValidationResponse`.
pub fn validate_settings(payload: &[u8]) -> Vec<u8> {
    let message = match serde_json::from_slice(payload) {
        Ok(settings) => Settings::parse(&settings).err().map(|errors| errors.to_string()),
        Err(_) => Some("the settings are not valid JSON".to_owned()),
    };
    to_json(&SettingsResponse { valid: message.is_none(), message })
}

/// Answers `protocol_version`.
pub fn protocol_version() -> Vec<u8> {
    to_json(&PROTOCOL)
}

/// The SDK's `SettingsValidationResponse`.
#[derive(Debug, Serialize, Deserialize)]
pub struct SettingsResponse {
    pub valid: bool,
    pub message: Option<String>,
}

/// The SDK's `ValidationResponse`, with the annotations in one order: same input, same bytes.
#[derive(Serialize)]
pub struct Response<T> {
    pub accepted: bool,
    pub message: Option<String>,
    pub code: Option<u16>,
    pub mutated_object: Option<T>,
    pub audit_annotations: Option<BTreeMap<&'static str, String>>,
    pub warnings: Option<Vec<String>>,
}

/// The payload of the host call `get_resource`.
pub fn lookup_request(query: &Query<'_>) -> Vec<u8> {
    let mask = query.metadata_only.then_some(["metadata.name"]);
    to_json(&json!({
        "api_version": query.api_version, "kind": query.kind, "name": query.name, "namespace": query.namespace,
        // Cached objects stay in the host's memory, and an old answer would judge the wrong state.
        "disable_cache": true,
        "field_masks": mask,
    }))
}

/// Reads a host's answer to `get_resource`.
pub fn lookup_answer(answer: Result<Vec<u8>, String>) -> Lookup {
    match answer.map(|object| serde_json::from_slice(&object)) {
        Ok(Ok(object)) => lookup(Ok(object)),
        Ok(Err(_)) => Lookup::Unavailable(Unavailable::NotJson),
        Err(error) => lookup(Err(error)),
    }
}

/// The answer of a host to a lookup; its errors are texts, told apart by their words.
pub fn lookup(found: Result<Value, String>) -> Lookup {
    match found {
        Ok(object) => Lookup::Found(object),
        Err(error) if error.contains("Cannot find ") && error.contains(" named ") => Lookup::NotFound,
        Err(error) => Lookup::Unavailable(if error.contains("has not been granted") {
            Unavailable::NotGranted
        } else if error.to_lowercase().contains("forbidden") {
            Unavailable::Forbidden
        } else if error.contains("not initialized") {
            Unavailable::NoView
        } else {
            Unavailable::Failed
        }),
    }
}

fn respond(payload: &[u8], cluster: &dyn Cluster) -> Response<Box<RawValue>> {
    let mut fields = match payload::read(payload) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return bad_input(RequestError::NotAPayload.to_string()),
        Err(_) => return bad_input(RequestError::NotJson.to_string()),
    };
    let settings = fields.remove("settings").unwrap_or_default();
    let request = match request(&mut fields) {
        Ok(request) => request,
        Err(error) => return bad_input(error.to_string()),
    };
    judged(request, &settings, cluster, |_, patch| payload::mutated(payload, patch).ok())
}

fn request(payload: &mut Map<String, Value>) -> Result<Request, RequestError> {
    Request::parse(payload.remove("request").ok_or(RequestError::NotARequest)?)
}

fn response<T>(request: Request, verdict: Verdict, mutated: impl FnOnce(Request, &Patch) -> Option<T>) -> Response<T> {
    let is_audit = matches!(request.change, Change::Audit { .. });
    let audit_annotations = audit_annotations(&verdict);
    // The reason of a refusal is its note.
    let is_refused = matches!(verdict.decision, Decision::Refuse(_));
    let warnings = if is_refused { Vec::new() } else { text::warnings(&verdict) };
    let message = match &verdict.decision {
        Decision::Deny(denial) => Some(text::denial(&denial.findings().collect::<Vec<_>>(), verdict.release.as_ref())),
        Decision::Refuse(reason) => Some(text::on_a_terminal(reason.lines())),
        // The audit report shows a message even where the object passes, and no warnings.
        Decision::Allow | Decision::Normalize(_) if is_audit && !warnings.is_empty() => Some(warnings.join("\n")),
        Decision::Allow | Decision::Normalize(_) => None,
    };
    let (accepted, code, mutated_object) = match verdict.decision {
        Decision::Allow => (true, None, None),
        Decision::Normalize(patch) => match mutated(request, patch.as_ref()) {
            Some(object) => (true, None, Some(object)),
            // A part that was not looked at so far is no JSON.
            None => return bad_input(RequestError::NotJson.to_string()),
        },
        Decision::Deny(_) => (false, Some(DENIED), None),
        Decision::Refuse(_) => (false, Some(BAD_INPUT), None),
    };
    let warnings = (!warnings.is_empty()).then_some(warnings);
    Response { accepted, message, code, mutated_object, audit_annotations, warnings }
}

fn audit_annotations(verdict: &Verdict) -> Option<BTreeMap<&'static str, String>> {
    let findings: Vec<_> = verdict.all_findings().collect();
    let found = [
        (BASELINE_ANNOTATION, verdict.release.as_ref().map(|release| release.baseline.clone())),
        (FINDINGS_ANNOTATION, list(&findings)),
        (IGNORED_ANNOTATION, list(&verdict.ignored)),
        (NOTES_ANNOTATION, list(&verdict.notes)),
    ];
    let found: BTreeMap<_, _> = found.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    (!found.is_empty()).then_some(found)
}

fn list(items: &[impl Serialize]) -> Option<String> {
    (!items.is_empty()).then(|| serde_json::to_string(items).unwrap_or_default())
}

fn bad_input<T>(reason: String) -> Response<T> {
    Response {
        accepted: false,
        message: Some(reason),
        code: Some(BAD_INPUT),
        mutated_object: None,
        audit_annotations: None,
        warnings: None,
    }
}

/// Strings, numbers and maps with string keys always serialize; empty bytes would be answered as an error by the host.
fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{protocol_version, validate, validate_settings};
    use crate::cluster::NoCluster;
    use crate::testing::test;

    fn answer(payload: &[u8]) -> Value {
        serde_json::from_slice(&validate(payload, &NoCluster)).unwrap()
    }

    fn request(operation: &str, annotations: &Value) -> Value {
        json!({
            "uid": "1", "operation": operation, "userInfo": {"username": "admin"}, "namespace": "shop",
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "object": {
                "metadata": {"name": "a", "namespace": "shop", "labels": {"app": "migrate"}, "annotations": annotations},
                "spec": {"fieldOfTomorrow": [1, {"x": null}]},
            },
        })
    }

    fn ask(request: Value, settings: Value) -> Value {
        answer(&serde_json::to_vec(&json!({"request": request, "settings": settings})).unwrap())
    }

    #[test]
    fn payloads_that_are_no_request_are_refused_with_a_fixed_text() {
        let deep = format!("{{\"request\":{}1{}}}", "[".repeat(20_000), "]".repeat(20_000));
        for payload in
            [&b""[..], b"{", b"\xff\xfe", b"null", b"[]", b"{\"request\": {}}", b"{\"hunter2\": 1}", deep.as_bytes()]
        {
            let answer = answer(payload);
            assert_eq!((&answer["accepted"], &answer["code"]), (&json!(false), &json!(400)));
            assert!(!answer.to_string().contains("hunter2"));
        }
    }

    #[test]
    fn the_mutated_object_keeps_what_nobody_knows() {
        let answer = ask(request("CREATE", &json!({"helm.sh/hook": "pre-upgrade", "other": "kept"})), json!({}));
        assert_eq!(answer["accepted"], json!(true));
        let object = &answer["mutated_object"];
        assert_eq!(object["spec"]["fieldOfTomorrow"], json!([1, {"x": null}]));
        assert_eq!(
            object["metadata"]["annotations"],
            json!({
                "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": "10",
                "helm.sh/hook-delete-policy": "before-hook-creation", "other": "kept",
            })
        );
    }

    #[test]
    fn without_mutation_a_fix_is_a_warning() {
        let answer = ask(request("CREATE", &json!({"helm.sh/hook": "pre-upgrade"})), json!({"mutate": false}));
        assert_eq!((&answer["accepted"], &answer["mutated_object"]), (&json!(true), &json!(null)));
        assert_eq!(answer["warnings"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn an_audit_fails_drift_and_passes_warnings_with_a_message() {
        let audit = |annotations| {
            let mut request = request("CREATE", &annotations);
            request["object"]["metadata"]["uid"] = json!("1");
            request["userInfo"] = json!({});
            request
        };
        let drift = ask(audit(json!({"helm.sh/hook": "pre-upgrade"})), json!({}));
        assert_eq!((&drift["accepted"], &drift["code"]), (&json!(false), &json!(403)));
        assert!(drift["message"].as_str().unwrap().contains("its normal form is \"pre-install,pre-upgrade\""));
        let plain = ask(audit(json!({})), json!({}));
        assert_eq!(plain["accepted"], json!(true));
        assert!(plain["message"].as_str().unwrap().contains("plain Job"));
    }

    #[test]
    fn bad_settings_refuse_and_validate_says_why() {
        let answer = ask(request("CREATE", &json!({})), json!({"mutat": false}));
        assert_eq!(answer["code"], json!(400));
        assert!(answer["message"].as_str().unwrap().contains("mutat: unknown field"));
        for (settings, valid) in [("{}", true), ("null", true), ("{\"mutat\":1}", false), ("{", false), ("", false)] {
            let answer: Value = serde_json::from_slice(&validate_settings(settings.as_bytes())).unwrap();
            assert_eq!(answer["valid"], json!(valid), "{settings}");
            assert_eq!(answer["message"].is_null(), valid, "{settings}");
        }
    }

    #[test]
    fn the_protocol_is_v1() {
        assert_eq!(protocol_version(), b"\"v1\"");
    }

    #[test]
    fn no_text_says_what_makes_flux_delete_and_recreate() {
        for annotations in [
            json!({"helm.sh/hook": "x"}),
            json!({"helm.sh/hook": "pre-upgrade", "meta.helm.sh/release-name": "r"}),
            json!({}),
        ] {
            let mut update = request("UPDATE", &annotations);
            update["oldObject"] = json!({"metadata": {"annotations": {"helm.sh/hook": "pre-install"}}});
            assert!(!ask(update, json!({})).to_string().to_lowercase().contains("immutable"));
        }
    }
}
