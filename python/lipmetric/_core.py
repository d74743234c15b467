"""The functional core: fit, load and use models, on NumPy alone."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _lipmetric
from ._frames import (
    class_name,
    is_frame,
    is_single,
    label_name,
    labels_of,
    named_classes,
    rows_of,
    targets_of,
    warn_of_numbers,
)
from ._parameters import base_spec, call, threads_of, to_classifier, to_json, to_spec

Array = npt.NDArray[np.float64]
#: Called with the figures of a step; ends the fit by returning ``True``.
Callback = Callable[[dict[str, Any]], Any]


class NotConverged(UserWarning):
    """A fit ended before it reached its tolerance. With scikit-learn installed it is also a ``ConvergenceWarning``."""


def not_converged() -> type[Warning]:
    """The warning of a fit that has not converged: scikit-learn's own where that is loaded."""
    exceptions = sys.modules.get("sklearn.exceptions")
    return exceptions.ConvergenceWarning if exceptions is not None else NotConverged


class Progress:
    """Prints how a fit goes on: at ``verbose=1`` a line that is written over, from 2 on a line for each step with
    other figures than the one before."""

    def __init__(self, verbose: int, callback: Callback | None) -> None:
        self.verbose, self.callback = int(verbose), callback
        self.shown, self.width = 0.0, 0
        self.told: list[str] = []

    def __call__(self, kind: str, figures: dict[str, Any]) -> bool:
        if self.verbose:
            self.show(kind, figures)
        return kind == "step" and self.callback is not None and bool(self.callback(figures))

    def show(self, kind: str, figures: dict[str, Any]) -> None:
        """Prints a line, unless one has just been printed."""
        if kind == "decided":
            self.line(figures["message"])
            return
        now = time.monotonic()
        if self.verbose < 2 and now - self.shown < 0.1:
            return
        self.shown = now
        if kind == "advance":
            text = f"{figures['done']} of {figures['total']} fits"
        else:
            parts = [f"{name} {figures[name]:.6g}" for name in ("objective", "bound", "gap") if figures[name] is not None]
            if figures["c_max"] is not None:
                parts = ["c_max first, from {:.6g} to {:.6g}".format(*figures["c_max"])]
            if self.verbose > 1 and parts and parts == self.told:
                return
            self.told = parts
            text = ", ".join([f"iteration {figures['iteration']}", *parts, f"{figures['seconds']:.1f} s"])
        if self.verbose > 1:
            self.line(text)
        else:
            sys.stderr.write("\r" + text.ljust(self.width))
            sys.stderr.flush()
            self.width = len(text)

    def line(self, text: str) -> None:
        """Prints a line of its own."""
        self.close()
        sys.stderr.write(text + "\n")

    def close(self) -> None:
        """Ends a line that would have been written over."""
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()
            self.width = 0


@contextmanager
def listening(verbose: int, callback: Callback | None) -> Iterator[Progress | None]:
    """What hears of a fit; none where nobody asked, so that the fit is not held up. What Ctrl-C raises has the best model so far as
    its ``model``; where the fit was not waited for, a warning says what that is."""
    listener = Progress(verbose, callback) if verbose or callback is not None else None
    try:
        yield listener
    except BaseException as error:
        if isinstance(getattr(error, "model", None), _lipmetric.Model):
            error.model = Model(error.model)  # type: ignore[attr-defined]
        if hasattr(error, "note"):
            # Where warnings are errors, Ctrl-C is still what was raised.
            with suppress(Warning):
                warnings.warn(f"{error.model.method}: {error.note}", not_converged(), stacklevel=5)  # type: ignore[attr-defined]
        raise
    finally:
        if listener is not None:
            listener.close()


#: Numbers that are handed over at once.
BATCH = 2**18


