PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# what is installed: this checkout, to be edited, or a wheel
PROJECT := .
EDITABLE = $(if $(filter .,$(PROJECT)),--editable)
# how packages come into the environment with this bin folder; WITHOUT_PIP=--without-pip where another installer does it
install = $(1)/python -m pip install --quiet
.PHONY: demo test check lint docs fix dist bench soak mutants calibrate golden peers engine schema strings release-rehearsal clean

demo: $(VENV)/.installed
	rm -rf demo-out
	$(BIN)/spa demo --out demo-out

# ARGS="-k holm": options of pytest; PART=analysis: one package, whose environment has no torch
test: $(VENV)/.installed-$(if $(filter %,$(PART)),part,test)
	OMP_NUM_THREADS=1 POLARS_MAX_THREADS=1 $(BIN)/python -m pytest -p tests.forked_workers --processes auto --timeout 240 \
		$(if $(PART),tests/$(PART) $(wildcard $(PART))) $(ARGS)

check: lint
	$(BIN)/python -m pytest -q tests/test_docs.py tests/test_architecture.py tests/test_package.py

lint: $(VENV)/.installed-check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.installed-docs
	$(BIN)/python docs/pages.py site-pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

fix: $(VENV)/.installed-check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

dist: .venv-build/bin/pyproject-build  # the sdist, and the wheel built from it
	rm -rf dist
	$< --installer uv --outdir dist .

bench: $(VENV)/.installed-test $(VENV)/peers/.installed  # each figure beside its peer, in one run
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(BIN)/python -m tests.benchmarks --peers $(VENV)/peers/bin/python

soak: $(VENV)/.installed-test
	$(BIN)/python -m tests.load.killed --database sqlite --trials 1000
	$(BIN)/python -m tests.load.killed --database postgresql --trials 1000
	$(BIN)/python -m tests.soak.rate_cluster --kills 200

mutants: $(VENV)/.installed-test  # which small faults in the product code no test notices; an hour
	$(BIN)/python -m tests.mutants --sample 60 --seed 1

calibrate: $(VENV)/.installed-test
	$(BIN)/python -m tests.calibration --out tests/calibration/calibration.md
	$(BIN)/python -m tests.calibration.unpaired --out tests/calibration/unpaired.md
	$(BIN)/python -m tests.calibration.one_gave_most --out tests/calibration/one_gave_most.md
	$(BIN)/python -m tests.calibration.partly_paired --out tests/calibration/partly_paired.md
	$(BIN)/python -m tests.calibration.own_items --out tests/calibration/own_items.md
	$(BIN)/python -m tests.calibration.uneven --out tests/calibration/uneven.md
	$(BIN)/python -m tests.calibration.audit --out tests/calibration/audit.md
	$(BIN)/python -m tests.calibration.circle_shares --out tests/calibration/circle_shares.md
	$(BIN)/python -m tests.calibration.third_systems --out tests/calibration/third_systems.md
	$(BIN)/python -m tests.calibration.many_systems --out tests/calibration/many_systems.md
	$(BIN)/python -m tests.calibration.planning --out tests/calibration/planning.md
	$(BIN)/python -m tests.calibration.top_k --out tests/calibration/top_k.md
	$(BIN)/python -m tests.calibration.careless --out tests/calibration/careless.md
	$(BIN)/python -m tests.calibration.conduct --out tests/calibration/conduct.md
	$(BIN)/python -m tests.calibration.sum_rule --out tests/calibration/sum_rule.md
	$(BIN)/python -m tests.calibration.arrival --out tests/calibration/arrival.md
	$(BIN)/python -m tests.calibration.circles --out tests/calibration/circles.md
	$(BIN)/python -m tests.calibration.sequential --out tests/calibration/sequential.md

schema: $(VENV)/.installed-test  # of results.json and of study.toml, from the records
	$(BIN)/python -m tests.study_schema
	$(BIN)/python -m analysis.results.schema

strings: $(VENV)/.installed-test  # every string that a user can read, to be read through
	$(BIN)/python -m tests.printed_strings

golden: $(VENV)/.installed-test
	$(BIN)/python -m tests.golden $(if $(DATA),--data $(DATA))
	$(BIN)/python -m tests.golden $(if $(DATA),--data $(DATA)) --papers
	$(BIN)/python -m tests.golden.rows $(if $(DATA),--data $(DATA))

peers: $(VENV)/.installed-test  # what the tools, R among them, find in our exports that read them; pdflatex in our tables
	$(BIN)/python -m tests.peers --out tests/peers/peers.json
	$(BIN)/python -m tests.peers.powered --out tests/peers/powered.json
	$(BIN)/python -m tests.r --out tests/golden/in_r.json
	$(BIN)/python -m pytest -q tests/analysis/report/test_paper_latex.py

# VERSION=1.2.3: all that a release does, in a clone that is thrown away; publishes nothing
release-rehearsal: $(VENV)/.installed-docs
	$(BIN)/python -m tests.release $(VERSION)

engine: $(VENV)/.installed-test  # a study of each medium by keyboard in Firefox, where that is installed
	$(BIN)/python -m tests.browser.second_engine --out screenshots

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(WITHOUT_PIP) $(VENV)
	$(call install,$(BIN)) --upgrade "pip>=25.1"
	$(call install,$(BIN)) $(EDITABLE) $(PROJECT)
	touch $@

$(VENV)/.installed-part: $(VENV)/.installed constraints-test.txt
	[ -e $(VENV)/.installed-test ] || $(call install,$(BIN)) --constraint constraints-test.txt --group test-part $(EDITABLE) \
		"$(PROJECT)[dashboard,mturk,postgres,metrics,openapi,explanations,xlsx,archive,cluster]"
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed constraints-test.txt
	$(call install,$(BIN)) --constraint constraints-test.txt --group test $(EDITABLE) "$(PROJECT)[all]"
	touch $@

$(VENV)/.installed-check: $(VENV)/.installed-test
	$(call install,$(BIN)) --group check
	touch $@

$(VENV)/peers/.installed: $(VENV)/.installed tests/benchmarks/peers/requirements.txt
	$(PYTHON) -m venv $(WITHOUT_PIP) $(VENV)/peers
	$(call install,$(VENV)/peers/bin) --requirement tests/benchmarks/peers/requirements.txt
	touch $@

.venv-build/bin/pyproject-build:
	$(PYTHON) -m venv .venv-build
	$(call install,.venv-build/bin) build uv

$(VENV)/.installed-docs: $(VENV)/.installed-test
	$(call install,$(BIN)) --group docs
	touch $@

clean:
	rm -rf $(VENV) .venv-build demo-out dist site site-pages
