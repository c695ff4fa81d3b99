#!/usr/bin/env bats
# The annotated modules under the real kwctl.

load programs

HELM3=tests/corpus/admission/helm3/resource-to-hook
# Helm 3 upgrades `orders`, whose Job and ServiceAccount are resources so far and hooks from now on.
FLIP=$HELM3/2-upgrade/05-create-secret-sh.helm.release.v1.orders.v2.json

setup_file() {
    want kwctl
    built policy.wasm annotated-policy.wasm annotated-releases-policy.wasm
}

# ask REQUEST SETTINGS [MODULE [OPTION...]]: the AdmissionResponse as JSON, in $output
ask() {
    local request=$1 settings=$2 module=${3:-annotated-policy.wasm}
    shift $(($# < 3 ? $# : 3))
    run --separate-stderr kwctl run "$module" --request-path "$request" --settings-json "$settings" "$@"
    [ "$status" -eq 0 ]
}

# ask_as OVERLAY POLICY CHANGE REQUEST: as the ClusterAdmissionPolicy that we ship says, after a change by yq
ask_as() {
    local wanted="select(.kind == \"ClusterAdmissionPolicy\" and .metadata.name == \"$2\")"
    local module=annotated-policy.wasm
    [ "$2" = stable-hooks ] || module=annotated-releases-policy.wasm
    kustomize build "policy/manifests/$1" |
        MODULE="file://$PWD/$module" yq "$wanted | .spec.module = strenv(MODULE) | $3" >"$BATS_TEST_TMPDIR/policy.yaml"
    run --separate-stderr kwctl run "$BATS_TEST_TMPDIR/policy.yaml" --request-path "$4"
    [ "$status" -eq 0 ]
}

# assert_annotated METADATA: kwctl writes this metadata into the module, and reads it back
assert_annotated() {
    kwctl annotate policy.wasm -m "$1" -u policy/usage.md -o "$BATS_TEST_TMPDIR/annotated.wasm"
    run --separate-stderr kwctl inspect "$BATS_TEST_TMPDIR/annotated.wasm" -o yaml
    [ "$status" -eq 0 ]
    # The lookups come back as a set.
    local ours='.contextAwareResources |= sort_by(.kind) | .contextAwareResources //= []'
    yq -o json <<<"$output" | jq -S "del(.policyType, .annotations[\"io.kubewarden.kwctl\"]) | $ours" >"$BATS_TEST_TMPDIR/read.json"
    json "$1" | jq -S --rawfile usage policy/usage.md ".protocolVersion = \"v1\" | $ours
        | .annotations[\"io.kubewarden.policy.usage\"] = \$usage" | diff - "$BATS_TEST_TMPDIR/read.json"
}

@test "annotate and inspect give back the metadata of the objects policy" { assert_annotated policy/metadata.yml; }

@test "annotate and inspect give back the metadata of the releases policy" { assert_annotated policy/releases/metadata.yml; }

@test "annotate misses no host capability of the releases policy" {
    run kwctl annotate policy.wasm -m policy/releases/metadata.yml -u policy/usage.md -o "$BATS_TEST_TMPDIR/annotated.wasm"
    [ "$status" -eq 0 ]
    [[ "$output" != *"not declared in metadata"* ]]
}

@test "a module for a newer Kubewarden is refused" {
    yq '.minimumKubewardenVersion = "99.0.0"' policy/metadata.yml >"$BATS_TEST_TMPDIR/metadata.yml"
    kwctl annotate policy.wasm -m "$BATS_TEST_TMPDIR/metadata.yml" -u policy/usage.md -o "$BATS_TEST_TMPDIR/newer.wasm"
    run kwctl run "$BATS_TEST_TMPDIR/newer.wasm" --request-path examples/1-create-serviceaccount.json
    [ "$status" -ne 0 ]
    [[ "$output" == *"Policy required Kubewarden version 99.0.0"* ]]
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

@test "every example is judged as by the command line" {
    local settings
    settings=$(yq -o json -I0 examples/settings.yaml)
    for request in examples/*.json; do
        ask "$request" "$settings"
        local judged=$output
        output=$("$STABLE_HOOKS" review --settings examples/settings.yaml -o json "$request") || [ $? = 1 ]
        output=$(jq -n --argjson kwctl "$judged" --argjson review "$output" '{$kwctl, $review}')
        has '.kwctl.allowed == (.review.results[0].verdict != "deny")'
        has '(.kwctl.patch // "W10=" | @base64d | fromjson) == .review.results[0].patch'
        has '(.kwctl.auditAnnotations.findings // "[]" | fromjson) == (.review.results[0].findings | map(del(.template)))'
    done
}

@test "a Helm operation is denied by what the cluster answered" {
    ask "$FLIP" '{}' annotated-releases-policy.wasm --allow-context-aware --replay-host-capabilities-interactions e2e/replays/flip.yml
    has '.allowed == false and .status.code == 403 and .patch == null'
    has '.status.message | contains("2 objects denied by release-identity-flip")'
    has '.status.message | contains("--labels stable-hooks/accept-release-identity-flip=2")'
    has '.auditAnnotations.baseline == "the live objects"'
}

@test "what was not granted is named in a warning, and the operation allowed" {
    ask "$FLIP" '{}' annotated-releases-policy.wasm
    has '.allowed and (.warnings | map(select(contains("has not been granted access"))) | length) == 2'
    ask "$FLIP" '{"releases": {"onLookupFailure": "deny"}}' annotated-releases-policy.wasm
    has '.allowed == false and .status.code == 400'
}

@test "wrong settings are refused, all problems at once" {
    for module in annotated-policy.wasm annotated-releases-policy.wasm; do
        run kwctl run "$module" --request-path examples/1-create-serviceaccount.json --settings-json '{"mutat": 1, "jobTtlSeconds": -1}'
        [ "$status" -ne 0 ]
        [[ "$output" == *"mutat: unknown field"* ]]
        [[ "$output" == *"jobTtlSeconds: expected a number of seconds"* ]]
    done
}

@test "in monitor mode nothing is denied or changed, and the findings are kept" {
    ask_as overlays/monitor stable-hooks '.spec.settings.selectors = [{}]' examples/4-hook-becomes-resource.json
    has '.allowed and .status == null and (.auditAnnotations.findings | contains("identity-flip"))'
    ask_as overlays/monitor stable-hooks . examples/2-create-hook-job.json
    has '.allowed and .patch == null and (.auditAnnotations.findings | contains("hook-weight"))'
}

@test "in protect mode the same is denied and changed" {
    ask_as base stable-hooks '.spec.settings.selectors = [{}]' examples/4-hook-becomes-resource.json
    has '.allowed == false and .status.code == 403'
    ask_as base stable-hooks . examples/2-create-hook-job.json
    has '.allowed and .patch != null'
}

@test "a policy that may not mutate works with mutate: false" {
    ask_as base stable-hooks '.spec.mutating = false' examples/2-create-hook-job.json
    has '.allowed == false and (.status.message | contains("attempted to mutate"))'
    ask_as base stable-hooks '.spec.mutating = false | .spec.settings.mutate = false' examples/2-create-hook-job.json
    has '.allowed and .patch == null'
}

@test "scaffold artifacthub makes what is committed, but for date and provider" {
    local folder package
    for folder in policy policy/releases; do
        package=$folder/artifacthub-pkg.yml
        policy/artifacthub $folder "$(sed -n 's/^createdAt: //p' $package)" | diff $package -
    done
}

# scaffolded MODULE POLICY: the manifest that kwctl makes, over the one that we ship with all that may be read
scaffolded() {
    kustomize build policy/manifests/overlays/records |
        yq "select(.kind == \"ClusterAdmissionPolicy\" and .metadata.name == \"$2\")" | json - >"$BATS_TEST_TMPDIR/ours.json"
    kwctl scaffold manifest "$1" -t ClusterAdmissionPolicy --allow-context-aware | json - >"$BATS_TEST_TMPDIR/kwctl.json"
    output=$(jq -n --slurpfile kwctl "$BATS_TEST_TMPDIR/kwctl.json" --slurpfile ours "$BATS_TEST_TMPDIR/ours.json" \
        '{kwctl: $kwctl[0], ours: $ours[0]} | map_values(.spec.contextAwareResources |= (. // [] | sort_by(.kind)))')
    # What kwctl does not know: where the module will lie, and what an administrator decides.
    has '.kwctl.metadata == .ours.metadata and .kwctl.apiVersion == .ours.apiVersion'
    has '(.kwctl.spec | del(.module, .settings)) as $kwctl | .ours.spec | with_entries(select(.key | in($kwctl))) == $kwctl'
}

@test "scaffold manifest makes what is committed" {
    scaffolded annotated-policy.wasm stable-hooks
    scaffolded annotated-releases-policy.wasm stable-hooks-releases
}
