# Two commands to start with: `make demo` and `make test`. They need python3 (>= 3.11) and make.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
PIP := $(RUN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# uv takes a fifth of the time of pip. It does not read pip's settings, so pip is used if they name
# another index, or if uv is missing or fails.
UV := ! $(RUN)/python -m pip config list | grep -q '[.]index-url' && $(PIP) uv 2>/dev/null \
  && $(RUN)/uv pip install --quiet --python $(RUN)/python 2>/dev/null
# Dependencies of motionloom; of its tests; of style checks and slow tests.
READY := $(VENV)/.ready
TESTS := $(VENV)/.test-ready
LINT := $(VENV)/.lint-ready
STAMP := $(VENV)/.dev-ready
# Disable plugins of other packages, because pytest would rewrite all of their modules.
TEST := PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(RUN)/python -m pytest -q -p xdist.plugin -p pytest_timeout -n 2
# Kernel tests that take minutes when kernels run as plain Python, as coverage requires.
KERNELS := $(patsubst %,tests/test_%.py,dtw joint_relative kernels kinematics number_rows rotations \
  two_bone valid_region)
# Write bytecode even if the environment disables it (as in most container images): otherwise every
# command spends two seconds on compilation. All cores compile the modules that all processes import.
export PYTHONDONTWRITEBYTECODE :=
PACKAGES := $(VENV)/lib/python*/site-packages
BYTECODE := $(RUN)/python -m compileall -q -j 0 -x '[/\\](tests?|testing)[/\\]' src \
  $(PACKAGES)/numba $(PACKAGES)/numpy $(PACKAGES)/matplotlib

.PHONY: blender sbom lock page types fuzz demo test coverage test-all lint format docs pictures bench headlines papers clean

demo: $(READY)  ## a tour of motionloom, with generated motions
	@$(RUN)/python build_page.py --if-possible
	$(RUN)/motionloom demo demo

test: page  ## all tests except slow ones, and every example in the docs
	@$(RUN)/motionloom warm-up
	$(TEST) -m "not slow"

coverage: $(STAMP) page  ## lines covered by the tests, without the slow ones
	$(TEST) -m "not slow" -p pytest_cov --cov --cov-report=
	NUMBA_DISABLE_JIT=1 $(TEST) -m "not slow" -p pytest_cov --cov --cov-append --cov-report=term $(KERNELS)

test-all: $(STAMP) page  ## also the slow tests: all real data, kills, large files
	@$(RUN)/motionloom warm-up
	$(TEST)

page: $(TESTS)  ## the studio's page, if its sources have changed since it was built
	@$(RUN)/python build_page.py --if-possible

lint: $(LINT)
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	@$(RUN)/python build_page.py --run types --if-possible
	@$(RUN)/python build_page.py --run lint --if-possible

format: $(LINT)
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .
	@$(RUN)/python build_page.py --run format --if-possible

MINUTES ?= 15
fuzz: $(TESTS)  ## mutated files and libraries for every reader: MINUTES=15, SEED=0
	$(RUN)/python -m fuzz --minutes $(MINUTES) --seed $(or $(SEED),0)

types: $(LINT)  ## check the page against TypeScript types generated from the studio's HTTP interface
	@$(RUN)/python build_page.py --run types

blender: $(RUN)/python  ## the Blender extension, dist/motionloom-blender-VERSION.zip
	@$(RUN)/python build_extension.py

sbom: $(RUN)/python  ## bills of materials (CycloneDX) of the package with all extras and of the page, in dist
	rm -rf build/sbom && $(RUN)/python -m venv build/sbom && mkdir -p dist
	build/sbom/bin/python -m pip install --quiet --disable-pip-version-check \
	  ".[agents,audio,cloud,cluster,fbx,graphs,notebook,parquet,robot,studio,usd,video]"
	$(PIP) "cyclonedx-bom>=5"
	$(RUN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
	  --output-file dist/motionloom.cdx.json build/sbom/bin/python
	$(RUN)/python build_page.py --run sbom

LOCK := $(RUN)/uv pip compile --quiet --generate-hashes --universal --python-version 3.13 --no-header \
  --upgrade --custom-compile-command "make lock"
lock: $(RUN)/python  ## versions and hashes of the packages in the image, packaging/image
	$(PIP) uv
	$(LOCK) --extra audio --extra cluster --extra fbx --extra studio --extra usd pyproject.toml \
	  --output-file packaging/image/requirements.txt
	cd packaging/image && ../../$(LOCK) build.in --output-file build.txt

docs: $(STAMP) page  ## the site, in the folder site
	NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --strict --quiet --site-dir site

pictures: $(STAMP)  ## regenerate every picture in the docs
	$(RUN)/python docs/pictures/make_all.py

bench: $(STAMP)  ## all benchmarks (over an hour); fails if a headline figure fell; writes docs/evidence/benchmarks
	$(RUN)/python -m benchmarks all --install-rivals --results benchmarks/results --markdown docs/evidence/benchmarks.md

headlines: $(STAMP)  ## only the benchmarks with headline figures (a quarter of an hour); fails if one fell
	$(RUN)/python -m benchmarks headlines --install-rivals --results benchmarks/results \
	  --markdown docs/evidence/benchmarks.md

papers: $(STAMP)  ## recompute the tables and figures of the papers and write docs/evidence/papers
	$(RUN)/python -m reproduction --write

clean:
	rm -rf $(VENV) demo site build dist .mypy_cache .ruff_cache

$(RUN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"motionloom needs Python 3.11 or newer; $(PYTHON) is {v[0]}.{v[1]}. Try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml | $(RUN)/python
	@$(UV) -e ".[studio,cluster]" || $(PIP) -e ".[studio,cluster]"
	@$(BYTECODE) || true
	@touch $(READY)

$(TESTS): pyproject.toml | $(RUN)/python
	@$(UV) -e ".[test]" || $(PIP) -e ".[test]"
	@$(BYTECODE) || true
	@touch $(READY) $(TESTS)

$(LINT): pyproject.toml | $(RUN)/python
	@$(UV) -e ".[lint,test]" || $(PIP) -e ".[lint,test]"
	@$(BYTECODE) || true
	@touch $(READY) $(TESTS) $(LINT)

$(STAMP): pyproject.toml | $(RUN)/python
	@$(UV) -e ".[dev]" || $(PIP) -e ".[dev]"
	@$(BYTECODE) || true
	@touch $(READY) $(TESTS) $(LINT) $(STAMP)
