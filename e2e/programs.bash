# What the suites in this folder share; run them by `make e2e-kwctl`, which brings yq and kustomize.

bats_require_minimum_version 1.5.0

# want PROGRAM: the suite is skipped where Kubewarden's program is not on the PATH, but not in CI.
want() {
    command -v "$1" >/dev/null && return
    [ -z "$CI" ] || { echo "$1 is not on the PATH, and in CI that is no reason to skip" >&2; return 1; }
    echo "# SKIPPED: $1 is not on the PATH" >&3
    skip "$1 is not on the PATH"
}

# built FILE...: what else the suite needs; the modules are made by the Makefile.
built() {
    local program file
    for program in jq yq kustomize; do
        command -v "$program" >/dev/null || { echo "$program is not on the PATH: make e2e-kwctl" >&2; return 1; }
    done
    for file in "$@"; do
        [ -f "$file" ] || { echo "$file is missing: make $file" >&2; return 1; }
    done
}

# has FILTER: the jq filter holds for the JSON in $output.
has() { jq --exit-status "$1" <<<"$output" >/dev/null || { echo "not so: $1"; echo "$output"; return 1; }; }

# json FILE: YAML as JSON, keys in order.
json() { yq -o json "$1" | jq -S .; }