def batches(rows: Any) -> list[Any]:
    """An array in batches, so that a large one is never copied whole; columns of a frame are one batch."""
    if not isinstance(rows, np.ndarray):
        return [rows]
    step = max(1, BATCH // max(1, rows.shape[1]))
    return [rows[at : at + step] for at in range(0, max(1, len(rows)), step)]


def joined(parts: list[Any]) -> Any:
    """The answers about batches as one: arrays, or dictionaries and tuples of them."""
    first = parts[0]
    if len(parts) == 1 or first is None:
        return first
    if isinstance(first, dict):
        return {key: joined([part[key] for part in parts]) for key in first}
    if isinstance(first, tuple):
        return tuple(joined(list(of)) for of in zip(*parts, strict=True))
    return np.concatenate(parts)


def ask(what: Callable[..., Any], rows: Any, *args: Any) -> Any:
    """Asks a model about rows."""
    return joined([call(what, batch, *args) for batch in batches(rows)])


def mapped(native: Any, rows: Any, unseen: str, threads: int | None, single: bool) -> npt.NDArray[Any]:
    """The rows as the learned map gives them, of single precision if that is asked for."""
    dtype = np.float32 if single else np.float64
    out = np.empty((0, 0), dtype=dtype)
    at = 0
    for batch in batches(rows):
        part = call(native.transform, batch, unseen, threads)
        if at == 0:
            out = np.empty((len(rows) if isinstance(rows, np.ndarray) else len(part), part.shape[1]), dtype=dtype)
        out[at : at + len(part)] = part
        at += len(part)
    return out


def places(
    path: str | os.PathLike[str] | None, plots: str | os.PathLike[str] | None, plot_format: str
) -> tuple[str | None, str | None, str]:
    """Where a page and its pictures are written, as the compiled module takes it."""
    page, folder = (None if name is None else os.fspath(name) for name in (path, plots))
    return page, folder, plot_format


class Model:
    """A fitted model: everything between a raw row and its predicted class.

    :func:`lipmetric.fit` and :func:`lipmetric.load` make one. It is the same as the file that the command line writes and
    reads, and predicts the same to the last bit. A pickle of it holds the bytes of that file.

    >>> import lipmetric
    >>> X, y = lipmetric.datasets.load_haberman()
    >>> model = lipmetric.fit(X, y, method="lip-d", c_rel=0.1, k=1)
    >>> model
    <lipmetric.Model: lip-d, 3 features, 2 classes, optimal to the tolerance>
    >>> bool(model.dual_gap <= 1e-6)
    True
    """

    def __init__(self, native: _lipmetric.Model) -> None:
        self._native = native
        self._described: dict[str, Any] | None = None

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """A model from the bytes of its file."""
        return cls(_lipmetric.Model.from_bytes(data))

    def to_bytes(self) -> bytes:
        """The bytes of the model's file: a safetensors file with JSON metadata."""
        return self._native.to_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model's file, which the command line reads as well: whole, or not at all."""
        self._native.save(os.fspath(path))

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        plots: str | os.PathLike[str] | None = None,
        plot_format: str = "svg",
        source: str = "the rows",
    ) -> str:
        """A page with pictures of what was learned: the rows before and after, the course of the fit, the metric, the margins.

        One HTML file that needs no other, the same that ``lipmetric fit --report`` writes. It is returned, and written to
        ``path``; each picture also as a file into the folder ``plots``, as ``"svg"`` or ``"png"``. ``source`` is what the rows
        are called in it.

        >>> import lipmetric
        >>> page = lipmetric.fit(*lipmetric.datasets.load_echo(), method="lip-i").report()
        >>> "<svg" in page and "https://" not in page
        True
        """
        return self._native.report(source, places(path, plots, plot_format))

    def __reduce__(self) -> Any:
        return Model.from_bytes, (self.to_bytes(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    @property
    def description(self) -> dict[str, Any]:
        """Everything about the model that is no array: spec, outcome, preparation, names."""
        if self._described is None:
            self._described = self._native.describe()
        return self._described

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self.description["method"])

    @property
    def spec(self) -> dict[str, Any]:
        """The method and its parameters as given; ``lipmetric fit --spec`` reads the same."""
        return dict(self.description["spec"])

    @property
    def outcome(self) -> dict[str, Any]:
        """The figures of the fit: status, objective, lower bound (``dual``), gap, iterations, notes."""
        return dict(self.description["outcome"])

    @property
    def status(self) -> str:
        """How the fit ended, in a word: ``optimal``, ``iteration_limit``, ``interrupted``, ..."""
        return str(self.outcome["status"])

    @property
    def converged(self) -> bool:
        """Whether the fit did what was asked of it."""
        return bool(self.description["converged"])

    @property
    def objective(self) -> float | None:
        """The objective at the learned metric, where the method has one."""
        value: float | None = self.outcome["objective"]
        return value

    @property
    def dual_gap(self) -> float | None:
        """The certified relative gap to the best possible objective, where the method proves one."""
        value: float | None = self.outcome["gap"]
        return value

    @property
    def task(self) -> str:
        """Whether classes or numbers are predicted: ``classification`` or ``regression``."""
        return str(self.description["task"])

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The classes: whole numbers, numbers, truth values or texts, whichever their names are. None of a model of numbers."""
        return named_classes([] if self.task == "regression" else self.description["classes"])

    @property
    def feature_names(self) -> list[str]:
        """The columns that the metric is on: a feature each, or ``feature=level`` for a level of a category."""
        return list(self.description["feature_names"])

    @property
    def factor(self) -> Array:
        """The factor ``L`` on the prepared features, rank x features: distances are those of ``L x``."""
        return self._native.factor()

    @property
    def components(self) -> Array:
        """The same on the features before they are scaled: ``transform(X)`` is ``X @ components.T`` but for a shift."""
        return self._native.components()

    @property
    def spectrum(self) -> Array:
        """The eigenvalues of the metric, largest first."""
        return np.array(self._native.spectrum())

    @property
    def values(self) -> Array | None:
        """The learned function on the training rows, for each row's own class; below zero it holds the label for wrong."""
        found: Array | None = self._native.training_rows()["values"]
        return found

    @property
    def history(self) -> dict[str, npt.NDArray[Any]]:
        """The steps of the fit: iteration, objective, bound, gap, seconds. Empty for a model from a file."""
        return self._native.history()

    @property
    def support_pairs(self) -> list[tuple[int, int, str, float]] | None:
        """The pairs of rows that determine the optimum: two rows, what they determine, their multiplier. The largest
        multiplier is first. ``None`` unless the fit kept its certificate (``certificate=True``)."""
        pairs = self._native.support_pairs()
        return None if pairs is None else [(a, b, what, weight) for a, b, what, weight in pairs]

    def margins(self) -> dict[str, Any]:
        """Margins, diameters and ratios of the training rows under the learned distance."""
        return dict(self._native.margins())

    def verify(self, limit: float = 1e10) -> dict[str, Any]:
        """Checks the certificate in exact arithmetic, by at most ``limit`` multiplications of 64-bit words: needs a fit with
        ``certificate=True``."""
        return dict(self._native.verify(limit))

    def predict(self, X: Any, *, unseen: str = "error") -> npt.NDArray[Any]:
        """The class of each row, or its number. ``unseen="ignore"`` accepts levels of a category that training did not have.

        >>> import lipmetric
        >>> X, y = lipmetric.datasets.load_haberman()
        >>> lipmetric.fit(X, y, method="nn").predict(X[:3])
        array([1, 1, 1])
        """
        if self.task == "regression":
            return np.asarray(ask(self._native.estimate, rows_of(X), unseen))
        return np.asarray(self.classes[ask(self._native.predict, rows_of(X), unseen)])

    def ranges(
        self, X: Any, within: float, *, norm: str = "l2", space: str = "prepared", unseen: str = "error"
    ) -> tuple[Array, Array]:
        """Of a model of numbers: the least and the largest prediction that any row can get that is less than ``within`` from each
        row, certified. ``space`` says where that is measured: in the ``"learned"`` distance, on the ``"prepared"`` features, or in
        the units of the ``"input"``; ``norm`` how, on the latter two: ``"l2"``, ``"linf"`` or ``"l1"``.

        >>> import lipmetric
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.1, 1.9, 3.0]
        >>> model = lipmetric.fit(X, y, "nn", task="regression", classifier="extension")
        >>> low, high = model.ranges(X, 0.1)
        >>> bool((low <= model.predict(X)).all() and (model.predict(X) <= high).all())
        True
        """
        low, high = ask(self._native.ranges, rows_of(X), (norm, space), float(within), unseen)
        return np.asarray(low), np.asarray(high)

    def predict_proba(self, X: Any, *, unseen: str = "error") -> Array:
        """A row for each row: the share of the votes of each class or, of a function, its calibrated probability."""
        shares = ask(self._native.explain, rows_of(X), unseen)["shares"]
        if shares is None and len(X) > 0:
            raise ValueError("the model has no probabilities, as no rows could be held out to calibrate them; see `explain`")
        return np.empty((0, len(self.classes))) if shares is None else shares

    def explain(self, X: Any, *, unseen: str = "error") -> dict[str, Any]:
        """What each prediction rests on: ``code`` (of the class), ``shares``, ``values``, ``neighbours`` and their
        ``distances``, the distance to the ``nearest`` row, and the ``margin``: how much farther the nearest row of another
        class is than that of the predicted one."""
        told = dict(ask(self._native.explain, rows_of(X), unseen))
        if told["neighbours"] is not None:
            told["neighbours"] = told["neighbours"].astype(np.intp)
        return told

    def radii(
        self, X: Any, *, norm: str = "l2", space: str = "learned", kind: str = "bound", unseen: str = "error"
    ) -> Array:
        """How far each row may move before its predicted class can change, certified. ``space`` says where that is measured:
        in the ``"learned"`` distance, on the ``"prepared"`` features, or in the units of the ``"input"``; ``norm`` how, on the
        latter two: ``"l2"``, ``"linf"`` or ``"l1"``. ``kind="exact"`` takes longer, where ``"bound"`` may be too small.

        >>> import lipmetric
        >>> X, y = lipmetric.datasets.load_haberman()
        >>> model = lipmetric.fit(X, y, method="lip-i")
        >>> bool((model.radii(X, space="input", norm="linf") >= 0).all())
        True
        """
        return np.asarray(ask(self._native.radii, rows_of(X), (norm, space, kind), unseen)[1])

    def certified_accuracy(
        self,
        X: Any,
        y: Any,
        radii: Sequence[float],
        *,
        norm: str = "l2",
        space: str = "prepared",
        kind: str = "bound",
        unseen: str = "error",
    ) -> Array:
        """For each of some radii, the share of the rows that are predicted correctly and stay so, whatever is done to them within
        the radius; ``norm``, ``space`` and ``kind`` are those of :meth:`radii`. At 0 it is the plain accuracy.

        >>> import lipmetric
        >>> X, y = lipmetric.datasets.load_haberman()
        >>> lipmetric.fit(X[::2], y[::2], method="nn").certified_accuracy(X[1::2], y[1::2], [0, 0.1, 0.2]).shape
        (3,)
        """
        return certified_of(self._native, rows_of(X), (norm, space, kind), unseen, None, self.classes, y, radii)

    def counterfactuals(self, X: Any, *, norm: str = "l2", space: str = "input", unseen: str = "error") -> dict[str, Any]:
        """The nearest row of another class for each row, where only numbers change: ``classes``, ``distance``, ``rows`` and
        ``changes``, with a column for each feature. ``norm`` is ``"l2"``, ``"linf"`` or ``"l1"``. NaN stands for features that are no numbers; where no change gives
        another class the distance is infinite. For one neighbour, or the paper's function."""
        return counterfactuals_of(self._native, rows_of(X), (norm, space), unseen, None, self.classes)

    def neighbours(self, X: Any, k: int = 10, *, unseen: str = "error") -> dict[str, npt.NDArray[Any]]:
        """The ``k`` nearest training rows of each row in the learned distance, nearest first, by an exact index: ``rows`` (their
        numbers from 0), ``labels`` and ``distances``, with a row for each row of ``X`` and a column for each neighbour.

        >>> import lipmetric
        >>> X, y = lipmetric.datasets.load_haberman()
        >>> found = lipmetric.fit(X, y, method="lip-i").neighbours(X[:1], k=2)
        >>> int(found["rows"][0, 0]), float(found["distances"][0, 0]), found["labels"].shape
        (0, 0.0, (1, 2))
        """
        if isinstance(k, bool) or int(k) != k or k < 1:
            raise ValueError(f"`k`: {k!r} is no number of neighbours; give a whole number from 1 on")
        found = ask(self._native.neighbours, rows_of(X), int(k), unseen)
        labels = found["numbers"] if self.task == "regression" else self.classes[found["codes"]]
        return {"rows": found["rows"], "labels": labels, "distances": found["distances"]}

    def transform(self, X: Any, *, unseen: str = "error") -> npt.NDArray[Any]:
        """The rows as the learned map gives them: Euclidean distances between them are the learned ones. Single precision stays
        single precision."""
        return mapped(self._native, rows_of(X), unseen, None, is_single(X))

    def map(self) -> dict[str, Any]:
        """The learned map as any program can apply it, without this package: how each column becomes numbers, and the matrix. As
        JSON it is what ``lipmetric export`` writes beside the vectors; docs/export.md has readers in Python and SQL."""
        return dict(self._native.map())

    def to_faiss(self, X: Any, *, ids: Any = None, unseen: str = "error") -> Any:
        """The mapped rows in a ``faiss.IndexFlatL2``, or with ``ids`` (whole numbers) in an ``IndexIDMap``: its neighbours are
        those of the learned distance. It gives squared distances, and is asked for ``transform(queries).astype("f4")``."""
        from ._export import to_faiss

        return to_faiss(self, X, ids, unseen)

    def to_usearch(self, X: Any, *, ids: Any = None, unseen: str = "error", **options: Any) -> Any:
        """The mapped rows in a ``usearch.index.Index`` with the metric ``l2sq``; ``options`` are that index's own."""
        from ._export import to_usearch

        return to_usearch(self, X, ids, unseen, options)

    def to_hnswlib(self, X: Any, *, ids: Any = None, unseen: str = "error", **options: Any) -> Any:
        """The mapped rows in a ``hnswlib.Index`` of the space ``l2``; ``options`` are those of its ``init_index``."""
        from ._export import to_hnswlib

        return to_hnswlib(self, X, ids, unseen, options)

    def to_pgvector(self, X: Any, connection: Any, table: str, *, ids: Any = None, unseen: str = "error") -> int:
        """The mapped rows in a new table of PostgreSQL with pgvector, by a connection of psycopg 3: columns ``id`` and
        ``vector``. What the connection does with its transaction is left to it. The number of rows is returned."""
        from ._export import to_pgvector

        return to_pgvector(self, X, connection, table, ids, unseen)

    def get_mahalanobis_matrix(self) -> Array:
        """``M``, on the features before they are scaled."""
        components = self.components
        return components.T @ components

    def __repr__(self) -> str:
        about = self.description
        features = len(about["feature_names"])
        what = "numbers" if self.task == "regression" else f"{len(about['classes'])} classes"
        return f"<lipmetric.Model: {self.method}, {features} features, {what}, {about['ended']}>"

    def _repr_html_(self) -> str:
        from ._html import model_html

        return model_html(self)


def lengths(radii: Any) -> list[float]:
    """Radii as the module takes them."""
    if isinstance(radii, str) or np.ndim(radii) != 1:
        raise ValueError(f"`radii`: {radii!r} is no list of lengths; give numbers of 0 or more, such as [0, 0.1]")
    return [float(radius) for radius in radii]


def certified_of(
    native: Any, rows: Any, ball: tuple[str, str, str], unseen: str, threads: int | None, classes: Any, y: Any, radii: Any
) -> Array:
    """The certified accuracy at each radius."""
    at = np.array(lengths(radii))
    wrong = at[~((at >= 0) & (at < np.inf))]
    if len(wrong) > 0:
        raise ValueError(f"`radii`: {wrong[0]} is not a length: give numbers of 0 or more")
    codes, radius = ask(native.radii, rows, ball, unseen, threads)
    truth = np.asarray(y)
    if truth.shape != codes.shape:
        raise ValueError(f"`y`: {truth.shape} labels for {len(codes)} rows; give one for each row")
    if len(codes) == 0:
        raise ValueError("`X`: a certified accuracy needs one row at least")
    right = np.asarray(classes)[codes] == truth
    return np.asarray((right[:, None] & ((radius[:, None] > at) | (at == 0))).mean(axis=0))


def counterfactuals_of(
    native: Any, rows: Any, ball: tuple[str, str], unseen: str, threads: int | None, classes: Any
) -> dict[str, Any]:
    """Counterfactuals with the names of their classes, ``None`` where there is none."""
    found = dict(ask(native.counterfactuals, rows, ball, unseen, threads))
    codes = found.pop("code")
    return {"classes": [None if code < 0 else classes[code] for code in codes], **found}


def dims_of(dims: Any) -> int | None:
    """A number of directions, or None for all."""
    if dims is None:
        return None
    if isinstance(dims, bool) or int(dims) != dims or dims < 1:
        raise ValueError(f"`dims`: {dims!r} is no number of directions; give a whole number from 1 on, or None for all")
    return int(dims)


def request_for(
    spec: Mapping[str, Any],
    *,
    classifier: Any,
    k: Any,
    weights: Any,
    scaling: str,
    fill: str,
    label: str = "label",
    dims: int | None = None,
    certificate: bool = False,
    n_jobs: int | None = None,
    time_limit: float | None = None,
) -> str:
    """Everything of a fit but the rows, as the library reads it."""
    request = {
        "spec": spec,
        "classifier": to_classifier(classifier, k, weights),
        "scaling": scaling,
        "fill": fill,
        "label": label,
        "dims": dims_of(dims),
        "certificate": bool(certificate),
        "threads": threads_of(n_jobs),
        "time_limit": time_limit,
    }
    return to_json(request)


def fit_native(
    rows: Any,
    labels: tuple[Sequence[str], npt.NDArray[np.uint32]] | Array,
    request: str,
    *,
    start: Any = None,
    triplets: Any = None,
    weights: Any = None,
    verbose: int = 0,
    callback: Callback | None = None,
    helpers: Any = None,
) -> Model:
    """A fit by the library, with passes over all pairs by other processes where there are some. What Ctrl-C raises has the best
    model so far as its ``model``."""
    if start is not None:
        start = np.asarray(start, dtype=np.float64)
    if triplets is not None:
        triplets = np.asarray(triplets, dtype=np.int64).tolist()
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64).tolist()
    with listening(verbose, callback) as listener:
        return Model(call(_lipmetric.fit, rows, labels, request, start, triplets, listener, weights, helpers))


