# A fresh machine needs only python3 (3.11 or newer) with pip, and make. Another interpreter: make test PYTHON=python3.13
PYTHON := python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED = $(VENV)/.installed-

.PHONY: help demo test lint types bench clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 8

demo: $(INSTALLED)demo  ## show both kinds of decision on real data; tables and plots go to demo-output//
	$(BIN)/streamlearn demo --out demo-output

test: $(INSTALLED)test  ## run the whole test suite
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

lint: $(INSTALLED)dev  ## check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)dev  ## type-check the wheel as a user installs it
	DEV=$(VENV) .ci/run build types

bench: $(INSTALLED)test  ## measure speed, side by side
	$(BIN)/python -m benchmarks

clean:  ## remove the environment and all that was made
	rm -rf $(VENV) build dist demo-output *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp for each extra: it is installed again only when what it is made from has changed.
$(INSTALLED)%: pyproject.toml constraints.txt | $(BIN)/pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[$*]"
	@touch $@

# Debian's python3 comes without ensurepip, so the new environment gets its pip from the outer one.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("needs Python 3.11 or newer: make PYTHON=...")'
	@$(PYTHON) -m pip --version >/dev/null || { echo "needs pip for $(PYTHON): apt-get install python3-pip" >&2; exit 1; }
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install --quiet pip
