# Entry points. Each installs what it lacks, inside the tree where it can (target/, .venv/), and says what it is doing.
#
# FRAMEWORKS=1   also install torch and jax (6 GB) for the tests that hand batches to them; else those tests are skipped
# QUICK=1        bench, bench-pairs and test-exhaustive: a short run to try them out, which records nothing in docs/
# PYTHON=...     the Python (3.11 or newer) to make .venv with
# PREFIX=...     where install-c puts the C interface (/usr/local); DESTDIR=... goes before it

SHELL := bash
PY := .venv/bin/python
SETUP := tests/scripts/setup.sh
FRAMEWORKS ?=
# More arguments of `damacy bench`.
BENCH_FLAGS ?=
QUICK ?=

# One target folder, one profile, and always the whole workspace: another selection of packages has other features, and
# the heavy dependencies would be compiled again. The Python module needs no Python to build.
export CARGO_TARGET_DIR ?= $(CURDIR)/target
export PYO3_NO_PYTHON := 1
export PYO3_BUILD_EXTENSION_MODULE := 1
CARGO_FLAGS := --release --locked --workspace
PREFIX ?= /usr/local
ENCODER_FLAGS := --release --locked --manifest-path core-wit/encoder/Cargo.toml
export PYTHONDONTWRITEBYTECODE := 1

.PHONY: help demo test test-rust test-python test-c test-js test-web test-exhaustive test-aarch64 miri c-libraries install-c npm-package \
	explorer fuzz lint wheel device-check artifacts check-artifacts bench bench-smoke bench-pairs clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## Stream random crops of a real MRI volume in three output types
	@$(SETUP) tools
	@$(SETUP) venv demo
	@$(SETUP) damacy
	@$(PY) python/examples/demo.py

test: test-rust test-python test-c test-js test-web bench-smoke ## Run every test: Rust, Python, C, JavaScript, the web page

test-rust:
	@$(SETUP) tools
	@echo "== cargo test (the first build compiles wasmtime and takes some minutes)"
	@cargo test $(CARGO_FLAGS)
	@echo "== cargo test: the committed component and GPU kernels"
	@cargo test $(ENCODER_FLAGS)

test-python:
	@$(SETUP) tools
	@$(SETUP) venv dev $(if $(FRAMEWORKS),frameworks)
	@$(SETUP) damacy
	@echo "== pytest: the Python package"
	@cd python && $(if $(FRAMEWORKS),DAMACY_TEST_FRAMEWORKS=1 )DAMACY_TEST_SOFT_CUDA=1 ../$(PY) -m pytest tests -q --timeout 300
	@echo "== pytest: zarr-python as the judge"
	@DAMACY_TEST_SOFT_CUDA=1 $(PY) -m pytest tests/python -q --timeout 300

c-libraries:
	@$(SETUP) tools
	@echo "== building libdamacy.so and libdamacy.a (the first build compiles wasmtime and takes some minutes)"
	@cargo build $(CARGO_FLAGS) --quiet --lib --examples

test-c: c-libraries ## Test the C interface: both libraries installed, C and C++ programs, also under valgrind and ulimit -v
	@$(SETUP) c
	@$(SETUP) venv dev
	@echo "== cargo test: C programs"
	@cargo test $(CARGO_FLAGS) --test c_programs -- --ignored
	@echo "== pytest: batches of the C interface as NumPy and zarr-python see them"
	@DAMACY_LIBRARY=$(CARGO_TARGET_DIR)/release/libdamacy.so $(PY) -m pytest host/capi/tests -q --timeout 300

install-c: c-libraries ## Install header, libdamacy.so, libdamacy.a and a pkg-config file below PREFIX
	@host/capi/install.sh $(PREFIX)
	@echo "== installed into $(DESTDIR)$(PREFIX)"

npm-package: ## Build the npm package (core-wit/js) out of the committed component
	@$(SETUP) node core-wit/js
	@echo "== npm: the package out of the committed component"
	@cd core-wit/js && npm run --silent build

test-js: npm-package ## Build and test the npm package (core-wit/js), packed and installed
	@echo "== node --test: the npm package"
	@cd core-wit/js && npm_config_cache=$(CURDIR)/.cache/npm npm test --silent

