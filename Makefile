# Every target makes .venv itself, from the lock file. Needs only python3 (3.11 or newer) and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
JOBS ?= 2

EXT := jupyterlab-ext
SIDEBAR := src/nbrewind/labextension/package.json
SIDEBAR_SOURCES := $(shell find $(EXT)/src $(EXT)/style $(EXT)/schema -type f) $(EXT)/package.json $(EXT)/tsconfig.json
NPM := $(shell command -v npm)

.PHONY: help setup git chromium sidebar demo test browser pictures check format types lab cases faults bench lock clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(VENV)/.ready: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "nbrewind needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

setup: $(VENV)/.ready git  ## make .venv and see to git

git:
	@command -v git >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq git; } || echo "git is not installed: its tests are skipped"

chromium:
	@command -v chromium chromium-browser google-chrome >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq chromium fonts-dejavu-core; } || echo "chromium is not installed: the browser tests are skipped"

ifdef NPM
$(EXT)/node_modules/.ready: $(EXT)/package-lock.json
	cd $(EXT) && npm ci --no-audit --no-fund --loglevel=error
	touch $@

$(SIDEBAR): $(SIDEBAR_SOURCES) $(EXT)/node_modules/.ready
	cd $(EXT) && npm run --silent build

sidebar: $(SIDEBAR)  ## build the sidebar of JupyterLab

check-sidebar: $(EXT)/node_modules/.ready
	cd $(EXT) && npm run --silent lint && npm run --silent typecheck

test-sidebar: $(EXT)/node_modules/.ready
	cd $(EXT) && npm run --silent test
else
sidebar check-sidebar test-sidebar:
	@echo "npm (Node.js 20 or newer) is not installed: the sidebar is left out"
endif
.PHONY: check-sidebar test-sidebar

demo: setup  ## a real kernel damages real files and gets them back, byte for byte
	$(BIN)/python -m nbrewind.ui.demo

test: setup chromium sidebar test-sidebar  ## every test
	$(PYTEST) -n $(JOBS) --dist worksteal

check: setup check-sidebar  ## style, types and layers, in seconds
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: setup  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

cases: setup  ## the cases that people lost work in, each in a real kernel
	$(PYTEST) -n $(JOBS) --dist worksteal tests/cases tests/field

browser: setup chromium sidebar  ## the longer browser tests: crashes, keyboard, themes, accessibility, hostile names
	NBREWIND_BROWSER=1 $(PYTEST) tests/browser

pictures: setup chromium sidebar  ## make the pictures of the documents anew
	mkdir -p build && NBREWIND_PICTURES=1 $(PYTEST) --basetemp build/pictures tests/browser/long/test_pictures.py
	cp build/pictures/pictures0/*.png docs/images/

faults: setup  ## power cuts, kills, errors, bit flips and hostile names, at length (NBREWIND_FAULTS_SCALE=0.1 is a tenth)
	NBREWIND_FAULTS=1 NBREWIND_FAULTS_SEED=$${NBREWIND_FAULTS_SEED:-$$(date +%Y%m%d)} $(PYTEST) -n $(JOBS) --dist worksteal --timeout 3600 -s tests/crash tests/reliability tests/property

bench: setup  ## figures beside git, cloudpickle, dill and Kishu, and beside those to reach
	$(BIN)/python benchmarks/files.py
	$(BIN)/python benchmarks/variables

lab: setup sidebar  ## JupyterLab with nbrewind, with the first notebook open
	mkdir -p $(VENV)/share/jupyter/labextensions
	ln -sfn "$(CURDIR)/src/nbrewind/labextension" $(VENV)/share/jupyter/labextensions/nbrewind
	$(BIN)/jupyter lab --notebook-dir notebooks notebooks/01-first-rewind.ipynb

lock:  ## resolve the newest set anew and write requirements.lock
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check '.[dev]'
	{ echo '# Written by "make lock".'; build/lock/bin/python -m pip freeze --exclude nbrewind --exclude pip --exclude setuptools; } > requirements.lock
	! grep -nE '://|@ ' requirements.lock
	rm -rf build/lock

clean:  ## remove .venv, caches and build products
	rm -rf $(VENV) $(EXT)/node_modules $(EXT)/lib src/nbrewind/labextension build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