def warn_unless_converged(model: Model, name: str, stacklevel: int) -> None:
    """Warns of a fit that ended early."""
    if not model.converged:
        text = f"{name}: {model.description['ended']}; raise `max_iter`, or accept a larger `tol`"
        warnings.warn(text, not_converged(), stacklevel=stacklevel + 1)


def fit(
    X: Any,
    y: Any,
    method: str | Mapping[str, Any] = "auto",
    *,
    task: str = "classification",
    classifier: Any = None,
    k: int | str | None = None,
    weights: str = "uniform",
    dims: int | None = None,
    scaling: str = "standard",
    fill: str = "median",
    sample_weight: Any = None,
    certificate: bool = False,
    triplets: Any = None,
    start: Any = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
    **params: Any,
) -> Model:
    """Learns a distance from labelled rows, and how to predict by it.

    ``X`` is an array of numbers (NaN where one is missing), or a frame of pandas or polars whose columns may be numbers, truth
    values or categories. ``method`` is a name such as ``"auto"``, ``"lip-d"`` or ``"lmnn"``, or a whole spec as
    ``Model.spec`` has it; ``params`` are its parameters by the names of the estimators.

    ``classifier`` says what predicts: ``"nearest"``, a vote of ``k`` neighbours; ``"smooth"``, a smooth function of the
    distances; ``"extension"``, the paper's function. The method ``"auto"`` chooses it together with the distance unless it is
    given, or ``k`` is; other methods take one neighbour. With ``dims`` only so many directions of the distance are kept, those in
    which the rows spread most under it: a map to look at, in which the nearest rows vote. ``sample_weight`` is how much each row counts while the distance is
    learned.

    With ``task="regression"`` ``y`` holds the numbers to predict, and the same classifiers give numbers: the mean of the ``k``
    nearest rows, a smooth function of the distances, or the Lipschitz extension of the smoothed numbers. The methods are then
    ``"auto"``, ``"agop"``, ``"mlkr"`` and ``"nn"``.

    A fit that ends early warns and keeps the best metric so far. Ctrl-C stops it within a moment; the ``KeyboardInterrupt`` has
    the best model so far as its ``model``: that of the Euclidean distance, with a warning, where no step was finished.

    >>> import lipmetric
    >>> X, y = lipmetric.datasets.load_haberman()
    >>> model = lipmetric.fit(X, y, method="lmnn", n_neighbors=2, k=3)
    >>> model.transform(X).shape
    (306, 3)
    """
    if task not in ("classification", "regression"):
        raise ValueError(f"`task`: {task!r} is neither classification nor regression")
    numbers = task == "regression"
    classes, codes = (None, None) if numbers else labels_of(y)
    if classes is not None and codes is not None:
        warn_of_numbers(classes, len(codes), 2)
    if isinstance(method, Mapping):
        spec, init = dict(method), None
        if params:
            raise TypeError(f"`method` is a whole spec: put `{next(iter(params))}` into it")
    else:
        spec, init = to_spec(base_spec(method), params, classes)
    rows = rows_of(X)
    chooses = spec["method"] == "auto"
    if classifier is None:
        classifier = "auto" if chooses and k is None and weights == "uniform" and dims is None else "nearest"
    request = request_for(
        spec,
        classifier=classifier,
        k=("auto" if chooses or numbers else 1) if k is None else k,
        weights=weights,
        scaling=scaling,
        fill=fill,
        label=label_name(y, rows),
        dims=dims,
        certificate=certificate,
        n_jobs=n_jobs,
        time_limit=time_limit,
    )
    model = fit_native(
        rows,
        targets_of(y) if classes is None or codes is None else ([class_name(c) for c in classes.tolist()], codes),
        request,
        start=init if start is None else start,
        triplets=triplets,
        weights=sample_weight,
        verbose=verbose,
        callback=callback,
    )
    warn_unless_converged(model, model.method, 2)
    return model


