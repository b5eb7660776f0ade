# Every target installs what it needs: on a fresh Debian 12, `make test` or `make run` is enough.
# `make help` lists the targets.

JOBS         ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX       ?= /usr/local
FUZZ_SECONDS ?= 60
BENCH        ?= .
SOAK_SECONDS ?= 600
MUTANTS      ?=
# Not ?=: GNU make has a variable of this name, "lint".
LINT :=

# gcc's thread sanitizer does not start under some kernels' address randomisation: disable it, if
# permitted.
STEADY := $(shell setarch -R true 2>/dev/null && echo setarch -R)

export CTEST_PARALLEL_LEVEL := $(JOBS)
export UBSAN_OPTIONS ?= print_stacktrace=1

.PHONY: help run build test bench bench-webhooks compare soak sanitize asan tsan fuzz lint format coverage mutants \
  install package clean
.DEFAULT_GOAL := help

help:  ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: setup-build configure-release  ## Build, then demonstrate the proxy in four incidents: damper demo
	@cmake --build build/release -j $(JOBS) --target damper_program_damper
	@build/release/bin/damper demo

build: setup-test configure-release  ## Build everything: build/release/bin/damper and the tests
	cmake --build build/release -j $(JOBS)

test: build  ## Build and run all tests
	tools/ctest build/release

bench: setup-bench configure-release  ## Run the benchmarks; BENCH=RetryBudget for some of them
	cmake --build build/release -j $(JOBS) --target damper_bench
	build/release/bin/damper_bench --benchmark_filter='$(BENCH)'

bench-webhooks: setup-bench configure-release  ## Measure the webhook dispatcher: rates, CPU, latency, isolation, memory
	cmake --build build/release -j $(JOBS) --target damper_program_damper damper_webhook_load
	bench/webhooks/measure

compare: setup-compare configure-release  ## Compare the proxy's cost with nginx and haproxy
	cmake --build build/release -j $(JOBS) --target damper_program_damper
	bench/proxy/compare

soak: setup-test configure-release  ## Run mixed load with faults through the proxy for SOAK_SECONDS=600
	cmake --build build/release -j $(JOBS) --target damper_program_damper
	DAMPER=build/release/bin/damper SOAK_SECONDS=$(SOAK_SECONDS) python3 tests/proxy/soak.py

sanitize: asan tsan  ## Run the tests under address, undefined-behaviour and thread sanitizers

asan tsan: %: setup-sanitize configure-%
	$(STEADY) cmake --build build/$* -j $(JOBS)
	$(STEADY) tools/ctest build/$*

fuzz: setup-fuzz configure-fuzz  ## Run each fuzzer for FUZZ_SECONDS=60; stop at a finding
	cmake --build build/fuzz -j $(JOBS)
	tools/fuzz build/fuzz/bin $(FUZZ_SECONDS)

lint: setup-lint configure-lint  ## The tree's own rules, clang-format, clang-tidy of what changed; LINT=--all for all
	tools/tidy
	tools/lint --jobs $(JOBS) $(LINT) build/lint

format:  ## Format all C++ files in place
	tools/lint --format

coverage: setup-coverage configure-coverage  ## Measure line coverage of src/, by file
	cmake --build build/coverage -j $(JOBS)
	find build/coverage -name '*.gcda' -delete
	ctest --preset coverage
	gcovr --root . --filter src/ --exclude '.*_(test|bench)\.cc' --print-summary \
	  --exclude-throw-branches build/coverage

mutants: setup-mutants  ## Find changes to the core that no test notices; MUTANTS='--file admit/places.h' for some
	tools/mutants --jobs $(JOBS) $(MUTANTS)

install: build  ## Install under PREFIX=/usr/local; DESTDIR is honoured
	cmake --install build/release --prefix '$(PREFIX)'

package: build  ## Build the .deb packages in build/packages
	cpack --config build/release/CPackConfig.cmake -G DEB -B build/packages

clean:  ## Remove all build output
	rm -rf build

.NOTPARALLEL:
setup-%:
	@tools/setup $*

# Ninja configures again when a CMake file changes, but not when the presets change.
configure-%: build/%/build.ninja ;
build/%/build.ninja: CMakePresets.json
	cmake --preset $*
	@touch $@
.PRECIOUS: build/%/build.ninja
