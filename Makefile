# Verbs only; CI calls the same ones. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help setup try test without-runtime test-wasm schemas shells postgresql monitoring lint deny dist docs artifacthub reproducible reproducible-program e2e oracle e2e-argocd e2e-kubewarden e2e-kwctl e2e-kyverno kubewarden-load guard-cost forecast-cost reach bench fuzz fuzz-smoke mutants playground playground-files test-playground chromium ci

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/stable-hooks
SOURCES := Cargo.toml Cargo.lock crates/helm/Cargo.toml policy/Cargo.toml policy/wasm-cargo $(shell find crates/helm/src policy/src -name '*.rs')
BINDGEN := $(shell sed -n '/^name = "wasm-bindgen"$$/{n;s/.*"\(.*\)"/\1/p}' Cargo.lock)
RUNNER := $(CACHE)/wasm-bindgen-$(BINDGEN)/bin/wasm-bindgen-test-runner
BINDGEN_PROGRAM := $(dir $(RUNNER))wasm-bindgen
SCHEMAS := $(CACHE)/schemas-3
MUTANTS := $(or $(shell command -v cargo-mutants),$(CACHE)/cargo-mutants-27.1.0/bin/cargo-mutants)
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)
NO_SHELLS := $(strip $(foreach name,zsh fish curl wget git gpg gpg-agent shellcheck,$(if $(shell command -v $(name)),,$(name))))
PROMETHEUS := github.com/prometheus-operator/prometheus-operator@v0.85.0:example/prometheus-operator-crd/monitoring.coreos.com
KUBEWARDEN := github.com/kubewarden/kubewarden-controller@v1.36.0:charts/kubewarden-crds/templates/crds/policies.kubewarden.io
DEBUG := $(abspath $(or $(CARGO_TARGET_DIR),target))/debug
BUILT := $(or $(CARGO_TARGET_DIR),target)/wasm/wasm32-unknown-unknown/wasm
MOST_BYTES := 600000
# The page as it is published.
PLAYGROUND := $(or $(CARGO_TARGET_DIR),target)/playground
# When the version in Cargo.toml was or will be released.
RELEASED := 2026-11-21T00:00:00Z
BINARYEN := 132.0.0
RUNS := 10000000
# For `make oracle`: how many pairs, and the seed of the first.
PAIRS := 50
# For `make reach`: how many charts for each Helm, with fifty subcharts and more.
PARENTS := 50
SEED := 1
WASM_OPT := $(CACHE)/binaryen-$(BINARYEN)/node_modules/.bin/wasm-opt
FEATURES := bulk-memory bulk-memory-opt sign-ext mutable-globals nontrapping-float-to-int multivalue reference-types simd
OPTIMIZE = $(WASM_OPT) --strip-producers --strip-target-features $(FEATURES:%=--enable-%)
# Of wasm-opt, compared by `make bench`.
LEVELS := O2 O3 Os Oz

help: ## what there is
	@sed -n 's/^\([a-z0-9.-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 30

setup: ## install what the build needs beyond Rust
	policy/wasm-cargo setup

