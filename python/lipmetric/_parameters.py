"""What Python calls the parameters of a method, and what the library calls them.

The library describes a method and its parameters as one JSON object, its *spec*. Names here are those that users of scikit-learn
know (``tol``, ``max_iter``, ``random_state``); a parameter that is not in the table below keeps the library's name, so that a
new method needs nothing here.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from . import _lipmetric
from ._frames import aligned

#: The library's name of a parameter, and Python's.
RENAMED = {
    "tolerance": "tol",
    "max_iterations": "max_iter",
    "seed": "random_state",
    "neighbours": "n_neighbors",
    "targets": "n_neighbors",
    "score": "scoring",
}

#: Names that the command line has for special cases of a method, and what they stand for.
PRESETS: dict[str, dict[str, Any]] = {
    "lip": {"method": "lip", "variant": "auto", "trade_off": "auto"},
    "lip-d": {"method": "lip", "variant": "diameter"},
    "lip-i": {"method": "lip", "variant": "intra"},
    "nn": {"method": "euclidean"},
}


@cache
def methods() -> dict[str, dict[str, Any]]:
    """Every method of the library by its name, with its fields."""
    return {m["method"]: {**m, "fields": {f["name"]: f for f in m["fields"]}} for m in _lipmetric.methods()}


def method_names() -> list[str]:
    """The names that ``method=`` takes."""
    return sorted({*methods(), *PRESETS})


def python_names(field: str) -> list[str]:
    """What Python calls a field of the library; some are two parameters here."""
    if field == "trade_off":
        return ["c", "c_rel"]
    if field == "anchor":
        return ["anchor", "anchor_weight"]
    if field == "init":
        return ["init", "random_state"]
    return [RENAMED.get(field, field)]


def parameters_of(method: str) -> list[str]:
    """The parameters of a method, as Python calls them."""
    names: list[str] = []
    for field in methods()[method]["fields"]:
        names += [name for name in python_names(field) if name not in names]
    return names


def base_spec(method: str) -> dict[str, Any]:
    """The spec of a method, or of a preset, with its defaults."""
    if method in PRESETS:
        return dict(PRESETS[method])
    if method in methods():
        return {"method": method}
    raise ValueError(f"`method`: there is no {method!r}; there are {', '.join(method_names())}")


def seed_of(random_state: Any) -> int:
    """The seed of a generator, or of a number; ``None`` is the seed 0, so that a fit can be repeated."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        if random_state < 0:
            raise ValueError(f"`random_state`: {random_state} is negative")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    raise ValueError(f"`random_state`: {random_state!r} is neither a number nor a generator of NumPy")


def _diameter(value: Any) -> Any:
    if isinstance(value, str):
        name, _, level = value.partition(":")
        if name == "cvar" and level:
            return {"cvar": float(level)}
        return {"max": "maximum"}.get(value, value)
    return _tagged(value)


def _tagged(value: Any) -> Any:
    """``("cvar", 0.1)`` is the library's ``{"cvar": 0.1}``."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return {value[0]: value[1]}
    return value


def _class_weights(value: Any, classes: Any) -> Any:
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        if classes is None:
            raise ValueError("`class_weights`: give `balanced`, or a weight for each class in the order of the classes")
        return {"given": [float(value.get(c, 1.0)) for c in classes]}
    return {"given": [float(v) for v in value]}


def to_spec(base: Mapping[str, Any], given: Mapping[str, Any], classes: Any = None) -> tuple[dict[str, Any], Any]:
    """The spec of a method with these parameters, and the map to begin from where ``init`` is one."""
    spec = dict(base)
    method = spec["method"]
    fields = methods()[method]["fields"]
    known = parameters_of(method)
    left = {name: value for name, value in given.items() if name not in fields or name in known}
    spec.update({name: _tagged(value) for name, value in given.items() if name not in left})
    wrong = [name for name in left if name not in known]
    if wrong:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise TypeError(f"{method} has no parameter `{wrong[0]}`; {has}")
    start = None
    if "trade_off" in fields and ("c" in left or "c_rel" in left):
        c, c_rel = left.pop("c", None), left.pop("c_rel", None)
        if c is not None:
            spec["trade_off"] = c if isinstance(c, str) else {"c": c}
        elif c_rel is not None:
            spec["trade_off"] = c_rel if isinstance(c_rel, str) else {"c_rel": c_rel}
    if "anchor" in fields and ("anchor" in left or "anchor_weight" in left):
        towards, weight = left.pop("anchor", None), left.pop("anchor_weight", 0.1)
        spec["anchor"] = {"towards": towards, "weight": weight} if isinstance(towards, str) else towards
    if "init" in fields and ("init" in left or "random_state" in left):
        init, random_state = left.pop("init", "auto"), left.pop("random_state", None)
        if isinstance(init, str):
            spec["init"] = {"random": seed_of(random_state)} if init == "random" else init
        else:
            start = init
    for field in fields:
        name = RENAMED.get(field, field)
        if name in left:
            value = left.pop(name)
            if field == "seed":
                value = seed_of(value)
            elif field == "class_weights":
                value = _class_weights(value, classes)
            elif field == "diameter":
                value = _diameter(value)
            spec[field] = _tagged(value)
    return spec, start


def to_classifier(classifier: Any, k: Any, weights: Any) -> dict[str, Any]:
    """How classes are predicted, as the library says it."""
    if isinstance(classifier, Mapping):
        return dict(classifier)
    if classifier == "nearest":
        return {"classifier": "nearest", "k": k, "weights": weights}
    given = [name for name, is_usual in (("k", k in (None, 1, "auto")), ("weights", weights == "uniform")) if not is_usual]
    if given:
        raise ValueError(f"`{given[0]}` is a parameter of classifier='nearest', not of {classifier!r}: leave it out, or ask for that one")
    return {"classifier": classifier}


def threads_of(n_jobs: int | None) -> int | None:
    """The number of threads that ``n_jobs`` means; none where the environment decides."""
    if n_jobs is None:
        return None
    if n_jobs == 0:
        raise ValueError("`n_jobs`: 0 threads; give 1 or more, -1 for all processors, or None")
    if n_jobs > 0:
        return int(n_jobs)
    return max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def _number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} is no parameter of a method")


def to_json(request: Mapping[str, Any]) -> str:
    """A request as the library reads it."""
    try:
        return json.dumps(request, default=_number, allow_nan=False)
    except ValueError as error:
        raise ValueError("a parameter is infinite or not a number; give a finite one") from error


_NAMED = re.compile("`(" + "|".join(RENAMED) + r")(`| = )")


def in_python(text: str) -> str:
    """A message of the library with Python's names of the parameters."""
    return _NAMED.sub(lambda found: f"`{RENAMED[found[1]]}{found[2]}", text)


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls the library; its messages name parameters as Python does."""
    try:
        return function(*(aligned(value) for value in args), **kwargs)
    except ValueError as error:
        text = in_python(str(error))
        if text == str(error):
            raise
        raise ValueError(text) from None
