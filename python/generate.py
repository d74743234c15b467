"""Writes the estimators from the methods that the library has.

    python python/generate.py            # with the built package on the path
    python python/generate.py --check    # fails if a file is not what would be written

A method of the library becomes a class whose parameters are the method's: name, default and description come from the library.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
import textwrap
from typing import Any

# The package is the built one, with its module, not the source beside this file.
sys.path = [place for place in sys.path if pathlib.Path(place or ".").resolve() != pathlib.Path(__file__).resolve().parent]

from lipmetric._parameters import RENAMED, methods, python_names  # noqa: E402

HERE = pathlib.Path(__file__).parent / "lipmetric"

#: Names of classes where the rule (capitals for one word, else capitalised words) gives another.
CLASSES = {"auto": "AutoMetric"}

#: Classes that predict numbers, and their methods.
REGRESSORS = {"AutoRegressor": "auto", "AGOPRegressor": "agop", "MLKR": "mlkr"}

#: What these say of themselves.
NUMBERS = {
    "AutoRegressor": "A distance and what predicts numbers by it, chosen together by cross-validation: what `lipmetric fit --task "
    "regression` does.",
    "AGOPRegressor": "A recursive feature machine for numbers: the metric from the gradients of a smooth function that predicts them.",
    "MLKR": "Metric learning for kernel regression: small leave-one-out errors of the numbers.",
}

#: Methods that learn from numbers alone.
ONLY_NUMBERS = ("mlkr",)

#: Methods whose estimators are written by hand: they learn from pairs or comparisons.
ONLY_TUPLES = ("lip-pairs", "itml")

#: These estimators.
TUPLES = ("ITML", "LMMLQuadruplets", "LMMLTriplets", "LipPairs")

TITLES = {
    "auto": "A distance and what predicts by it, chosen together by cross-validation: what `lipmetric fit` does.",
    "lip": "Lip^D or Lip^I: the distance that maximises the Lipschitz margin ratio, to a certified gap.",
    "lip-local": "Lip^I by near pairs: margins and distances between neighbours only.",
    "lmnn": "Large margin nearest neighbours, to a certified gap.",
    "lmml": "Large margin metric learning, to a certified gap.",
    "nca": "Neighbourhood components analysis.",
    "mcml": "Maximally collapsing metric learning, to a certified gap.",
    "lip-robust": "A distance for certified accuracy, by the Lipschitz margin ratio.",
    "agop": "A recursive feature machine: the metric from the gradients of a smooth function.",
    "discriminant": "Fisher's discriminant directions, shrunk: classes far apart, relative to their spread.",
    "arml": "Adversarially robust metric learning: large certified radii of the nearest neighbour.",
    "euclidean": "The Euclidean distance on the prepared features: nothing is learned.",
}

#: Types where a default does not tell.
TYPES = {
    "metrics": "Sequence[str]",
    "c": "float | str | None",
    "c_rel": "float | None",
    "anchor": "str | None",
    "anchor_weight": "float",
    "init": "Any",
    "random_state": "Any",
    "class_weights": "Any",
    "diameter": "Any",
    "n_components": "int | None",
    "rank": "int | str | None",
    "tol": "float | None",
    "max_iter": "int | None",
    "mu": "float | None",
    "memory": "int | None",
}

DOCS = {
    "c": "The trade-off itself, `\"auto\"` to choose it by cross-validation, or None for `c_rel`.",
    "c_rel": "The trade-off as a fraction of `c_max`, at and above which the best metric is zero; where `c` is None.",
    "anchor": "A simple metric that the learned one is drawn towards: `\"euclid\"` or `\"within\"`.",
    "anchor_weight": "Its weight: at 1 it counts about as much as the diameter.",
    "init": "Where the search begins: `\"auto\"`, `\"identity\"`, `\"pca\"`, `\"lda\"`, `\"random\"`, or an array like `components_`.",
    "class_weights": "How much the classes count: None, `\"balanced\"`, or a dictionary of weights.",
    "diameter": "What the diameter is: `\"max\"`, the largest distance, as in the paper; `\"mean\"`; `\"cvar:0.1\"`, the mean of "
    "the longest tenth; or `\"auto\"`.",
    "variant": "Which pairs bound the diameter: `\"diameter\"`, all (Lip^D); `\"intra\"`, those of equal label (Lip^I); or `\"auto\"`.",
    "slack": "A slack per `\"pair\"` or per row (`\"instance\"`).",
    "solver": "How the problem is solved: `\"auto\"`, `\"exact\"`, `\"augmented\"`, `\"admm\"` or `\"paper\"`.",
}

RANDOM = "Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0."

COMMON: list[tuple[str, str, str, str]] = [
    ("classifier", "Any", "'nearest'", "What predicts: `\"nearest\"`, the vote of the nearest training rows; `\"extension\"`, the paper's "
     "function; `\"smooth\"`, a smooth function of the distances; `\"auto\"`, of AutoMetric alone, whichever of votes and a smooth "
     "function predicts held-out rows better; or a dictionary with a classifier and its parameters."),
    ("k", "int | str", "1", "How many neighbours vote; `\"auto\"` chooses."),
    ("weights", "str", "'uniform'", "Whether votes count the same (`\"uniform\"`) or by the inverse of the distance (`\"distance\"`)."),
    ("scaling", "str", "'standard'", "How features are scaled first: `\"standard\"`, to mean 0 and deviation 1; `\"minmax\"`; `\"none\"`. "
     "`components_` is on the features as given."),
    ("fill", "str", "'median'", "What stands in for a missing value: `\"median\"`, `\"mean\"`, `\"mode\"`, `\"zero\"`; `\"error\"` refuses it."),
    ("unseen", "str", "'ignore'", "What becomes of a level of a category that training did not have: `\"ignore\"`, it is none of the known ones; "
     "`\"error\"` refuses it."),
    ("certificate", "bool", "False", "Whether the multipliers that prove the bound are kept, for `support_pairs_` and `model_.verify()`."),
    ("warm_start", "bool", "False", "Whether a fit begins at the `components_` of the one before."),
    ("time_limit", "float | None", "None", "Seconds after which the fit ends with the best so far."),
    ("n_jobs", "int | None", "None", "Threads; None is as many as `lipmetric.threads()` says."),
    ("verbose", "int", "0", "1 shows progress, 2 every step."),
    ("callback", "Callable[[dict[str, Any]], Any] | None", "None", "Called with the figures of each step; returning True ends the fit."),
]

CALIBRATED: list[tuple[str, str, str, str]] = [
    ("alpha", "float", "0.5", "The share of the upper extension, 0 to 1."),
    ("calibrate", "bool", "False", "Whether probabilities are calibrated on held-out rows, for `predict_proba`; it takes five more fits."),
]


def class_of(method: str) -> str:
    """What the class of a method is called."""
    words = method.split("-")
    named = words[0].upper() if len(words) == 1 and len(method) <= 4 and method != "lip" else "".join(w.capitalize() for w in words)
    return CLASSES.get(method, named)


def plain(text: str) -> str:
    """A description without the links of Rust."""
    text = re.sub(r"\[`([^`\]]*)`\](\([^)]*\))?", r"`\1`", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for library, python in RENAMED.items():
        text = text.replace(f"`{library}`", f"`{python}`")
    return " ".join(text.split())


def default_of(name: str, field: dict[str, Any]) -> str:
    """The default as Python writes it."""
    value = field["default"]
    if value == []:
        return "()"
    if name == "c":
        return repr(value.get("c") if isinstance(value, dict) else value)
    if name == "c_rel" and isinstance(value, dict):
        return repr(value.get("c_rel"))
    if name == "anchor_weight":
        return "0.1"
    if name == "random_state":
        return "None"
    if name == "class_weights":
        return "None" if value == "none" else repr(value)
    if name == "diameter":
        return "'max'" if value == "maximum" else repr(value)
    return repr(value)


def type_of(name: str, default: str) -> str:
    """The type of a parameter."""
    if name in TYPES:
        return TYPES[name]
    value = eval(default)  # noqa: S307: a literal of our own
    return "Any" if value is None or isinstance(value, (dict, list)) else type(value).__name__


def parameters(method: str) -> list[tuple[str, str, str, str]]:
    """Name, type, default and description of the parameters of a method."""
    found: dict[str, tuple[str, str, str, str]] = {}
    for field in methods()[method]["fields"].values():
        for name in python_names(field["name"]):
            default = default_of(name, field)
            text = RANDOM if name == "random_state" else DOCS.get(name, plain(field["doc"]))
            found.setdefault(name, (name, type_of(name, default), default, text))
    return list(found.values())


def common(method: str, extension: bool, numbers: bool = False) -> list[tuple[str, str, str, str]]:
    """The parameters that are no parameters of the method."""
    out = []
    for name, kind, default, text in COMMON:
        if name == "warm_start" and not methods()[method]["takes_start"]:
            continue
        if name == "certificate" and method != "lip":
            continue
        if extension and name in ("classifier", "k", "weights"):
            continue
        chosen = (method == "auto" and name in ("classifier", "k")) or (numbers and name == "k")
        out.append((name, kind, "'auto'" if chosen else default, text.replace("vote", "mean") if numbers else text))
    return [*CALIBRATED, *out] if extension else out


def wrapped(text: str, indent: int) -> str:
    pad = " " * indent
    return textwrap.fill(text, 120, initial_indent=pad, subsequent_indent=pad)


def estimator(name: str, method: str, title: str, example: str, extension: bool = False, numbers: bool = False) -> str:
    """The source of a class."""
    own, others = parameters(method), common(method, extension, numbers)
    own = [parameter for parameter in own if not (numbers and parameter[0] == "scoring")]
    base = "MetricRegressor" if numbers else "MetricLearner"
    lines = [f"class {name}({base}):", f'    """{title}', "", "    Parameters", "    ----------"]
    for parameter, kind, default, text in own + others:
        lines += [f"    {parameter} : {kind.replace('Callable[[dict[str, Any]], Any]', 'callable')}, default={default}", wrapped(text, 8)]
    lines += ["", wrapped(f"The attributes of a fitted estimator are those of :class:`{base}`.", 4), "", "    Examples", "    --------"]
    lines += [f"    {line}" for line in example.splitlines()]
    names = ", ".join(f'"{p}"' for p, *_ in own)
    lines += ['    """', "", f'    _method = "{method}"', f"    _own = frozenset({{{names}}})" if own else "    _own = frozenset[str]()", ""]
    lines += ["    def __init__(", "        self,", "        *,"]
    lines += [f"        {parameter}: {kind} = {default}," for parameter, kind, default, _ in own + others]
    lines += ["    ) -> None:"]
    lines += [f"        self.{parameter} = {parameter}" for parameter, *_ in own + others]
    if extension:
        lines += ["", "    def _recipe(self) -> dict[str, Any]:", "        recipe = super()._recipe()",
                  '        classifier = {"classifier": "extension", "alpha": recipe.pop("alpha"), "calibrate": recipe.pop("calibrate")}',
                  '        return {"classifier": classifier, "k": 1, "weights": "uniform", **recipe}']
    return "\n".join(lines)