try: annotated-policy.wasm ## watch the wasm judge requests that a real API server sent
	cargo build -p stable-hooks -p annotate --bins
	@echo "Compiling the wasm; this debug build of wasmtime takes some seconds for it ..."
	$(DEBUG)/stable-hooks review --policy annotated-policy.wasm --settings examples/settings.yaml examples/*.json || [ $$? = 1 ]

# Two fifths of the tests' processor time are Helm's; with a larger heap it spends a sixth less on one render.
test: annotated-policy.wasm annotated-releases-policy.wasm test-wasm schemas shells monitoring chromium playground-files ## every test
	@set -e; if [ -d $(SCHEMAS) ]; then export SCHEMAS=$(SCHEMAS); fi; \
	if command -v go >/dev/null; then set -- $$(e2e/tools/build helm3 helm4 oracle kustomize); \
	export HELM3=$$1/helm HELM4=$$2/helm ORACLE=$$3/oracle KUSTOMIZE=$$4/kustomize GOGC=400; fi; \
	cargo test --workspace --exclude stable-hooks-e2e
	PLAYGROUND_QUESTIONS=$(abspath $(or $(CARGO_TARGET_DIR),target))/tmp/playground.jsonl playground/test $(PLAYGROUND)

test-wasm: ## the core's tests as wasm in Node; builds for wasm what needs no files or programs
ifneq ($(shell command -v node),)
test-wasm: setup $(RUNNER)
	NODE_PATH=$(CURDIR)/tests/node CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER=$(RUNNER) policy/wasm-cargo test -p stable-hooks-helm -p stable-hooks-policy --lib
	policy/wasm-cargo check -p stable-hooks-host -p stable-hooks --lib --no-default-features
else ifeq ($(CI),)
	@echo "SKIPPED: test-wasm needs Node, which is not on the PATH" >&2
else
	@echo "test-wasm needs Node, and in CI it is not skipped" >&2; exit 1
endif

schemas: ## the published schemas that tests hold our reports and manifests against
ifneq ($(and $(shell command -v go),$(shell command -v npm)),)
schemas: $(SCHEMAS)
else ifeq ($(CI),)
	@echo "SKIPPED: the schemas need npm and Go, which are not both on the PATH" >&2
else
	@echo "the schemas need npm and Go, and in CI they are not skipped" >&2; exit 1
endif

# Where they cannot be installed their tests are skipped, and say so.
shells: ## the shells that completions are tested in, and what else tests run, installed with apt-get
ifneq ($(NO_SHELLS),)
	@$(AS_ROOT) apt-get update -q && $(AS_ROOT) apt-get install -qy $(NO_SHELLS) || \
	{ echo "there is no $(NO_SHELLS), and apt-get did not install it" >&2; [ -z "$(CI)" ]; }
endif

postgresql: ## the database that Helm's SQL driver is tested with, installed with apt-get
ifeq ($(wildcard /usr/lib/postgresql/*/bin/initdb),)
	@$(AS_ROOT) apt-get update -q && $(AS_ROOT) apt-get install -qy postgresql || \
	{ echo "there is no PostgreSQL, and apt-get did not install it" >&2; [ -z "$(CI)" ]; }
endif

monitoring: ## the alert rules, checked and tested with promtool, which comes from Debian where it is missing
	tests/monitoring/check

