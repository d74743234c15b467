"""Estimators that learn from pairs, triplets and quadruplets of rows without labels, with the conventions of metric-learn.

Tuples come as an array of shape ``(n, t, features)``, or as an array of shape ``(n, t)`` of row numbers into ``preprocessor``, an array
of rows (or a function from row numbers to rows). Pairs have labels: 1 for similar, -1 for dissimilar.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from . import _lipmetric
from ._base import Measuring, what_is_left
from ._core import Model, listening, request_for, warn_unless_converged
from ._parameters import base_spec, call, parameters_of, to_spec

__all__ = ["ITML", "LMMLQuadruplets", "LMMLTriplets", "LipPairs"]

Array = npt.NDArray[np.float64]


def _told_apart(numbers: npt.NDArray[Any], rows: Array) -> tuple[list[Any], Array]:
    """The numbers of the rows of each tuple. Two things with equal features are still two: the second has a number of its own."""
    out: list[Any] = numbers.tolist()
    twins: dict[int, int] = {}
    if numbers.shape[1] <= 3:
        for one in out:
            for at in range(1, len(one)):
                if one[at] in one[:at]:
                    one[at] = twins.setdefault(one[at], len(rows) + len(twins))
    return out, np.concatenate([rows, rows[list(twins)]]) if twins else rows


@dataclass(kw_only=True, eq=False, repr=False)
class Tuples(Measuring, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What all of them have: tuples in, a metric out."""

    _method: ClassVar[str]
    _size: ClassVar[int]

    preprocessor: Any = None
    scaling: str = "standard"
    time_limit: float | None = None
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callable[[dict[str, Any]], Any] | None = None

    def _formed(self, tuples: Any, size: int | None = None) -> Array:
        """Tuples as an array of shape (n, t, features)."""
        size = self._size if size is None else size
        tuples = np.asarray(tuples)
        if tuples.ndim == 2:
            if self.preprocessor is None:
                raise ValueError(
                    f"tuples of shape {tuples.shape} are row numbers, which need `preprocessor`, the rows that they are of; "
                    f"else give an array of shape (n, {size}, features)"
                )
            if not np.issubdtype(tuples.dtype, np.integer):
                raise ValueError("tuples of row numbers must be whole numbers")
            flat = tuples.ravel()
            if callable(self.preprocessor):
                rows = np.asarray(self.preprocessor(flat))
            else:
                rows = np.asarray(self.preprocessor)
                if flat.size and (flat.min() < 0 or flat.max() >= len(rows)):
                    raise ValueError(f"tuples name rows {flat.min()} to {flat.max()}, but `preprocessor` has {len(rows)}, from 0")
                rows = rows[flat]
            tuples = rows.reshape(*tuples.shape, -1)
        if tuples.ndim != 3 or tuples.shape[1] != size:
            raise ValueError(f"tuples have shape {tuples.shape}; an array of shape (n, {size}, features) is needed")
        if len(tuples) == 0:
            raise ValueError("there are no tuples: give at least one")
        checked = check_array(tuples.reshape(len(tuples) * size, -1), dtype=np.float64)
        return np.asarray(checked).reshape(tuples.shape)

    def _learn(self, tuples: Array, told: Callable[[list[Any]], dict[str, Any]]) -> Any:
        """Fits on the different rows of the tuples; ``told`` makes what is known of them from their numbers."""
        rows, places = np.unique(tuples.reshape(-1, tuples.shape[2]), axis=0, return_inverse=True)
        numbers, rows = _told_apart(places.reshape(tuples.shape[:2]), rows)
        own = parameters_of(self._method)
        given = {name: value for name, value in self.get_params(deep=False).items() if name in own}
        spec, _ = to_spec(base_spec(self._method), given)
        request = request_for(
            spec, classifier="nearest", k=1, weights="uniform", scaling=self.scaling, fill="error",
            n_jobs=self.n_jobs, time_limit=self.time_limit, certificate=getattr(self, "certificate", False),
        )
        known = {"pairs": None, "triplets": None, "quadruplets": None, "calibrate": False} | told(numbers)
        with what_is_left(self._adopt), listening(self.verbose, self.callback) as listener:
            model = Model(call(_lipmetric.fit_told, np.ascontiguousarray(rows), known, request, listener))
        self._adopt(model)
        warn_unless_converged(model, type(self).__name__, 3)
        return self

    def _adopt(self, model: Model) -> None:
        """Takes over what was learned."""
        self.model_ = model
        self.components_ = model.components
        self.n_features_in_ = self.components_.shape[1]
        self.n_iter_ = model.outcome["iterations"]
        self.converged_, self.objective_, self.dual_gap_ = model.converged, model.objective, model.dual_gap
        self.status_ = model.status

    def transform(self, X: Any) -> Array:
        """The rows as the learned map gives them: Euclidean distances between the results are the learned ones."""
        check_is_fitted(self)
        X = check_array(X, dtype=np.float64)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input"
            )
        return np.asarray(X @ self.components_.T)

    def _paired(self, pairs: Any) -> Array:
        return self._formed(pairs, 2)