def example(name: str) -> str:
    return (f">>> from lipmetric import {name}, datasets\n"
            ">>> X, y = datasets.load_haberman()\n"
            f">>> learner = {name}().fit(X, y)\n"
            ">>> learner.transform(X).shape[0], learner.predict(X).shape\n"
            "(306, (306,))")


def example_of_numbers(name: str) -> str:
    return (">>> import numpy as np\n"
            f">>> from lipmetric import {name}\n"
            ">>> X = np.random.default_rng(0).uniform(-1, 1, (120, 3))\n"
            ">>> y = np.sin(3 * X[:, 0])\n"
            f">>> learner = {name}().fit(X[:80], y[:80])\n"
            ">>> bool(learner.score(X[80:], y[80:]) > 0.8)\n"
            "True")


def entry(text: str) -> str:
    """A cell of a table."""
    return text.replace("|", "\\|")


def reference(classes: dict[str, tuple[str, str, bool]]) -> str:
    """The page that lists every estimator with its parameters."""
    lines = ["# Estimators", "", "<!-- Written by python/generate.py from the methods of the library. -->", ""]
    lines += ["Every class has the attributes and methods that [Python](python.md#estimators) lists. These parameters are the same for "
              "most of them:", "", "| parameter | default | what it says |", "|---|---|---|"]
    lines += [f"| `{name}` | `{default}` | {entry(text)} |" for name, _, default, text in COMMON]
    for name, (method, title, extension) in classes.items():
        lines += ["", f"## {name}", "", title, ""]
        shared = {parameter for parameter, *_ in COMMON}
        numbers = name in REGRESSORS
        own = [*(p for p in parameters(method) if not (numbers and p[0] == "scoring")), *(p for p in common(method, extension, numbers) if p[0] not in shared or (p[0], p[2]) in (("k", "'auto'"), ("classifier", "'auto'")))]
        if not own:
            lines += ["It has no parameters of its own."]
            continue
        lines += ["| parameter | default | what it says |", "|---|---|---|"]
        lines += [f"| `{parameter}` | `{default}` | {entry(text)} |" for parameter, _, default, text in own]
    return "\n".join(lines) + "\n"


