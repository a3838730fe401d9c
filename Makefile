# make demo | test | check | bench: each sets up .venv first and needs only Python 3.11, make and pip.
PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin

.PHONY: setup demo test check bench slow

setup: $(VENV)/installed

$(VENV)/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e ".[onnx,adapters,board,dev]"
	touch $@

demo: setup
	$(BIN)/kibitz demo

test: setup
	$(BIN)/python -m pytest -q -n auto --dist loadfile

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n auto --dist loadfile

bench: setup
	$(BIN)/kibitz bench rules liars_dice

slow: setup
	$(BIN)/python -m pytest -q -m slow
