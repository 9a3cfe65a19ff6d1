# The environment lives in .venv; it is made once, and again when the declared dependencies change.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# Where pip looks for torch first, to choose a build: https://download.pytorch.org/whl/cpu or …/whl/cu130
TORCH_INDEX ?=
BIN := .venv/bin

PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist worksteal
LAB := tests/experiments tests/benchmarks tests/data_scripts
# Other random examples in each run of the long tests; make test-long SEED=N repeats a run.
SEED := $(or $(SEED),$(shell date +%s))
RANDOM := --hypothesis-profile=random --hypothesis-seed=$(SEED)

.PHONY: bioasq tune core sia radiology tripclick test test-long test-lab coverage benchmarks-smoke fuzz faults experiments browser clients wheel release-check docs lint style types types-windows clean

bioasq: .venv/ready  ## the main job on the sample questions: a BioASQ submission, measured
	$(BIN)/python experiments/bioasq.py --precision fp32

tune: .venv/ready  ## a small complete tuning on the sample questions: weights, evidence, pictures; docs/guides/tuning.md
	$(BIN)/mpir index mpir/sample/documents.jsonl --index runs/sample/index
	$(BIN)/mpir score --questions mpir/sample/questions.json --index runs/sample/index --k 20 --output runs/sample/scored
	rm -f runs/sample/weights.json
	$(BIN)/mpir tune runs/sample/scored --output runs/sample/weights.json --measure document-sentence-map \
		--against mpir/bundles/default/weights.json --set tune.calls=20 --set tune.loops=2 --plots runs/sample/plots

sia: .venv/ready  ## SIA data from the sample rows: small but complete; docs/guides/sia.md
	$(BIN)/mpir data vectors mpir/sample/documents.jsonl --set vectors.least=2 --set vectors.epochs=30 --output runs/sia/vectors
	$(BIN)/python data_scripts/tiny_writer.py mpir/sample/documents.jsonl --output runs/sia/tiny-gpt2
	$(BIN)/mpir data sia --qasc mpir/sample/qasc.jsonl --vectors runs/sia/vectors \
		--bioasq mpir/sample/questions.json --corpus mpir/sample/documents.jsonl \
		--writer runs/sia/tiny-gpt2 --sources mpir/sample/questions.json --set sia.epochs=20 --set sia.learning_rate=2e-3 \
		--set sia.least_relevance=0 --set sia.least_grounded=0 --output runs/sia/data

radiology: .venv/ready  ## sixty sample reports: what they affirm and deny, and a search that knows the difference; docs/guides/radiology.md
	mkdir -p runs/radiology
	$(BIN)/mpir annotate mpir/sample/radiology/reports.jsonl --lexicon mpir/sample/radiology/chest-xray.tsv \
		--set lexicon.triggers=negation,hedges,radiology > runs/radiology/mentions.jsonl
	$(BIN)/mpir rerank "no pleural effusion" --docs mpir/sample/radiology/reports.jsonl \
		--lexicon mpir/sample/radiology/chest-xray.tsv --set lexicon.triggers=negation,hedges,radiology --explain --top-k 5
	$(BIN)/python -m experiments.radiology sample

tripclick: .venv/ready  ## from clicks to an ensemble on a sample: triples, four small models, one table; docs/guides/tripclick.md
	$(BIN)/python -m experiments.tripclick.rerank

test: .venv/ready  ## the product's tests but the long ones, in two processes with a thread each
	$(PYTEST) -m "not slow and not browser" tests $(LAB:%=--ignore %)

test-long: .venv/ready  ## the product's tests that take longer: servers, clusters, kills and full disks, whole jobs
	$(PYTEST) $(RANDOM) -m "slow and not browser" tests $(LAB:%=--ignore %)

test-lab: .venv/ready  ## the tests of experiments/, benchmarks/ and data_scripts/
	$(PYTEST) $(LAB)

coverage: .venv/ready  ## branch coverage of the product by the tests of make test; fails below the figure in pyproject.toml
	rm -rf build/coverage
	OMP_NUM_THREADS=1 $(BIN)/python -m coverage run -m pytest --numprocesses 2 --dist worksteal \
		-m "not slow and not browser" tests $(LAB:%=--ignore %)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

benchmarks-smoke: .venv/ready  ## every benchmark and experiment at its smallest size
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/smoke.py

core:  ## the core without any extra, on any Python: make core PYTHON=python3.13
	$(PYTHON) -m venv .venv-core
	.venv-core/bin/python -m pip install --quiet ".[test]"
	.venv-core/bin/python -m pytest tests/reranking tests/core/text tests/search/test_memory.py tests/docs/test_design.py tests/test_extras.py

