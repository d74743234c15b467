"""Nearest neighbours among rows that no single machine need hold."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .. import _lipmetric
from .._frames import is_frame, labels_of
from .._neighbors import KNeighborsClassifier
from .._parameters import call, threads_of
from ._collections import Block, blocks_of, checked, is_collection, joined_column, joined_rows, size_of

#: Rows, and the squares of their distances: those nearest to each query among the rows of a block.
Found = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]


def numbers(rows: Any) -> npt.NDArray[np.float64]:
    """A block of plain numbers."""
    if is_frame(rows):
        rows = rows.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.ascontiguousarray(rows, dtype=np.float64)


class BlockIndex:
    """The index of a block of rows. What travels to another worker is the rows: the index is built again there."""

    def __init__(self, rows: Any) -> None:
        self.rows = numbers(rows)
        self.native = call(_lipmetric.Index, self.rows) if len(self.rows) else None

    def __reduce__(self) -> Any:
        return BlockIndex, (self.rows,)

    def __sizeof__(self) -> int:
        return 2 * self.rows.nbytes


def _near(index: BlockIndex, queries: Any, first: int, size: int, k: int, threads: int | None) -> Found:
    """The nearest rows of one block, numbered among all rows."""
    queries = numbers(queries)
    if index.native is None or len(queries) == 0:
        return np.empty((len(queries), 0), dtype=np.int64), np.empty((len(queries), 0))
    rows, squared = call(index.native.query, queries, min(k, size), threads)
    return rows + first, squared


def _nearest(found: list[Found], k: int) -> Found:
    """The nearest of what several blocks have found. The blocks are in the order of the rows, and each of them has the lower
    number first among equal distances: a stable sort keeps it so."""
    rows, squared = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
    order = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(squared, order, axis=1)


def _vote(found: Found, codes: npt.NDArray[np.uint32], classes: int, weights: str) -> tuple[Any, Any]:
    rows, squared = found
    if len(rows) == 0:
        return np.empty(0, dtype=np.uint32), np.empty((0, classes))
    told: tuple[Any, Any] = call(_lipmetric.votes, codes[rows], squared, classes, weights)
    return told


def _winners(found: Found, codes: Any, classes: Any, weights: str) -> Any:
    return classes[_vote(found, codes, len(classes), weights)[0]]


def _shares(found: Found, codes: Any, classes: Any, weights: str) -> Any:
    from .._base import settle_ties

    winners, shares = _vote(found, codes, len(classes), weights)
    return settle_ties(shares, winners) if len(shares) else shares


class DaskKNeighborsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Majority vote of the nearest training rows, by exact search in the blocks of a Dask collection.

    Each block of the training rows has an index of its own; a query is asked of all of them, and the nearest of what they find
    vote. The neighbours are those of :class:`lipmetric.KNeighborsClassifier`, equal distances included. Rows are taken as they
    are, neither scaled nor filled.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many rows vote.
    weights : {"uniform", "distance"}, default="uniform"
        Whether votes count the same, or by the inverse of the distance.
    n_jobs : int or None, default=None
        Threads of a task; see :func:`lipmetric.threads`. Workers of Dask have one unless they are told otherwise.

    Attributes
    ----------
    classes_ : array
        The classes in order.
    n_features_in_, n_samples_fit_ : int
        Features and rows.
    """

    _indexes: list[Any]
    _sizes: list[int]
    _codes: npt.NDArray[np.uint32]
    _blocks: list[Block]
    classes_: npt.NDArray[Any]
    n_features_in_: int
    n_samples_fit_: int

    def __init__(self, n_neighbors: int = 5, *, weights: str = "uniform", n_jobs: int | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> DaskKNeighborsClassifier:
        """Looks at the labels, and remembers where the rows come from. Indexes are built where they are first asked, on the
        workers that hold the blocks.

        Parameters
        ----------
        X : Dask array or data frame of numbers
        y : Dask array or series of labels, in the same blocks
        """
        k: Any = self.n_neighbors
        if isinstance(k, (bool, str)) or int(k) != k or k < 1:
            what = "; `auto` needs all rows in one place: lipmetric.KNeighborsClassifier has it" if k == "auto" else ""
            raise ValueError(f"`n_neighbors`: {k!r} is no number of neighbours; give a whole number from 1 on{what}")
        if self.weights not in ("uniform", "distance"):
            raise ValueError(f"`weights`: {self.weights!r} is not one of uniform, distance")
        if y is None:
            raise ValueError("This DaskKNeighborsClassifier estimator requires y to be passed, but the target y is None")
        blocks = blocks_of(X, y)
        sizes = [dask.delayed(size_of)(block) for block in blocks]
        told, labels = dask.compute(sizes, [block[1] for block in blocks])
        if any(rows != own for rows, _, own in told):
            at = next(at for at, (rows, _, own) in enumerate(told) if rows != own)
            raise ValueError(f"block {at} has {told[at][0]} rows and {told[at][2]} labels")
        self._sizes = [rows for rows, _, _ in told]
        self.n_samples_fit_, self.n_features_in_ = sum(self._sizes), told[0][1]
        if self.n_samples_fit_ < k:
            raise ValueError(f"`n_neighbors`: {k} is more than the {self.n_samples_fit_} rows")
        self.classes_, self._codes = labels_of(joined_column(labels))
        self._blocks = blocks
        self._indexes = [dask.delayed(BlockIndex, name="lipmetric-index")(block[0]) for block in blocks]
        return self

    def _found(self, X: Any) -> tuple[list[Any], Any]:
        """A task for each block of queries: its nearest rows. Also the collection."""
        check_is_fitted(self)
        X = checked(X) if is_collection(X) else da.from_array(numbers(X), chunks=-1)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but DaskKNeighborsClassifier is expecting {self.n_features_in_}")
        starts = np.cumsum([0, *self._sizes])
        near, nearest = dask.delayed(_near, name="lipmetric-near"), dask.delayed(_nearest, name="lipmetric-nearest")
        out = []
        for queries, _, _ in blocks_of(X):
            found = [
                near(index, queries, int(starts[at]), size, self.n_neighbors, threads_of(self.n_jobs))
                for at, (index, size) in enumerate(zip(self._indexes, self._sizes, strict=True))
                if size
            ]
            out.append(nearest(found, self.n_neighbors))
        return out, X

    def _gathered(self, parts: list[Any], X: Any, width: int | None, dtype: Any, local: bool) -> Any:
        """Tasks for the blocks of queries as one collection; as an array where the queries were one."""
        lengths = X.chunks[0] if isinstance(X, da.Array) else (np.nan,) * len(parts)
        shape = () if width is None else (width,)
        arrays = [
            da.from_delayed(part, shape=(length, *shape), dtype=dtype) for part, length in zip(parts, lengths, strict=True)
        ]
        out = da.concatenate(arrays, allow_unknown_chunksizes=True)
        return out.compute() if local else out

    def _told(self, X: Any, what: Any, width: int | None, dtype: Any) -> Any:
        found, rows = self._found(X)
        codes = dask.delayed(self._codes, name=f"lipmetric-codes-{dask.base.tokenize(self._codes)}", pure=False)
        parts = [dask.delayed(what)(near, codes, self.classes_, self.weights) for near in found]
        return self._gathered(parts, rows, width, dtype, not is_collection(X))

    def predict(self, X: Any) -> Any:
        """The class of each row: an array of Dask for a collection of Dask, of NumPy for anything else."""
        return self._told(X, _winners, None, self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """The share of the neighbours' votes for each class."""
        return self._told(X, _shares, len(self.classes_), np.float64)

    def kneighbors(self, X: Any, return_distance: bool = True) -> Any:
        """The numbers of the nearest training rows of each row, and their distances, nearest first. Rows are numbered from the
        first of the first block on."""
        found, rows = self._found(X)
        local, k = not is_collection(X), self.n_neighbors
        near = self._gathered([part[0] for part in found], rows, k, np.int64, local)
        if not return_distance:
            return near
        return np.sqrt(self._gathered([part[1] for part in found], rows, k, np.float64, local)), near

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted."""
        from ._learners import accuracy

        return accuracy(self.predict(X), y, sample_weight)

    def to_local(self) -> KNeighborsClassifier:
        """The same on one machine: a :class:`lipmetric.KNeighborsClassifier` with all rows."""
        check_is_fitted(self)
        parts = dask.compute([block[0] for block in self._blocks])[0]
        local = KNeighborsClassifier(self.n_neighbors, weights=self.weights, n_jobs=self.n_jobs)
        local.fit(numbers(joined_rows(parts)), self.classes_[self._codes])
        return local
