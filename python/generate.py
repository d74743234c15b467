"""Writes the estimators from the methods that the library has.

    python python/generate.py            # with the built package on the path
    python python/generate.py --check    # fails if a file is not what would be written

A method of the library becomes a class whose parameters are the method's: name, default and description come from the library.
"""

from __future__ import annotations

import argparse
import dataclasses
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
    "shrinkage": "float | None",
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
    "loss": "What a point costs: `\"errors\"`, the chance that its neighbour has another class, as in the paper of NCA; or `\"log\"`, minus "
    "the logarithm of the chance that it has the same.",
    "penalty": "What it costs to leave the start: this part of the rows' number for as far as the start is from zero. By itself 0 for the "
    "loss `\"errors\"` and 0.3 for `\"log\"`.",
    "mu": "The penalty of `solver=\"paper\"`, 1 unless it is given; the other solvers choose and adapt theirs.",
    "rank": "The largest rank of the metric, for the solvers `\"admm\"` and `\"augmented\"`; the gap is still that to the optimum over all "
    "ranks. With `\"auto\"` the exact solver's metric is cut to the directions in which the mapped rows vary most: the smallest rank with "
    "the best cross-validated accuracy.",
    "memory": "Bytes that the largest matrices of the exact solver may take, 4 GiB unless it is given: beyond, the fit ends with "
    "`status_` `\"memory_limit\"` and the best metric so far.",
}

#: The same of one method alone.
DOCS_OF = {
    ("lip", "tol"): "The certified relative gap to reach; unless it is given, 1e-6, and 1e-3 for a solver other than `\"auto\"` and "
    "`\"exact\"`.",
    ("lip", "max_iter"): "Steps, at most; unless it is given, 500, and 100,000 for a solver other than `\"auto\"` and `\"exact\"`.",
    ("lip-local", "c_rel"): "The trade-off as a fraction of `c_max`, at and above which the best metric is zero.",
}

RANDOM = "Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0."

Parameter = tuple[str, str, str, str]
"""Name, type, default, and a sentence."""


def functions(near: str, extension: str, estimator: str, k: tuple[str, str], they: str) -> list[Parameter]:
    """What predicts from the nearest rows (one, and many of them), by the paper's function, or in an estimator that chooses."""
    one, many = near.split("/")
    return [
        ("classifier", "Any", "'nearest'", f"What predicts: `\"nearest\"`, the {one} of the nearest training rows; `\"extension\"`, "
         f"{extension}; `\"smooth\"`, a smooth function of the distances; `\"auto\"`, of {estimator} alone, whichever of {many} and a smooth "
         "function predicts held-out rows better; or a dictionary with a classifier and its parameters."),
        ("k", "int | str", k[0], f"How many neighbours {k[1]}; `\"auto\"` chooses."),
        ("weights", "str", "'uniform'", f"Whether {they} count the same (`\"uniform\"`) or by the inverse of the distance (`\"distance\"`)."),
    ]


VOTING = functions("vote/votes", "the paper's function", "AutoMetric", ("1", "vote"), "votes")
AVERAGING = functions("mean/means", "the Lipschitz function of the smoothed numbers", "AutoRegressor", ("'auto'", "count"), "they")

PREPARED: list[Parameter] = [
    ("scaling", "str", "'standard'", "How features are scaled first: `\"standard\"`, to mean 0 and deviation 1; `\"minmax\"`; `\"none\"`. "
     "`components_` is on the features as given."),
    ("fill", "str", "'median'", "What stands in for a missing value: `\"median\"`, `\"mean\"`, `\"mode\"`, `\"zero\"`; `\"error\"` refuses it."),
    ("unseen", "str", "'ignore'", "What becomes of a level of a category that training did not have: `\"ignore\"`, it is none of the known ones; "
     "`\"error\"` refuses it."),
    ("time_limit", "float | None", "None", "Seconds after which the fit ends with the best so far."),
    ("n_jobs", "int | None", "None", "Threads; None is as many as `lipmetric.threads()` says."),
    ("verbose", "int", "0", "1 shows progress, 2 every step."),
    ("callback", "Callable[[dict[str, Any]], Any] | None", "None", "Called with the figures of each step; returning True ends the fit."),
]

