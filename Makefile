# Everything here sets itself up in .venv: a fresh machine needs Python 3.11, gcc and make.
.DEFAULT_GOAL := help
PYTHON ?= $(shell command -v python3.11 || command -v python3)
WORKLOAD ?= visual_sac
WORKLOADS := $(notdir $(patsubst %/,%,$(wildcard workloads/*/)))
# A workload with an install.sh pins what nothing else here can live with: a venv of its own.
APART := $(notdir $(patsubst %/,%,$(dir $(wildcard workloads/*/install.sh))))
TOGETHER := $(filter-out $(APART),$(WORKLOADS))
VENV := .venv
DEMO_VENV := $(if $(filter $(WORKLOAD),$(APART)),$(VENV)-$(WORKLOAD),$(VENV))
BIN := $(VENV)/bin
# Every environment has a file in locks/, which says the version of every package. NEWEST=--newest does without.
LOCKED := scripts/locked.py $(NEWEST)
INSTALL := $(BIN)/python $(LOCKED) locks/venv.txt install
TICKTREE := --no-build-isolation .
WHEEL := build/wheel
# Most modules of what tests use are never imported: compiling them all takes longer than installing them. Those that are
# imported are compiled once, whatever the caller's shell says.
UNCOMPILED := --no-compile
unexport PYTHONDONTWRITEBYTECODE
TEST := $(addprefix --group ,test readers viewers browser network cluster learning notebook wheel)
TORCH := --constraint constraints.txt
PEERS := benchmarks/requirements-peers.txt
SOURCES := pyproject.toml setup.py $(shell find src -name '*.py' -o -name '*.py[xid]' -o -name '*.pyi' -o -name '*.px[id]' -o -name '*.h' -o -path '*/core/*.c' -o -name '*.pth' -o -name '*.html' -o -name '*.css')
PYTEST := $(BIN)/python -m pytest
# One worker a processor, `make test WORKERS=0` for none: many tests start programs of their own, and more than eight at
# once wait for one another. Whoever has nothing left takes over what others have not begun.
WORKERS ?= logical
SIDE_BY_SIDE := -n $(WORKERS) --maxprocesses 8 --dist worksteal

.PHONY: help demo lock test test-latest test-core test-slow test-thorough test-apart $(APART:%=test-apart-%) test-versions test-libraries gpu-check readers bench lint report-ui check-report-ui docs site wheel develop clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

demo: $(DEMO_VENV)/.$(WORKLOAD) ## Profile the visual SAC workload and show its report (WORKLOAD=name for another)
	$(DEMO_VENV)/bin/ticktree demo $(WORKLOAD)

test: $(TOGETHER:%=$(VENV)/.%) $(VENV)/.test ## Run every test but the slow ones
	$(PYTEST) $(SIDE_BY_SIDE) -m "not slow"

test-latest: ## Run the tests of `make test` with the newest of what they need: not part of what must pass
	rm -rf .venv-latest
	$(MAKE) test VENV=.venv-latest NEWEST=--newest

test-slow: $(TOGETHER:%=$(VENV)/.%) $(VENV)/.test ## Run the slow tests
	$(PYTEST) $(SIDE_BY_SIDE) -m slow

test-thorough: ## Run all tests with five times as many random programs, damaged files and seeds: not part of what must pass
	TICKTREE_THOROUGH=1 $(MAKE) test test-slow

test-core: ## Run the recorder's C tests, without Python, under the sanitizers
	mkdir -p build
	tests/recorder/core/build.sh build/core-tests address,undefined
	build/core-tests 20000
	tests/recorder/core/build.sh build/core-tests-threads thread
	build/core-tests-threads 2000

test-apart: $(APART:%=test-apart-%) ## Run the tests of the workloads that have a venv of their own

test-versions: ## Run the core's tests on all other supported Pythons
	scripts/test-versions.sh $(SIDE_BY_SIDE)

test-libraries: $(WHEEL)/.made ## Run the instruments' tests with the oldest versions of their libraries, those with JAX, and those with RL frameworks
	scripts/test-libraries.sh $(SIDE_BY_SIDE)

lock: ## Write locks/: the newest version of every package that is allowed here
	$(PYTHON) scripts/locked.py locks/venv.txt write $(TICKTREE) $(TORCH) $(TEST) --group lint $(TOGETHER:%=-r workloads/%/requirements.txt)
	$(PYTHON) scripts/locked.py locks/venv-site.txt write --group site
	$(PYTHON) scripts/locked.py locks/venv-bench.txt write $(TICKTREE)[top,query] $(TORCH) $$(sed '/^[#-]/d' $(PEERS)) $$(grep '^-' $(PEERS))
	$(foreach name,$(APART),$(PYTHON) scripts/locked.py locks/venv-$(name).txt write $(TICKTREE) --group test $(TORCH) -r workloads/$(name)/requirements.txt --no-deps --ignore-requires-python -r workloads/$(name)/requirements-no-deps.txt &&) scripts/test-versions.sh --lock && scripts/test-libraries.sh --lock
	npm update --prefix locks/readers --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --silent

gpu-check: $(VENV)-gpu/.made ## Check and measure on a GPU, where there is one; else it says so and fails
	PYTHON=$(VENV)-gpu/bin/python scripts/gpu_check.sh

