# Every target makes .venv itself, from the lock file. Needs only python3 (3.11 or newer) and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
JOBS ?= 2

.PHONY: help setup git demo test check format types lab cases faults bench lock clean

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

demo: setup  ## a real kernel damages real files and gets them back, byte for byte
	$(BIN)/python -m nbrewind.ui.demo

test: setup  ## every test
	$(PYTEST) -n $(JOBS) --dist worksteal

check: setup  ## style, types and layers, in seconds
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

cases: setup  ## the cases that people lost work in, each in a real kernel
	$(PYTEST) -n $(JOBS) --dist worksteal tests/cases tests/field

faults: setup  ## power cuts, kills, errors, bit flips and hostile names, at length (NBREWIND_FAULTS_SCALE=0.1 is a tenth)
	NBREWIND_FAULTS=1 NBREWIND_FAULTS_SEED=$${NBREWIND_FAULTS_SEED:-$$(date +%Y%m%d)} $(PYTEST) -n $(JOBS) --dist worksteal --timeout 3600 -s tests/crash tests/reliability

bench: setup  ## file figures beside git and beside those to reach, in four minutes
	$(BIN)/python benchmarks/files.py

lab: $(VENV)/.lab  ## JupyterLab with nbrewind, on the notebooks folder
	$(BIN)/jupyter lab --notebook-dir notebooks

$(VENV)/.lab: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock 'jupyterlab>=4.2,<5' 'notebook>=7.2,<8'
	touch $@

lock:  ## resolve the newest set anew and write requirements.lock
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check '.[dev]'
	{ echo '# Written by "make lock".'; build/lock/bin/python -m pip freeze --exclude nbrewind --exclude pip --exclude setuptools; } > requirements.lock
	! grep -nE '://|@ ' requirements.lock
	rm -rf build/lock

clean:  ## remove .venv, caches and build products
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
