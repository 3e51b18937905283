# make run      compile gaussian for a photograph, simulate it, compare; Verilog, images and report in rtl_out/gaussian
# make test     lint, type check and the whole test suite on both simulators
# make fuzz     search for wrong results with random programs, FUZZ_MINUTES=10 by default; failures go to fuzz_found/
# make figures  measure all figures again (benchmarks/results, README.md, docs/figures.md)
# make clean    remove the virtual environment and everything that was generated
#
# PYTHON=python3.12 picks another interpreter, JOBS=4 another number of test processes.

PYTHON ?= python3
JOBS ?= 2
FUZZ_MINUTES ?= 10
VENV := .venv
RUN := $(VENV)/bin/python
STAMP := $(VENV)/.installed
OUTPUT := rtl_out/gaussian

# Every process of the tests would compile all of Python's modules again.
unexport PYTHONDONTWRITEBYTECODE

SHELL := /bin/sh
.SUFFIXES:
.PHONY: run test types suite translated fuzz figures clean prerequisites tools

run: $(STAMP)
	$(RUN) -m compiler gaussian --target cgra --array 8x4 --set width=128 --set height=128 \
	  --output $(OUTPUT)/output.png --report $(OUTPUT) -o $(OUTPUT)

figures: $(STAMP)
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[pnr-ice40]'
	$(RUN) -m benchmarks.figures

test: $(STAMP) tools
	$(VENV)/bin/ruff check .
	@$(MAKE) --no-print-directory -j 2 suite types

# Beside the type checker, which keeps one core busy for minutes.
suite: $(STAMP) translated
	$(RUN) -m pytest -n $(JOBS) --dist worksteal tests tb

types: $(STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/pyright

translated: $(STAMP)
	@$(RUN) -m tests.support.translate_tools

fuzz: $(STAMP) tools
	$(RUN) -m tests.fuzz --minutes $(FUZZ_MINUTES)

clean:
	rm -rf $(VENV) build *.egg-info rtl_out/*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment is made again only when pyproject.toml changed, or when its interpreter no longer runs (a moved
# checkout, a removed Python).
ifneq ($(shell $(RUN) -c 'print("alive")' 2>/dev/null),alive)
.PHONY: $(STAMP)
endif
$(STAMP): pyproject.toml | prerequisites
	@$(RUN) -c '' 2>/dev/null || rm -rf $(VENV)
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[simulation,pnr,halide,onnx,board,development]'
	@touch $@

prerequisites:
	@missing=0; \
	need() { echo "make: $$1 is missing: type \`apt-get install $$2\` as root" >&2; missing=1; }; \
	if ! command -v $(PYTHON) >/dev/null; then need "$(PYTHON)" python3; \
	elif ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
	  echo "make: $(PYTHON) is $$($(PYTHON) -V 2>&1), and 3.11 or newer is needed: type \`make PYTHON=python3.11\`" >&2; \
	  missing=1; \
	elif ! $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null; then need "Python's venv module" python3-venv; fi; \
	command -v $${CXX:-g++} >/dev/null || command -v c++ >/dev/null || need g++ g++; \
	command -v perl >/dev/null || need perl perl; \
	case "$(CURDIR)" in *[[:space:]]*) \
	  echo "make: the path '$(CURDIR)' contains a space, which Verilator cannot handle: move this folder" >&2; \
	  missing=1;; \
	esac; \
	exit $$missing

# Icarus, Python's shared library, which cocotb needs inside Icarus, and the compiler of the vector processor's scalar
# core: installed where that is allowed.
tools: $(STAMP)
	@wanted=""; \
	command -v iverilog >/dev/null && command -v vvp >/dev/null || wanted="iverilog"; \
	$(RUN) -c 'import find_libpython, sys; sys.exit(find_libpython.find_libpython() is None)' \
	  || wanted="$$wanted $$($(RUN) -c 'import sys; print("libpython%d.%d" % sys.version_info[:2])')"; \
	command -v riscv64-unknown-elf-gcc >/dev/null || wanted="$$wanted gcc-riscv64-unknown-elf"; \
	test -f "$$(riscv64-unknown-elf-gcc -print-file-name=picolibc.specs 2>/dev/null)" \
	  || wanted="$$wanted picolibc-riscv64-unknown-elf"; \
	test -z "$$wanted" && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$wanted; \
	else \
	  echo "make: the tests need Icarus Verilog and a RISC-V compiler: type \`apt-get install "$$wanted"\` as root" >&2; exit 1; \
	fi