readers: ## Get the programs, beside Python packages, that read the exports in the tests
	scripts/readers.sh

bench: $(TOGETHER:%=$(VENV)/.%) $(VENV)/.bench ## Measure, each figure beside a named peer in the same run
	scripts/bench.sh

lint: $(TOGETHER:%=$(VENV)/.%) $(VENV)/.test $(VENV)/.lint ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

report-ui: ## Build the HTML report's front end and put it into the package (needs Node)
	scripts/build-report-ui.sh

check-report-ui: ## Test the front end, and see that the committed page is what it builds
	scripts/build-report-ui.sh --check

docs: $(VENV)/.test ## Check that every link and every file named in the docs exists
	$(PYTEST) -q tests/test_docs.py

site: $(VENV)-site/.made ## Build the documentation's site into build/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(VENV)-site/bin/mkdocs build --strict

wheel: $(VENV)/.test ## Build a manylinux wheel, and see that it works without a compiler
	$(PYTEST) -q tests/test_wheel.py

develop: $(VENV)/.lint ## A venv with all tools, and the pre-commit hooks
	$(BIN)/pre-commit install

clean: ## Remove what was built
	rm -rf build dist .readers $(VENV) $(VENV)-* src/*.egg-info src/ticktree/recorder/*.so src/ticktree/recorder/_native.c

$(VENV)-site/.made: $(if $(NEWEST),,locks/venv-site.txt)
	$(PYTHON) $(LOCKED) locks/venv-site.txt create $(VENV)-site
	$(VENV)-site/bin/python $(LOCKED) locks/venv-site.txt install $(UNCOMPILED) --group site
	@touch $@

# Without a lock: what torch brings for a GPU is another for each kind.
$(VENV)-gpu/.made: $(SOURCES) constraints.txt
	$(PYTHON) scripts/locked.py --newest locks/venv.txt create $(VENV)-gpu
	$(VENV)-gpu/bin/python scripts/locked.py --newest locks/venv.txt install $(TICKTREE)[nvidia] $(TORCH) torch --group test
	@touch $@

$(VENV)/.made: $(if $(NEWEST),,locks/venv.txt)
	$(PYTHON) $(LOCKED) locks/venv.txt create $(VENV)
	@touch $@

# Built once for all environments of this Python: a build in each would compile again, since what Cython brings is newer
# there. Modules that are gone would be in it again, from what an earlier build left.
$(WHEEL)/.made: $(VENV)/.made $(SOURCES)
	rm -rf build/lib* $(WHEEL)
	$(BIN)/python $(LOCKED) locks/venv.txt run $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $(WHEEL) .
	@touch $@

# Not editable: what is tested is what people install, the .pth file included.
$(VENV)/.installed: $(WHEEL)/.made
	$(INSTALL) $(WHEEL)/*.whl
	@touch $@

$(VENV)/.test: $(VENV)/.installed scripts/install-browser.sh constraints.txt
	scripts/install-browser.sh
	$(INSTALL) $(UNCOMPILED) $(TORCH) $(TEST)
	@touch $@

$(VENV)/.lint: $(VENV)/.installed
	$(INSTALL) $(UNCOMPILED) --group lint
	@touch $@

$(TOGETHER:%=$(VENV)/.%): $(VENV)/.%: $(VENV)/.installed workloads/%/requirements.txt constraints.txt
	$(INSTALL) $(TORCH) --requirement workloads/$*/requirements.txt
	@touch $@

# What else can only be tested there.
ALSO_mlagents_trainer := tests/compat/test_mlagents_side_by_side.py

define apart
$(VENV)-$(1)/.made: locks/venv-$(1).txt
	$(PYTHON) $(LOCKED) locks/venv-$(1).txt create $(VENV)-$(1)
	@touch $$@

$(VENV)-$(1)/.$(1): $(VENV)-$(1)/.made $(wildcard workloads/$(1)/*.sh workloads/$(1)/*.txt) $(WHEEL)/.made constraints.txt
	$(VENV)-$(1)/bin/python $(LOCKED) locks/venv-$(1).txt install $(UNCOMPILED) $(WHEEL)/*.whl --group test
	PIP_COMPILE=no $(VENV)-$(1)/bin/python $(LOCKED) locks/venv-$(1).txt run workloads/$(1)/install.sh $(VENV)-$(1)/bin/python
	@touch $$@

test-apart-$(1): $(VENV)-$(1)/.$(1)
	$(VENV)-$(1)/bin/python -m pytest $(SIDE_BY_SIDE) tests/workloads/$(1) $(ALSO_$(1))
endef
$(foreach workload,$(APART),$(eval $(call apart,$(workload))))

# Peers pin what nothing else here can live with: a venv of their own. One that will not install is reported as absent.
$(VENV)/.bench: $(VENV)/.installed $(PEERS) constraints.txt locks/venv-bench.txt
	$(PYTHON) $(LOCKED) locks/venv-bench.txt create .venv-bench
	.venv-bench/bin/python $(LOCKED) locks/venv-bench.txt install $(TICKTREE)[top,query]
	.venv-bench/bin/python $(LOCKED) locks/venv-bench.txt run .venv-bench/bin/python benchmarks/install_peers.py
	@touch $@
