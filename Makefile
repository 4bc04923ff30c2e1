# Everything a fresh machine needs is Python 3.11 or newer and make: each target sets up what it uses.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.forkpoint-installed
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	then echo "$$python"; break; fi; done)
# As many test workers as cores; one file's tests stay on one worker.
WORKERS ?= auto

.PHONY: help setup demo test lint types imports unit format soak bench docs clean

help:
	@echo "make demo    watch an agent's conversation being forked, in this terminal"
	@echo "make test    lint, types, floors, tests, every example of the documentation"
	@echo "make soak    the crash and concurrency tests, at length"
	@echo "make bench   side by side with the stock savers"
	@echo "make docs    build the documentation site into site/"
	@echo "make setup   only create .venv and install into it (the others do so themselves)"

setup: $(STAMP)

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Forkpoint needs Python 3.11 or newer; none was found." >&2; exit 1; }
	@test -x $(BIN)/python || { echo "Creating $(VENV) with $(PYTHON)"; "$(PYTHON)" -m venv $(VENV); }
	@echo "Installing into $(VENV) (once; again when pyproject.toml changes)"
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)
	@$(BIN)/forkpoint demo

test: lint types imports unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy --strict

imports: $(STAMP)
	$(BIN)/lint-imports

unit: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

soak: $(STAMP)
	$(BIN)/python -m pytest -m soak --timeout 7200

bench: $(STAMP)
	$(BIN)/python -m benchmarks

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) site build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