#: Of methods that can.
CERTIFICATE: Parameter = (
    "certificate", "bool", "False", "Whether the multipliers that prove the bound are kept, for `support_pairs_` and `model_.verify()`."
)
WARM_START: Parameter = ("warm_start", "bool", "False", "Whether a fit begins at the `components_` of the one before.")

CALIBRATED: list[Parameter] = [
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


def parameters(method: str) -> list[Parameter]:
    """The parameters of a method."""
    found: dict[str, Parameter] = {}
    for field in methods()[method]["fields"].values():
        for name in python_names(field["name"]):
            default = default_of(name, field)
            text = DOCS_OF.get((method, name)) or (RANDOM if name == "random_state" else DOCS.get(name, plain(field["doc"])))
            found.setdefault(name, (name, type_of(name, default), default, text))
    out = list(found.values())
    out += [CERTIFICATE] if method == "lip" else []
    return out + ([WARM_START] if methods()[method]["takes_start"] else [])


def chosen(parameter: Parameter) -> Parameter:
    """The same, chosen unless it is given."""
    name, kind, _, text = parameter
    return name, kind, "'auto'", text


def wrapped(text: str, indent: int) -> str:
    pad = " " * indent
    return textwrap.fill(text, 120, initial_indent=pad, subsequent_indent=pad)


def described(own: list[Parameter]) -> list[str]:
    """The section of a docstring that tells of parameters."""
    lines = ["    Parameters", "    ----------"]
    for name, kind, default, text in own:
        lines += [f"    {name} : {kind.replace('Callable[[dict[str, Any]], Any]', 'callable')}, default={default}", wrapped(text, 8)]
    return lines


def fields(own: list[Parameter]) -> list[str]:
    return [f"    {name}: {kind} = {default}" for name, kind, default, _ in own]


DATACLASS = "@dataclass(kw_only=True, eq=False, repr=False)"


def shared(name: str, bases: str, title: str, own: list[Parameter]) -> str:
    """Parameters that several estimators have."""
    lines = [DATACLASS, f"class {name}{bases}:", f'    """{title}', "", *described(own), '    """', "", *fields(own)]
    return "\n".join(lines)


@dataclasses.dataclass
class Estimator:
    """A class that is to be written."""

    name: str
    method: str
    title: str
    #: What it has beside what its bases have.
    own: list[Parameter]
    bases: list[str]
    numbers: bool = False
    more: str = ""

    @property
    def base(self) -> str:
        return "MetricRegressor" if self.numbers else "MetricLearner"

    def source(self) -> str:
        lines = ["@documented", DATACLASS, f"class {self.name}({', '.join([*self.bases, self.base])}):", f'    """{self.title}', ""]
        lines += [wrapped(f"The attributes of a fitted estimator are those of :class:`{self.base}`.", 4), ""]
        lines += [*described(self.own), ""] if self.own else []
        lines += ["    Examples", "    --------"]
        lines += [f"    {line}" for line in (example_of_numbers if self.numbers else example)(self.name).splitlines()]
        lines += ['    """', "", f'    _method = "{self.method}"', *([""] if self.own else []), *fields(self.own)]
        return "\n".join(lines) + self.more


#: The paper's classifier predicts by the function that it learns.
EXTENDING = """

    def _recipe(self) -> dict[str, Any]:
        recipe = super()._recipe()
        classifier = {"classifier": "extension", "alpha": recipe.pop("alpha"), "calibrate": recipe.pop("calibrate")}
        return {"classifier": classifier, "k": 1, "weights": "uniform", **recipe}"""


def estimators() -> list[Estimator]:
    """All classes that are to be written."""
    known = [method for method in methods() if method not in (*ONLY_NUMBERS, *ONLY_TUPLES)]
    out = []
    for method in known:
        own = parameters(method)
        own += [chosen(p) for p in VOTING if method == "auto" and p[0] in ("classifier", "k")]
        out.append(Estimator(class_of(method), method, TITLES.get(method, f"The method {method}."), own, ["Voting"]))
    title = "The paper's classifier: the Lipschitz extension of values that are learned with the distance."
    out.append(Estimator("LipschitzClassifier", "lip", title, parameters("lip") + CALIBRATED, ["Prepared"], more=EXTENDING))
    for name, method in REGRESSORS.items():
        own = [p for p in parameters(method) if p[0] != "scoring"]
        own += [chosen(p) for p in AVERAGING if method == "auto" and p[0] == "classifier"]
        out.append(Estimator(name, method, NUMBERS[name], own, ["Averaging"], numbers=True))
    return out


def parted(classes: list[Estimator]) -> tuple[list[str], list[Estimator]]:
    """Parameters that two estimators of one method have, in a class of their own, and the estimators without them."""
    sources, out = [], []
    for one in classes:
        same = [other for other in classes if other.method == one.method]
        common = [p for p in one.own if all(p in other.own for other in same)] if len(same) > 1 else []
        if common:
            name = f"Of{class_of(one.method)}"
            text = shared(name, "", f"Parameters of the method {one.method}.", common)
            sources += [] if text in sources else [text]
            own = [p for p in one.own if p not in common]
            one = dataclasses.replace(one, own=own, bases=[name, *one.bases])
        out.append(one)
    return sources, out


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


def table(own: list[Parameter]) -> list[str]:
    """Parameters as a table of Markdown."""
    lines = ["| parameter | default | what it says |", "|---|---|---|"]
    return lines + [f"| `{name}` | `{default}` | {entry(text)} |" for name, _, default, text in own]


def reference(classes: list[Estimator]) -> str:
    """The page that lists every estimator with its parameters."""
    lines = ["# Estimators", "", "<!-- Written by python/generate.py from the methods of the library. -->", ""]
    lines += ["Every class has the attributes and methods that [Python](python.md#estimators) lists, and these parameters:", ""]
    lines += table(PREPARED)
    lines += ["", "Classifiers have these, too, but for `LipschitzClassifier`:", "", *table(VOTING)]
    lines += ["", "And so have regressors:", "", *table(AVERAGING)]
    for one in classes:
        lines += ["", f"## {one.name}", "", one.title, ""]
        lines += table(one.own) if one.own else ["It has no parameters of its own."]
    return "\n".join(lines) + "\n"


HEADER = '''"""{what}

Written by python/generate.py from the methods of the library: change those, or the script.
"""
'''


def files() -> dict[pathlib.Path, str]:
    """What each file should hold."""
    classes = estimators()
    exported = sorted(one.name for one in classes)
    parts = [HEADER.format(what="The estimators: a class for each method of the library."), "from __future__ import annotations\n",
             "from collections.abc import Callable, Sequence\nfrom dataclasses import dataclass\nfrom typing import Any\n",
             "from ._base import MetricLearner, MetricRegressor, documented\n"]
    parts.append("__all__ = [\n" + "".join(f'    "{name}",\n' for name in exported) + "]\n")
    common, written = parted(classes)
    sources = [shared("Prepared", "", "How rows are prepared, and how a fit is watched.", PREPARED),
               shared("Voting", "(Prepared)", "What predicts classes.", VOTING),
               shared("Averaging", "(Prepared)", "What predicts numbers.", AVERAGING), *common, *(one.source() for one in written)]
    parts += [f"\n{source}\n" for source in sources]
    names = HEADER.format(what="Where each estimator is: they are imported when they are first asked for.")
    names += "\nESTIMATORS = {\n" + "".join(f'    "{name}": "._estimators",\n' for name in exported)
    names += "".join(f'    "{name}": "._tuples",\n' for name in TUPLES)
    names += '    "KNeighborsClassifier": "._neighbors",\n    "KNeighborsRegressor": "._neighbors",\n}\n'
    page = HERE.parents[1] / "docs" / "estimators.md"
    return {HERE / "_estimators.py": "\n".join(parts), HERE / "_names.py": names, page: reference(classes)}


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
