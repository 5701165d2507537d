# make quickstart: install, then run the bundled experiment; make test: install, then run the tests.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: help quickstart test check bench soak browser docs wheel clean

help:
	@echo "make quickstart  install into .venv and run experiments/quickstart.yaml; leaves outputs/quickstart/report.html"
	@echo "make test        install into .venv and run the tests (some minutes)"
	@echo "make check       lint, format, types, stale docs"
	@echo "make bench       benchmarks against what one would otherwise run; writes benchmarks/results/; BENCH=\"sweep\" for some"
	@echo "make soak        the long proofs: kill and resume, simulations, the wheel alone in an empty environment (needs an index of packages)"
	@echo "make browser     the tests that need Chromium (apt-get install chromium fonts-dejavu-core npm)"
	@echo "make docs        write docs/reference/ and the chart of the architecture from the code"
	@echo "make wheel       build the source distribution and the wheel into dist/"

# torch first and exactly: a plain requirement would take the build that brings gigabytes of CUDA.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet -e '.[lab,fast,cl100k,chunkers,cluster,dev]'
	@touch $@

quickstart: $(INSTALLED)
	$(BIN)/workbench sweep experiments/quickstart.yaml

# Two at a time, a file's tests in one process: most of them wait for processes of their own.
test: $(INSTALLED)
	$(BIN)/pytest -n 2 --dist loadfile

check: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python docs/reference.py --check
	$(BIN)/python docs/house.py --check

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks $(BENCH)

soak: $(INSTALLED)
	$(BIN)/pytest -m soak

# What tells whether everybody can use a page; fetched here and never shipped.
AXE := .venv/axe/package/axe.min.js
$(AXE): | $(INSTALLED)
	@command -v npm >/dev/null || { echo "npm is needed, to fetch axe-core: apt-get install npm"; exit 2; }
	mkdir -p .venv/axe
	cd .venv/axe && npm pack --silent axe-core@4.14.1 && tar xzf axe-core-4.14.1.tgz package/axe.min.js

browser: $(INSTALLED) $(AXE)
	@command -v chromium >/dev/null || { echo "Chromium is needed: apt-get install chromium fonts-dejavu-core"; exit 2; }
	$(BIN)/pip install --quiet -e '.[browser]'
	$(BIN)/pytest -m browser

docs: $(INSTALLED)
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/house.py

wheel: $(INSTALLED)
	$(BIN)/python -m build --no-isolation

clean:
	rm -rf outputs/*/ outputs/.store outputs/.indexes
