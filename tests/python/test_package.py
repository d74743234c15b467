"""The package itself: types, stubs, examples in docstrings, what is imported when."""

import doctest
import importlib
import os
import pathlib
import pkgutil
import subprocess
import sys

import pytest

import lipmetric

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = ROOT / "python"


def python(*args, **more):
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, cwd=ROOT, **more)


def test_the_estimators_are_those_of_the_library():
    out = python("python/generate.py", "--check")
    assert out.returncode == 0, out.stderr


MODULES = sorted(m.name for m in pkgutil.iter_modules(lipmetric.__path__) if m.name != "_lipmetric")


@pytest.mark.parametrize("name", ["", *MODULES])
def test_examples_in_docstrings_give_what_they_say(name):
    if name in ("_base", "_estimators", "_neighbors"):
        pytest.importorskip("sklearn")
    if name == "dask":
        pytest.importorskip("distributed")
    module = importlib.import_module(f"lipmetric.{name}".rstrip("."))
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_types_are_strict():
    pytest.importorskip("mypy")
    out = python("-m", "mypy", "--config-file", "pyproject.toml", "--python-executable", sys.executable)
    assert out.returncode == 0, out.stdout


def test_stubs_are_those_of_the_compiled_module():
    pytest.importorskip("mypy")
    where = pathlib.Path(lipmetric.__file__).parents[1]
    out = python(
        "-m", "mypy.stubtest", "lipmetric._lipmetric", "--mypy-config-file", str(ROOT / "pyproject.toml"),
        env={**os.environ, "MYPYPATH": str(where)},
    )
    assert out.returncode == 0, out.stdout


def test_the_core_needs_numpy_alone():
    script = "import sys, lipmetric; print(sorted({'sklearn', 'scipy', 'pandas', 'polars', 'joblib'} & set(sys.modules)))"
    out = python("-c", script)
    assert out.stdout == "[]\n", out.stderr


def test_without_scikit_learn_an_estimator_says_what_is_missing():
    script = (
        "import sys; sys.modules['sklearn'] = None; import lipmetric\n"
        "X, y = lipmetric.datasets.load_haberman(); lipmetric.fit(X, y, 'lip-d').predict(X)\n"
        "try:\n    lipmetric.Lip\nexcept ImportError as e: print(e)"
    )
    out = python("-c", script)
    assert out.stdout == "lipmetric.Lip needs scikit-learn: pip install 'lipmetric[sklearn]'\n", out.stderr


def test_every_public_name_is_there():
    assert set(lipmetric.__all__) <= set(dir(lipmetric))
    for name in lipmetric.__all__:
        assert getattr(lipmetric, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Lipp'"):
        lipmetric.Lipp  # noqa: B018
