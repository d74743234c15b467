"""The estimators: a class for each method of the library.

Written by python/generate.py from the methods of the library: change those, or the script.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ._base import MetricLearner, MetricRegressor, documented

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


@dataclass(kw_only=True, eq=False, repr=False)
class Prepared:
    """How rows are prepared, and how a fit is watched.

    Parameters
    ----------
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
    """

    scaling: str = 'standard'
    fill: str = 'median'
    unseen: str = 'ignore'
    time_limit: float | None = None
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callable[[dict[str, Any]], Any] | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class Voting(Prepared):
    """What predicts classes.

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
    """

    classifier: Any = 'nearest'
    k: int | str = 1
    weights: str = 'uniform'


@dataclass(kw_only=True, eq=False, repr=False)
class Averaging(Prepared):
    """What predicts numbers.

    Parameters
    ----------
    classifier : Any, default='nearest'
        What predicts: `"nearest"`, the mean of the nearest training rows; `"extension"`, the Lipschitz function of the
        smoothed numbers; `"smooth"`, a smooth function of the distances; `"auto"`, of AutoRegressor alone, whichever of
        means and a smooth function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default='auto'
        How many neighbours count; `"auto"` chooses.
    weights : str, default='uniform'
        Whether they count the same (`"uniform"`) or by the inverse of the distance (`"distance"`).
    """

    classifier: Any = 'nearest'
    k: int | str = 'auto'
    weights: str = 'uniform'


@dataclass(kw_only=True, eq=False, repr=False)
class OfAutoMetric:
    """Parameters of the method auto.

    Parameters
    ----------
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    metrics : Sequence[str], default=()
        The learned distances that are tried beside the Euclidean one; all where the list is empty.
    """

    random_state: Any = None
    metrics: Sequence[str] = ()


@dataclass(kw_only=True, eq=False, repr=False)
class OfLip:
    """Parameters of the method lip.

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
        The penalty of `solver="paper"`, 1 unless it is given; the other solvers choose and adapt theirs.
    rank : int | str | None, default=None
        The largest rank of the metric, for the solvers `"admm"` and `"augmented"`; the gap is still that to the optimum
        over all ranks. With `"auto"` the exact solver's metric is cut to the directions in which the mapped rows vary
        most: the smallest rank with the best cross-validated accuracy.
    class_weights : Any, default=None
        How much the classes count: None, `"balanced"`, or a dictionary of weights.
    tol : float | None, default=None
        The certified relative gap to reach; unless it is given, 1e-6, and 1e-3 for a solver other than `"auto"` and
        `"exact"`.
    max_iter : int | None, default=None
        Steps, at most; unless it is given, 500, and 100,000 for a solver other than `"auto"` and `"exact"`.
    memory : int | None, default=None
        Bytes that the largest matrices of the exact solver may take, 4 GiB unless it is given: beyond, the fit ends
        with `status_` `"memory_limit"` and the best metric so far.
    random_state : Any, default=None
        Decides what is random, or which rows are held out together: a number or a generator of NumPy; None is 0.
    certificate : bool, default=False
        Whether the multipliers that prove the bound are kept, for `support_pairs_` and `model_.verify()`.
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.
    """

    variant: str = 'intra'
    slack: str = 'instance'
    c: float | str | None = None
    c_rel: float | None = 0.1
    diameter: Any = 'max'
    anchor: str | None = None
    anchor_weight: float = 0.1
    solver: str = 'auto'
    mu: float | None = None
    rank: int | str | None = None
    class_weights: Any = None
    tol: float | None = None
    max_iter: int | None = None
    memory: int | None = None
    random_state: Any = None
    certificate: bool = False
    warm_start: bool = False


@dataclass(kw_only=True, eq=False, repr=False)
class OfAGOP:
    """Parameters of the method agop.

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
    """

    rounds: int = 3
    width: Any = None
    ridge: Any = None
    random_state: Any = None


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class AutoMetric(OfAutoMetric, Voting, MetricLearner):
    """A distance and what predicts by it, chosen together by cross-validation: what `lipmetric fit` does.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Parameters
    ----------
    scoring : str, default='accuracy'
        What is made as large as can be on held-out rows: accuracy, balanced accuracy, the log-likelihood or the AUC.
    classifier : Any, default='auto'
        What predicts: `"nearest"`, the vote of the nearest training rows; `"extension"`, the paper's function;
        `"smooth"`, a smooth function of the distances; `"auto"`, of AutoMetric alone, whichever of votes and a smooth
        function predicts held-out rows better; or a dictionary with a classifier and its parameters.
    k : int | str, default='auto'
        How many neighbours vote; `"auto"` chooses.

    Examples
    --------
    >>> from lipmetric import AutoMetric, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = AutoMetric().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "auto"

    scoring: str = 'accuracy'
    classifier: Any = 'auto'
    k: int | str = 'auto'


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class Lip(OfLip, Voting, MetricLearner):
    """Lip^D or Lip^I: the distance that maximises the Lipschitz margin ratio, to a certified gap.

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


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LipLocal(Voting, MetricLearner):
    """Lip^I by near pairs: margins and distances between neighbours only.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Parameters
    ----------
    c_rel : float | None, default=0.2
        The trade-off as a fraction of `c_max`, at and above which the best metric is zero.
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

    Examples
    --------
    >>> from lipmetric import LipLocal, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = LipLocal().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "lip-local"

    c_rel: float | None = 0.2
    euclid: float = 0.3
    n_neighbors: int = 5
    rounds: int = 2
    tol: float | None = 0.01
    max_iter: int | None = 1000


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LipRobust(Voting, MetricLearner):
    """A distance for certified accuracy, by the Lipschitz margin ratio.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

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
    max_iter : int | None, default=300
        Steps, at most; they get smaller towards the last one.
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.

    Examples
    --------
    >>> from lipmetric import LipRobust, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = LipRobust().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "lip-robust"

    robust: Any = None
    n_components: int | None = None
    init: Any = 'auto'
    random_state: Any = None
    triplet_seed: int = 0
    max_iter: int | None = 300
    warm_start: bool = False


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LMNN(Voting, MetricLearner):
    """Large margin nearest neighbours, to a certified gap.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

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
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.

    Examples
    --------
    >>> from lipmetric import LMNN, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = LMNN().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "lmnn"

    n_neighbors: int = 3
    push: float = 0.5
    slack: str = 'pair'
    n_components: int | None = None
    init: Any = 'auto'
    random_state: Any = None
    tol: float | None = 0.001
    max_iter: int | None = 2000
    warm_start: bool = False


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LMML(Voting, MetricLearner):
    """Large margin metric learning, to a certified gap.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

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
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.

    Examples
    --------
    >>> from lipmetric import LMML, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = LMML().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "lmml"

    alpha: float = 1.0
    n_components: int | None = None
    init: Any = 'auto'
    random_state: Any = None
    tol: float | None = 1e-06
    max_iter: int | None = 20000
    warm_start: bool = False


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class NCA(Voting, MetricLearner):
    """Neighbourhood components analysis.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Parameters
    ----------
    loss : str, default='errors'
        What a point costs: `"errors"`, the chance that its neighbour has another class, as in the paper of NCA; or
        `"log"`, minus the logarithm of the chance that it has the same.
    penalty : Any, default=None
        What it costs to leave the start: this part of the rows' number for as far as the start is from zero. By itself
        0 for the loss `"errors"` and 0.3 for `"log"`.
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
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.

    Examples
    --------
    >>> from lipmetric import NCA, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = NCA().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "nca"

    loss: str = 'errors'
    penalty: Any = None
    n_components: int | None = None
    init: Any = 'auto'
    random_state: Any = None
    tol: float | None = 1e-05
    max_iter: int | None = 200
    warm_start: bool = False


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class MCML(Voting, MetricLearner):
    """Maximally collapsing metric learning, to a certified gap.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

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
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.

    Examples
    --------
    >>> from lipmetric import MCML, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = MCML().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "mcml"

    n_components: int | None = None
    init: Any = 'auto'
    random_state: Any = None
    tol: float | None = 0.001
    max_iter: int | None = 2000
    warm_start: bool = False


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class AGOP(OfAGOP, Voting, MetricLearner):
    """A recursive feature machine: the metric from the gradients of a smooth function.

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


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class Discriminant(Voting, MetricLearner):
    """Fisher's discriminant directions, shrunk: classes far apart, relative to their spread.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Parameters
    ----------
    n_components : int | None, default=None
        The number of directions, the best first; all unless it is given: one fewer than there are classes.
    shrinkage : float | None, default=None
        How far the covariance within the classes is drawn to its mean variance, from 0 to 1; as Ledoit and Wolf
        estimate, and a tenth at the least, unless it is given.
    n_neighbors : Any, default=None
        In place of the means, compare each row with so many of the nearest rows of its own class and of others, which
        also tells classes apart that lie in several places. A quarter as many directions as features then, unless
        `n_components` is given.

    Examples
    --------
    >>> from lipmetric import Discriminant, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = Discriminant().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "discriminant"

    n_components: int | None = None
    shrinkage: float | None = None
    n_neighbors: Any = None


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class ARML(Voting, MetricLearner):
    """Adversarially robust metric learning: large certified radii of the nearest neighbour.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

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
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.

    Examples
    --------
    >>> from lipmetric import ARML, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = ARML().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "arml"

    n_components: int | None = None
    init: Any = 'auto'
    random_state: Any = None
    triplet_seed: int = 0
    max_iter: int | None = 300
    warm_start: bool = False


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class Euclidean(Voting, MetricLearner):
    """The Euclidean distance on the prepared features: nothing is learned.

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


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LipschitzClassifier(OfLip, Prepared, MetricLearner):
    """The paper's classifier: the Lipschitz extension of values that are learned with the distance.

    The attributes of a fitted estimator are those of :class:`MetricLearner`.

    Parameters
    ----------
    alpha : float, default=0.5
        The share of the upper extension, 0 to 1.
    calibrate : bool, default=False
        Whether probabilities are calibrated on held-out rows, for `predict_proba`; it takes five more fits.

    Examples
    --------
    >>> from lipmetric import LipschitzClassifier, datasets
    >>> X, y = datasets.load_haberman()
    >>> learner = LipschitzClassifier().fit(X, y)
    >>> learner.transform(X).shape[0], learner.predict(X).shape
    (306, (306,))
    """

    _method = "lip"

    alpha: float = 0.5
    calibrate: bool = False

    def _recipe(self) -> dict[str, Any]:
        recipe = super()._recipe()
        classifier = {"classifier": "extension", "alpha": recipe.pop("alpha"), "calibrate": recipe.pop("calibrate")}
        return {"classifier": classifier, "k": 1, "weights": "uniform", **recipe}


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class AutoRegressor(OfAutoMetric, Averaging, MetricRegressor):
    """A distance and what predicts numbers by it, chosen together by cross-validation: what `lipmetric fit --task regression` does.

    The attributes of a fitted estimator are those of :class:`MetricRegressor`.

    Parameters
    ----------
    classifier : Any, default='auto'
        What predicts: `"nearest"`, the mean of the nearest training rows; `"extension"`, the Lipschitz function of the
        smoothed numbers; `"smooth"`, a smooth function of the distances; `"auto"`, of AutoRegressor alone, whichever of
        means and a smooth function predicts held-out rows better; or a dictionary with a classifier and its parameters.

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

    classifier: Any = 'auto'


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class AGOPRegressor(OfAGOP, Averaging, MetricRegressor):
    """A recursive feature machine for numbers: the metric from the gradients of a smooth function that predicts them.

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


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class MLKR(Averaging, MetricRegressor):
    """Metric learning for kernel regression: small leave-one-out errors of the numbers.

    The attributes of a fitted estimator are those of :class:`MetricRegressor`.

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
    held_out : int, default=3
        How often a fifth of the rows is held out to choose the number of steps. With 0 the search goes on until it
        converges, as in the paper, and may fit noise.
    warm_start : bool, default=False
        Whether a fit begins at the `components_` of the one before.

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

    n_components: int | None = None
    init: Any = 'auto'
    random_state: Any = None
    tol: float | None = 1e-05
    max_iter: int | None = 200
    held_out: int = 3
    warm_start: bool = False
