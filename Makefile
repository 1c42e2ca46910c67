# Fuse & Shard: every target sets itself up in .venv. `make help` lists them.
#
# A variable on the command line reaches the programs called here: RECORDINGS is read by the doctor and the build.
# Needs git, make, a C++ compiler and Python 3.11, 3.12 or 3.13 with venv. Another Python: make book PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python

# Stamps: each says that what stands before the colon is installed in $(VENV).
BOOK := $(VENV)/.book
DEV := $(VENV)/.dev
BROWSER := $(VENV)/.browser

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help book test check serve record bench constraints clean python

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name what; do printf '  make %-12s %s\n' "$$name" "$$what"; done

book: $(BOOK) ## build both editions into book/_build/html; RECORDINGS=FILE draws your GPU's results beside ours
	$(RUN) -m fuseshard doctor --for-build
	$(BIN)/jb build book

test: $(DEV) $(BROWSER) ## the book, every check and every test, in a real browser too
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory book
	$(RUN) -m pytest

check: $(DEV) ## what needs no build: style, types, catalogs, layers, sizes, docstrings, parity
	$(RUN) tools/check.py

serve: book ## build, then open the book as a real host would serve it
	$(RUN) -m fuseshard.book.serve

record: $(BOOK) ## measure here what a page can otherwise only show from a recording
	$(RUN) -m fuseshard record

bench: $(BOOK) ## report how long a build takes: cold, unchanged, one paragraph changed
	$(RUN) tests/bench/bench_build.py

constraints: python ## remake constraints.txt from requirements*.txt in a fresh environment
	$(PYTHON) tools/constraints.py

clean: ## remove what builds and tests left, except .venv
	rm -rf book/_build book/es/_build .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find code tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || { \
	  echo "make: $(PYTHON) is $$($(PYTHON) --version 2>/dev/null || echo missing), the book needs Python 3.11, 3.12 or 3.13 (what its pinned packages run on); name another one: make book PYTHON=python3.12" >&2; \
	  exit 1; }

$(RUN):
	@$(MAKE) --no-print-directory python
	$(PYTHON) -m venv $(VENV)

$(BOOK): requirements.txt constraints.txt code/pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(DEV): requirements-dev.txt $(BOOK)
	$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

$(BROWSER): tools/browser.sh $(DEV)
	bash tools/browser.sh $(RUN)
	@touch $@
