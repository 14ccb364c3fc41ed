# Two commands matter: `make run` and `make test`. Both need nothing but Python 3.11 or newer, git and make.
.DEFAULT_GOAL := help
PY := .venv/bin/python
# Files with other hashes than those of the lock are refused. The heads of the locks say how to renew them.
PIP := $(PY) -m pip install -qq --disable-pip-version-check --require-hashes
# The first of these that really runs and is new enough; PYTHON=/path/to/python make run chooses another.
PYTHON ?= $(shell for each in python3.13 python3.12 python3.11 python3 python; do \
	$$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$each; break; }; done)

.PHONY: help run wheel packages test test-all bench eval snapshots screenshots cluster docs messages writable gettext
help:  ## list these commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/  -/'

# The page's files go out compressed; another folder of the environment or .env holds.
run: export STATIC_ROOT := $(or $(STATIC_ROOT),$(shell sed -n 's/^STATIC_ROOT=//p' .env 2>/dev/null),var/static)
run: writable .venv/.app  ## install what is missing, load the demo, serve on 127.0.0.1:8000
	@$(PY) manage.py collectstatic --no-input --verbosity 0
	@exec $(PY) -m legible_chat serve --data . --demo

# The time of the commit, so that the same commit gives the same bytes.
wheel: export SOURCE_DATE_EPOCH := $(or $(shell git log -1 --format=%ct 2>/dev/null),315532800)
wheel: writable .venv/.dev  ## build and check dist/: wheel, source archive and its components as CycloneDX
	@rm -rf dist
	@$(PY) -m build --no-isolation --outdir dist
	@.venv/bin/twine check --strict dist/*
	@.venv/bin/check-wheel-contents dist/*.whl
	@$(PY) -W ignore::UserWarning -m cyclonedx_py requirements requirements.lock --pyproject pyproject.toml --mc-type application \
	--output-reproducible --of JSON -o dist/legible-chat.cdx.json

packages: .venv/.dev  ## build and check dist/packages/: the packages for other projects, of the folder packages/
	@rm -rf dist/packages
	@for each in packages/*; do $(PY) -m build --no-isolation --outdir dist/packages $$each || exit 1; done
	@.venv/bin/twine check --strict dist/packages/*

test: .venv/.dev  ## format, lint, types, layers, templates and the tests; about five minutes on two cores
	@$(PY) -m tests.run fast

test-all: .venv/.dev  ## the same with every slow proof, every browser test, and the stored tests on PostgreSQL
	@$(PY) -m tests.run all

bench: .venv/.dev  ## the benchmarks; ratios taken in one run
	@for each in normaliser turn redaction rendering filings analyst ways page sizing; do $(PY) -m tests.benchmarks.$$each || exit 1; done

eval: .venv/.app  ## ask the questions of FOLDER about its documents; also on TEST_DATABASE_URL, where that is set
	@test -n "$(FOLDER)" || { echo "Name a folder: make eval FOLDER=path; docs/subsystems/documents.md says what it holds." >&2; exit 1; }
	@$(PY) manage.py evaluate "$(FOLDER)" $(if $(TEST_DATABASE_URL),--postgresql "$(TEST_DATABASE_URL)") $(OPTIONS)

snapshots: .venv/.dev  ## pictures of the page, compared with those of another commit; AGAINST=v1 for that one
	@$(PY) -m tests.browser.snapshots $(or $(AGAINST),HEAD)

screenshots: .venv/.dev  ## take the pictures of README and docs again
	@$(PY) -m tests.browser.screenshots

cluster: writable .venv/.app  ## several web processes over PostgreSQL and Redis behind one address; WEB=3 for three
	@$(PY) -m config.env_file --write .env
	@exec $(PY) -m deploy.cluster

docs: .venv/.app  ## write docs/settings.md and .env.example from the settings schema
	@$(PY) -m config.settings_reference

messages: gettext .venv/.app  ## collect the strings into the German catalogue and compile it; needs gettext's tools
	@$(PY) manage.py makemessages --locale de --add-location file --no-obsolete --ignore .venv --ignore tests
	@$(PY) manage.py compilemessages --locale de --ignore .venv

gettext:
	@for each in xgettext msguniq msgmerge msgattrib msgfmt; do command -v $$each >/dev/null || { \
	echo "make messages needs gettext's tools; on Debian and Ubuntu: apt-get install gettext" >&2; exit 1; }; done

writable:
	@test -w . || { echo "Legible cannot write to $(CURDIR): run make as the owner of this folder." >&2; exit 1; }

.venv/.app: requirements.lock | writable
	@test -n "$(PYTHON)" || { echo "Legible needs Python 3.11 or newer; here is $$(python3 --version 2>&1 | head -1). \
	Install one, or name it: PYTHON=/path/to/python make run" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) has no venv module; \
	on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@echo "Installing packages into .venv; this takes a minute or two."
	@$(PIP) -r requirements.lock || { echo "Packages could not be installed; see pip's output above." >&2; exit 1; }
	@touch $@

# The packages of packages/ are installed as links to their sources.
.venv/.dev: requirements-dev.lock .venv/.app $(wildcard packages/*/pyproject.toml)
	@echo "Installing the tools for tests."
	@$(PIP) -r requirements-dev.lock || { echo "Packages could not be installed; see pip's output above." >&2; exit 1; }
	@$(PY) -m pip install -qq --disable-pip-version-check --no-index --no-deps --no-build-isolation \
	$(patsubst %/pyproject.toml,-e %,$(wildcard packages/*/pyproject.toml))
	@touch $@
