# make test sets up and runs everything: format, lints, documentation, tests, the program on its bundled data, and
# the model file as Python reads it.

CARGO ?= cargo
PYTHON ?= python3
VENV := .venv
VENV_PYTHON := $(VENV)/bin/python

.PHONY: test format lint doc unit smoke python licences clean

test: format lint doc unit smoke python licences

format:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

unit:
	$(CARGO) test --locked --workspace

# The main job on the bundled data, with the tests' build: a second build of everything would double the time.
smoke:
	$(CARGO) run --locked -- compare

# The model file from Python.
python: $(VENV)/.ready
	$(CARGO) build --locked
	LIPMETRIC=target/debug/lipmetric $(VENV_PYTHON) -m pytest -q tests/python

$(VENV)/.ready: tests/python/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV_PYTHON) -m pip install -q --disable-pip-version-check -r tests/python/requirements.txt
	touch $@

# Needs `cargo install cargo-deny`; skipped, aloud, where it is not installed.
licences:
	@if command -v cargo-deny >/dev/null; then $(CARGO) deny --offline check licenses bans sources; \
	else echo "licences: cargo-deny is not installed, skipped"; fi

clean:
	$(CARGO) clean
	rm -rf $(VENV)
