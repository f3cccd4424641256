# One command a purpose; bootstrap.py makes the environment first and explains what goes wrong.
PYTHON ?= python3
export ALL ONLY PORT

book test test-oldest lab site clean offline check bench:
	@$(PYTHON) bootstrap.py $@

# make build CHAPTERS="01_collapse"; without CHAPTERS, whatever changed
build:
	@$(PYTHON) bootstrap.py build $(CHAPTERS)

# Refreshes constraints.txt for every system and Python at once. make lock UPGRADE=--upgrade takes newer releases.
lock:
	$(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install -q uv
	.venv-lock/bin/uv pip compile pyproject.toml --extra widgets --extra book --extra models --extra dev --extra grading --universal \
	  --python-version 3.11 --no-annotate --no-header $(UPGRADE) -q -o constraints.txt

.PHONY: book test test-oldest lab site clean offline check bench build lock
