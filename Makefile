# Everything runs in an environment of its own, made from pyproject.toml alone.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The extras of pyproject.toml whose libraries have an environment of their own.
LIBRARIES := flax keras mlx openvino paddle tinygrad
# Options that choose the cases of third-party implementations, such as --profile=smoke; all, where it is empty.
CASES ?=
# Tests that are skipped without a library; all others have run in the target test.
NEED_LIBRARIES = tests/use/action/test_action.py::test_torch_is_green_and_with_a_planted_mistake_red $(shell grep -rlE 'importorskip|find_spec' --include='test_*.py' $(addprefix tests/unit/,attnspec/process attnspec/targets attnspec/tensors attnspec_adapters attnspec_modules attnspec_authoring/third_party attnspec_reference attnspec_vectors))

.DEFAULT_GOAL := help
.PHONY: help validate test prove lint format regenerate check-goldens regenerate-long check-long mutation strangers implementations libraries walk released release dry-run bench clean

help:
	@echo "make validate         validate the reference against every golden case"
	@echo "make test             run the tests"
	@echo "make prove            run the proofs of the whole suite, which take longer"
	@echo "make lint             ruff and pyright"
	@echo "make format           format the code"
	@echo "make regenerate       fill the golden files with certified values"
	@echo "make check-goldens    recompute every golden file and compare byte for byte"
	@echo "make check-long       the same for the profile long alone, row by row"
	@echo "make mutation         change the reference everywhere, and see every change caught"
	@echo "make strangers        try every implementation of the blind batches; twenty minutes"
	@echo "make walk             run every command of README.md as a newcomer does (installs torch)"
	@echo "make implementations  validate the third-party implementations (installs torch and others)"
	@echo "make released         turn what is unreleased into a release: changelog, promises of cases"
	@echo "make release          write the files of a release into dist: wheel, source, vectors, site, checksums"
	@echo "make dry-run          the same twice, from two clean clones, and compare the bytes"
	@echo "make bench            measure time and memory, as ratios"
	@echo "make libraries        the same for those that live alone, each in an environment of its own; takes long"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# A stamp for each set of extras; a changed pyproject.toml installs anew.
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".$(if $(filter base,$*),,[$*])"
	$(BIN)/python -m compileall -q $(wildcard tools/attnspec*) reference_impl
	@touch $@

validate: $(VENV)/.installed-base
	$(BIN)/attnspec validate reference

test: $(VENV)/.installed-regenerate,site,test
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not proof"

prove: $(VENV)/.installed-regenerate,site,test
	$(BIN)/python -m pytest -n auto --dist worksteal -m proof

lint: $(VENV)/.installed-lint,regenerate,site,test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/.installed-lint,regenerate,site,test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

regenerate: $(VENV)/.installed-regenerate
	$(BIN)/attnspec regenerate

check-goldens: $(VENV)/.installed-regenerate
	$(BIN)/attnspec regenerate --check --all

# By itself: what is certified is kept in .cache/rows, so that it goes on where it was interrupted.
regenerate-long: $(VENV)/.installed-regenerate
	$(BIN)/attnspec regenerate --all --profile long

check-long: $(VENV)/.installed-regenerate
	$(BIN)/attnspec regenerate --check --all --profile long --no-cache

mutation: $(VENV)/.installed-test
	$(BIN)/python -m attnspec_authoring.mutation

strangers: $(VENV)/.installed-test
	$(BIN)/python -m attnspec_authoring.strangers

implementations: $(VENV)/.installed-test,implementations
	$(BIN)/python -m pytest -n auto $(NEED_LIBRARIES)
	$(BIN)/python -m attnspec_authoring.third_party $(CASES)

libraries: $(LIBRARIES:%=library-%)

# One of them: make library-mlx
library-%:
	$(MAKE) VENV=.venv-$* .venv-$*/.installed-test,$*
	.venv-$*/bin/python -m pytest -n auto tests/unit/attnspec_adapters tests/unit/attnspec_modules tests/unit/attnspec_authoring/results/test_defects.py
	.venv-$*/bin/python -m attnspec_authoring.third_party --extra $* $(CASES)

# As a newcomer: every command of README.md and of the guide to kernels, in a fresh clone of what is committed.
walk:
	$(PYTHON) tests/use/walk/walk.py

# Version, changelog and the promises of all cases: what is committed as a release.
released: $(VENV)/.installed-regenerate,site,test
	$(BIN)/attnspec release --changelog CHANGELOG.md --final

# The files that are published, of a release that is committed.
release: $(VENV)/.installed-regenerate,site,test
	rm -rf dist
	$(BIN)/python -m attnspec_authoring.release_files dist $(if $(TAG),--tag $(TAG))

# The same twice, from two clean clones, and whether their bytes are the same; released or not.
dry-run: $(VENV)/.installed-regenerate,site,test
	rm -rf build/dry-run
	$(BIN)/python -m attnspec_authoring.release_files build/dry-run --dry-run

# Time and memory, as ratios measured in one run; on a quiet machine.
bench: $(VENV)/.installed-regenerate
	$(BIN)/python tools/benchmarks/bench.py --write

clean:
	rm -rf $(VENV) .venv-* .cache .pytest_cache .ruff_cache .hypothesis build dist
