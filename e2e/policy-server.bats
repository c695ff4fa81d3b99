#!/usr/bin/env bats
# Both policies served by the real policy-server, on loopback.

load programs

HELM3=tests/corpus/admission/helm3/resource-to-hook

setup_file() {
    want policy-server
    built annotated-policy.wasm annotated-releases-policy.wasm annotated-yardstick.wasm
    command -v curl >/dev/null || { echo "curl is not on the PATH" >&2; return 1; }

    export PORT=38443 READY=38081
    # As policy-server is set up by Kubewarden's controller for the manifests that we ship.
    kustomize build policy/manifests/base | OBJECTS="file://$PWD/annotated-policy.wasm" \
        RELEASES="file://$PWD/annotated-releases-policy.wasm" FLOOR="file://$PWD/annotated-yardstick.wasm" yq eval-all '
            [select(.kind == "ClusterAdmissionPolicy")] | map({"key": .metadata.name, "value": {
                "module": strenv(OBJECTS), "policyMode": .spec.mode, "allowedToMutate": .spec.mutating,
                "timeoutEvalSeconds": .spec.timeoutEvalSeconds, "settings": .spec.settings,
                "hostCapabilities": ["*"], "contextAwareResources": .spec.contextAwareResources // []}})
            | from_entries | .["stable-hooks-releases"].module = strenv(RELEASES)
            | .floor = {"module": strenv(FLOOR), "policyMode": "protect"}' >"$BATS_FILE_TMPDIR/policies.yml"
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

# bodies FOLDER: writes what is posted
bodies() {
    review examples/2-create-hook-job.json >"$1/job.json"
    review $HELM3/1-install/01-create-secret-sh.helm.release.v1.orders.v1.json >"$1/record.json"
    # The same release with a file in its chart that cannot be compressed: as large as Kubernetes takes a Secret.
    head -c 740000 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null | base64 -w0 >"$1/noise"
    jq -r .request.object.data.release "$1/record.json" | base64 -d | base64 -d | gunzip |
        jq -c --rawfile noise "$1/noise" '.chart.files = [{name: "large", data: $noise}]' | gzip | base64 -w0 | base64 -w0 >"$1/packed"
    jq -c --rawfile packed "$1/packed" '.request.object.data.release = $packed' "$1/record.json" >"$1/large.json"
    printf '\377{garbage' >"$1/garbage.json"
}

# post_many POLICY BODY COUNT FOLDER: COUNT requests over 64 connections; a line of status and seconds for each in FOLDER/times
post_many() {
    mkdir -p "$4/answers"
    curl -sS --no-progress-meter --parallel --parallel-max 64 -H 'Content-Type: application/json' --data-binary @"$2" \
        -o "$4/answers/#1.json" -w '%{http_code} %{time_total}\n' "http://127.0.0.1:$PORT/validate/$1?n=[1-$3]" >"$4/times"
    [ "$(wc -l <"$4/times")" -eq "$3" ]
}

# at PERCENT FOLDER: that percentile of the times, in ms
at() { cut -d" " -f2 "$2/times" | sort -g | awk -v share="$1" '{ t[NR] = $1 * 1000 } END { print t[int(NR * share / 100)] }'; }

# load_with POLICY BODY: 10,000 requests over 64 connections, all answered alike; how long they took goes to the terminal
load_with() {
    local folder=$BATS_TEST_TMPDIR percent
    bodies "$folder"
    post_many floor "$folder/$2.json" 10000 "$folder/floor"
    post_many "$1" "$folder/$2.json" 10000 "$folder/policy"
    [ "$(cut -d" " -f1 "$folder"/{floor,policy}/times | sort -u)" = 200 ]
    # policy-server writes audit annotations in any order.
    output=$(find "$folder/policy/answers" -type f -exec jq -cS .response {} + | sort -u)
    [ "$(wc -l <<<"$output")" -eq 1 ]
    for percent in 50 99; do
        awk -v policy="$(at $percent "$folder/policy")" -v floor="$(at $percent "$folder/floor")" -v name="$1 $2 p$percent" \
            'BEGIN { printf "# %s: %.1f ms, %.2f times the floor\n", name, policy, policy / floor }' >&3
    done
}

@test "10,000 Jobs over 64 connections are all normalized alike" {
    load_with stable-hooks job
    has '.allowed and .patchType == "JSONPatch"'
}

@test "10,000 release records over 64 connections are all judged alike" {
    load_with stable-hooks-releases record
    has '.allowed and .patch == null'
}

# memory: what policy-server holds, in KiB
memory() { awk '/^VmRSS:/ { print $2 }' "/proc/$(cat "$BATS_FILE_TMPDIR/pid")/status"; }

# mixed FOLDER: 10,000 requests, of a hundred one record of 1 MiB, two of garbage, thirty records, the rest Jobs
mixed() {
    local folder=$1
    mkdir -p "$folder/large" "$folder/garbage" "$folder/record" "$folder/job"
    post_many stable-hooks-releases "$folder/large.json" 100 "$folder/large" &
    post_many stable-hooks "$folder/garbage.json" 200 "$folder/garbage" &
    post_many stable-hooks-releases "$folder/record.json" 3000 "$folder/record" &
    post_many stable-hooks "$folder/job.json" 6700 "$folder/job"
    wait
    [ "$(cat "$folder"/{large,garbage,record,job}/times | wc -l)" -eq 10000 ]
    [ "$(cut -d" " -f1 "$folder"/{large,record,job}/times | sort -u)" = 200 ]
    [ "$(cut -d" " -f1 "$folder/garbage/times" | sort -u)" = 400 ]
}

@test "100,000 requests, large ones and garbage among them, leave memory as it was" {
    local before after
    bodies "$BATS_TEST_TMPDIR"
    for round in $(seq 10); do
        mixed "$BATS_TEST_TMPDIR"
        # The first fills the pools.
        [ "$round" -ne 1 ] || before=$(memory)
    done
    after=$(memory)
    echo "# 10,000 requests: $before KiB, 100,000: $after KiB" >&3
    [ "$after" -le $((before * 11 / 10)) ]
    kill -0 "$(cat "$BATS_FILE_TMPDIR/pid")"
}