# From packages that carry them: SARIF's from npm, the CRDs from Go modules.
$(SCHEMAS):
	rm -rf $@.new && mkdir -p $@.new && cd $@.new && npm pack --silent @microsoft/jest-sarif@1.0.0-beta.0 >/dev/null
	tar -xzOf $@.new/*.tgz package/lib/schemas/sarif-2.1.0-rtm.5.json >$@.new/sarif-2.1.0.json
	for file in github.com/kyverno/kyverno@v1.12.0:config/crds/policyreport/wgpolicyk8s.io_policyreports.yaml \
		github.com/openreports/reports-api@v0.2.1:config/crd/openreports.io_reports.yaml \
		$(KUBEWARDEN)_policyservers.yaml $(KUBEWARDEN)_clusteradmissionpolicies.yaml $(KUBEWARDEN)_admissionpolicies.yaml \
		$(PROMETHEUS)_prometheusrules.yaml $(PROMETHEUS)_servicemonitors.yaml; do \
		folder=$$(go mod download -json $${file%:*} | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') && \
		install -m 644 "$$folder/$${file#*:}" $@.new || exit; done
	rm $@.new/*.tgz && mv $@.new $@

$(RUNNER):
	cargo install wasm-bindgen-cli --version $(BINDGEN) --root $(CACHE)/wasm-bindgen-$(BINDGEN)

lint: ## formatting and lints
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy -p stable-hooks --lib --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items -q

deny: ## licences, duplicates, sources and known vulnerabilities of all dependencies
	cargo deny --workspace check

policy.wasm: $(SOURCES) | $(WASM_OPT) ## the policy as wasm
	policy/wasm-cargo build --profile wasm -p stable-hooks-policy
	$(OPTIMIZE) -Oz -o $@ $(BUILT)/stable_hooks_policy.wasm

reproducible: ## two builds of policy.wasm, in different folders, have the same bytes
	tools/reproducible policy.wasm policy.wasm

reproducible-program: ## two builds of a release's archives, in different folders, have the same bytes
	tools/reproducible dist dist/SHA256SUMS

yardstick.wasm: Cargo.toml Cargo.lock policy/wasm-cargo tests/yardstick/Cargo.toml tests/yardstick/src/lib.rs | $(WASM_OPT)
	policy/wasm-cargo build --profile wasm -p yardstick
	$(OPTIMIZE) -Oz -o $@ $(BUILT)/yardstick.wasm

annotated-yardstick.wasm: yardstick.wasm tests/yardstick/metadata.yml
	cargo build -p stable-hooks -p annotate --bins
	$(DEBUG)/annotate $^ $@

$(WASM_OPT): | setup
	npm install --silent --no-audit --no-fund --prefix $(CACHE)/binaryen-$(BINARYEN) binaryen@$(BINARYEN)

annotated-policy.wasm: policy/metadata.yml ## the objects policy: with the metadata that policy-server requires
annotated-releases-policy.wasm: policy/releases/metadata.yml ## the releases policy: the same bytes, other metadata
# One build with the program that `make try` runs: apart they would differ in features, and dependencies be compiled twice.
annotated-policy.wasm annotated-releases-policy.wasm: policy.wasm
	@if command -v kwctl >/dev/null; then kwctl annotate policy.wasm -m $(filter %.yml,$^) -u policy/usage.md -o $@; \
	else cargo build -p stable-hooks -p annotate --bins && $(DEBUG)/annotate policy.wasm $(filter %.yml,$^) $@; fi
	@bytes=$$(wc -c <$@); echo "$@: $$bytes bytes, at most $(MOST_BYTES)"; [ $$bytes -le $(MOST_BYTES) ] || { rm $@; exit 1; }

# A folder of its own, or the next build would take the one for the other.
without-runtime: ## the program without the embedded wasmtime, and what it says to --policy
	cargo build --no-default-features --features cli --target-dir $(dir $(DEBUG))without-runtime
	tests/without-runtime $(dir $(DEBUG))without-runtime/debug/stable-hooks

dist: ## the archives of a release for this machine's platform, in dist/
	tools/dist dist

docs: annotated-policy.wasm ## rewrite what is generated from the code
	BLESS=1 cargo test -q --test it -- audit docs fuel

artifacthub: ## rewrite the Artifact Hub packages from the metadata and the forms, with kwctl
	policy/artifacthub policy $(RELEASED) >policy/artifacthub-pkg.yml
	policy/artifacthub policy/releases $(RELEASED) >policy/releases/artifacthub-pkg.yml

e2e: annotated-policy.wasm annotated-releases-policy.wasm schemas postgresql ## real API server, real Helm, without and with the policy
	cargo build
	SCHEMAS=$(SCHEMAS) PATH="$(DEBUG):$$PATH" cargo test -p stable-hooks-e2e --test helm --test hour --test forecast
	$(MAKE) oracle

oracle: ## small charts made of seeds: what real Helm does, and whether we foresee it: make oracle PAIRS=2000 SEED=7
	cargo build
	PATH="$(DEBUG):$$PATH" PAIRS=$(PAIRS) SEED=$(SEED) \
		cargo test -p stable-hooks-e2e --test oracle

guard-cost: ## what the guard costs beside a dry run by hand, on the same API server: the table in docs/guard.md
	cargo build --release --no-default-features --features cli
	PATH="$(dir $(DEBUG))release:$$PATH" cargo test -p stable-hooks-e2e --test cost

forecast-cost: ## what `forecast -A` adds to the renders of 1,000 releases, on a real API server: the table in docs/forecast.md
	cargo build --release --no-default-features --features cli
	PATH="$(dir $(DEBUG))release:$$PATH" cargo test -p stable-hooks-e2e --test cost -- forecast

reach: ## charts made of seeds: a value that `chart --sweep` leaves out changes nothing in real Helm: make reach PARENTS=50
	set -- $$(e2e/tools/build helm3 helm4) && HELM3=$$1/helm HELM4=$$2/helm PARENTS=$(PARENTS) \
		cargo test --test it -- reach_what_is_outside_of_it_never_changes_an_object

e2e-argocd: annotated-policy.wasm annotated-releases-policy.wasm ## the same API server, with real Argo CD
	cargo build
	PATH="$(DEBUG):$$PATH" cargo test -p stable-hooks-e2e --test argocd

e2e-kwctl: annotated-policy.wasm annotated-releases-policy.wasm annotated-yardstick.wasm ## the annotated wasm under the real kwctl and policy-server
	cargo build
	set -- $$(e2e/tools/build kustomize yq) && PATH="$$1:$$2:$$PATH" \
	STABLE_HOOKS="$(DEBUG)/stable-hooks" bats e2e

e2e-kubewarden: annotated-policy.wasm annotated-releases-policy.wasm ## the whole of Kubewarden on the same API server, by its own charts
	cargo build
	PATH="$(DEBUG):$$PATH" cargo test -p stable-hooks-e2e --test kubewarden

kubewarden-load: annotated-policy.wasm annotated-releases-policy.wasm annotated-yardstick.wasm ## how long two policy-servers take beside a guest that does nothing: the table in docs/load.md
	cargo build
	PATH="$(DEBUG):$$PATH" cargo test --release -p stable-hooks-e2e --test load

e2e-kyverno: annotated-policy.wasm annotated-releases-policy.wasm ## the policy asked by the real Kyverno and its CLI
	"$$(e2e/tools/build kyverno)/kubectl-kyverno" test policy/kyverno/tests --remove-color
	cargo test -p stable-hooks-e2e --test kyverno

bench: annotated-policy.wasm yardstick.wasm playground-files $(LEVELS:%=target/bench/%.wasm) target/bench/names.wasm ## rewrite docs/performance.md: costs in wasmtime fuel, bytes and ratios
	PATH="$$(e2e/tools/build helm4):$$PATH" LEVELS="$(LEVELS)" cargo bench --bench cost

target/bench/%.wasm: policy.wasm
	@mkdir -p $(@D)
	$(OPTIMIZE) -$* -o $@ $(BUILT)/stable_hooks_policy.wasm

# The same module with the names of its functions.
target/bench/names.wasm: policy.wasm
	@mkdir -p $(@D)
	$(OPTIMIZE) -Oz -g -o $@ $(BUILT)/stable_hooks_policy.wasm

# In a folder of its own, or the next build takes the core that was broken last for the one that is here.
mutants: export CARGO_TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))/mutants
# What the core's own tests let live (2) or run on for ever (3) meets the cases, which take longer to build.
mutants: | $(MUTANTS) ## break the core line by line and list what no test notices; ONLY='regex' for some of it
	$(MUTANTS) mutants -p stable-hooks-helm -p stable-hooks-policy $(if $(ONLY),-F '$(ONLY)') -C=--lib || case $$? in 2|3) ;; *) false ;; esac
	$(MUTANTS) mutants -p stable-hooks-helm -p stable-hooks-policy $(if $(ONLY),-F '$(ONLY)') --iterate --test-package stable-hooks \
		--baseline skip --timeout 120 -C=--test=it -- -- cases:: rules:: corpus:: releases:: release_records::

$(MUTANTS):
	cargo install cargo-mutants --version 27.1.0 --locked --root $(CACHE)/cargo-mutants-27.1.0

playground-files: $(PLAYGROUND)/core_bg.wasm ## the playground as a folder of static files, in target/playground

playground: playground-files ## the playground, served on this machine alone
	@echo "http://127.0.0.1:8000/ ends with Ctrl-C"
	@python3 -m http.server --bind 127.0.0.1 --directory $(PLAYGROUND) 8000

$(PLAYGROUND)/core_bg.wasm: annotated-policy.wasm $(shell find playground/page playground/src playground/build src templates crates/host/src -type f) playground/Cargo.toml | $(RUNNER)
	policy/wasm-cargo build --profile wasm -p stable-hooks-playground
	$(BINDGEN_PROGRAM) --target web --no-typescript --out-name core --out-dir $(PLAYGROUND)-core $(BUILT)/stable_hooks_playground.wasm
	$(OPTIMIZE) -Oz -o $(PLAYGROUND)-core/core_bg.wasm $(PLAYGROUND)-core/core_bg.wasm
	playground/build $(PLAYGROUND)-core annotated-policy.wasm $(PLAYGROUND) || { rm -r $(PLAYGROUND); exit 1; }
	@touch $@

test-playground: playground-files chromium ## the playground in a real Chromium
	cargo test --test it -- playground_says_what_the_program_says_of_every_case
	PLAYGROUND_QUESTIONS=$(abspath $(or $(CARGO_TARGET_DIR),target))/tmp/playground.jsonl playground/test $(PLAYGROUND)

# Where it cannot be had the pages' tests are skipped, and say so; in CI that is an error.
chromium: ## in CI: the browser that pages are tested in, installed with apt-get
ifneq ($(CI),)
ifeq ($(or $(CHROMIUM),$(shell command -v chromium)),)
	@$(AS_ROOT) apt-get update -q && $(AS_ROOT) apt-get install -qy --no-install-recommends chromium
endif
endif

fuzz: ## a fuzz target until it has run so often or fails: make fuzz TARGET=record RUNS=10000000
	RUSTC_WRAPPER=$(CURDIR)/fuzz/watched cargo fuzz run -s none --no-trace-compares --features libfuzzer $(TARGET) -- \
		$(addprefix -dict=,$(wildcard fuzz/dictionaries/$(TARGET).dict)) -runs=$(RUNS) -max_len=1024 -timeout=10

fuzz-smoke: annotated-releases-policy.wasm ## every committed input of the fuzz targets, without libFuzzer
	cargo test -p stable-hooks-fuzz

ci: lint test e2e ## what CI runs