class Pairs(Tuples):
    """Learns from pairs that are similar or not, and tells which of others are."""

    _size = 2

    def fit(self, pairs: Any, y: Any, strengths: Any = None) -> Any:
        """Learns from pairs and their labels, 1 or -1. ``strengths`` say how much each counts.

        The threshold of ``predict`` is chosen for accuracy on the same pairs, each held out once in five folds;
        ``calibrate_threshold`` chooses it anew.
        """
        formed, y = self._formed(pairs), self._signs(y, len(pairs))
        strength = np.ones(len(y)) if strengths is None else np.asarray(strengths, dtype=np.float64)
        if strength.shape != y.shape:
            raise ValueError(f"there are {len(y)} pairs and {strength.shape} strengths: give one for each")

        def told(numbers: list[Any]) -> dict[str, Any]:
            return {
                "pairs": [(i, j, bool(s > 0), float(w)) for (i, j), s, w in zip(numbers, y, strength, strict=True)],
                "calibrate": True,
            }

        return self._learn(formed, told)

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.threshold_ = float(model.description["classifier"]["pairs"]["threshold"])

    @staticmethod
    def _signs(y: Any, count: int) -> npt.NDArray[Any]:
        y = np.asarray(y)
        if y.shape != (count,):
            raise ValueError(f"there are {count} pairs and labels of shape {y.shape}: give one for each")
        wrong = [value for value in y.tolist() if value not in (1, -1)]
        if wrong:
            raise ValueError(f"labels of pairs are 1 (similar) or -1 (dissimilar), not {wrong[0]!r}")
        return np.asarray(y)

    def decision_function(self, pairs: Any) -> Array:
        """Minus the distance of each pair: larger is more similar."""
        return self.pair_score(pairs)

    def predict(self, pairs: Any) -> npt.NDArray[np.intp]:
        """1 for each pair up to ``threshold_`` apart, else -1."""
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    def score(self, pairs: Any, y: Any) -> float:
        """The area under the ROC curve of ``decision_function``, as metric-learn has it."""
        return float(self._judged(pairs, y)["auc"])

    def evaluate(self, pairs: Any, y: Any) -> dict[str, Any]:
        """What the threshold is worth on pairs: accuracy, precision, recall, F1, and the AUC of the distance."""
        return self._judged(pairs, y, threshold=self.threshold_)

    def _judged(self, pairs: Any, y: Any, *args: Any, **options: Any) -> dict[str, Any]:
        distances = self.pair_distance(pairs)
        similar = (self._signs(y, len(distances)) > 0).tolist()
        return dict(call(_lipmetric.judge_pairs, distances.tolist(), similar, *args, **options))

    def set_threshold(self, threshold: float) -> Any:
        """Sets the distance up to which two rows are similar."""
        check_is_fitted(self)
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(
        self, pairs: Any, y: Any, strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0
    ) -> Any:
        """Chooses the threshold on pairs that the metric was not learned from.

        ``strategy``: ``"accuracy"``; ``"f_beta"``, the F score with ``beta``; ``"max_tpr"``, the largest share of similar pairs told
        rightly with at least ``min_rate`` of the dissimilar ones; ``"max_tnr"``, the reverse.
        """
        number = beta if strategy == "f_beta" else min_rate
        self.threshold_ = float(self._judged(pairs, y, strategy, number)["threshold"])
        return self


class Comparing(Tuples):
    """Learns from comparisons of distances."""

    def _apart(self, formed: Array) -> Array:
        raise NotImplementedError

    def decision_function(self, tuples: Any) -> Array:
        """By how much the rows that should be farther apart are: positive where a comparison holds."""
        check_is_fitted(self)
        return self._apart(self._formed(tuples))

    def predict(self, tuples: Any) -> npt.NDArray[np.intp]:
        """1 for each comparison that holds under the learned distance, else -1."""
        return np.where(self.decision_function(tuples) > 0, 1, -1)

    def score(self, tuples: Any, y: Any = None) -> float:
        """The share of comparisons that hold."""
        return float(np.mean(self.predict(tuples) == 1))

    def _length(self, a: Array, b: Array) -> Array:
        return np.asarray(np.linalg.norm((a - b) @ self.components_.T, axis=1))


