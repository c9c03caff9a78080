# make serve    install what is needed into .venv, build the console, and start the server with its demo on 127.0.0.1:8000
#               (make serve PORT=8001 takes another port)
# make check    install, and look at style, types, and the tests that need no JVM, browser, broker or server of their own
# make test     install, build the console, and run all tests
# make bench    install, measure everything (hours: TIMES runs of what is short), and write docs/performance.md from it
# make bench-quick  the same at small sizes, in five minutes, into build/bench; peers are installed besides
# make faults   install, poison servers and break them on purpose, and check what they promise (docs/reliability.md); needs root for a full disk
# make install  only make .venv and compile the kernel; quick when nothing has changed
# make wheels   build wheels that carry the compiled kernel, for x86_64 and for arm64, into build/wheels
# make console  only build the console, where Node is there to do it

ROOT    := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
PYTHON  ?= python3
VENV    := $(ROOT)/.venv
BIN     := $(VENV)/bin
DATA    ?= $(ROOT)/data
STAMP   := $(VENV)/.installed
KERNEL  := $(ROOT)/csparql_spark/kernel
LIBRARY := $(KERNEL)/_kernel.abi3.so
WEB     := $(ROOT)/web
CONSOLE := $(WEB)/dist/index.html
RESULTS ?= bench/results/all.jsonl
TIMES   ?= 3
QUICK   := build/bench
# As many tests at once as there are cores; of those that need the machine, two (tests/conftest.py says which).
SIDE    ?= --numprocesses auto --dist loadgroup
# Which tests `make test` runs, as options of pytest: all.
TESTS   ?=
PLOTTER := $(VENV)/.installed-bench

.PHONY: install serve check test bench bench-quick faults java console wheels clean

install: $(STAMP) $(LIBRARY)

$(STAMP): $(ROOT)/setup.cfg $(ROOT)/setup.py $(ROOT)/pyproject.toml $(ROOT)/constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "Python was not found: install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, and $(PYTHON) is $$($(PYTHON) --version 2>&1): name a newer one: make PYTHON=/path/to/python3" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module was not found: install it (on Debian: apt-get install python3-venv)" >&2; exit 2; }
	@echo "Installing into $(VENV) …"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@CSPARQL_SPARK_KERNEL=numpy $(BIN)/pip install --quiet --disable-pip-version-check --constraint $(ROOT)/constraints.txt --editable "$(ROOT)[test]"
	@touch $@

# Compiled by itself, and not by pip: so it is compiled anew when a file of it has changed, and what is said of it is seen.
# Where that fails, it says so in a sentence, and the functions in numpy run.
$(LIBRARY): $(wildcard $(KERNEL)/c/*) $(KERNEL)/build.py | $(STAMP)
	@echo "Compiling the kernel …"
	@$(BIN)/python -m csparql_spark.kernel.build || true

wheels: $(STAMP)
	@for machine in x86_64 aarch64; do $(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir $(ROOT)/build/wheels \
		--config-settings="--build-option=--plat-name=manylinux_2_28_$$machine" $(ROOT) || exit 1; done

java:
	@command -v java >/dev/null || test -x "$$JAVA_HOME/bin/java" || { echo "Java was not found: install a Java runtime, 17 or newer, and put it on PATH or point JAVA_HOME at it" >&2; exit 2; }

# The console is optional: without Node the server serves all of its HTTP interface, and says at / how to get the console.
console:
	@if command -v npm >/dev/null; then $(MAKE) --silent --no-print-directory $(CONSOLE); else \
		echo "npm was not found: the console is not built (install Node 20 or newer to have it)" >&2; fi

$(CONSOLE): $(shell find $(WEB)/src -type f) $(WEB)/index.html $(WEB)/build.mjs $(WEB)/package.json $(WEB)/package-lock.json
	@echo "Building the console into $(WEB)/dist …"
	@cd $(WEB) && npm ci --ignore-scripts --no-audit --no-fund --silent && npm run --silent build
	@touch $@

serve: java install console
	@$(BIN)/csparql-spark demo --data $(DATA) $(if $(PORT),--port $(PORT))

# Each process of a test imports the same modules: they are compiled once, also where the environment says otherwise.
check test: export PYTHONDONTWRITEBYTECODE :=

# Somebody waits for a check: property tests try a part of their examples, unless EXAMPLES=1 asks for all.
check: export EXAMPLES := $(or $(EXAMPLES),4)

check: install
	@cd $(ROOT) && $(BIN)/ruff check . && $(BIN)/ruff format --check --quiet . && $(BIN)/mypy && \
		$(BIN)/python -m pytest $(SIDE) -m "not machine"

test: java install console
	@cd $(ROOT) && $(BIN)/python -m pytest $(SIDE) $(TESTS)

# What was measured is told also when a part of it has failed.
bench: java $(PLOTTER)
	@cd $(ROOT) && $(BIN)/python -m bench --times $(TIMES) --output $(RESULTS); status=$$?; \
		$(BIN)/python -m bench.book bench/results/*.jsonl && exit $$status

bench-quick: java $(PLOTTER)
	@cd $(ROOT) && rm -rf $(QUICK) && $(BIN)/python -m bench --quick --output $(QUICK)/quick.jsonl; status=$$?; \
		$(BIN)/python -m bench.book $(QUICK)/quick.jsonl --page $(QUICK)/performance.md && exit $$status

$(PLOTTER): $(STAMP) | $(LIBRARY)
	@CSPARQL_SPARK_KERNEL=numpy $(BIN)/pip install --quiet --disable-pip-version-check --constraint $(ROOT)/constraints.txt --editable "$(ROOT)[bench]"
	@touch $@

faults: java install
	@cd $(ROOT) && POISON=all $(BIN)/python -m pytest tests/poison; status=$$?; \
		$(BIN)/python -m bench.faults && exit $$status

clean:
	rm -rf $(VENV) $(LIBRARY) $(ROOT)/*.egg-info $(WEB)/dist $(WEB)/node_modules
