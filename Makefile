# Every target does its own set-up: on a fresh Debian 12, `make test` or `make run` is all it takes.
# `make help` lists the targets.

JOBS         ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX       ?= /usr/local
FUZZ_SECONDS ?= 60
BENCH        ?= .
SOAK_SECONDS ?= 600
LINT         ?=

# gcc's thread sanitizer does not start under some kernels' address randomisation: off, where we may.
STEADY := $(shell setarch -R true 2>/dev/null && echo setarch -R)

export CTEST_PARALLEL_LEVEL := $(JOBS)
export UBSAN_OPTIONS ?= print_stacktrace=1

.PHONY: help run build test bench compare soak sanitize asan tsan fuzz lint format coverage install \
  package clean
.DEFAULT_GOAL := help

help:  ## This list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: setup-build configure-release  ## Build, then show the proxy in four troubles: damper demo
	@cmake --build build/release -j $(JOBS) --target damper_program_damper
	@build/release/bin/damper demo

build: setup-test configure-release  ## Build everything: build/release/bin/damper and the tests
	cmake --build build/release -j $(JOBS)

test: build  ## Build and run every test
	ctest --preset release

bench: setup-bench configure-release  ## Run the benchmarks; BENCH=RetryBudget for some of them
	cmake --build build/release -j $(JOBS) --target damper_bench
	build/release/bin/damper_bench --benchmark_filter='$(BENCH)'

compare: setup-compare configure-release  ## The proxy's cost beside nginx's and haproxy's
	cmake --build build/release -j $(JOBS) --target damper_program_damper
	bench/proxy/compare

soak: setup-test configure-release  ## SOAK_SECONDS=600 of mixed load with faults through the proxy
	cmake --build build/release -j $(JOBS) --target damper_program_damper
	DAMPER=build/release/bin/damper SOAK_SECONDS=$(SOAK_SECONDS) python3 tests/proxy/soak.py

sanitize: asan tsan  ## The tests under address, undefined-behaviour and thread sanitizers

asan tsan: %: setup-sanitize configure-%
	$(STEADY) cmake --build build/$* -j $(JOBS)
	$(STEADY) ctest --preset $*

fuzz: setup-fuzz configure-fuzz  ## Run each fuzzer for FUZZ_SECONDS=60; stop at a finding
	cmake --build build/fuzz -j $(JOBS)
	tools/fuzz build/fuzz/bin $(FUZZ_SECONDS)

lint: setup-lint configure-release  ## The tree's own rules, clang-format, clang-tidy of what changed; LINT=--full for all
	tools/tidy
	tools/lint --jobs $(JOBS) $(LINT) build/release

format:  ## Format all C++ files in place
	tools/lint --format

coverage: setup-coverage configure-coverage  ## Line coverage of src/, by file
	cmake --build build/coverage -j $(JOBS)
	find build/coverage -name '*.gcda' -delete
	ctest --preset coverage
	gcovr --root . --filter src/ --exclude '.*_(test|bench)\.cc' --print-summary \
	  --exclude-throw-branches build/coverage

install: build  ## Install under PREFIX=/usr/local; DESTDIR is honoured
	cmake --install build/release --prefix '$(PREFIX)'

package: build  ## The .deb packages, in build/packages
	cpack --config build/release/CPackConfig.cmake -G DEB -B build/packages

clean:  ## Remove everything that was built
	rm -rf build

.NOTPARALLEL:
setup-%:
	@tools/setup $*

# Ninja configures again by itself when a CMake file changes; only the presets are not its own.
configure-%: build/%/build.ninja ;
build/%/build.ninja: CMakePresets.json
	cmake --preset $*
	@touch $@
.PRECIOUS: build/%/build.ninja