fuzz: .venv/ready  ## 10,000 malformed requests to a running server, 5,000 mutated exports, and 100 references through each pair of formats, counted
	MPIR_FUZZ=10000 $(BIN)/python -m pytest $(RANDOM) tests/app/serve/test_fuzz.py
	OMP_NUM_THREADS=1 MPIR_MUTATIONS=5000 MPIR_ROUND_TRIPS=100 $(BIN)/python -m pytest $(RANDOM) -p tests.faults.report \
		tests/files/corpora/test_mutated.py tests/files/corpora/test_round_trip.py

# Kills of eighteen commands and of Ray's workers and drivers, full disks, flipped bytes in every artefact, damaged checkpoints,
# hostile files, paths and requests, threads that share objects; over 1 h. The tests that count faults, and these:
FAULTS := $(shell grep -rlE 'tests\.(faults\.report|damage|threads) import' tests --include='test_*.py') \
	tests/faults tests/lab/ray tests/files tests/search tests/app/serve tests/app/explain tests/app/cli/test_path_options.py \
	tests/models/llm/test_trust.py tests/models/loading/test_checkpoint_code.py \
	tests/models/checkpoint_files/test_damaged_checkpoints.py \
	tests/test_programs.py tests/test_code_from_files.py

faults: .venv/ready  ## many faults, counted by kind, with how many did harm
	OMP_NUM_THREADS=1 MPIR_FAULTS=200 MPIR_KILLS=16 MPIR_FLIPS=1000 MPIR_FUZZ=2100 MPIR_SEARCHES=10000 $(BIN)/python -m pytest $(RANDOM) -p tests.faults.report $(FAULTS)

experiments: .venv/ready  ## what some scripts of experiments/ compare with besides: the start encoder, negspacy, splitters
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[experiments]"

browser: .venv/ready  ## the explain page in headless Chromium, which the system provides
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[browser]"
	$(PYTEST) --dist loadfile -m browser tests/app/explain

clients: .venv/ready .clients/today/ready .clients/langchain/ready  ## other rerankers' true clients, and mpir's drop-ins
	$(BIN)/python tests/clients/run.py .clients/today/bin/python .clients/langchain/bin/python

.clients/%/ready: tests/clients/%.txt
	$(PYTHON) -m venv .clients/$*
	.clients/$*/bin/python -m pip install --quiet --no-compile $(TORCH_INDEX:%=--extra-index-url %) --requirement $<
	touch $@

wheel: .venv/ready  ## a wheel, installed in an empty environment and run there
	rm -rf build/wheel build/empty
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel .
	@test `cat build/wheel/*.whl | wc -c` -lt 100000000 || { echo "the wheel has 100 MB or more, which package indexes refuse" >&2; exit 1; }
	$(BIN)/python -m twine check --strict build/wheel/*.whl
	$(PYTHON) -m venv build/empty
ifneq ($(TORCH_INDEX),)
	build/empty/bin/python -m pip install --quiet --no-compile --index-url $(TORCH_INDEX) --constraint constraints.txt torch
endif
	build/empty/bin/python -m pip install --quiet --no-compile --constraint constraints.txt build/wheel/*.whl
	cd build && empty/bin/mpir rerank "Which gene is mutated in cystic fibrosis?" --docs ../mpir/sample/documents.jsonl \
		--top-k 3 --explain --set cache.folder=none --device cpu

release-check: .venv/ready  ## what the release workflow builds and checks; make release-check TAG=v0.3.0 before a tag
	rm -rf build/dist
	$(BIN)/python -m build --outdir build/dist
	$(BIN)/python -m twine check --strict build/dist/*
	$(BIN)/python .ci/check_release.py build/dist $(TAG:%=--tag %)

docs: .venv/ready  ## the documentation's site, in build/site; links are checked
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

lint: style types types-windows  ## style, format and types, also those of Windows, and the Dockerfile

style: .venv/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/hadolint Dockerfile

types: .venv/ready
	$(BIN)/mypy

types-windows: .venv/ready
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v != (3, 11) and f"mpir needs Python 3.11, found {v[0]}.{v[1]}; name one with make PYTHON=…")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
ifneq ($(TORCH_INDEX),)
	$(BIN)/python -m pip install --no-compile --index-url $(TORCH_INDEX) --constraint constraints.txt torch
endif
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:  ## remove the environments and what building and `make bioasq` have left; runs/ stays
	rm -rf .venv .venv-core .clients build *.egg-info submission.json submission.json.scores.jsonl
