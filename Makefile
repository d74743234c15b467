# make test sets up and runs everything: format, lints, documentation, tests, the program on its bundled data, and
# the Python package.

CARGO ?= cargo
PYTHON ?= python3
VENV := .venv
VENV_PYTHON := $(VENV)/bin/python
TARGET := $(or $(CARGO_TARGET_DIR),target)
PROGRAM := $(TARGET)/debug/lipmetric
PACKAGE := $(TARGET)/python

.PHONY: test format lint doc unit program smoke examples browser module generate python oldest wheel package licences features clean

test: format package lint doc unit smoke examples browser python licences

format:
	$(CARGO) fmt --all --check

# What would be published, without building it again.
package:
	$(CARGO) package --quiet --locked --no-verify --allow-dirty -p lipmetric -p lipmetric-io -p lipmetric-report -p lipmetric-cli -p lipmetric-linfa

lint:
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

unit:
	$(CARGO) test --locked --workspace

# The program as the tests build it; a build of its own would take other features of its dependencies, and compile them again.
program:
	$(CARGO) test --locked --workspace --no-run

# The main job on the bundled data: every data set and method, on three splits in place of ten.
smoke: program
	$(PROGRAM) compare --repeats 3

# The library's examples, as the tests have built them.
examples: program
	for name in classify certify choose linfa; do $(dir $(PROGRAM))examples/$$name || exit 1; done

# The pages in a real browser; Debian's Chromium and Node.js are installed where there are none. Screenshots are in target/browser.
browser: program
	@if ! command -v npm >/dev/null; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -q -y nodejs npm; \
	  else echo "browser: npm (Node.js) is needed to test the pages; install it"; exit 1; fi; fi
	@if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -q -y chromium; \
	  else echo "browser: Chromium is needed to test the pages; install it, such as by \`apt-get install chromium\`"; exit 1; fi; fi
	cd tests/browser && npm ci --no-audit --no-fund --loglevel=error
	cd tests/browser && LIPMETRIC=$(abspath $(PROGRAM)) BROWSER_OUT=$(abspath $(TARGET))/browser npm test --silent

# The Python package with the module, built as the tests are: no second build of anything else.
module:
	$(CARGO) build --locked --workspace --all-targets
	mkdir -p $(PACKAGE)
	rm -rf $(PACKAGE)/lipmetric
	cp -r python/lipmetric $(PACKAGE)/lipmetric
	for module in $(TARGET)/debug/lib_lipmetric.so $(TARGET)/debug/lib_lipmetric.dylib; do \
	  if [ -e $$module ]; then cp $$module $(PACKAGE)/lipmetric/_lipmetric.abi3.so; fi; done

# Writes the estimators anew, after a method of the library has changed.
generate: module $(VENV)/.ready
	PYTHONPATH=$(PACKAGE) $(VENV_PYTHON) python/generate.py

# The package and the model file, and certificates of ill-conditioned tables judged in rationals (all of them: --count 20000).
python: module $(VENV)/.ready
	PYTHONPATH=$(PACKAGE) LIPMETRIC=$(PROGRAM) LIPMETRIC_WHOLE=1 $(VENV_PYTHON) -m pytest -q tests/python
	LIPMETRIC=$(PROGRAM) $(PYTHON) tests/certificates/judge.py --count 200
	LIPMETRIC=$(PROGRAM) $(PYTHON) tests/certificates/degenerate.py

# The estimators with the oldest versions that are supported.
oldest: module $(VENV)-oldest/.ready
	PYTHONPATH=$(PACKAGE) LIPMETRIC=$(PROGRAM) $(VENV)-oldest/bin/python -m pytest -q tests/python

# What `pip install .` builds.
wheel: $(VENV)/.ready
	$(VENV_PYTHON) -m pip install -q --disable-pip-version-check 'maturin>=1.9.4,<2'
	$(VENV)/bin/maturin build --release --locked --out $(TARGET)/wheels

$(VENV)-oldest/.ready: tests/python/requirements-oldest.txt
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install -q --disable-pip-version-check -r tests/python/requirements-oldest.txt
	touch $@

$(VENV)/.ready: tests/python/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV_PYTHON) -m pip install -q --disable-pip-version-check -r tests/python/requirements.txt
	touch $@

# Licences, sources and wildcards are checked by tests/structure in any case; cargo-deny, where it is installed, looks again, and for
# packages that are there twice.
licences:
	@if command -v cargo-deny >/dev/null; then $(CARGO) deny --offline check licenses bans sources; \
	else $(CARGO) test --locked --quiet -p structure --test licences; fi

# What is not built by default; needs a C compiler.
features:
	$(CARGO) clippy --locked -p lipmetric-io -p lipmetric-report -p lipmetric-cli --all-targets --all-features -- -D warnings
	$(CARGO) test --locked -p lipmetric-io -p lipmetric-report --all-features

clean:
	$(CARGO) clean
	rm -rf $(VENV) $(VENV)-oldest
