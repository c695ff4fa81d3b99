#!/usr/bin/env bats
# The annotated wasm under the real kwctl; run by `make e2e-kwctl`, which wants bats, jq and kwctl on the PATH.

bats_require_minimum_version 1.5.0

setup_file() {
    command -v kwctl >/dev/null || { echo "SKIPPED: kwctl is not on the PATH" >&3; skip "kwctl is not on the PATH"; }
    command -v jq >/dev/null || { echo "jq is not on the PATH" >&2; return 1; }
    wasm=annotated-policy.wasm
    [ -f "$wasm" ] || { echo "$wasm is missing: make annotated-policy.wasm" >&2; return 1; }
}

# ask REQUEST SETTINGS: the AdmissionResponse as JSON, in $output
ask() {
    run --separate-stderr kwctl run annotated-policy.wasm --request-path "$1" --settings-json "$2"
    [ "$status" -eq 0 ]
}

has() { jq --exit-status "$1" <<<"$output" >/dev/null || { echo "not so: $1"; echo "$output"; return 1; }; }

@test "the metadata is what policy/metadata.yml says" {
    run --separate-stderr kwctl inspect annotated-policy.wasm -o yaml
    [ "$status" -eq 0 ]
    [[ "$output" == *"protocolVersion: v1"* ]]
    [[ "$output" == *"mutating: true"* ]]
}

@test "a plain ServiceAccount is allowed" {
    ask examples/1-create-serviceaccount.json '{}'
    has '.allowed and .patch == null and .warnings == null'
}

@test "a hook Job is normalized by a JSON patch" {
    ask examples/2-create-hook-job.json '{}'
    has '.allowed and .patchType == "JSONPatch"'
    has '.patch | @base64d | fromjson | map(.path) == ["/metadata/annotations/helm.sh~1hook", "/metadata/annotations/helm.sh~1hook-weight"]'
}

@test "without mutation there is no patch" {
    ask examples/2-create-hook-job.json '{"mutate": false}'
    has '.allowed and .patch == null and (.warnings | length) == 2'
}

@test "a flip during a rollback is warned" {
    ask examples/3-rollback-serviceaccount.json '{}'
    has '.allowed and (.warnings[0] | contains("(rule identity-flip)"))'
}

@test "a flip is denied with the code 403" {
    ask examples/4-hook-becomes-resource.json '{"selectors": [{}]}'
    has '.allowed == false and .status.code == 403 and (.status.message | contains("(rule identity-flip)"))'
}

@test "wrong settings are refused, all problems at once" {
    run kwctl run annotated-policy.wasm --request-path examples/1-create-serviceaccount.json --settings-json '{"mutat": 1, "jobTtlSeconds": -1}'
    [ "$status" -ne 0 ]
    [[ "$output" == *"mutat: unknown field"* ]]
    [[ "$output" == *"jobTtlSeconds: expected a number of seconds"* ]]
}
