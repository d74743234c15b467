"""What every estimator does: scikit-learn's manners around a fit of the library."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ._core import Model, ask, certified_of, counterfactuals_of, fit_native, mapped, request_for, warn_unless_converged
from ._frames import chosen_rows, class_name, columns_of, is_frame, is_single, label_name, warn_of_numbers
from ._parameters import parameters_of, threads_of, to_spec

Array = npt.NDArray[np.float64]
Class = TypeVar("Class", bound=type)


def settle_ties(scores: Array, codes: npt.NDArray[Any], ahead: float = 0.0) -> Array:
    """The same scores, but the predicted class is ahead of all others, by as little as can be or by this part."""
    rows = np.arange(len(codes))
    top = scores.max(axis=1)
    behind = scores.argmax(axis=1) != codes
    scores[rows[behind], codes[behind]] = np.nextafter(top[behind] * (1.0 + ahead), np.inf)
    return scores


#: What stands over the parameters in a docstring.
PARAMETERS = "Parameters\n----------\n"


def parameters_told(doc: str | None) -> dict[str, str]:
    """The entries of a docstring's parameters, by their names."""
    section = inspect.cleandoc(doc or "").partition(PARAMETERS)[2].partition("\n\n")[0]
    return {entry.partition(" ")[0]: entry for entry in re.split(r"\n(?=\S)", section) if entry}


def documented(cls: Class) -> Class:
    """The class with the parameters of its bases in its docstring, too."""
    told: dict[str, str] = {}
    for one in cls.__mro__:
        told = told | {name: text for name, text in parameters_told(vars(one).get("__doc__")).items() if name not in told}
    head, _, rest = inspect.cleandoc(cls.__doc__ or "").partition(PARAMETERS)
    if rest:
        rest = rest.partition("\n\n")[2]
    else:
        head, mark, tail = head.partition("Examples\n--------\n")
        rest = mark + tail
    cls.__doc__ = "\n\n".join([head.rstrip(), PARAMETERS + "\n".join(told.values()), rest]).rstrip() + "\n"
    return cls


def _has_probabilities(estimator: Any) -> bool:
    """A function has none unless it was calibrated."""
    if not getattr(estimator, "calibrate", True):
        raise AttributeError("predict_proba is available with calibrate=True only")
    return True


@contextmanager
def what_is_left(adopt: Callable[[Model], None]) -> Iterator[None]:
    """Takes over the model that an exception brings along: that of a fit which was ended by Ctrl-C or a callback."""
    try:
        yield
    except BaseException as error:
        if isinstance(left := getattr(error, "model", None), Model):
            adopt(left)
        raise


