"""The estimators: a class for each method of the library.

Written by python/generate.py from the methods of the library: change those, or the script.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._base import MetricLearner, MetricRegressor

__all__ = [
    "AGOP",
    "AGOPRegressor",
    "ARML",
    "AutoMetric",
    "AutoRegressor",
    "Discriminant",
    "Euclidean",
    "LMML",
    "LMNN",
    "Lip",
    "LipLocal",
    "LipRobust",
    "LipschitzClassifier",
    "MCML",
    "MLKR",
    "NCA",
]


class AutoMetric(MetricLearner):
    """A distance and what predicts by it, chosen together by cross-validation: what `lipmetric fit` does.

    Parameters
    ----------
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    scoring : str, default='accuracy'
        What is made as large as can be on held-out rows: accuracy, balanced accuracy, the log-likelihood or the AUC.
    metrics : Sequence[str], default=()
        The learned distances that are tried beside the Euclidean one; all where the list is empty.
    classifier : Any, default='auto'
        What predicts: `"nearest"`, the vote of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of votes and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default='auto'
        How many neighbours vote; `"auto"` chooses.
    weights : str, default='uniform'
        Whether votes count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Examples
    --------
    >>> from lipmetric import AutoMetric, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = AutoMetric().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "auto"
    _own = frozenset({"random_state", "scoring", "metrics"})

    def __init__(
        self,
        *,
        random_state: Any = None,
        scoring: str = 'accuracy',
        metrics: Sequence[str] = (),
        classifier: Any = 'auto',
        k: int | str = 'auto',
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.random_state = random_state
        self.scoring = scoring
        self.metrics = metrics
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class Lip(MetricLearner):
    """Lip^D or Lip^I: the distance that maximises the Lipschitz margin ratio, to a certified gap.

    Parameters
    ----------
    variant : str, default='intra'
        Which pairs bound the diameter: `"diameter"`, all (Lip^D); `"intra"`, those of equal label (Lip^I); or `"auto"`.
    slack : str, default='instance'
        A slack per `"pair"` or per row (`"instance"`).
    c : float | str | None, default=None
        The trade-off itself, `"auto"` to choose it by cross-validation, or None for `c_rel`.
    c_rel : float | None, default=0.1
        The trade-off as a fraction of `c_max`, at and above which the best metric is zero; where `c` is None.
    diameter : Any, default='max'
        What the diameter is: `"max"`, the largest distance, as in the paper; `"mean"`; `"cvar:0.1"`, the mean of the
        longest tenth; or `"auto"`.
    anchor : str | None, default=None
        A simple metric that the learned one is drawn towards: `"euclid"` or `"within"`.
    anchor_weight : float, default=0.1
        Its weight: at 1 it counts about as much as the diameter.
    solver : str, default='auto'
        How the problem is solved: `"auto"`, `"exact"`, `"augmented"`, `"admm"` or `"paper"`.
    mu : float | None, default=None
        The penalty of `Solver::Paper`, 1 unless it is given; the other solvers choose and adapt theirs.
    rank : int | str | None, default=None
        The largest rank of the metric, for `Solver::Admm` and `Solver::Augmented`; the gap is still that to the optimum
        over all ranks. If it is chosen, the exact solver's metric is cut to the directions in which the mapped rows
        vary most: the smallest rank with the best cross-validated accuracy.
    class_weights : Any, default=None
        How much the classes count: None, `"balanced"`, or a dictionary of weights.
    tol : float | None, default=None
        The certified relative gap to reach; `Solver::usual_tolerance` unless it is given.
    max_iter : int | None, default=None
        Steps, at most; `Solver::usual_iterations` unless it is given.
    memory : int | None, default=None
        Bytes that the largest matrices of the exact solver may take, 4 GiB unless it is given: beyond, the fit ends
        with `Status::MemoryLimit` and the best metric so far.
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the vote of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of votes and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default=1
        How many neighbours vote; `"auto"` chooses.
    weights : str, default='uniform'
        Whether votes count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    certificate : bool, default=False
        Whether the multipliers that prove the bound are kept, for `support_pairs_` and `model_.verify()`.
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Examples
    --------
    >>> from lipmetric import Lip, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = Lip().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "lip"
    _own = frozenset({"variant", "slack", "c", "c_rel", "diameter", "anchor", "anchor_weight", "solver", "mu", "rank", "class_weights", "tol", "max_iter", "memory", "random_state"})

    def __init__(
        self,
        *,
        variant: str = 'intra',
        slack: str = 'instance',
        c: float | str | None = None,
        c_rel: float | None = 0.1,
        diameter: Any = 'max',
        anchor: str | None = None,
        anchor_weight: float = 0.1,
        solver: str = 'auto',
        mu: float | None = None,
        rank: int | str | None = None,
        class_weights: Any = None,
        tol: float | None = None,
        max_iter: int | None = None,
        memory: int | None = None,
        random_state: Any = None,
        classifier: Any = 'nearest',
        k: int | str = 1,
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        certificate: bool = False,
        warm_start: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.variant = variant
        self.slack = slack
        self.c = c
        self.c_rel = c_rel
        self.diameter = diameter
        self.anchor = anchor
        self.anchor_weight = anchor_weight
        self.solver = solver
        self.mu = mu
        self.rank = rank
        self.class_weights = class_weights
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.random_state = random_state
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.certificate = certificate
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class LipLocal(MetricLearner):
    """Lip^I by near pairs: margins and distances between neighbours only.

    Parameters
    ----------
    c_rel : float | None, default=0.2
        The trade-off as a fraction of `c_max`, at and above which the best metric is zero; where `c` is None.
    euclid : float, default=0.3
        The share of the margin, in the mean, that a fixed multiple of the Euclidean metric gives; 0 for no such part.
    n_neighbors : int, default=5
        How many rows of its own label, and how many of others, are near a row.
    rounds : int, default=2
        How often neighbours are chosen: by the Euclidean distance, then by the metric that was learned.
    tol : float | None, default=0.01
        The certified relative gap to reach.
    max_iter : int | None, default=1000
        Steps of a round, at most.
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the vote of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of votes and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default=1
        How many neighbours vote; `"auto"` chooses.
    weights : str, default='uniform'
        Whether votes count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Examples
    --------
    >>> from lipmetric import LipLocal, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = LipLocal().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "lip-local"
    _own = frozenset({"c_rel", "euclid", "n_neighbors", "rounds", "tol", "max_iter"})

    def __init__(
        self,
        *,
        c_rel: float | None = 0.2,
        euclid: float = 0.3,
        n_neighbors: int = 5,
        rounds: int = 2,
        tol: float | None = 0.01,
        max_iter: int | None = 1000,
        classifier: Any = 'nearest',
        k: int | str = 1,
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.c_rel = c_rel
        self.euclid = euclid
        self.n_neighbors = n_neighbors
        self.rounds = rounds
        self.tol = tol
        self.max_iter = max_iter
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class LipRobust(MetricLearner):
    """A distance for certified accuracy, by the Lipschitz margin ratio.

    Parameters
    ----------
    robust : Any, default=None
        The certified distance `tau` up to which more is better, in units of the prepared features; unless it is given,
        twice the median at the start.
    n_components : int | None, default=None
        The number of rows of `L`, all unless it is given.
    init : Any, default='auto'
        Where the search begins: `"auto"`, `"identity"`, `"pca"`, `"lda"`, `"random"`, or an array like `components_`.
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    triplet_seed : int, default=0
        Decides the held-out rows.
    max_iter : int | None, default=120
        Steps, at most; they get smaller towards the last one.
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the vote of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of votes and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default=1
        How many neighbours vote; `"auto"` chooses.
    weights : str, default='uniform'
        Whether votes count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Examples
    --------
    >>> from lipmetric import LipRobust, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = LipRobust().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "lip-robust"
    _own = frozenset({"robust", "n_components", "init", "random_state", "triplet_seed", "max_iter"})

    def __init__(
        self,
        *,
        robust: Any = None,
        n_components: int | None = None,
        init: Any = 'auto',
        random_state: Any = None,
        triplet_seed: int = 0,
        max_iter: int | None = 120,
        classifier: Any = 'nearest',
        k: int | str = 1,
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        warm_start: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.robust = robust
        self.n_components = n_components
        self.init = init
        self.random_state = random_state
        self.triplet_seed = triplet_seed
        self.max_iter = max_iter
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class LMNN(MetricLearner):
    """Large margin nearest neighbours, to a certified gap.

    Parameters
    ----------
    n_neighbors : int, default=3
        How many rows of its own class a row is drawn to: its targets.
    push : float, default=0.5
        The weight of the push, between 0 and 1; the pull has the rest.
    slack : str, default='pair'
        A slack per `"pair"` or per row (`"instance"`).
    n_components : int | None, default=None
        The number of rows of `L`, all unless it is given. With fewer than features the problem is not convex any more:
        the bound and the gap are still those of the convex problem.
    init : Any, default='auto'
        Where the search begins: `"auto"`, `"identity"`, `"pca"`, `"lda"`, `"random"`, or an array like `components_`.
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    tol : float | None, default=0.001
        The certified relative gap to reach.
    max_iter : int | None, default=2000
        Steps, at most.
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the vote of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of votes and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default=1
        How many neighbours vote; `"auto"` chooses.
    weights : str, default='uniform'
        Whether votes count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Examples
    --------
    >>> from lipmetric import LMNN, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = LMNN().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "lmnn"
    _own = frozenset({"n_neighbors", "push", "slack", "n_components", "init", "random_state", "tol", "max_iter"})

    def __init__(
        self,
        *,
        n_neighbors: int = 3,
        push: float = 0.5,
        slack: str = 'pair',
        n_components: int | None = None,
        init: Any = 'auto',
        random_state: Any = None,
        tol: float | None = 0.001,
        max_iter: int | None = 2000,
        classifier: Any = 'nearest',
        k: int | str = 1,
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        warm_start: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.push = push
        self.slack = slack
        self.n_components = n_components
        self.init = init
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class LMML(MetricLearner):
    """Large margin metric learning, to a certified gap.

    Parameters
    ----------
    alpha : float, default=1.0
        The cost of a violated margin.
    n_components : int | None, default=None
        The number of rows of `L`, all unless it is given. With fewer than features the problem is not convex any more:
        the bound and the gap are still those of the convex problem.
    init : Any, default='auto'
        Where the search begins: `"auto"`, `"identity"`, `"pca"`, `"lda"`, `"random"`, or an array like `components_`.
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    tol : float | None, default=1e-06
        The certified relative gap to reach.
    max_iter : int | None, default=20000
        Steps, at most.
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the vote of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of votes and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default=1
        How many neighbours vote; `"auto"` chooses.
    weights : str, default='uniform'
        Whether votes count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Examples
    --------
    >>> from lipmetric import LMML, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = LMML().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "lmml"
    _own = frozenset({"alpha", "n_components", "init", "random_state", "tol", "max_iter"})

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        n_components: int | None = None,
        init: Any = 'auto',
        random_state: Any = None,
        tol: float | None = 1e-06,
        max_iter: int | None = 20000,
        classifier: Any = 'nearest',
        k: int | str = 1,
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        warm_start: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.alpha = alpha
        self.n_components = n_components
        self.init = init
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class NCA(MetricLearner):
    """Neighbourhood components analysis.

    Parameters
    ----------
    loss : str, default='errors'
        What is minimised.
    penalty : Any, default=None
        What it costs to leave the start: this part of the rows' number for as far as the start is from zero. By itself
        0 for `Loss::Errors` and 0.3 for `Loss::Log`.
    n_components : int | None, default=None
        The number of rows of `L`, all unless it is given.
    init : Any, default='auto'
        Where the search begins: `"auto"`, `"identity"`, `"pca"`, `"lda"`, `"random"`, or an array like `components_`.
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    tol : float | None, default=1e-05
        There is no certificate: the search ends when a step improves the objective by less than this part of the rows.
    max_iter : int | None, default=200
        Steps, at most.
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the vote of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of votes and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default=1
        How many neighbours vote; `"auto"` chooses.
    weights : str, default='uniform'
        Whether votes count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Examples
    --------
    >>> from lipmetric import NCA, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = NCA().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "nca"
    _own = frozenset({"loss", "penalty", "n_components", "init", "random_state", "tol", "max_iter"})

    def __init__(
        self,
        *,
        loss: str = 'errors',
        penalty: Any = None,
        n_components: int | None = None,
        init: Any = 'auto',
        random_state: Any = None,
        tol: float | None = 1e-05,
        max_iter: int | None = 200,
        classifier: Any = 'nearest',
        k: int | str = 1,
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        warm_start: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.n_components = n_components
        self.init = init
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class MCML(MetricLearner):
    """Maximally collapsing metric learning, to a certified gap.

    Parameters
    ----------
    n_components : int | None, default=None
        Keep only this many directions, those of the largest eigenvalues of the optimal `M`, as the paper does. The
        objective is then that of what is kept, and the gap is to the best metric of any rank.
    init : Any, default='auto'
        Where the search begins: `"auto"`, `"identity"`, `"pca"`, `"lda"`, `"random"`, or an array like `components_`.
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    tol : float | None, default=0.001
        The certified relative gap to reach.
    max_iter : int | None, default=2000
        Steps, at most.
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the vote of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of votes and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default=1
        How many neighbours vote; `"auto"` chooses.
    weights : str, default='uniform'
        Whether votes count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Examples
    --------
    >>> from lipmetric import MCML, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = MCML().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "mcml"
    _own = frozenset({"n_components", "init", "random_state", "tol", "max_iter"})

    def __init__(
        self,
        *,
        n_components: int | None = None,
        init: Any = 'auto',
        random_state: Any = None,
        tol: float | None = 0.001,
        max_iter: int | None = 2000,
        classifier: Any = 'nearest',
        k: int | str = 1,
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        warm_start: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class AGOP(MetricLearner):
    """A recursive feature machine: the metric from the gradients of a smooth function.

    Parameters
    ----------
    rounds : int, default=3
        Rounds, at most: the best number of them is chosen by cross-validation.
    width : Any, default=None
        The bandwidth of the kernel, as a part of the root of the mean squared distance. By itself, bandwidth and ridge
        are those that predict each row best from the others under the Euclidean metric.
    ridge : Any, default=None
        The ridge: how much the size of the function counts against its errors.
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the vote of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of votes and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default=1
        How many neighbours vote; `"auto"` chooses.
    weights : str, default='uniform'
        Whether votes count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Examples
    --------
    >>> from lipmetric import AGOP, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = AGOP().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "agop"
    _own = frozenset({"rounds", "width", "ridge", "random_state"})

    def __init__(
        self,
        *,
        rounds: int = 3,
        width: Any = None,
        ridge: Any = None,
        random_state: Any = None,
        classifier: Any = 'nearest',
        k: int | str = 1,
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.rounds = rounds
        self.width = width
        self.ridge = ridge
        self.random_state = random_state
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class Discriminant(MetricLearner):
    """Fisher's discriminant directions, shrunk: classes far apart, relative to their spread.

    Parameters
    ----------
    n_components : int | None, default=None
        The number of directions, the best first; all unless it is given: one fewer than there are classes.
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the vote of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of votes and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default=1
        How many neighbours vote; `"auto"` chooses.
    weights : str, default='uniform'
        Whether votes count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Examples
    --------
    >>> from lipmetric import Discriminant, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = Discriminant().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "discriminant"
    _own = frozenset({"n_components"})

    def __init__(
        self,
        *,
        n_components: int | None = None,
        classifier: Any = 'nearest',
        k: int | str = 1,
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class ARML(MetricLearner):
    """Adversarially robust metric learning: large certified radii of the nearest neighbour.

    Parameters
    ----------
    n_components : int | None, default=None
        The number of rows of `L`, all unless it is given.
    init : Any, default='auto'
        Where the search begins: `"auto"`, `"identity"`, `"pca"`, `"lda"`, `"random"`, or an array like `components_`.
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    triplet_seed : int, default=0
        Decides the held-out rows and the random triplets.
    max_iter : int | None, default=300
        Steps, at most; they get smaller towards the last one.
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the vote of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of votes and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default=1
        How many neighbours vote; `"auto"` chooses.
    weights : str, default='uniform'
        Whether votes count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Examples
    --------
    >>> from lipmetric import ARML, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = ARML().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "arml"
    _own = frozenset({"n_components", "init", "random_state", "triplet_seed", "max_iter"})

    def __init__(
        self,
        *,
        n_components: int | None = None,
        init: Any = 'auto',
        random_state: Any = None,
        triplet_seed: int = 0,
        max_iter: int | None = 300,
        classifier: Any = 'nearest',
        k: int | str = 1,
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        warm_start: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.random_state = random_state
        self.triplet_seed = triplet_seed
        self.max_iter = max_iter
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class Euclidean(MetricLearner):
    """The Euclidean distance on the prepared features: nothing is learned.

    Parameters
    ----------
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the vote of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of votes and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default=1
        How many neighbours vote; `"auto"` chooses.
    weights : str, default='uniform'
        Whether votes count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Examples
    --------
    >>> from lipmetric import Euclidean, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = Euclidean().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "euclidean"
    _own = frozenset[str]()

    def __init__(
        self,
        *,
        classifier: Any = 'nearest',
        k: int | str = 1,
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class LipschitzClassifier(MetricLearner):
    """The paper's classifier: the Lipschitz extension of values that are learned with the distance.

    Parameters
    ----------
    variant : str, default='intra'
        Which pairs bound the diameter: `"diameter"`, all (Lip^D); `"intra"`, those of equal label (Lip^I); or `"auto"`.
    slack : str, default='instance'
        A slack per `"pair"` or per row (`"instance"`).
    c : float | str | None, default=None
        The trade-off itself, `"auto"` to choose it by cross-validation, or None for `c_rel`.
    c_rel : float | None, default=0.1
        The trade-off as a fraction of `c_max`, at and above which the best metric is zero; where `c` is None.
    diameter : Any, default='max'
        What the diameter is: `"max"`, the largest distance, as in the paper; `"mean"`; `"cvar:0.1"`, the mean of the
        longest tenth; or `"auto"`.
    anchor : str | None, default=None
        A simple metric that the learned one is drawn towards: `"euclid"` or `"within"`.
    anchor_weight : float, default=0.1
        Its weight: at 1 it counts about as much as the diameter.
    solver : str, default='auto'
        How the problem is solved: `"auto"`, `"exact"`, `"augmented"`, `"admm"` or `"paper"`.
    mu : float | None, default=None
        The penalty of `Solver::Paper`, 1 unless it is given; the other solvers choose and adapt theirs.
    rank : int | str | None, default=None
        The largest rank of the metric, for `Solver::Admm` and `Solver::Augmented`; the gap is still that to the optimum
        over all ranks. If it is chosen, the exact solver's metric is cut to the directions in which the mapped rows
        vary most: the smallest rank with the best cross-validated accuracy.
    class_weights : Any, default=None
        How much the classes count: None, `"balanced"`, or a dictionary of weights.
    tol : float | None, default=None
        The certified relative gap to reach; `Solver::usual_tolerance` unless it is given.
    max_iter : int | None, default=None
        Steps, at most; `Solver::usual_iterations` unless it is given.
    memory : int | None, default=None
        Bytes that the largest matrices of the exact solver may take, 4 GiB unless it is given: beyond, the fit ends
        with `Status::MemoryLimit` and the best metric so far.
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    alpha : float, default=0.5
        The share of the upper extension, 0 to 1.
    calibrate : bool, default=False
        Whether probabilities are calibrated on held-out rows, for `predict_proba`; it takes five more fits.
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    certificate : bool, default=False
        Whether the multipliers that prove the bound are kept, for `support_pairs_` and `model_.verify()`.
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Examples
    --------
    >>> from lipmetric import LipschitzClassifier, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = LipschitzClassifier().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "lip"
    _own = frozenset({"variant", "slack", "c", "c_rel", "diameter", "anchor", "anchor_weight", "solver", "mu", "rank", "class_weights", "tol", "max_iter", "memory", "random_state"})

    def __init__(
        self,
        *,
        variant: str = 'intra',
        slack: str = 'instance',
        c: float | str | None = None,
        c_rel: float | None = 0.1,
        diameter: Any = 'max',
        anchor: str | None = None,
        anchor_weight: float = 0.1,
        solver: str = 'auto',
        mu: float | None = None,
        rank: int | str | None = None,
        class_weights: Any = None,
        tol: float | None = None,
        max_iter: int | None = None,
        memory: int | None = None,
        random_state: Any = None,
        alpha: float = 0.5,
        calibrate: bool = False,
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        certificate: bool = False,
        warm_start: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.variant = variant
        self.slack = slack
        self.c = c
        self.c_rel = c_rel
        self.diameter = diameter
        self.anchor = anchor
        self.anchor_weight = anchor_weight
        self.solver = solver
        self.mu = mu
        self.rank = rank
        self.class_weights = class_weights
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.random_state = random_state
        self.alpha = alpha
        self.calibrate = calibrate
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.certificate = certificate
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _recipe(self) -> dict[str, Any]:
        recipe = super()._recipe()
        classifier = {"classifier": "extension", "alpha": recipe.pop("alpha"), "calibrate": recipe.pop("calibrate")}
        return {"classifier": classifier, "k": 1, "weights": "uniform", **recipe}


class AutoRegressor(MetricRegressor):
    """A distance and what predicts numbers by it, chosen together by cross-validation: what `lipmetric fit --task regression` does.

    Parameters
    ----------
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    metrics : Sequence[str], default=()
        The learned distances that are tried beside the Euclidean one; all where the list is empty.
    classifier : Any, default='auto'
        What predicts: `"nearest"`, the mean of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of means and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default='auto'
        How many neighbours mean; `"auto"` chooses.
    weights : str, default='uniform'
        Whether means count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from lipmetric import AutoRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (120, 3))
    >>> y = np.sin(3 * X[:, 0])
    >>> learner = AutoRegressor().fit(X[:80], y[:80])
    >>> bool(learner.score(X[80:], y[80:]) > 0.8)
    True
    """

    _method = "auto"
    _own = frozenset({"random_state", "metrics"})

    def __init__(
        self,
        *,
        random_state: Any = None,
        metrics: Sequence[str] = (),
        classifier: Any = 'auto',
        k: int | str = 'auto',
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.random_state = random_state
        self.metrics = metrics
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class AGOPRegressor(MetricRegressor):
    """A recursive feature machine for numbers: the metric from the gradients of a smooth function that predicts them.

    Parameters
    ----------
    rounds : int, default=3
        Rounds, at most: the best number of them is chosen by cross-validation.
    width : Any, default=None
        The bandwidth of the kernel, as a part of the root of the mean squared distance. By itself, bandwidth and ridge
        are those that predict each row best from the others under the Euclidean metric.
    ridge : Any, default=None
        The ridge: how much the size of the function counts against its errors.
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the mean of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of means and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default='auto'
        How many neighbours mean; `"auto"` chooses.
    weights : str, default='uniform'
        Whether means count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from lipmetric import AGOPRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (120, 3))
    >>> y = np.sin(3 * X[:, 0])
    >>> learner = AGOPRegressor().fit(X[:80], y[:80])
    >>> bool(learner.score(X[80:], y[80:]) > 0.8)
    True
    """

    _method = "agop"
    _own = frozenset({"rounds", "width", "ridge", "random_state"})

    def __init__(
        self,
        *,
        rounds: int = 3,
        width: Any = None,
        ridge: Any = None,
        random_state: Any = None,
        classifier: Any = 'nearest',
        k: int | str = 'auto',
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.rounds = rounds
        self.width = width
        self.ridge = ridge
        self.random_state = random_state
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback


class MLKR(MetricRegressor):
    """Metric learning for kernel regression: small leave-one-out errors of the numbers.

    Parameters
    ----------
    n_components : int | None, default=None
        The number of rows of `L`, all unless it is given.
    init : Any, default='auto'
        Where the search begins: `"auto"`, `"identity"`, `"pca"`, `"lda"`, `"random"`, or an array like `components_`.
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    tol : float | None, default=1e-05
        There is no certificate: the search ends when a step improves the objective by less than this part of what it is
        where every number is predicted by the mean.
    max_iter : int | None, default=200
        Steps, at most.
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the mean of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of means and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default='auto'
        How many neighbours mean; `"auto"` chooses.
    weights : str, default='uniform'
        Whether means count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    scaling : str, default='standard'
        How features are scaled first: `"standard"`, to mean 0 and deviation 1; `"minmax"`; `"none"`. `components_` is
        on the features as given.
    fill : str, default='median'
        What stands in for a missing value: `"median"`, `"mean"`, `"mode"`, `"zero"`; `"error"` refuses it.
    unseen : str, default='ignore'
        What becomes of a level of a category that training did not have: `"ignore"`, it is none of the known ones;
        `"error"` refuses it.
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.
    time_limit : float | None, default=None
        Seconds after which the fit ends with the best so far.
    n_jobs : int | None, default=None
        Threads; None is as many as `lipmetric.threads()` says.
    verbose : int, default=0
        1 shows progress, 2 every step.
    callback : callable | None, default=None
        Called with the figures of each step; returning True ends the fit.

    The attributes of a fitted estimator are those of :class:`MetricRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from lipmetric import MLKR
    >>> X = np.random.default_rng(0).uniform(-1, 1, (120, 3))
    >>> y = np.sin(3 * X[:, 0])
    >>> learner = MLKR().fit(X[:80], y[:80])
    >>> bool(learner.score(X[80:], y[80:]) > 0.8)
    True
    """

    _method = "mlkr"
    _own = frozenset({"n_components", "init", "random_state", "tol", "max_iter"})

    def __init__(
        self,
        *,
        n_components: int | None = None,
        init: Any = 'auto',
        random_state: Any = None,
        tol: float | None = 1e-05,
        max_iter: int | None = 200,
        classifier: Any = 'nearest',
        k: int | str = 'auto',
        weights: str = 'uniform',
        scaling: str = 'standard',
        fill: str = 'median',
        unseen: str = 'ignore',
        warm_start: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.classifier = classifier
        self.k = k
        self.weights = weights
        self.scaling = scaling
        self.fill = fill
        self.unseen = unseen
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
