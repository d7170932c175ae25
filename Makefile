# Two commands to start with: `make demo` and `make test`. They need python3 (>= 3.11) and make.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
PIP := $(RUN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# What the product needs, and with what its tests and checks need.
READY := $(VENV)/.ready
STAMP := $(VENV)/.dev-ready
TEST := $(RUN)/python -m pytest -q -n 2
# Bytecode is written once, by all cores, also where the environment forbids it later (most
# container images): compiling sources again costs every command two seconds.
export PYTHONDONTWRITEBYTECODE :=
BYTECODE := $(RUN)/python -m compileall -q -j 0 -x '[/\\](tests?|testing)[/\\]' $(VENV)/lib src

.PHONY: blender page types fuzz demo test coverage test-all lint format docs pictures bench papers clean

demo: $(READY)  ## a tour of the product, on motions made from code
	@$(RUN)/python build_page.py --if-possible
	$(RUN)/motionloom demo demo

test: page  ## all tests but the slow ones, and every example in the docs
	@$(RUN)/motionloom warm-up
	$(TEST) -m "not slow"

coverage: page  ## which lines no test but the slow ones runs
	$(TEST) -m "not slow" --cov --cov-report=term

test-all: page  ## the slow ones too: all of the real data, kills, large files
	@$(RUN)/motionloom warm-up
	$(TEST)

page: $(STAMP)  ## the studio's page, if its sources have changed since it was built
	@$(RUN)/python build_page.py --if-possible

lint: $(STAMP)
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	@$(RUN)/python build_page.py --run lint --if-possible

format: $(STAMP)
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .
	@$(RUN)/python build_page.py --run format --if-possible

MINUTES ?= 15
fuzz: $(STAMP)  ## mutated files and libraries for every reader: MINUTES=15, SEED=0
	$(RUN)/python -m fuzz --minutes $(MINUTES) --seed $(or $(SEED),0)

types: $(STAMP)  ## the page's TypeScript types of the studio's HTTP interface, after a change of it
	@$(RUN)/python build_page.py --run types

blender: $(RUN)/python  ## the Blender extension, dist/motionloom-blender-VERSION.zip
	@$(RUN)/python build_extension.py

docs: $(STAMP) $(VENV)/.docs-ready
	NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --strict --quiet --site-dir site

pictures: $(STAMP)  ## every picture of the docs, made anew
	$(RUN)/python docs/pictures/make_all.py

bench: $(STAMP)  ## all benches, half an hour or more; docs/benchmarks.md is written from their JSON
	$(RUN)/python -m benchmarks all --install-rivals --results benchmarks/results
	$(RUN)/python -m benchmarks page --results benchmarks/results --markdown docs/benchmarks.md

papers: $(STAMP)  ## the papers' tables and figures, made again; docs/papers.md is written from them
	$(RUN)/python -m reproduction --write

clean:
	rm -rf $(VENV) demo site build dist .mypy_cache .ruff_cache

$(RUN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"motionloom needs Python 3.11 or newer; $(PYTHON) is {v[0]}.{v[1]}. Try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml | $(RUN)/python
	$(PIP) -e ".[studio,cluster]"
	@$(BYTECODE) || true
	@touch $(READY)

$(STAMP): pyproject.toml | $(RUN)/python
	$(PIP) -e ".[dev]"
	@$(BYTECODE) || true
	@touch $(READY) $(STAMP)

$(VENV)/.docs-ready: pyproject.toml | $(RUN)/python
	$(PIP) -e ".[docs]"
	@touch $@