@dataclass(kw_only=True, eq=False, repr=False)
class LipPairs(Pairs):
    """Lip^I from pairs, to a certified gap: dissimilar pairs are pushed apart, relative to the distance of similar ones.

    ``c_rel`` is the trade-off as a fraction of the largest possible one, ``diameter`` the ``"mean"`` distance of the similar pairs or
    the longest of them (``"max"``), ``euclid`` how much the Euclidean distance counts in it. ``certificate`` keeps the pairs and the
    multipliers that prove the bound, for ``model_.verify()``.

    >>> import numpy as np
    >>> from lipmetric import LipPairs
    >>> rows = np.array([[0.0, 9.0], [0.5, 1.0], [2.0, 8.0], [2.5, 2.0]])
    >>> learner = LipPairs(preprocessor=rows).fit([[0, 1], [2, 3], [0, 2], [1, 3]], [1, 1, -1, -1])
    >>> learner.predict([[0, 1], [0, 3]])
    array([ 1, -1])
    """

    _method = "lip-pairs"

    c_rel: float = 0.2
    diameter: str = "mean"
    euclid: float = 0.3
    tol: float = 1e-4
    max_iter: int = 2000
    certificate: bool = False


@dataclass(kw_only=True, eq=False, repr=False)
class ITML(Pairs):
    """Information-theoretic metric learning: the distance nearest to the Euclidean one that keeps the bounds of pairs.

    ``bounds`` are the squared distances that similar pairs should not exceed and dissimilar ones should; ``gamma`` is what it costs to
    miss them.

    >>> import numpy as np
    >>> from lipmetric import ITML
    >>> rows = np.array([[0.0, 9.0], [0.5, 1.0], [2.0, 8.0], [2.5, 2.0]])
    >>> learner = ITML(preprocessor=rows).fit([[0, 1], [2, 3], [0, 2], [1, 3]], [1, 1, -1, -1])
    >>> learner.get_mahalanobis_matrix().shape
    (2, 2)
    """

    _method = "itml"

    gamma: float = 1.0
    bounds: Any = None
    tol: float = 1e-3
    max_iter: int = 1000


@dataclass(kw_only=True, eq=False, repr=False)
class LMMLTriplets(Comparing):
    """Large margin metric learning from triplets ``(a, b, c)``: ``a`` should be nearer to ``b`` than to ``c``.

    >>> import numpy as np
    >>> from lipmetric import LMMLTriplets
    >>> rows = np.array([[0.0, 9.0], [0.5, 1.0], [2.0, 8.0], [2.5, 2.0]])
    >>> LMMLTriplets(preprocessor=rows).fit([[0, 1, 2], [3, 2, 1]]).predict([[1, 0, 3]])
    array([1])
    """

    _method = "lmml"
    _size = 3

    alpha: float = 1.0
    tol: float = 1e-6
    max_iter: int = 20_000

    def fit(self, triplets: Any, y: Any = None) -> Any:
        """Learns from triplets; there are no labels."""
        return self._learn(self._formed(triplets), lambda numbers: {"triplets": numbers})

    def _apart(self, formed: Array) -> Array:
        return self._length(formed[:, 0], formed[:, 2]) - self._length(formed[:, 0], formed[:, 1])


class LMMLQuadruplets(LMMLTriplets):
    """Large margin metric learning from quadruplets ``(a, b, c, d)``: ``a`` and ``b`` should be nearer than ``c`` and ``d``.

    >>> import numpy as np
    >>> from lipmetric import LMMLQuadruplets
    >>> rows = np.array([[0.0, 9.0], [0.5, 1.0], [2.0, 8.0], [2.5, 2.0]])
    >>> LMMLQuadruplets(preprocessor=rows).fit([[0, 1, 0, 2], [2, 3, 1, 3]]).score([[0, 1, 1, 2]])
    1.0
    """

    _size = 4

    def fit(self, quadruplets: Any, y: Any = None) -> Any:
        """Learns from quadruplets; there are no labels."""
        return self._learn(self._formed(quadruplets), lambda numbers: {"quadruplets": numbers})

    def _apart(self, formed: Array) -> Array:
        return self._length(formed[:, 2], formed[:, 3]) - self._length(formed[:, 0], formed[:, 1])
