# make demo: sets everything up and does the main job on a real model. make test: sets everything up and passes all tests.
# Parts: make setup | check (fast: lint, types, quick tests) | slow | editors | extension | versions | bench | rules | clean
SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
NODE_STAMP := node_modules/.graphmend-stamp

.PHONY: demo test setup check lint unit slow editor-tools editors extension versions bench rules clean

demo: $(VENV)/.stamp
	$(BIN)/python examples/demo.py

# What the editors' tests need compiles on one core while the packages are installed and the types checked on the other.
test:
	$(MAKE) -j 2 lint editor-tools
	$(MAKE) unit slow editors

setup: $(VENV)/.stamp $(NODE_STAMP)

check: lint unit

lint: $(VENV)/.stamp
	$(BIN)/ruff check server tests bench examples
	$(BIN)/ruff format --check server tests bench
	$(BIN)/mypy

# worksteal: neighbours stay in one process, so that what a file or a folder starts is mostly started once.
unit: $(VENV)/.stamp
	$(BIN)/python -m pytest -m "not slow and not editor" -n 2 --dist worksteal

slow: $(VENV)/.stamp
	$(BIN)/python -m pytest -m slow -n 2 --dist loadgroup

extension: $(NODE_STAMP)
	npm run --workspace vscode-extension check
	npm run --workspace vscode-extension build
	npm test --workspace vscode-extension

editor-tools:
	GRAPHMEND_TOOLS_ONLY=1 bash tests/e2e/setup.sh

editors: $(VENV)/.stamp extension
	bash tests/e2e/setup.sh
	$(BIN)/python -m pytest -m editor

# Not part of `make test`: five environments with the torch wheels of PyPI, some 25 GB of disk.
versions: $(VENV)/.stamp
	bash tests/versions/setup.sh .tools/versions
	bash tests/versions/run.sh .tools/versions

bench: $(VENV)/.stamp
	$(BIN)/python bench/static.py
	$(BIN)/python bench/server.py

# torch first and pinned: asked for without a version it would bring gigabytes of CUDA packages.
$(VENV)/.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable . --group dev
	touch $@

$(NODE_STAMP): package.json package-lock.json vscode-extension/package.json
	npm ci --no-audit --no-fund
	touch $@

rules: $(VENV)/.stamp
	$(BIN)/python docs/make_rules.py

clean:
	rm -rf $(VENV) node_modules .tools .mypy_cache .ruff_cache vscode-extension/out
