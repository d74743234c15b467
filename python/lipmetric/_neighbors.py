"""Nearest neighbours by the library's exact index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._base import Fitting, Predicting, Regressing, documented
from ._core import ask
from ._parameters import threads_of


class Nearest(Fitting):
    """What the two estimators share: rows that are taken as they are.

    Parameters
    ----------
    n_neighbors : int or "auto", default=5
        How many rows count; ``"auto"`` chooses by leave-one-out.
    weights : {"uniform", "distance"}, default="uniform"
        Whether they count the same, or by the inverse of the distance.
    n_jobs : int or None, default=None
        Threads; see :func:`lipmetric.threads`.
    """

    _method = "euclidean"

    def __init__(
        self, n_neighbors: int | str = 5, *, weights: str = "uniform", n_jobs: int | None = None
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.n_jobs = n_jobs

    def _recipe(self) -> dict[str, Any]:
        return {
            "classifier": "nearest",
            "k": self.n_neighbors,
            "weights": self.weights,
            "scaling": "none",
            "fill": "error",
            "n_jobs": self.n_jobs,
        }

    def fit(self, X: Any, y: Any) -> Any:
        """Builds the index.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or a frame of pandas or polars
            Numbers; none may be missing.
        y : array of shape (n_samples,)
            The class of each row (a number or a text), or the number that a regressor is to predict.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y)

    def kneighbors(self, X: Any, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The numbers of the nearest training rows of each row, and their distances, nearest first: ``n_neighbors`` of them, or as
        many as predict. With ``return_distance`` it is the pair of both, distances first, as scikit-learn has it."""
        rows = self._rows(X)
        k = self.model_.description["classifier"]["vote"]["k"] if n_neighbors is None else n_neighbors
        found = ask(self._native.neighbours, rows, k, "error", threads_of(self.n_jobs))
        numbers = found["rows"].astype(np.intp)
        return (found["distances"], numbers) if return_distance else numbers


@documented
class KNeighborsClassifier(Nearest, Predicting):
    """Majority vote of the nearest training rows, by exact search.

    Rows are taken as they are, neither scaled nor filled. Of classes with equally many votes it is the one whose nearest row is
    nearest.

    Examples
    --------
    >>> from lipmetric import KNeighborsClassifier
    >>> knn = KNeighborsClassifier(n_neighbors=1).fit([[0.0], [1.0], [5.0]], ["a", "a", "b"])
    >>> knn.predict([[0.2], [3.5]])
    array(['a', 'b'], dtype='<U1')
    """


@documented
class KNeighborsRegressor(Nearest, Regressing):
    """The mean of the nearest training rows, by exact search.

    Rows are taken as they are, neither scaled nor filled.

    Examples
    --------
    >>> from lipmetric import KNeighborsRegressor
    >>> knn = KNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [5.0]], [2.0, 4.0, 9.0])
    >>> knn.predict([[0.2], [3.5]])
    array([3. , 6.5])
    """
