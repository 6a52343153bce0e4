# Two commands do all the set-up on a fresh machine with Python >= 3.11: `make demo` and `make test`.
# Another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
BIN := $(VENV)/bin
OLDEST := .venv-oldest
OLDEST_PYTHON ?= python3.11

# One BLAS thread per test process: several of them on a busy machine wait for each other. A file of tests stays with one
# process: what it has compiled or started (a Spark cluster) is there once.
TEST_ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 MPLBACKEND=Agg

.PHONY: help demo browser test test-all slow hunt oldest pythons check docs bench fuzz clean

help:
	@echo "make demo    install into $(VENV) and run the demonstration"
	@echo "make test    install with the development tools and run the inner ring of tests, in under five minutes"
	@echo "make test-all  the outer ring: studies, pages, databases, Spark, browsers, and a deeper search for counterexamples"
	@echo "make slow    the long calibration and coverage tests; resumes where it stopped"
	@echo "make hunt    new counterexamples to every property; takes hours, end it when you like"
	@echo "make oldest  the inner ring with the oldest versions that pyproject.toml allows, in $(OLDEST)"
	@echo "make pythons  the inner ring with every Python from 3.11 to 3.14 that is found"
	@echo "make check   style, types, walls between the rooms, documentation"
	@echo "make docs    build the documentation into site/"
	@echo "make bench   speed and memory"
	@echo "make fuzz    hostile input for every reader, guided by coverage"
	@echo "make clean   remove $(VENV) and everything that was built"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "noisewise needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The stamps: installation is repeated only after pyproject.toml has changed.
$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/noisewise demo

# Reports are tested in a real browser. Where there is none, it comes from the distribution's packages if they may be installed;
# otherwise these tests are skipped and say so.
browser:
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
		if command -v $$name >/dev/null 2>&1; then exit 0; fi; \
	done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium; } >/dev/null \
			|| echo "Chromium could not be installed; the tests of reports in a browser will be skipped."; \
	else \
		echo "There is no Chromium; the tests of reports in a browser will be skipped. As root: apt-get install chromium"; \
	fi

test: $(VENV)/.installed-dev | browser
	$(TEST_ENV) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

test-all: $(VENV)/.installed-dev | browser
	$(TEST_ENV) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow and outer and not inner"
	$(TEST_ENV) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "hypothesis and not slow" --hypothesis-profile=deep

slow: $(VENV)/.installed-dev | browser
	$(TEST_ENV) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m slow --resume=.slow-log.jsonl

hunt: $(VENV)/.installed-dev
	$(TEST_ENV) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "hypothesis and not slow" --hypothesis-profile=thorough

$(OLDEST)/.installed: pyproject.toml tests/oldest.py
	$(OLDEST_PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python tests/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(OLDEST)/constraints.txt --editable ".[test]"
	$(OLDEST)/bin/python tests/oldest.py --check
	@touch $@

oldest: $(OLDEST)/.installed | browser
	$(TEST_ENV) $(OLDEST)/bin/python -m pytest -n $(WORKERS) --dist loadfile

pythons: | browser
	$(TEST_ENV) $(PYTHON) tests/pythons.py --workers $(WORKERS)

check: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/mypy --config-file studies/mypy.ini
	$(BIN)/lint-imports
	PYTHONPATH=. $(BIN)/zensical build --strict

docs: $(VENV)/.installed-dev
	PYTHONPATH=. $(BIN)/zensical build --strict

bench: $(VENV)/.installed-dev
	@for file in benchmarks/[a-z]*.py; do echo "== $$file"; PYTHONPATH=. $(BIN)/python $$file || exit 1; done

fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,fuzz]"
	$(BIN)/python -m fuzz

clean:
	rm -rf $(VENV) .venv-* .cache site build dist .test-cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
