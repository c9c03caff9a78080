# make serve    install what is needed into .venv, and start the server with its demo on 127.0.0.1:8000
# make test     install, and run all tests
# make bench    install, and print the numbers of docs/performance.md
# make install  only make .venv; quick when nothing has changed

ROOT    := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
PYTHON  ?= python3
VENV    := $(ROOT)/.venv
BIN     := $(VENV)/bin
DATA    ?= $(ROOT)/data
STAMP   := $(VENV)/.installed

.PHONY: install serve test bench java clean

install: $(STAMP)

$(STAMP): $(ROOT)/setup.cfg $(ROOT)/pyproject.toml $(ROOT)/constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "Python was not found: install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, and $(PYTHON) is $$($(PYTHON) --version 2>&1): name a newer one: make PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module was not found: install it (on Debian: apt-get install python3-venv)" >&2; exit 2; }
	@echo "Installing into $(VENV) …"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint $(ROOT)/constraints.txt --editable "$(ROOT)[test]"
	@touch $@

java:
	@command -v java >/dev/null || test -x "$$JAVA_HOME/bin/java" || { echo "Java was not found: install a Java runtime, 17 or newer, and put it on PATH or point JAVA_HOME at it" >&2; exit 2; }

serve: java install
	@$(BIN)/csparql-spark serve --data $(DATA) --demo

test: java install
	@cd $(ROOT) && $(BIN)/python -m pytest

bench: java install
	@cd $(ROOT) && $(BIN)/python -m bench

clean:
	rm -rf $(VENV) $(ROOT)/*.egg-info