def load(path: str | os.PathLike[str]) -> Model:
    """Reads a model's file, of the command line or of :meth:`Model.save`."""
    return Model(_lipmetric.Model.load(os.fspath(path)))


class Drawn:
    """What can be shown as a page with pictures."""

    _view: Any

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        plots: str | os.PathLike[str] | None = None,
        plot_format: str = "svg",
    ) -> str:
        """A page with pictures of what was found.

        It is returned, and written to ``path``; each picture also as a file into the folder ``plots``, as ``"svg"`` or
        ``"png"``."""
        if self._view is None:
            raise ValueError("the margins of these rows cannot be measured, so that there is nothing to draw")
        return str(self._view.report(places(path, plots, plot_format)))


class Path(Drawn, list[dict[str, Any]]):
    """What :func:`lipmetric.path` found: a list of its points.

    ``report`` draws objective, ratios, rank and, with ``folds``, held-out accuracy along ``c``, the best marked.
    """

    def __init__(self, points: Sequence[dict[str, Any]], view: Any) -> None:
        super().__init__(points)
        self._view = view

    def __reduce__(self) -> Any:
        return _path_again, (list(self), None if self._view is None else self._view.to_json())


def _path_again(points: list[dict[str, Any]], view: str | None) -> Path:
    return Path(points, None if view is None else _lipmetric.View.from_json(view))


