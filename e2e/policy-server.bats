#!/usr/bin/env bats
# Both policies served by the real policy-server, on loopback.

load programs

HELM3=tests/corpus/admission/helm3/resource-to-hook

setup_file() {
    want policy-server
    built annotated-policy.wasm annotated-releases-policy.wasm
    command -v curl >/dev/null || { echo "curl is not on the PATH" >&2; return 1; }

    export PORT=38443 READY=38081
    # As policy-server is set up by Kubewarden's controller for the manifests that we ship.
    kustomize build policy/manifests/base | OBJECTS="file://$PWD/annotated-policy.wasm" \
        RELEASES="file://$PWD/annotated-releases-policy.wasm" yq eval-all '
            [select(.kind == "ClusterAdmissionPolicy")] | map({"key": .metadata.name, "value": {
                "module": strenv(OBJECTS), "policyMode": .spec.mode, "allowedToMutate": .spec.mutating,
                "timeoutEvalSeconds": .spec.timeoutEvalSeconds, "settings": .spec.settings,
                "hostCapabilities": ["*"], "contextAwareResources": .spec.contextAwareResources // []}})
            | from_entries | .["stable-hooks-releases"].module = strenv(RELEASES)' >"$BATS_FILE_TMPDIR/policies.yml"
    KUBECONFIG=/dev/null policy-server --policies "$BATS_FILE_TMPDIR/policies.yml" --addr 127.0.0.1 --port "$PORT" \
        --readiness-probe-port "$READY" --ignore-kubernetes-connection-failure --log-level warn \
        --policies-download-dir "$BATS_FILE_TMPDIR" --sigstore-cache-dir "$BATS_FILE_TMPDIR" \
        >"$BATS_FILE_TMPDIR/log" 2>&1 3>&- &
    echo $! >"$BATS_FILE_TMPDIR/pid"
    for _ in $(seq 120); do
        curl -fsS "http://127.0.0.1:$READY/readiness" >/dev/null 2>&1 && return
        kill -0 "$(cat "$BATS_FILE_TMPDIR/pid")" || break
        sleep 0.5
    done
    cat "$BATS_FILE_TMPDIR/log" >&2
    return 1
}

teardown_file() {
    [ ! -f "$BATS_FILE_TMPDIR/pid" ] || kill "$(cat "$BATS_FILE_TMPDIR/pid")"
}

# review REQUEST: the AdmissionReview around it
review() { jq -c '{apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: .}' "$1"; }

# audit REQUEST: what the audit scanner asks when the request's object lives
audit() {
    jq -c '.object | .metadata.uid = "e7a9" | (.apiVersion | split("/")) as $api
        | {group: ($api[:-1] | join("")), version: $api[-1]} as $group
        | {request: {uid: .metadata.uid, operation: "CREATE", userInfo: {}, object: ., oldObject: null, options: null,
            name: .metadata.name, namespace: .metadata.namespace, kind: ($group + {kind}), requestKind: ($group + {kind}),
            resource: ($group + {resource: .kind})}}' "$1"
}

# post ENDPOINT BODY: the response as JSON, in $output
post() {
    run curl -fsS -H 'Content-Type: application/json' --data-binary "$2" "http://127.0.0.1:$PORT/$1"
    [ "$status" -eq 0 ]
    output=$(jq -c .response <<<"$output")
}

@test "the objects policy answers /validate with a patch" {
    post validate/stable-hooks "$(review examples/2-create-hook-job.json)"
    has '.allowed and .patchType == "JSONPatch" and .uid == "bffc7b17-8191-40a3-a693-c3197ec3ed91"'
}

@test "the releases policy answers /validate, and names what it could not look up" {
    post validate/stable-hooks-releases "$(review $HELM3/2-upgrade/05-create-secret-sh.helm.release.v1.orders.v2.json)"
    has '.allowed and (.warnings | map(select(contains("could not be looked up"))) | length) == 2'
}

@test "drift is a fail in an audit, although it is a patch at admission" {
    post audit/stable-hooks "$(audit examples/2-create-hook-job.json)"
    has '.allowed == false and .status.code == 403 and (.status.message | contains("hook-weight"))'
}

@test "a plain ServiceAccount passes the audit without a message" {
    post audit/stable-hooks "$(audit examples/1-create-serviceaccount.json)"
    has '.allowed and .status == null'
}

@test "a policy that is not there is 404" {
    run curl -sS -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' \
        -d "$(review examples/1-create-serviceaccount.json)" "http://127.0.0.1:$PORT/validate/other"
    [ "$output" = 404 ]
}

# load_with POLICY REQUEST: 10,000 requests over 64 connections, all answered alike; how long they took goes to the terminal
load_with() {
    local folder=$BATS_TEST_TMPDIR
    mkdir "$folder/answers"
    review "$2" >"$folder/review.json"
    curl -sS --no-progress-meter --parallel --parallel-max 64 -H 'Content-Type: application/json' -d @"$folder/review.json" \
        -o "$folder/answers/#1.json" -w '%{http_code} %{time_total}\n' \
        "http://127.0.0.1:$PORT/validate/$1?n=[1-10000]" >"$folder/times"
    [ "$(wc -l <"$folder/times")" -eq 10000 ]
    [ "$(cut -d" " -f1 "$folder/times" | sort -u)" = 200 ] || { cut -d" " -f1 "$folder/times" | sort | uniq -c; return 1; }
    # policy-server writes audit annotations in any order.
    output=$(find "$folder/answers" -type f -exec jq -cS .response {} + | sort -u)
    [ "$(wc -l <<<"$output")" -eq 1 ]
    sort -k2 -g "$folder/times" | awk -v policy="$1" '{ t[NR] = $2 * 1000 }
        END { printf "# %s: 10,000 answers alike, p50 %.1f ms, p99 %.1f ms, slowest %.1f ms\n", policy, t[NR / 2], t[NR * 0.99], t[NR] }' >&3
}

@test "10,000 Jobs over 64 connections are all normalized alike" {
    load_with stable-hooks examples/2-create-hook-job.json
    has '.allowed and .patchType == "JSONPatch"'
}

@test "10,000 release records over 64 connections are all judged alike" {
    load_with stable-hooks-releases $HELM3/1-install/01-create-secret-sh.helm.release.v1.orders.v1.json
    has '.allowed and .patch == null'
}
