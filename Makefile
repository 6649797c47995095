# Relative paths only: make cannot handle a project path that contains spaces otherwise.
PY := .venv/bin/python
PORT ?= 7860
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup setup-run run test test-all bench bench-learn bench-ui models screenshots space lint words clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

setup: ## make .venv with everything, and find or fetch Chromium
	@sh .ci/make_venv.sh dev
	@sh tests/browser/install_chromium.sh

setup-run:
	@sh .ci/make_venv.sh run

run: setup-run ## start the app (PORT=7860)
	@$(PY) -m app.main --port $(PORT)

test: setup ## run the tests, browser included, slow ones not
	@$(PY) -m pytest -n 2 -m "not slow" $(PYTEST_ARGS)

test-all: setup ## run every test
	@$(PY) -m pytest $(PYTEST_ARGS)

bench: ## run the benchmarks
	@sh .ci/make_venv.sh bench
	@HF_HUB_OFFLINE=1 $(PY) -m tests.bench

bench-learn: ## measure how fast the recipes learn, into docs/learning.md (ONLY="rnn/parity gpt/copy")
	@sh .ci/make_venv.sh dev
	@$(PY) -m tests.bench.learn $(if $(ONLY),--only $(ONLY))

models: setup-run ## train the shipped runs again (NAMES="parity-lstm")
	@$(PY) -m app.service.runs.shipped $(NAMES)
	@$(PY) -m app.service.experiments.extrapolation
	@$(PY) -m app.service.experiments.fine_tuning

bench-ui: setup ## measure the page in the browser
	@$(PY) -m tests.bench.ui

screenshots: setup ## take the README's pictures again
	@$(PY) -m tests.browser.screenshots

space: ## start the app as a Hugging Face Space does, and check its page
	@python3 .ci/check_space.py

lint: ## check style, types, imports between packages, and translations
	@sh .ci/make_venv.sh dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m pyrefly check
	@.venv/bin/lint-imports
	@$(PY) .ci/words.py --check

words: ## collect the messages in the code into the catalogues of static/locales
	@sh .ci/make_venv.sh dev
	@$(PY) .ci/words.py

clean: ## remove .venv, the fetched browser and all caches
	rm -rf .venv .space .browser .browser.part .pytest_cache .ruff_cache .hypothesis .gradio .learning
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
