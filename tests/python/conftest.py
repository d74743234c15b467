"""The program and the data that the tests share."""

import os
import pathlib
import subprocess

import numpy as np
import pytest


# `make python` installs all that a test needs: there one that is skipped is one that fails. There is no pgserver for new Pythons.
WHOLE = os.environ.get("LIPMETRIC_WHOLE")
MAY_BE_ABSENT = ("pgserver",)


def unless_skipped(report):
    """The report; of a test or a file that was skipped for want of a package, a failure."""
    if WHOLE and report.skipped and not hasattr(report, "wasxfail"):
        why = str(report.longrepr)
        if not any(f"'{name}'" in why for name in MAY_BE_ABSENT):
            report.outcome, report.longrepr = "failed", f"skipped, where everything is installed: {why}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    # What no system but another has is marked so.
    return report if item.get_closest_marker("skipif") else unless_skipped(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return unless_skipped((yield))


@pytest.fixture(scope="session")
def program():
    """Runs the command line."""
    path = str(pathlib.Path(os.environ["LIPMETRIC"]).resolve())

    def run(*args, cwd):
        return subprocess.run([path, *map(str, args)], cwd=cwd, check=True, capture_output=True, text=True).stdout

    return run


@pytest.fixture
def metric_learn(monkeypatch):
    """metric-learn, whose last version (0.7.0) gives scikit-learn a parameter by the name that it had until 1.7."""
    package = pytest.importorskip("metric_learn")
    from metric_learn import _util

    def renamed(check):
        return lambda *args, force_all_finite=True, **options: check(*args, ensure_all_finite=force_all_finite, **options)

    for name in ("check_array", "check_X_y"):
        monkeypatch.setattr(_util, name, renamed(getattr(_util, name)))
    return package


@pytest.fixture
def blobs():
    """Three classes in four features, of which two say something."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 4))
    X[:, 0] += 2.0 * y
    X[:, 1] -= 1.5 * (y == 1)
    return X * [1.0, 10.0, 0.1, 3.0], y


@pytest.fixture
def two(blobs):
    """Two of the classes, with names."""
    X, y = blobs
    return X[:60], np.array(["left", "right"])[y[:60]]
