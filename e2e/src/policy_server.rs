//! How policy-server answers: what it makes of a policy's verdict, by the mode and the rights that the policy is served with.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use stable_hooks::engine::{Answer, ask};
use stable_hooks_host::runtime::Policy;

/// A policy as policy-server serves it.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) policy: Arc<Policy>,
    pub(crate) settings: Value,
    /// Everything is allowed and nothing patched.
    pub(crate) monitors: bool,
    pub(crate) may_mutate: bool,
    /// What is said in the place of the policy's own words.
    pub(crate) message: Option<String>,
}

/// Who asks: the audit scanner is told what the policy says, whatever the mode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Validate,
    Audit,
}

impl Served {
    /// The `response` of an `AdmissionReview`.
    pub(crate) fn review(&self, id: &str, origin: Origin, mut request: Map<String, Value>) -> Value {
        let uid = request.get("uid").cloned().unwrap_or_default();
        // policy-server reads the request into a type and writes it again: what is null is left out.
        request.retain(|_, value| !value.is_null());
        let mut response = match ask(&*self.policy, &Value::Object(request), &self.settings) {
            Ok(answer) => admission(answer),
            // The policy has not judged; policy-server says so with this code.
            Err(error) => {
                let message = format!("internal server error: Guest call failure: {error}");
                json!({"allowed": false, "status": {"message": message, "code": 500}})
            }
        };
        if origin == Origin::Validate {
            self.constrain(id, &mut response);
        }
        if let Some(fields) = response.as_object_mut() {
            fields.insert("uid".to_owned(), uid);
            fields.retain(|_, value| !value.is_null());
        }
        response
    }

    /// What the mode and the rights leave of it.
    fn constrain(&self, id: &str, response: &mut Value) {
        let Some(fields) = response.as_object_mut() else { return };
        if self.monitors {
            fields.insert("allowed".to_owned(), json!(true));
            fields.retain(|field, _| !matches!(field.as_str(), "patch" | "patchType" | "status"));
        } else if !self.may_mutate && fields.get("patch").is_some_and(|patch| !patch.is_null()) {
            let message = format!(
                "Request rejected by policy {id}. The policy attempted to mutate the request, but it is currently configured to \
                 not allow mutations."
            );
            fields.retain(|field, _| !matches!(field.as_str(), "patch" | "patchType"));
            fields.extend([("allowed".to_owned(), json!(false)), ("status".to_owned(), json!({"message": message}))]);
        }
        if let Some(own) = &self.message
            && fields.get("allowed") == Some(&json!(false))
        {
            let original = fields.get("status").and_then(|status| status.get("message")).cloned().unwrap_or_default();
            let mut status = fields.remove("status").unwrap_or_else(|| json!({}));
            if let Some(status) = status.as_object_mut() {
                status.insert("message".to_owned(), json!(own));
                status.insert("details".to_owned(), json!({"causes": [{"message": original}]}));
            }
            fields.insert("status".to_owned(), status);
        }
    }
}

fn admission(Answer { response, patch }: Answer) -> Value {
    let patch = Some(patch).filter(|patch| response.accepted && !patch.0.is_empty());
    let status = (response.message.is_some() || response.code.is_some())
        .then(|| json!({"message": response.message, "code": response.code}));
    json!({
        "allowed": response.accepted, "status": status,
        "patchType": patch.as_ref().map(|_| "JSONPatch"),
        "patch": patch.map(|patch| BASE64_STANDARD.encode(json!(patch).to_string())),
        "auditAnnotations": response.audit_annotations, "warnings": response.warnings,
    })
}
