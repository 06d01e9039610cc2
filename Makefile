PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What the tests and the checks need beside the project itself stands once, in pyproject.toml.
TEST_NEEDS := $(shell sed -n '/^test = \[/,/^\]/s/^  "\(.*\)",$$/"\1"/p' pyproject.toml)
CHECK_NEEDS := $(shell sed -n '/^check = \[/,/^\]/s/^  "\(.*\)",$$/"\1"/p' pyproject.toml)

.PHONY: demo test check fix bench clean

demo: $(VENV)/.installed
	$(BIN)/spa demo --out demo-out

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: $(VENV)/.installed-check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/test_docs.py tests/test_architecture.py

fix: $(VENV)/.installed-check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed-test
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BIN)/python -m tests.benchmarks

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet $(TEST_NEEDS)
	touch $@

$(VENV)/.installed-check: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet $(CHECK_NEEDS)
	touch $@

clean:
	rm -rf $(VENV) demo-out dist