HEADER = '''"""{what}

Written by python/generate.py from the methods of the library: change those, or the script.
"""
'''


def files() -> dict[pathlib.Path, str]:
    """What each file should hold."""
    classes = {class_of(method): method for method in methods() if method not in (*ONLY_NUMBERS, *ONLY_TUPLES)}
    out = [HEADER.format(what="The estimators: a class for each method of the library."), "from __future__ import annotations\n",
           "from collections.abc import Callable, Sequence\nfrom typing import Any\n", "from ._base import MetricLearner, MetricRegressor\n"]
    exported = sorted([*classes, "LipschitzClassifier", *REGRESSORS])
    out.append("__all__ = [\n" + "".join(f'    "{name}",\n' for name in exported) + "]\n")
    for name, method in classes.items():
        doc = TITLES.get(method, f"The method {method}.")
        out.append("\n" + estimator(name, method, doc, example(name)) + "\n")
    title = "The paper's classifier: the Lipschitz extension of values that are learned with the distance."
    out.append("\n" + estimator("LipschitzClassifier", "lip", title, example("LipschitzClassifier"), extension=True) + "\n")
    for name, method in REGRESSORS.items():
        out.append("\n" + estimator(name, method, NUMBERS[name], example_of_numbers(name), numbers=True) + "\n")
    names = HEADER.format(what="Where each estimator is: they are imported when they are first asked for.")
    names += "\nESTIMATORS = {\n" + "".join(f'    "{name}": "._estimators",\n' for name in exported)
    names += "".join(f'    "{name}": "._tuples",\n' for name in TUPLES)
    names += '    "KNeighborsClassifier": "._neighbors",\n    "KNeighborsRegressor": "._neighbors",\n}\n'
    described = {name: (method, TITLES.get(method, f"The method {method}."), False) for name, method in classes.items()}
    described["LipschitzClassifier"] = ("lip", title, True)
    described |= {name: (method, NUMBERS[name], False) for name, method in REGRESSORS.items()}
    page = HERE.parents[1] / "docs" / "estimators.md"
    return {HERE / "_estimators.py": "\n".join(out), HERE / "_names.py": names, page: reference(described)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a file is not up to date")
    check = parser.parse_args().check
    stale = [path for path, text in files().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if check:
            print(f"{path} is not up to date: run python/generate.py", file=sys.stderr)
        else:
            path.write_text(files()[path], encoding="utf-8")
            print(f"wrote {path}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
