# `make` lists the targets. Everything is installed below this folder, in .venv* and build; `make clean` removes it all.

VENV := .venv
PY := $(VENV)/bin/python
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
# Always write bytecode: otherwise each server that a test starts would compile all code again.
export PYTHONDONTWRITEBYTECODE :=
QUICK_TESTS := tests/unit tests/contract tests/protocol

.DEFAULT_GOAL := help
.PHONY: help run cluster cluster-2dc test check docs drills bench bench-page bench-spark pictures audit audit-cluster clean provision test-env

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

run: $(VENV)/.serve ## set up and serve on 127.0.0.1:9324 (CQS_HOST, CQS_PORT, CQS_DATA_DIR, CQS_CONFIG ...)
	@[ -n "$$CQS_DATA_DIR" ] || grep -Eqs '^ *"?data_dir' "$$CQS_CONFIG" || export CQS_DATA_DIR=.cqs; exec $(VENV)/bin/cqs serve

cluster: $(VENV)/.cluster ## run a cluster: 3 Cassandra nodes, 2 Redis servers and 2 API nodes (needs java, mvn and redis-server)
	@exec $(PY) -m deploy.cluster

cluster-2dc: $(VENV)/.cluster ## run two data centres, each a Cassandra node, a Redis server and an API node
	@exec $(PY) -m deploy.cluster --two-datacenters

test: test-env provision ## set up and run all tests, including short drills
	@$(PY) -m tests

check: $(VENV)/.dev ## lint, types, layers, unit and contract tests; no services, under a minute
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(PY) -m pytest -n 2 -m 'not slow and not needs' $(QUICK_TESTS)

docs: $(VENV)/.serve ## write the generated pages docs/configuration.md and docs/metrics.md
	$(VENV)/bin/cqs config --format markdown > docs/configuration.md
	$(VENV)/bin/cqs metrics --format markdown > docs/metrics.md

drills: $(VENV)/.dev ## run the long fault-injection drills and write docs/drills.md (DRILLS="--help")
	$(PY) -m tests.drills --long $(DRILLS)

bench: $(VENV)/.bench ## measure against ElasticMQ (needs java, mvn and go)
	$(PY) -m benchmarks

bench-page: $(VENV)/.bench $(VENV)/.cluster ## measure everything in docs/benchmarks.md, an hour and a half (needs java, mvn, go, redis-server)
	$(PY) -m benchmarks.plan

bench-spark: $(VENV)/.bench $(VENV)/.spark ## measure the cost of the journal; audit 1, 10 and 50 million synthetic events (needs go and java)
	$(PY) -m benchmarks.journal
	$(PY) -m benchmarks.spark

pictures: $(VENV)/.dev ## recreate the pictures of the console in docs/images (needs chromium)
	$(PY) -m tests.console.browser.pictures

audit: $(VENV)/.spark ## play a workload and prove what became of every message (needs java; AUDIT="--help")
	@$(PY) -m spark_jobs.proof $(AUDIT)

audit-cluster: $(VENV)/.spark $(VENV)/.cluster ## the same on a cluster of Cassandra, Redis and two API nodes (needs java, mvn, redis-server)
	@$(PY) -m benchmarks.cluster_audit $(AUDIT)

clean: ## remove environments, builds and the data of make run
	rm -rf .venv .venv-query .venv-cli build dist .cqs .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

provision:
	@.ci/provision

test-env: $(VENV)/.dev $(VENV)/.spark .venv-query/.done .venv-cli/.done

$(VENV)/.serve: pyproject.toml
	@.ci/venv $(VENV)
	@echo "Installing CQS into $(VENV) ..." >&2
	@$(PY) $(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.cluster: $(VENV)/.serve
	@echo "Installing the clients of Redis and Cassandra into $(VENV) ..." >&2
	@$(PY) $(PIP_INSTALL) --editable '.[redis,cassandra]'
	@touch $@

$(VENV)/.dev: pyproject.toml
	@.ci/venv $(VENV)
	@echo "Installing CQS and its tests' tools into $(VENV) ..." >&2
	@$(PY) $(PIP_INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/.serve $(VENV)/.cluster

$(VENV)/.bench: $(VENV)/.dev
	@$(PY) $(PIP_INSTALL) --editable '.[bench]'
	@touch $@

$(VENV)/.spark: $(VENV)/.dev
	@echo "Installing Spark into $(VENV) ..." >&2
	@$(PY) $(PIP_INSTALL) --editable '.[spark]'
	@touch $@

# botocore 1.31.80 is the last version with SQS's Query protocol.
.venv-query/.done:
	@.ci/venv .venv-query
	@echo "Installing botocore 1.31.80 into .venv-query ..." >&2
	@.venv-query/bin/python $(PIP_INSTALL) 'botocore==1.31.80'
	@touch $@

.venv-cli/.done:
	@.ci/venv .venv-cli
	@echo "Installing the AWS CLI into .venv-cli ..." >&2
	@.venv-cli/bin/python $(PIP_INSTALL) 'awscli>=1.46,<2'
	@touch $@
