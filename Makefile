# The work is done in scripts/, by people and CI alike. PYTHON=python3.12 names another interpreter.
export PYTHON
SHELL := /bin/bash
.DEFAULT_GOAL := help
# Targets share .venv and build/.
.NOTPARALLEL:
.PHONY: help install demo test test-integrations test-lowest lock soak bench docs lint format sanitize wheel clean

help: ## show this list
	@echo "make TARGET [PYTHON=python3.12], where TARGET is one of"
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

install: ## make .venv and compile TruBLEU into it (the other targets do so themselves)
	@scripts/install.sh

demo: ## all steps with simulated data, up to out/demo/report.html (ARGS=--open opens it)
	@scripts/demo.sh $(ARGS)

test: ## style, types, documentation, wheel, sanitizers, tests: with test-integrations everything CI runs
	@scripts/test.sh

test-integrations: ## against torch, torchmetrics, Jupyter and shells; installs what it needs
	@scripts/test-integrations.sh

test-lowest: ## with the oldest versions of all packages that pyproject.toml allows
	@scripts/test-lowest.sh

lock: ## pin the packages of development and CI, with hashes (ARGS=--upgrade takes the newest)
	@scripts/lock.sh $(ARGS)

soak: ## load, faults and kills at full size: rating studies, Ray clusters, files and memory, random texts, new examples; for about four hours
	@scripts/soak.sh

bench: ## compare speed with sacreBLEU and NLTK
	@scripts/bench.sh

docs: ## build the documentation into site/
	@scripts/docs.sh

lint: ## check style and types
	@scripts/lint.sh

format: ## repair style where that can be done by a program
	@scripts/lint.sh --fix

sanitize: ## run the kernels' tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/sanitize.sh

wheel: ## build sdist and wheel into dist/ and try the wheel in an empty environment
	@scripts/wheel-check.sh dist

clean: ## remove everything that can be made again
	@rm -rf .venv .venv-lowest build dist site out .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +
