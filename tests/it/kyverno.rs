//! The calls that the tests of `policy/kyverno/` mock: they must be what the policy says.

use std::fs;

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};
use stable_hooks::input::{documents, request_of, value};

use crate::engines::{ask, files, root};

#[test]
fn kyverno_tests_mock_what_the_policy_answers() {
    let tests = files("policy/kyverno/tests", "yaml");
    let tests: Vec<_> = tests.iter().filter(|file| file.ends_with("kyverno-test.yaml")).collect();
    assert_eq!(tests.len(), 3);
    for file in tests {
        let test = value(&fs::read(file).unwrap()).unwrap();
        let resources = file.with_file_name(test["resources"][0].as_str().unwrap());
        let job = documents(&fs::read(resources).unwrap()).next().unwrap().unwrap();
        let answer = ask(&request_of(job.content, false), &json!({}));
        let mocked = test["apiCallResponses"].as_array().unwrap();
        let mocked = mocked.iter().find(|call| call["url"].as_str().unwrap().ends_with("/objects")).unwrap();
        let mocked = &mocked["response"]["body"]["response"];
        assert_eq!(mocked["allowed"], json!(answer.response.accepted), "{}", file.display());
        if let Some(patch) = mocked["patch"].as_str() {
            let patch: Value = serde_json::from_slice(&BASE64.decode(patch).unwrap()).unwrap();
            assert_eq!(patch, json!(answer.patch));
        } else {
            let message = mocked["status"]["message"].as_str().unwrap();
            assert!(answer.response.message.unwrap().contains(message), "{message}");
        }
    }
}

#[test]
fn kyverno_policies_call_one_address() {
    for file in ["mutating-policy", "validating-policy", "validating-policy-fail-open"] {
        let policy = fs::read_to_string(root().join(format!("policy/kyverno/{file}.yaml"))).unwrap();
        let calls = policy.matches("http.Post(").count();
        assert!(calls > 0);
        assert_eq!(policy.matches("http.Post(\"https://policy-server.stable-hooks.svc:8443/validate/").count(), calls);
    }
}
