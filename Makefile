# The commands of a checkout. Each one makes the environment it needs first; `make` alone lists them.

SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# Compiled modules are kept, whatever the environment says: hundreds of processes that tests start read them.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
# Fast tests compute: one worker for each processor. The others mostly wait, for a database, a process, a lease that
# must lapse: three for each. Work is taken over from whoever is late.
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN)
PARALLEL := --maxprocesses=8 --dist=worksteal --numprocesses
PYTEST := $(BIN)/python -m pytest --inline-snapshot=disable
# pytest, and what failed once more, alone (tests/unsteady.md).
SUITE := $(BIN)/python -m tests.suite
# Tests wait a lot; what lint has to say meanwhile is said in one piece.
beside_lint = said="$$(mktemp)"; \
	{ sh scripts/lint >"$$said" 2>&1; code=$$?; cat "$$said"; rm -f "$$said"; exit $$code; } & lint=$$!; \
	trap 'kill $$lint; exit 130' INT TERM; code=0; $(1) || code=$$?; \
	wait $$lint || { echo 'lint failed: see above.'; code=1; }; exit $$code

.PHONY: help
help: ## List the commands
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo '  PYTHON=python3.12 chooses the interpreter; ARGS="-k lease" is passed on to pytest or to holdfast.'

.PHONY: setup
setup: ## Make .venv what the lock says and build the page (needs Python 3.11 or newer; quick when nothing changed)
	@PYTHON='$(PYTHON)' sh scripts/setup

.PHONY: setup-browser
setup-browser: ## The same, with the Chromium that the page is tested in
	@BROWSER=1 PYTHON='$(PYTHON)' sh scripts/setup

.PHONY: run
run: setup ## Start the server from this checkout: SQLite, the demo model, no key needed
	@$(BIN)/holdfast serve $(ARGS)

.PHONY: lint
lint: setup ## Format, lint, types and import rules, without tests
	@sh scripts/lint

.PHONY: check
check: setup ## Everything quick: lint and the fast tests (under 3 minutes)
	@echo '==> fast tests, and lint beside them'
	@$(call beside_lint,$(SUITE) $(PARALLEL) $(PROCESSORS) -m 'not heavy and not slow' $(ARGS))

.PHONY: test
test: setup-browser ## Everything but the slow tests, on SQLite and PostgreSQL (under 20 minutes)
	@echo '==> tests, and lint beside them'
	@$(call beside_lint,$(SUITE) $(PARALLEL) $(shell expr 3 '*' $(PROCESSORS)) -m 'not slow' $(ARGS))

.PHONY: test-slow
test-slow: setup-browser ## The slow tests, which take minutes each
	@echo '==> slow tests'
	@$(PYTEST) -m slow --timeout=3600 $(ARGS) || { code=$$?; [ $$code -eq 5 ] && echo 'There is no slow test to run.' || exit $$code; }

.PHONY: bench
bench: setup ## Measure; W=name runs one workload alone, WRITE=1 writes docs/performance.md
	@$(BIN)/python -m bench $(W) $(if $(WRITE),--write) $(ARGS)

.PHONY: screenshots
screenshots: setup-browser ## Take pictures of every screen of the page into docs/pictures
	@$(BIN)/python scripts/screenshots.py $(ARGS)

.PHONY: chaos
chaos: setup ## Break things under load and compare the records; SEED=, HOURS=, ONLY=three:kill, WRITE=1
	@SEED='$(SEED)' HOURS='$(HOURS)' ONLY='$(ONLY)' WRITE='$(WRITE)' PATIENCE='$(PATIENCE)' $(BIN)/python -m tests.chaos

.PHONY: soak
soak: setup ## Steady load for HOURS; memory, descriptors, threads and connections must stay flat
	@SOAK=1 SEED='$(SEED)' HOURS='$(HOURS)' ONLY='$(ONLY)' PATIENCE='$(PATIENCE)' $(BIN)/python -m tests.chaos

.PHONY: fmt
fmt: setup ## Format the code and mend what the linter can mend
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .
	@sh scripts/page fix

.PHONY: docs
docs: setup ## Write the reference pages that come from the code
	@$(BIN)/python scripts/reference.py

.PHONY: lock
lock: ## Renew the lock after a change to pyproject.toml; UPGRADE=1 takes the newest of everything
	@PYTHON='$(PYTHON)' UPGRADE='$(UPGRADE)' sh scripts/lock

.PHONY: clean
clean: ## Remove the environment, caches and built files
	@rm -rf .venv .venv-bench .setup.lock .page.lock build dist web/node_modules web/build.log src/holdfast/page .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	@find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
	@echo '==> clean'
