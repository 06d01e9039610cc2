PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# what is installed: this checkout, to be edited, or a wheel
PROJECT := .
EDITABLE = $(if $(filter .,$(PROJECT)),--editable)
.PHONY: demo test test-failed check docs fix dist bench calibrate golden clean

demo: $(VENV)/.installed
	rm -rf demo-out
	$(BIN)/spa demo --out demo-out

test: $(VENV)/.installed-test .venv-awscli/bin/aws
	$(BIN)/python -m pytest -n 3 --dist loadgroup

test-failed: $(VENV)/.installed-test  # in one worker, as the names of what failed hold their groups
	$(BIN)/python -m pytest -n 1 --dist loadgroup --last-failed --last-failed-no-failures none

check: $(VENV)/.installed-check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/test_docs.py tests/test_architecture.py tests/test_package.py

docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

fix: $(VENV)/.installed-check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

dist: .venv-build/bin/pyproject-build  # the sdist, and the wheel built from it
	rm -rf dist
	$< --outdir dist .

bench: $(VENV)/.installed-test
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BIN)/python -m tests.benchmarks

soak: $(VENV)/.installed-test
	$(BIN)/python -m tests.load.killed --database sqlite --trials 1000
	$(BIN)/python -m tests.load.killed --database postgresql --trials 1000

calibrate: $(VENV)/.installed-test
	$(BIN)/python -m tests.calibration --out docs/calibration.md

golden: $(VENV)/.installed-test
	$(BIN)/python -m tests.golden $(if $(DATA),--data $(DATA))
	$(BIN)/python -m tests.golden $(if $(DATA),--data $(DATA)) --papers

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet $(EDITABLE) $(PROJECT)
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed constraints-test.txt
	$(BIN)/python -m pip install --quiet --constraint constraints-test.txt --group test $(EDITABLE) "$(PROJECT)[all]"
	touch $@

$(VENV)/.installed-check: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --group check
	touch $@

.venv-awscli/bin/aws:
	$(PYTHON) -m venv .venv-awscli
	.venv-awscli/bin/python -m pip install --quiet awscli

.venv-build/bin/pyproject-build:
	$(PYTHON) -m venv .venv-build
	.venv-build/bin/python -m pip install --quiet build

$(VENV)/.installed-docs: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

clean:
	rm -rf $(VENV) .venv-awscli .venv-build demo-out dist site