def path(
    X: Any,
    y: Any,
    method: str = "lip-i",
    *,
    points: int = 25,
    most: float = 0.9,
    least: float = 0.001,
    folds: int = 0,
    random_state: int = 0,
    source: str = "the rows",
    scaling: str = "standard",
    fill: str = "median",
    n_jobs: int | None = None,
    time_limit: float | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
    **params: Any,
) -> Path:
    """A regularisation path: a certified distance for each of a sequence of trade-offs, from ``most`` down to ``least`` of
    ``c_max``, in equal ratios.

    Each point is a dictionary with ``c_rel``, ``outcome``, ``components``, ``support``, the pairs of rows that determine the
    distance, and ``held_out_accuracy``: with ``folds``, the share of held-out rows that the nearest row predicts rightly
    (``random_state`` deals the rows out; these fits end at a gap of 1 %). ``report`` of the result draws it; ``source`` is what
    the rows are called there.

    >>> import lipmetric
    >>> X, y = lipmetric.datasets.load_haberman()
    >>> points = lipmetric.path(X, y, "lip-d", points=3, slack="pair")
    >>> [round(p["c_rel"], 3) for p in points]
    [0.9, 0.03, 0.001]
    >>> all(p["outcome"]["gap"] < 1e-6 for p in points)
    True
    """
    if points < 1 or not 0 < least <= most < 1:
        raise ValueError(f"`points`, `most`, `least`: {points}, {most} and {least} are no path; give 0 < least <= most < 1")
    classes, codes = labels_of(y)
    spec, _ = to_spec(base_spec(method), params, classes)
    if folds and spec["method"] != "lip":
        raise ValueError(f"`folds`: held-out rows are predicted along a path of lip-d and lip-i; leave `folds` out for {method}")
    rows = rows_of(X)
    request = request_for(
        spec, classifier="nearest", k=1, weights="uniform", scaling=scaling, fill=fill, n_jobs=n_jobs, time_limit=time_limit
    )
    fractions = [float(f) for f in np.geomspace(most, least, points)]
    labels = ([class_name(c) for c in classes.tolist()], codes)
    with listening(verbose, callback) as listener:
        return Path(*call(_lipmetric.path, rows, labels, request, fractions, (folds, random_state), source, listener))


def threads() -> int:
    """How many threads a call takes where ``n_jobs`` is ``None``: the first of the variables ``LIPMETRIC_NUM_THREADS``,
    ``RAYON_NUM_THREADS`` and ``OMP_NUM_THREADS`` that is set, else as many as there are processors. joblib sets the last one
    for its workers. Results are the same bits for any number of threads."""
    return _lipmetric.used_threads()


__all__ = ["Model", "NotConverged", "Path", "fit", "is_frame", "load", "path", "threads"]
