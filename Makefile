# Needs Python 3.11 or newer and make. Every target installs what it needs into .venv (test-oldest: .venv-oldest,
# test-newest: .venv-newest).
#   PYTHON           the interpreter that makes .venv                                   make test PYTHON=python3.12
#   FILE, MODEL      what `make translate` reads, and with which checkpoint             make translate FILE=my.txt
#   FOLDER           where `make checkpoint-folder` writes        make checkpoint-folder FOLDER=my-model
#   TORCH_INDEX_URL  a further package index for PyTorch. On Linux the default build of PyTorch brings several GB of
#                    CUDA libraries; https://download.pytorch.org/whl/cpu has a small one without.

PYTHON ?= python3
FILE ?= examples/sample_document.en.txt
MODEL ?= checkpoints/hier-nmt-en-fr
TORCH_INDEX_URL ?=

TORCH_INDEX := $(if $(TORCH_INDEX_URL),--extra-index-url $(TORCH_INDEX_URL))
PIP_INSTALL := -m pip install -qq --disable-pip-version-check $(TORCH_INDEX)
RUNTIME := .venv/.installed-runtime
DEV := .venv/.installed-dev
TRITON := .venv/.installed-triton
DOCS := .venv/.installed-docs
OLDEST := .venv-oldest/.installed
NEWEST := .venv-newest/.installed
TRANSFORMERS_SOURCE := .venv/transformers-source
REQUIREMENTS := setup.cfg pyproject.toml
# Every process runs one thread (tests/conftest.py) and imports PyTorch, so more of them soon bring nothing.
PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help translate test lint types docs train-demo bench checkpoint-folder fuzz test-hub test-triton test-slow
.PHONY: test-oldest test-newest test-newest-core test-transformers clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-20s %s\n", $$1, $$2}'

translate: $(RUNTIME)  ## translate the sample document, or FILE=my.txt, from English to French
	@OMP_WAIT_POLICY=PASSIVE .venv/bin/hier-nmt translate --model $(MODEL) "$(FILE)"

test: $(DEV)  ## run the tests (six to twenty minutes on two cores; no network, no GPU)
	.venv/bin/python -m pytest $(PARALLEL)

lint: $(DEV)  ## check style and formatting with ruff
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

types: $(DEV)  ## check the type hints with mypy
	.venv/bin/mypy

# Material announces its successor at every build.
docs: export NO_MKDOCS_2_WARNING = 1
docs: $(DOCS)  ## build the documentation as a site in build/site, which is read without network, and check its links
	.venv/bin/mkdocs build --strict
	@echo "open build/site/index.html; its search needs a server: python3 -m http.server --directory build/site"

# The model is so small that a second thread costs more than it brings.
train-demo: export OMP_NUM_THREADS = 1
train-demo: $(RUNTIME)  ## train a tiny model on a generated corpus (under five minutes), measure it and translate with it
	.venv/bin/hier-nmt corpus make-discourse runs/demo-corpus --train 1500 --dev 10 --test 50 --length 10 \
		--max-distance 4 --phenomena register word-sense ellipsis pronoun-number
	.venv/bin/hier-nmt train training/recipes/en-fr/demo.yaml
	.venv/bin/hier-nmt contrastive runs/demo runs/demo-corpus/contrastive.jsonl
	.venv/bin/hier-nmt translate --model runs/demo examples/demo.en.txt

# Nothing else should run meanwhile.
bench: $(DEV)  ## measure time and memory of attention and models (an hour or more), tables and plots in runs/bench
	@mkdir -p runs/bench
	.venv/bin/python benchmarks/attention.py --output runs/bench/attention.json --plot runs/bench/attention.png
	.venv/bin/python benchmarks/big_bird.py --output runs/bench/big_bird.json --plot runs/bench/big_bird.png
	.venv/bin/python benchmarks/model.py --output runs/bench/model.json --plot runs/bench/model.png

FOLDER ?= runs/hub/$(notdir $(MODEL))
checkpoint-folder: $(RUNTIME)  ## write the shipped model with the code that runs it into FOLDER, which needs Transformers alone
	.venv/bin/hier-nmt push $(MODEL) $(FOLDER) --write-only $(FOLDER)

MINUTES ?= 10
fuzz: $(DEV)  ## damage valid files at random and read them, MINUTES=10 for each kind of reader; findings in runs/fuzz
	.venv/bin/python tests/fuzz_readers.py --minutes $(MINUTES)

HUB_TESTS := tests/system/test_hub.py tests/system/test_with_and_without_the_package.py tests/unit/test_cards.py