explorer: npm-package ## Build the dtype explorer: one HTML file to open from disk
	@echo "== the dtype explorer"
	@cd core-wit/web && node build.mjs

test-web: explorer ## Test the dtype explorer and the benchmark's report in Chromium
	@$(SETUP) node core-wit/web
	@$(SETUP) chromium
	@echo "== node --test: the dtype explorer in Chromium"
	@cd core-wit/web && CHROMIUM=$${CHROMIUM:-$$(command -v chromium)} npm test --silent
	@$(SETUP) tools
	@cargo build $(CARGO_FLAGS) --quiet --bins
	@echo "== node --test: the benchmark's report in Chromium"
	@CHROMIUM=$${CHROMIUM:-$$(command -v chromium)} DAMACY=$(CARGO_TARGET_DIR)/release/damacy \
		node --test --test-concurrency=1 host/bench/web-tests/*.test.mjs

test-exhaustive: ## All 2^32 float32 inputs on every CPU target, recorded in docs/exhaustive.md (minutes)
	@$(SETUP) tools
	@echo "== cargo test: all float32 inputs"
	@$(if $(QUICK),DAMACY_EXHAUSTIVE_STEP=50,DAMACY_EXHAUSTIVE_RECORD=$(CURDIR)/docs/exhaustive.md) \
		cargo test $(CARGO_FLAGS) --test exhaustive -- --ignored --nocapture

# On an aarch64 machine `make test` runs the same tests without an emulator.
AARCH64 := aarch64-unknown-linux-gnu
test-aarch64: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER := aarch64-linux-gnu-gcc
test-aarch64: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER := qemu-aarch64-static -L /usr/aarch64-linux-gnu
test-aarch64: ## Test the core and the native kernels compiled for aarch64 (NEON), emulated by qemu
	@$(SETUP) tools
	@$(SETUP) aarch64
	@echo "== cargo test: the core and its kernels for aarch64, in qemu"
	@cargo test --release --locked --package damacy-core --package damacy-suite --target $(AARCH64)

miri: ## Run the core's unsafe code under miri (nightly Rust)
	@$(SETUP) tools
	@$(SETUP) miri
	@tests/scripts/miri.sh

fuzz: ## Fuzz the parser, the planner, the cost model and conversion (FUZZ_SECONDS=60 in all)
	@$(SETUP) tools
	@$(SETUP) cxx
	@core-wit/fuzz/run.sh

lint: ## Check formatting, clippy (warnings are errors), ruff
	@$(SETUP) tools
	@$(SETUP) venv dev
	@echo "== cargo fmt --check"
	@cargo fmt --all --check
	@cargo fmt --manifest-path core-wit/encoder/Cargo.toml --check
	@cargo fmt --manifest-path core-wit/fuzz/Cargo.toml --check
	@echo "== cargo clippy"
	@cargo clippy $(CARGO_FLAGS) --all-targets --quiet -- -D warnings
	@cargo clippy $(ENCODER_FLAGS) --all-targets --quiet -- -D warnings
	@echo "== cargo clippy: the rules alone, without std"
	@cargo clippy --release --locked --package damacy-core --no-default-features --lib --quiet -- -D warnings
	@echo "== ruff"
	@$(PY) -m ruff check --quiet --line-length 120 --select E4,E7,E9,F,I,B,UP --target-version py311 \
		--exclude tests/vectors --exclude node_modules python tests core-wit cuda-accel host

wheel: ## Build the Python wheel into target/wheels and try it
	@$(SETUP) tools
	@$(SETUP) venv dev
	@$(SETUP) wheel

DEVICE_CHECK := $(CARGO_TARGET_DIR)/device-check

device-check: ## Build target/device-check, the folder that checks and measures damacy on a machine with a GPU
	@$(SETUP) tools
	@$(SETUP) venv dev
	@$(SETUP) wheel
	@echo "== cargo build: the device check"
	@cargo build $(CARGO_FLAGS) --quiet --bin damacy-device-check
	@rm -rf $(DEVICE_CHECK) && mkdir -p $(DEVICE_CHECK)
	@cp cuda-accel/device-check/run.sh cuda-accel/device-check/device-check.py target/wheels/damacy-*.whl $(DEVICE_CHECK)
	@cp $(CARGO_TARGET_DIR)/release/damacy-device-check $(DEVICE_CHECK) && strip $(DEVICE_CHECK)/damacy-device-check
	@echo "== numpy and ml_dtypes for the Python 3.12 that is there"
	@$(PY) -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.12 \
		--platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux2014_x86_64 \
		--dest $(DEVICE_CHECK)/wheels numpy==2.5.5 ml_dtypes==0.7.0 </dev/null
	@cuda-accel/device-check/verify.sh $(DEVICE_CHECK)

artifacts: ## Rebuild the committed WebAssembly component and the GPU kernels' PTX
	@$(SETUP) tools
	@$(SETUP) wasm
	@echo "== building the component"
	@core-wit/build-component.sh
	@echo "== building the GPU kernels"
	@cuda-accel/build-ptx.sh

check-artifacts: ## Rebuild component and PTX elsewhere and compare them with the committed ones
	@$(SETUP) tools
	@$(SETUP) wasm
	@echo "== rebuilding the component to compare it byte for byte"
	@core-wit/build-component.sh --check
	@echo "== rebuilding the GPU kernels to compare them byte for byte"
	@cuda-accel/build-ptx.sh --check

BENCH_DIR := $(if $(QUICK),target/bench,docs/performance)

bench: ## Criterion benchmarks, then all scenarios beside all peers, recorded in docs/performance
	@$(SETUP) tools
	@$(SETUP) venv bench
	@$(SETUP) damacy
	@echo "== cargo bench"
	@cargo bench --locked --workspace --bench convert --bench plan --bench sandbox --bench pipeline --bench pool
	@echo "== the loader beside its peers"
	@host/bench/record.sh $(CARGO_TARGET_DIR)/release/damacy $(PY) $(BENCH_DIR) $(if $(QUICK),--repeat 1 --search-time 1s) $(BENCH_FLAGS)

bench-smoke: ## A benchmark of seconds: its machinery works and its predictions hold; no speed is looked at
	@$(SETUP) tools
	@cargo build $(CARGO_FLAGS) --quiet --bins
	@echo "== damacy bench smoke"
	@$(CARGO_TARGET_DIR)/release/damacy bench smoke --repeat 2 --quiet --out $(CARGO_TARGET_DIR)/bench-smoke

PAIRS_DIR := $(if $(QUICK),target/bench-pairs,docs/performance)
PAIRS_FLAGS := $(if $(QUICK),--quick)
PAIRS_BENCH := cargo bench --locked --workspace --quiet --bench pairs -- $(PAIRS_FLAGS)

bench-pairs: ## Conversion of all 100 pairs beside memcpy, numpy and torch (5.4 GB), recorded in docs/performance.md
	@$(SETUP) tools
	@$(SETUP) venv demo torch
	@$(SETUP) damacy
	@mkdir -p $(PAIRS_DIR) && rm -f $(PAIRS_DIR)/pairs*.json $(PAIRS_DIR)/casts.json
	@echo "== all pairs beside memcpy and in the sandbox (minutes)"
	@$(PAIRS_BENCH) --out $(PAIRS_DIR)/pairs.json
	@echo "== the lesser instruction sets"
	@DAMACY_SIMD=baseline $(PAIRS_BENCH) --flat-only --out $(PAIRS_DIR)/pairs-baseline.json
	@if grep -q avx512f /proc/cpuinfo; then \
		DAMACY_SIMD=avx2 $(PAIRS_BENCH) --flat-only --out $(PAIRS_DIR)/pairs-avx2.json; fi
	@echo "== all pairs beside numpy and torch"
	@$(PY) python/benchmarks/casts.py $(PAIRS_FLAGS) --out $(PAIRS_DIR)/casts.json
	@$(PY) python/benchmarks/pairs_report.py --data $(PAIRS_DIR) \
		--document $(if $(QUICK),$(PAIRS_DIR)/performance.md,docs/performance.md)

clean: ## Remove everything that was built or installed in the tree
	rm -rf target .venv .cache demo-output core-wit/js/node_modules core-wit/js/dist \
		core-wit/web/node_modules core-wit/web/dist core-wit/web/screenshots host/bench/web-tests/screenshots