class Fitting(BaseEstimator):  # type: ignore[misc]
    """An estimator by a fitted model of the library."""

    _method: ClassVar[str]

    model_: Model
    n_features_in_: int
    n_jobs: int | None
    #: The rows that were fitted, by their numbers; ``None`` where all were.
    _numbers: npt.NDArray[np.intp] | None
    _n_rows: int

    def _recipe(self) -> dict[str, Any]:
        """The parameters of a fit that are no parameters of the method: how rows are prepared, what predicts, how it is watched."""
        other = {*parameters_of(self._method), "unseen"}
        return {name: value for name, value in self.get_params(deep=False).items() if name not in other}

    def _spec(self) -> tuple[dict[str, Any], Any]:
        """The method with its parameters, and where it begins."""
        known = parameters_of(self._method)
        own = {name: value for name, value in self.get_params(deep=False).items() if name in known}
        return to_spec({"method": self._method}, own, getattr(self, "classes_", None))

    def _read(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        if is_frame(X):
            validate_data(self, X, skip_check_array=True)
            if y is None:
                raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            rows = columns_of(X)
        else:
            rows, y = validate_data(self, X, y, dtype=[np.float64, np.float32], ensure_all_finite=self._finite())
        return rows, self._targets(y)

    def _targets(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The labels, checked."""
        raise NotImplementedError

    def _labels(self, targets: npt.NDArray[Any]) -> Any:
        """The same as the library takes them."""
        raise NotImplementedError

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        if is_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            return columns_of(X)
        return validate_data(self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite=self._finite())

    def _finite(self) -> bool | str:
        """What is refused at once: infinite numbers, and missing ones where nothing fills them."""
        return True if self._recipe()["fill"] == "error" else "allow-nan"

    def _ask(self, what: Callable[..., Any], X: Any) -> Any:
        """Asks the model about rows; its messages name parameters as Python does."""
        return ask(what, self._rows(X), getattr(self, "unseen", "error"), threads_of(self.n_jobs))

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        rows, labels = self._read(X, y)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, labels, dtype=np.float64)
        self._numbers, self._n_rows = None, len(labels)
        if weights is not None and (weights == 0.0).any():
            # As if they were not there; what tells of rows still counts all of them.
            self._numbers = np.flatnonzero(weights)
            rows, labels, weights = chosen_rows(rows, self._numbers), labels[self._numbers], weights[self._numbers]
        coded = self._labels(labels)
        spec, start = self._spec()
        recipe = self._recipe()
        watched = {name: recipe.pop(name) for name in ("verbose", "callback") if name in recipe}
        if recipe.pop("warm_start", False) and start is None:
            start = getattr(self, "components_", None)
        request = request_for(spec, label=label_name(y, rows), **recipe)
        with what_is_left(self._adopt):
            model = fit_native(
                rows, coded, request, start=start, weights=weights, helpers=self._helpers(request), **watched
            )
        self._adopt(model)
        warn_unless_converged(model, type(self).__name__, 3)
        return self

    def _helpers(self, request: str) -> Any:
        """Other processes that compute passes over the pairs of rows, for a fit with this request; usually none."""
        return None

    def _adopt(self, model: Model) -> None:
        """Takes over what was learned."""
        self.model_ = model

    @property
    def _native(self) -> Any:
        check_is_fitted(self)
        return self.model_._native

    def _repr_html_inner(self) -> str:
        diagram: str = super()._repr_html_inner()
        return diagram + self.model_._repr_html_() if hasattr(self, "model_") else diagram

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._recipe()["fill"] != "error"
        return tags


class Predicting(ClassifierMixin, Fitting):  # type: ignore[misc]
    """A classifier by a fitted model of the library."""

    classes_: npt.NDArray[Any]

    def _targets(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        check_classification_targets(y)
        return y

    def _labels(self, targets: npt.NDArray[Any]) -> Any:
        self.classes_, codes = np.unique(targets, return_inverse=True)
        # Of more, scikit-learn's own check warns.
        if 2 * len(self.classes_) <= len(codes):
            warn_of_numbers(self.classes_, len(codes), 4)
        return [class_name(c) for c in self.classes_.tolist()], codes.reshape(-1).astype(np.uint32)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row."""
        codes = self._ask(self._native.predict, X)
        return np.asarray(self.classes_[codes])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """The share of the neighbours' votes for each class or, where a function predicts, its calibrated probability.

        The predicted class is the most probable one. Where several have the same share of the votes, it is ahead by the smallest
        number that there is; where classes are calibrated apart and another comes out ahead, it is raised to that one.
        """
        told = self._ask(self._native.explain, X)
        if told["shares"] is None:
            raise ValueError("there are no probabilities: too few rows could be held out to calibrate them")
        if self._votes():
            return settle_ties(told["shares"], told["code"])
        shares = settle_ties(told["shares"], told["code"], 1e-9)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def decision_function(self, X: Any) -> Array:
        """A score for each class, the largest of which is predicted: the value of the function, or the share of the votes. For
        two classes a single one, positive for the second class."""
        told = self._ask(self._native.explain, X)
        scores = told["values"] if told["values"] is not None else told["shares"]
        scores = settle_ties(scores, told["code"])
        return np.asarray((scores[:, 1] - scores[:, 0]) / 2 if len(self.classes_) == 2 else scores)

    def _votes(self) -> bool:
        return "vote" in self.model_.description["classifier"]

    def report(self, path: str | os.PathLike[str] | None = None, **drawn: Any) -> str:
        """A page with pictures of what was learned, as :meth:`lipmetric.Model.report` makes it: with its ``plots``,
        ``plot_format`` and ``source``."""
        check_is_fitted(self)
        return self.model_.report(path, **drawn)


class Regressing(RegressorMixin, Fitting):  # type: ignore[misc]
    """A regressor by a fitted model of the library; ``score`` is R2."""

    def _targets(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        try:
            numbers = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("y holds something that is no number; a classifier learns from classes") from None
        if not np.isfinite(numbers).all():
            raise ValueError("Input y contains NaN or infinity; leave such rows out")
        if len(numbers) == 1:
            raise ValueError("there is a single row (n_samples=1): give more, with different targets")
        return numbers

    def _labels(self, targets: npt.NDArray[Any]) -> Any:
        return np.ascontiguousarray(targets)

    def predict(self, X: Any) -> Array:
        """The number of each row."""
        return np.asarray(self._ask(self._native.estimate, X))

    def predict_range(self, X: Any, within: float, *, norm: str = "l2", space: str = "prepared") -> tuple[Array, Array]:
        """The least and the largest number that any row can get that is less than ``within`` from each row, certified; see
        :meth:`lipmetric.Model.ranges`."""
        rows = self._rows(X)
        unseen, threads = getattr(self, "unseen", "error"), threads_of(self.n_jobs)
        low, high = ask(self._native.ranges, rows, (norm, space), float(within), unseen, threads)
        return np.asarray(low), np.asarray(high)


class Measuring:
    """What every learned map is good for: it measures distances."""

    components_: Array

    def _paired(self, pairs: Any) -> Array:
        """Pairs of rows as an array of shape (n_pairs, 2, n_features)."""
        raise NotImplementedError

    def get_mahalanobis_matrix(self) -> Array:
        """``M = L.T @ L``, on the features as given: the squared distance is ``(u - v) @ M @ (u - v)``."""
        check_is_fitted(self)
        return np.asarray(self.components_.T @ self.components_)

    def get_metric(self) -> Callable[..., float]:
        """The learned distance as a function ``metric(u, v, squared=False)``, for whatever takes one."""
        check_is_fitted(self)
        components = self.components_.T.copy()

        def metric(u: Any, v: Any, squared: bool = False) -> float:
            """The learned distance of two rows."""
            mapped = (np.asarray(u, dtype=np.float64) - np.asarray(v, dtype=np.float64)) @ components
            return float(mapped @ mapped) if squared else float(np.sqrt(mapped @ mapped))

        return metric

    def pair_distance(self, pairs: Any) -> Array:
        """The learned distance of each pair of rows: ``pairs`` has the shape (n_pairs, 2, n_features)."""
        check_is_fitted(self)
        paired = self._paired(pairs)
        return np.asarray(np.linalg.norm((paired[:, 0] - paired[:, 1]) @ self.components_.T, axis=1))

    def pair_score(self, pairs: Any) -> Array:
        """The negative distance of each pair: higher is more similar."""
        return -self.pair_distance(pairs)


class Mapping(Measuring, ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """What every estimator with a learned distance has: it maps rows, and measures distances.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The learned map ``L``: the distance of two rows is the length of ``L`` times their difference. Its columns are the
        features as given, before they are scaled; a category has one for each level.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    n_iter_ : int
        Steps of the fit.
    objective_, dual_gap_ : float or None
        The objective, and the certified relative gap to the best possible one, where the method has them.
    status_ : str
        How the fit ended.
    c_, c_max_ : float or None
        The trade-off that was used, and the one at which the best metric is zero, where the method has them.
    history_ : dict of arrays
        iteration, objective, bound, gap and seconds of each step.
    model_ : lipmetric.Model
        Everything else; ``model_.save`` writes the file that the command line reads.
    """

    model_: Model
    n_jobs: int | None
    components_: Array
    n_iter_: int
    objective_: float | None
    dual_gap_: float | None
    status_: str
    c_: float | None
    c_max_: float | None
    history_: dict[str, npt.NDArray[Any]]

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        outcome = model.outcome
        self.components_ = model.components
        self.n_iter_ = max(1, int(outcome["iterations"]))
        self.objective_, self.dual_gap_, self.status_ = outcome["objective"], outcome["gap"], outcome["status"]
        self.c_, self.c_max_ = outcome["c"], outcome["c_max"]
        self.history_ = model.history

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learns from labelled rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or a frame of pandas or polars
            Numbers; NaN is a missing value. The columns of a frame may be categories and truth values, too.
        y : array of shape (n_samples,)
            The label of each row: a class (number or text), or the number that a regressor is to predict.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts while the distance is learned. A row of weight 0 is left out altogether; otherwise
            scaling and prediction take every row as it is.

        Returns
        -------
        self
            The fitted estimator. After Ctrl-C it holds the best that was found, and ``KeyboardInterrupt`` is raised.
        """
        return self._fit(X, y, sample_weight)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def transform(self, X: Any) -> Any:
        """The rows as the learned map gives them: Euclidean distances between them are the learned ones.

        It is ``X @ components_.T``, shifted by the mean where the features are scaled (``scaling``). Single precision stays
        single precision.
        """
        rows = self._rows(X)
        return mapped(self.model_._native, rows, getattr(self, "unseen", "error"), threads_of(self.n_jobs), is_single(rows))

    def _paired(self, pairs: Any) -> Array:
        pairs = np.asarray(pairs, dtype=np.float64)
        if pairs.ndim != 3 or pairs.shape[1] != 2 or pairs.shape[2] != self.components_.shape[1]:
            raise ValueError(f"pairs of the shape {pairs.shape}; give (n_pairs, 2, {self.components_.shape[1]})")
        return np.asarray(pairs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class MetricLearner(Mapping, Predicting):
    """An estimator that learns a distance: it maps rows, and classifies by it. Its attributes are those of :class:`Mapping`, and
    ``classes_``."""

    def predict_radius(self, X: Any, *, norm: str = "l2", space: str = "learned", kind: str = "bound") -> Array:
        """How far each row may move before its predicted class can change, certified; see :meth:`lipmetric.Model.radii`."""
        rows = self._rows(X)
        unseen, threads = getattr(self, "unseen", "error"), threads_of(self.n_jobs)
        return np.asarray(ask(self._native.radii, rows, (norm, space, kind), unseen, threads)[1])

    def certified_accuracy(
        self, X: Any, y: Any, radii: Any, *, norm: str = "l2", space: str = "prepared", kind: str = "bound"
    ) -> Array:
        """For each of some radii, the share of the rows that are predicted correctly and stay so within it; see
        :meth:`lipmetric.Model.certified_accuracy`."""
        rows, ball = self._rows(X), (norm, space, kind)
        unseen, threads = getattr(self, "unseen", "error"), threads_of(self.n_jobs)
        return certified_of(self._native, rows, ball, unseen, threads, self.classes_, y, radii)

    def counterfactual(self, X: Any, *, norm: str = "l2", space: str = "input") -> dict[str, Any]:
        """The nearest row of another class for each row; see :meth:`lipmetric.Model.counterfactuals`."""
        rows = self._rows(X)
        unseen, threads = getattr(self, "unseen", "error"), threads_of(self.n_jobs)
        return counterfactuals_of(self._native, rows, (norm, space), unseen, threads, self.classes_)

    @property
    def values_(self) -> Array | None:
        """The learned function on the training rows, for each row's own class; ``None`` where none was learned."""
        check_is_fitted(self)
        values = self.model_.values
        if values is None or self._numbers is None:
            return values
        return self._numbered(values)

    def _numbered(self, values: Array) -> Array:
        """Values of the fitted rows as values of all rows: NaN for those that were left out."""
        assert self._numbers is not None
        every = np.full(self._n_rows, np.nan)
        every[self._numbers] = values
        return every

    @property
    def suspect_rows_(self) -> npt.NDArray[np.intp] | None:
        """The training rows whose labels the learned function does not believe, the most doubtful first."""
        values = self.values_
        if values is None:
            return None
        order = np.argsort(values, kind="stable")
        return np.asarray(order[values[order] < 0.0])

    @property
    def margins_(self) -> dict[str, Any]:
        """Margins, diameters and ratios of the training rows under the learned distance."""
        check_is_fitted(self)
        return self.model_.margins()

    @property
    def support_pairs_(self) -> list[tuple[int, int, str, float]] | None:
        """The pairs of rows that determine the optimum; ``None`` unless the fit kept its certificate."""
        check_is_fitted(self)
        pairs, numbers = self.model_.support_pairs, self._numbers
        if pairs is None or numbers is None:
            return pairs
        return [(int(numbers[a]), int(numbers[b]), what, weight) for a, b, what, weight in pairs]


class MetricRegressor(Mapping, Regressing):
    """An estimator that learns a distance: it maps rows, and predicts numbers by it. Its attributes are those of
    :class:`Mapping`."""