test-hub: $(DEV)  ## run the tests with every preset on a Hub, in processes with and without the package (minutes)
	.venv/bin/python -m pytest $(PARALLEL) --dist load -m slow $(HUB_TESTS)

test-triton: $(TRITON)  ## install Triton (a gigabyte) and test the kernels for GPUs, without one
	.venv/bin/python -m pytest -m "slow or not slow" tests/unit/kernels/triton/test_triton_attention.py

test-slow: $(DEV)  ## run the slow tests
	.venv/bin/python -m pytest -m slow

test-oldest: $(OLDEST)  ## run the tests with the oldest supported Transformers, in .venv-oldest
	.venv-oldest/bin/python -m pytest $(PARALLEL)

# The programs of the model cards, which need a folder with weights and code, and Transformers alone.
CARD_PROGRAMS := tests/unit/test_cards.py -k programs_of_the_cards

test-newest: $(NEWEST)  ## run the tests and the cards' programs with the newest release of everything, in .venv-newest
	.venv-newest/bin/python -m pytest $(PARALLEL)
	.venv-newest/bin/python -m pytest -m "slow or not slow" $(CARD_PROGRAMS)

# Where a new release of Transformers shows first: models, generation, pipeline, Hub.
CORE_TESTS := tests/unit/configuration tests/unit/models tests/unit/publishing/test_hub.py \
	tests/unit/translation/test_pipeline_document_translation.py tests/system/test_hub.py \
	tests/system/test_with_and_without_the_package.py

test-newest-core: $(NEWEST)  ## of test-newest, models, generation, pipeline and Hub, and the cards' programs
	.venv-newest/bin/python -m pytest $(PARALLEL) $(CORE_TESTS)
	.venv-newest/bin/python -m pytest -m "slow or not slow" $(CARD_PROGRAMS)

test-transformers: export TRANSFORMERS_TESTS = $(TRANSFORMERS_SOURCE)/tests
test-transformers: $(TRANSFORMERS_SOURCE)  ## run Transformers' own model tests on ours (fetches its sources)
	.venv/bin/python -m pytest -m slow tests/system/test_transformers_common.py

clean:  ## remove the environments, caches, builds and training runs
	rm -rf .venv .venv-oldest .venv-newest .mypy_cache .pytest_cache .ruff_cache build dist runs src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

define install  # (directory of the venv, constraints or nothing, what to install)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "hier_nmt needs Python 3.11 or newer," \
		"and $(PYTHON) is none; name one: make PYTHON=python3.11 ..."; exit 1; }
	@test -x $(1)/bin/pip || $(PYTHON) -m venv $(1)
	@echo "Installing into $(1) (a few minutes the first time) ..."
	@$(1)/bin/python $(PIP_INSTALL) --no-compile $(if $(2),-c $(2)) $(3)
	@# As pip does, but on every core; some packages have files that are no Python of this version.
	@$(1)/bin/python -m compileall -qq -j 0 -x 'site-packages/.*/tests?/' $(1)/lib src || true
	@touch $@
endef

$(RUNTIME): $(REQUIREMENTS) constraints.txt
	$(call install,.venv,constraints.txt,-e '.[eval]')

$(DEV): $(REQUIREMENTS) constraints.txt
	$(call install,.venv,constraints.txt,-e '.[dev$(comma)eval$(comma)train$(comma)plot]')
	@touch $(RUNTIME)

$(TRITON): $(DEV)
	$(call install,.venv,constraints.txt,-e '.[triton]')

$(DOCS): $(RUNTIME)
	$(call install,.venv,constraints.txt,-e '.[docs]')

$(OLDEST): $(REQUIREMENTS) constraints-oldest.txt
	$(call install,.venv-oldest,constraints-oldest.txt,-e '.[dev$(comma)eval$(comma)train$(comma)plot]')

# Nothing is pinned, so what was released since is looked for every time.
.PHONY: $(NEWEST)
$(NEWEST):
	$(call install,.venv-newest,,--upgrade --upgrade-strategy eager -e '.[dev$(comma)eval$(comma)train$(comma)plot$(comma)markdown]')

$(TRANSFORMERS_SOURCE): $(DEV)
	@rm -rf $@ $@.download && mkdir $@
	@.venv/bin/python -m pip download -qq --no-deps --no-binary transformers -c constraints.txt -d $@.download \
		transformers
	@tar -xzf $@.download/transformers-*.tar.gz -C $@ --strip-components 1
	@touch $@ $@/tests/__init__.py  # which the distribution leaves out

comma := ,
