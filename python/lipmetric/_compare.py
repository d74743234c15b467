"""Methods against each other, on the same splits, with tests that allow for chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _lipmetric, datasets
from ._core import Callback, Drawn, lengths, listening, request_for
from ._frames import class_name, labels_of, rows_of
from ._parameters import base_spec, call, threads_of, to_json, to_spec


class Comparison(Drawn):
    """What :func:`lipmetric.compare` found.

    ``accuracy[d, m, s]`` is the accuracy on data set ``d`` of method ``m`` in split ``s``; NaN where it could not be fitted,
    for the reason in ``refusals``. ``analysis`` has the tests of the differences. ``report`` draws the table with bars, every
    split, and ranks with the critical-difference diagram.

    ``certified[d, m, s, r]`` is the certified accuracy at ``radii[r]``: the share of the test rows that are predicted correctly and
    stay so, whatever is done to them within the radius. With ``rank_by``, ``accuracy`` is the one at that radius.
    """

    def __init__(self, found: Mapping[str, Any], view: Any, radii: Sequence[float] = ()) -> None:
        self._view = view
        self.datasets: list[str] = list(found["subjects"])
        self.methods: list[str] = list(found["methods"])
        self.repeats: int = found["repeats"]
        self.analysis: dict[str, Any] | None = found["analysis"]
        self.average_ranks: list[float] | None = found["average_ranks"]
        self.best: npt.NDArray[np.bool_] = np.array(found["best"], dtype=bool)
        self.accuracy: npt.NDArray[np.float64] = np.full((len(self.datasets), len(self.methods), self.repeats), np.nan)
        self.fit_seconds: npt.NDArray[np.float64] = np.full((len(self.datasets), len(self.methods)), np.nan)
        self.radii: list[float] = list(radii)
        self.certified: npt.NDArray[np.float64] = np.full((*self.accuracy.shape, len(self.radii)), np.nan)
        self.refusals: dict[tuple[str, str], str] = {}
        for d, row in enumerate(found["cells"]):
            for m, cell in enumerate(row):
                if cell["refusal"] is not None:
                    self.refusals[self.datasets[d], self.methods[m]] = cell["refusal"]
                else:
                    self.accuracy[d, m] = cell["accuracy"]
                    self.certified[d, m] = np.reshape(cell["certified"], self.certified[d, m].shape)
                    self.fit_seconds[d, m] = cell["fit_seconds"]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_view": self._view.to_json()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _view=_lipmetric.View.from_json(state["_view"]))

    @property
    def mean(self) -> npt.NDArray[np.float64]:
        """The mean accuracy: a row for each data set, a column for each method."""
        return np.asarray(self.accuracy.mean(axis=2))

    @property
    def std(self) -> npt.NDArray[np.float64]:
        """Its standard deviation over the splits."""
        ddof = 1 if self.repeats > 1 else 0
        return np.asarray(self.accuracy.std(axis=2, ddof=ddof))

    def _cell(self, d: int, m: int) -> str:
        if np.isnan(self.mean[d, m]):
            return "-"
        star = "*" if self.best[d, m] else " "
        return f"{100 * self.mean[d, m]:.2f} ± {100 * self.std[d, m]:.2f}{star}"

    def __str__(self) -> str:
        rows = [["", *self.methods]]
        rows += [[name, *(self._cell(d, m) for m in range(len(self.methods)))] for d, name in enumerate(self.datasets)]
        if self.average_ranks is not None:
            rows.append(["average rank", *(f"{rank:.2f} " for rank in self.average_ranks)])
        widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        lines = ["  ".join(cell.rjust(w) if j else cell.ljust(w) for j, (cell, w) in enumerate(zip(row, widths, strict=True)))
                 for row in rows]
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__


def compare(
    data: Mapping[str, tuple[Any, Any]] | Sequence[str] | None = None,
    methods: Mapping[str, Mapping[str, Any]] | Sequence[str] = ("nn", "lip-i", "auto"),
    *,
    train_fraction: float = 0.6,
    repeats: int = 10,
    random_state: int = 0,
    against: str | None = None,
    level: float = 0.05,
    radii: Sequence[float] = (),
    norm: str = "l2",
    space: str = "prepared",
    rank_by: float | None = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
) -> Comparison:
    """Fits every method on the same splits of every data set, and tests the differences.

    ``data`` maps names to ``(X, y)``, or lists bundled data sets (all of them if it is not given). ``methods`` lists names, or
    maps a name of your own to what :func:`lipmetric.fit` would be given: ``{"3-NN": {"method": "nn", "k": 3}}``.

    ``radii`` asks for the certified accuracy at each of these radii, in ``norm`` and measured in ``space`` as in
    :meth:`lipmetric.Model.radii`. ``rank_by``, one of them, judges the methods by that accuracy in place of the plain one.

    >>> import lipmetric
    >>> found = lipmetric.compare(["haberman"], ["nn", "lip-d"], repeats=2)
    >>> found.mean.shape, found.repeats
    ((1, 2), 2)
    >>> found = lipmetric.compare(["echo"], ["nn", "arml"], repeats=2, radii=[0, 0.2], rank_by=0.2)
    >>> found.certified.shape, bool((found.accuracy == found.certified[..., 1]).all())
    ((1, 2, 2, 2), True)
    """
    if data is None:
        data = datasets.names()
    if not isinstance(data, Mapping):
        data = {name: datasets.load(name) for name in data}
    if not isinstance(methods, Mapping):
        methods = {name: {"method": name} for name in methods}
    if not data or not methods:
        raise ValueError("`data`, `methods`: give at least one data set and one method")
    subjects = []
    for name, (X, y) in data.items():
        classes, codes = labels_of(y)
        subjects.append((name, rows_of(X), ([class_name(c) for c in classes.tolist()], codes)))
    asked = [(name, _request(dict(given))) for name, given in methods.items()]
    radii = lengths(radii)
    if rank_by is not None and not radii:
        raise ValueError("`rank_by`: it is one of `radii`; give these, too")
    certified = {"radii": radii, "norm": norm, "space": space, "rank_by": rank_by} if radii else None
    terms = to_json(
        {
            "train_fraction": train_fraction,
            "repeats": repeats,
            "seed": random_state,
            "against": against,
            "level": level,
            "threads": threads_of(n_jobs),
            "time_limit": time_limit,
            "certified": certified,
        }
    )
    with listening(verbose, callback) as listener:
        found, view = call(_lipmetric.compare, subjects, asked, terms, listener)
        return Comparison(found, view, radii)


def _request(given: dict[str, Any]) -> str:
    """A recipe of the arguments of :func:`lipmetric.fit`."""
    method = given.pop("method", "auto")
    usual = {"classifier": "nearest", "k": None, "weights": "uniform", "scaling": "standard", "fill": "median"}
    recipe = {name: given.pop(name, value) for name, value in usual.items()}
    spec = dict(method) if isinstance(method, Mapping) else to_spec(base_spec(method), given)[0]
    if recipe["k"] is None:
        recipe["k"] = "auto" if spec["method"] == "auto" else 1
    return request_for(spec, **recipe)
