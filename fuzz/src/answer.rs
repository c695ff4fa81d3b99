//! What every answer of the policy is, whatever was asked.

use serde_json::Value;

use crate::canary::assert_silent;

/// As many characters as a denial's page and its warnings come to, whatever was asked.
const LONGEST_TEXT: usize = 200_000;

/// Kubewarden's `ValidationResponse`, checked for what holds for each.
pub(crate) struct Answer {
    pub(crate) accepted: bool,
    pub(crate) code: Option<u64>,
    pub(crate) message: String,
    /// All that it says, as JSON, without the object.
    pub(crate) said: String,
    pub(crate) mutated: Option<Value>,
}

impl Answer {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        Self::of(serde_json::from_slice(bytes).expect("an answer is JSON"))
    }

    pub(crate) fn of(mut answer: Value) -> Self {
        let accepted = answer["accepted"].as_bool().expect("an answer says whether it accepts");
        let code = answer["code"].as_u64();
        let message = answer["message"].as_str().unwrap_or_default().to_owned();
        let mutated = Some(answer["mutated_object"].take()).filter(|object| !object.is_null());
        assert!(accepted || matches!(code, Some(400 | 403)) && !message.is_empty(), "a denial without a reason");
        assert!(!accepted || code.is_none(), "accepted with code {code:?}");
        assert!(accepted || mutated.is_none(), "denied with a patch");
        let is_text = |character: char| character == '\n' || !character.is_control();
        assert!(message.chars().all(is_text), "{message:?}");
        for warning in answer["warnings"].as_array().into_iter().flatten() {
            let warning = warning.as_str().expect("a warning is text");
            assert!(!warning.is_empty() && !warning.contains(char::is_control), "{warning:?}");
        }
        if let Some(findings) = answer["audit_annotations"]["findings"].as_str() {
            let findings: Vec<Value> = serde_json::from_str(findings).expect("findings are JSON");
            assert!(!findings.is_empty());
        }
        // The object comes back as it was sent, Secrets in it and all; everything else is said.
        let said = answer.to_string();
        assert!(said.len() <= LONGEST_TEXT, "{} bytes are said", said.len());
        assert_silent(&said);
        assert_silent(&message);
        Self { accepted, code, message, said, mutated }
    }
}
