"""Estimators whose rows are Dask collections."""

from __future__ import annotations

import sys
import warnings
from typing import Any, ClassVar

import dask
import distributed
import numpy as np
import psutil
from sklearn.utils.validation import check_is_fitted

from .._base import MetricLearner
from .._estimators import AutoMetric, Lip
from ._collections import Block, blocks_of, by_blocks, is_collection, size_of
from ._crew import Crew, check_memory, rows_for_fit


def accuracy(predicted: Any, y: Any, sample_weight: Any = None) -> float:
    """The share of labels that were predicted, by weight."""
    # One after the other: arrays and frames have graphs of different kinds.
    found, true, weights = (dask.compute(value)[0] for value in (predicted, y, sample_weight))
    return float(np.average(np.asarray(found) == np.asarray(true), weights=None if weights is None else np.asarray(weights)))


class DaskLearner(MetricLearner):
    """What a metric learner does with collections of Dask."""

    _local: ClassVar[type[MetricLearner]]
    _client: Any = None
    _crew: Any = None
    verbose: int

    def to_local(self) -> Any:
        """The same estimator for one machine, fitted: a :class:`lipmetric.Lip` or :class:`lipmetric.AutoMetric`."""
        check_is_fitted(self)
        local = self._local(**self.get_params(deep=False))
        kept = {name: value for name, value in vars(self).items() if name.endswith("_") or name in ("_numbers", "_n_rows")}
        for name, value in kept.items():
            setattr(local, name, value)
        return local

    def _by_blocks(self, what: str, X: Any, **options: Any) -> Any:
        """Asks the fitted estimator about each block."""
        local = self.to_local()
        # What watches a fit is of no use to workers, and may not be able to travel.
        local.set_params(callback=None, verbose=0)
        return by_blocks(X, what, local, **options)

    def predict(self, X: Any) -> Any:
        """The class of each row: an array of Dask for one, a series for a data frame of Dask, an array of NumPy for anything
        else."""
        if not is_collection(X):
            return super().predict(X)
        check_is_fitted(self)
        return self._by_blocks("predict", X, dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """The share of the neighbours' votes for each class or, where a function predicts, its calibrated probability."""
        if not is_collection(X):
            return super().predict_proba(X)
        check_is_fitted(self)
        return self._by_blocks("predict_proba", X, names=[str(c) for c in self.classes_])

    def decision_function(self, X: Any) -> Any:
        """A score for each class, the largest of which is predicted; for two classes a single one, positive for the second."""
        if not is_collection(X):
            return super().decision_function(X)
        check_is_fitted(self)
        names = None if len(self.classes_) == 2 else [str(c) for c in self.classes_]
        return self._by_blocks("decision_function", X, names=names)

    def transform(self, X: Any) -> Any:
        """The rows as the learned map gives them: Euclidean distances between them are the learned ones."""
        if not is_collection(X):
            return super().transform(X)
        check_is_fitted(self)
        single = getattr(X, "dtype", None) == np.float32
        names = [str(name) for name in self.to_local().get_feature_names_out()]
        return self._by_blocks("transform", X, names=names, dtype=np.float32 if single else np.float64)

    def predict_radius(self, X: Any, *, norm: str = "l2", space: str = "learned", kind: str = "bound") -> Any:
        """How far each row may move before its predicted class can change, certified; see :meth:`lipmetric.Model.radii`."""
        if not is_collection(X):
            return super().predict_radius(X, norm=norm, space=space, kind=kind)
        return self._by_blocks("predict_radius", X, norm=norm, space=space, kind=kind)

    def certified_accuracy(
        self, X: Any, y: Any, radii: Any, *, norm: str = "l2", space: str = "prepared", kind: str = "bound"
    ) -> Any:
        """For each of some radii, the share of the rows that are predicted correctly and stay so within it; see
        :meth:`lipmetric.Model.certified_accuracy`. Of collections of Dask the rows are gathered first."""
        X, y = dask.compute(X, y)
        return super().certified_accuracy(X, y, radii, norm=norm, space=space, kind=kind)

    def counterfactual(self, X: Any, *, norm: str = "l2", space: str = "input") -> dict[str, Any]:
        """The nearest row of another class for each row; see :meth:`lipmetric.Model.counterfactuals`. Of a collection of Dask
        the rows are gathered first."""
        return super().counterfactual(dask.compute(X)[0], norm=norm, space=space)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted."""
        return accuracy(self.predict(X), y, sample_weight)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learns from labelled rows.

        Parameters
        ----------
        X : Dask array or data frame
            Numbers; NaN is a missing value. The columns of a frame may be categories and truth values, too.
        y : Dask array or series
            The class of each row, in the same blocks.
        sample_weight : Dask array or series, optional
            How much each row counts while the distance is learned.
        """
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
        blocks = blocks_of(X, y, sample_weight)
        client = self.client
        need = self._check(blocks, client)
        parts = dask.compute(blocks)[0]
        rows, labels, weights = rows_for_fit(parts)
        del parts
        self._crew = None if client is None else (client, blocks, need)
        try:
            return super().fit(rows, labels, weights)
        finally:
            crew, self._crew = self._crew, None
            if isinstance(crew, Crew):
                crew.close()
                if sys.exc_info()[0] is None:
                    self._tell(crew)

    def _check(self, blocks: list[Block], client: Any) -> int:
        """Whether the fit can be held in memory; what a worker needs for it."""
        sizes = dask.compute([dask.delayed(size_of)(block) for block in blocks])[0]
        for at, (rows, _, labels) in enumerate(sizes):
            if rows != labels:
                raise ValueError(f"block {at} has {rows} rows and {labels} labels")
        workers = {} if client is None else client.scheduler_info(n_workers=-1)["workers"]
        free = min(psutil.virtual_memory().available, distributed.system.MEMORY_LIMIT)
        return check_memory(sum(size[0] for size in sizes), sizes[0][1], workers, free)

    def _helpers(self, request: str) -> Any:
        """The workers, once the labels are read."""
        if self._crew is not None:
            client, blocks, need = self._crew
            self._crew = Crew(client, blocks, self.classes_, request, need)
        return self._crew

    def _tell(self, crew: Crew) -> None:
        """Says what the workers did, and that they were given up if they were."""
        if self.verbose and crew.passes:
            sys.stderr.write(crew.summary() + "\n")
        if crew.failure is not None:
            text = f"the workers were given up, and the rest was computed by the client: {crew.failure}"
            warnings.warn(text, RuntimeWarning, stacklevel=3)

    @property
    def client(self) -> Any:
        """The client of the cluster: the one that was set, or the current one. Without any, blocks are computed by this process."""
        if self._client is not None:
            return self._client
        try:
            return distributed.get_client()
        except ValueError:
            return None

    @client.setter
    def client(self, client: Any) -> None:
        self._client = client

    def __getstate__(self) -> dict[str, Any]:
        # A client belongs to its process.
        state = dict(super().__getstate__())
        state.pop("_client", None)
        state.pop("_crew", None)
        return state


def described(local: type[MetricLearner], what: str) -> str:
    """What an estimator on a cluster is: the one for one machine, and how it differs."""
    first, _, rest = (local.__doc__ or "").partition("\n")
    return f"{first} On a cluster of Dask.\n\n{what} See docs/scale.md.\n{rest.partition('Examples')[0]}".rstrip() + "\n"


class DaskLip(DaskLearner, Lip):
    __doc__ = described(
        Lip,
        "``fit`` takes Dask arrays and data frames. The client runs the solver and holds the rows; passes over all pairs run on the\n"
        "workers. What is learned is the same to the last bit as by :class:`lipmetric.Lip`. ``predict``, ``transform`` and the like\n"
        "answer Dask collections block by block, and anything else at once; ``to_local`` gives the estimator for one machine. Set\n"
        "``client`` to use another than the current client of Dask.",
    )
    _local = Lip


class DaskAutoMetric(DaskLearner, AutoMetric):
    __doc__ = described(
        AutoMetric,
        "``fit`` takes Dask arrays and data frames, and does in the client what :class:`lipmetric.AutoMetric` does: of many rows it\n"
        "chooses on a sample, and judges the choice with all. Where Lip^D or Lip^I is fitted to all rows, passes over all pairs run\n"
        "on the workers. ``predict``, ``transform`` and the like answer Dask collections block by block.",
    )
    _local = AutoMetric
