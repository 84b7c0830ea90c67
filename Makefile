# Two commands set everything up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint bench engines clean

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

demo: $(VENV)/.demo
	$(BIN)/farm demo

# Real engines for the tests, where this machine can have them.
engines:
	sh deploy/test-engines.sh

test: $(VENV)/.dev engines
	$(BIN)/python -m pytest tests

lint: $(VENV)/.dev
	$(BIN)/ruff format --check farm workers tests
	$(BIN)/ruff check farm workers tests
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev engines
	$(BIN)/python -m tests.bench.trial_cost

clean:
	rm -rf $(VENV) .farm
