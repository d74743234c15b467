"""The estimators: scikit-learn's manners, and what they add."""

import inspect
import pickle
import re
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier as Reference
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import checks
import lipmetric
from checks import CHECKED, TUPLES, WEIGHTED
from lipmetric._names import ESTIMATORS

REGRESSORS = ["AGOPRegressor", "AutoRegressor", "KNeighborsRegressor", "MLKR"]
LEARNERS = sorted(name for name in WEIGHTED if name not in REGRESSORS)


def make(name, **parameters):
    return getattr(lipmetric, name)(**parameters)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHECKED)
def test_the_checks_of_scikit_learn_pass(name):
    results = checks.results(name)
    failed = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 45
    assert {r["check_name"] for r in results if r["status"] == "xfail"} <= set(checks.expected(name))


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_parameters_are_stored_untouched(name):
    parameters = inspect.signature(getattr(lipmetric, name).__init__).parameters
    marks = {p: object() for p in parameters if p != "self"}
    learner = make(name, **marks)
    assert all(learner.get_params()[p] is mark for p, mark in marks.items())


@pytest.mark.parametrize("name", LEARNERS)
def test_the_map_is_the_distance(two, name):
    X, y = two
    learner = make(name).fit(X, y)
    mapped = learner.transform(X)
    pairs = np.stack([X[:20], X[20:40]], axis=1)
    expected = np.linalg.norm(mapped[:20] - mapped[20:40], axis=1)
    np.testing.assert_allclose(learner.pair_distance(pairs), expected, rtol=1e-9)
    np.testing.assert_array_equal(learner.pair_score(pairs), -learner.pair_distance(pairs))
    metric = learner.get_metric()
    assert metric(X[0], X[20]) == pytest.approx(expected[0])
    assert metric(X[0], X[20], squared=True) == pytest.approx(expected[0] ** 2)
    difference = X[0] - X[20]
    assert difference @ learner.get_mahalanobis_matrix() @ difference == pytest.approx(expected[0] ** 2)
    plain = make(name, scaling="none").fit(X, y)
    np.testing.assert_allclose(plain.transform(X), X @ plain.components_.T, rtol=1e-9, atol=1e-9)
    assert learner.n_features_in_ == 4 and learner.n_iter_ >= 1 and learner.status_ in ("optimal", "closed_form", "held_out")
    assert set(learner.history_) == {"iteration", "objective", "bound", "gap", "seconds"}
    assert learner.margins_["rows"] == 60


@pytest.mark.parametrize("name", LEARNERS)
def test_copies_predict_the_same(two, name):
    X, y = two
    learner = make(name).fit(X, y)
    again = clone(learner).fit(X, y)
    thawed = pickle.loads(pickle.dumps(learner))
    for other in (again, thawed):
        np.testing.assert_array_equal(other.predict(X), learner.predict(X))
        np.testing.assert_array_equal(other.decision_function(X), learner.decision_function(X))
        np.testing.assert_array_equal(other.components_, learner.components_)
    with pytest.raises(NotFittedError):
        clone(learner).predict(X)


def test_neighbours_are_those_of_scikit_learn(blobs):
    X, y = blobs
    ours, theirs = lipmetric.KNeighborsClassifier(7).fit(X, y), Reference(7).fit(X, y)
    distances, rows = ours.kneighbors(X + 0.1)
    expected, numbers = theirs.kneighbors(X + 0.1)
    np.testing.assert_array_equal(rows, numbers)
    np.testing.assert_allclose(distances, expected, rtol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X + 0.1), theirs.predict_proba(X + 0.1), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.kneighbors(X, 2, return_distance=False), theirs.kneighbors(X, 2, return_distance=False))


def test_pipelines_and_searches_take_the_estimators(blobs):
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), lipmetric.NCA(scaling="none"), Reference(3))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.7
    last = make_pipeline(StandardScaler(), lipmetric.LMNN())
    search = GridSearchCV(last, {"lmnn__n_neighbors": [1, 3], "lmnn__k": [1, "auto"]}, cv=3, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.7 and np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_workers_of_joblib_do_not_crowd_each_other_out(monkeypatch):
    joblib = pytest.importorskip("joblib")
    for name in ("LIPMETRIC_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    threads = joblib.Parallel(n_jobs=2)(joblib.delayed(lipmetric.threads)() for _ in range(4))
    assert max(threads) <= max(1, joblib.cpu_count() // 2)


def test_frames_go_in_and_come_out():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pandas.DataFrame({
        "length": [1.0, 1.3, None, 3.1, 2.8, 3.0] * 5,
        "colour": pandas.Categorical(["red", "blue", "red", None, "green", "blue"] * 5),
        "heavy": [True, False, True, False, True, False] * 5,
    })
    y = np.array(["short", "short", "short", "long", "long", "long"] * 5)
    learner = lipmetric.AutoMetric().fit(frame, y)
    assert learner.feature_names_in_.tolist() == ["length", "colour", "heavy"] and learner.n_features_in_ == 3
    assert learner.score(frame, y) == 1.0
    assert learner.components_.shape[1] == 5
    columns = {name: [None if cell != cell else cell for cell in frame[name].tolist()] for name in frame}
    other = lipmetric.AutoMetric().fit(polars.DataFrame(columns), y)
    np.testing.assert_array_equal(other.components_, learner.components_)
    named = lipmetric.Lip().set_output(transform="pandas").fit(frame, y).transform(frame)
    assert list(named.columns) == [f"lip{i}" for i in range(named.shape[1])]
    assert lipmetric.Lip().fit(frame, y).get_feature_names_out()[0] == "lip0"
    with pytest.raises(ValueError, match="feature names should match"):
        learner.predict(frame.rename(columns={"length": "width"}))
    assert cross_val_score(lipmetric.AutoMetric(), frame, y, cv=3).mean() > 0.9
    with pytest.raises(ValueError, match="level `violet` was not seen"):
        lipmetric.Lip(unseen="error").fit(frame, y).predict(frame.assign(colour="violet"))


def test_single_precision_stays_single(two):
    X, y = two
    learner = lipmetric.NCA().fit(X.astype(np.float32), y)
    assert learner.transform(X.astype(np.float32)).dtype == np.float32
    assert learner.transform(X).dtype == np.float64


def test_a_fit_that_ends_early_says_so(two):
    X, y = two
    with pytest.warns(ConvergenceWarning, match=r"Lip: stopped at the iteration limit; raise `max_iter`"):
        learner = lipmetric.Lip(max_iter=2).fit(X, y)
    assert learner.status_ == "iteration_limit"


@pytest.mark.parametrize("name", [name for name in WEIGHTED if name not in ("Euclidean", "Discriminant")])
def test_ctrl_c_leaves_something_to_predict_with(blobs, name):
    X, y = blobs

    def pressed(_):
        raise KeyboardInterrupt

    learner = make(name, callback=pressed)
    with warnings.catch_warnings(record=True) as said, pytest.raises(KeyboardInterrupt) as stop:
        warnings.simplefilter("always")
        learner.fit(X, y)
    assert learner.status_ == "interrupted" and stop.value.model is learner.model_
    assert learner.predict(X).shape == (90,) and np.isfinite(learner.transform(X)).all()
    notes = learner.model_.outcome["notes"]
    if any("nothing was learned" in note for note in notes):
        assert [w.category for w in said] == [ConvergenceWarning] and "Euclidean" in str(said[0].message)
        np.testing.assert_array_equal(learner.components_, lipmetric.Euclidean().fit(X, y).components_)


def test_the_documentation_of_an_estimator_tells_of_every_parameter():
    for name in CHECKED:
        cls = getattr(lipmetric, name)
        told = re.findall(r"^(\w+) : ", inspect.getdoc(cls).partition("Examples")[0], flags=re.MULTILINE)
        assert sorted(told) == sorted(inspect.signature(cls).parameters), name


def test_parameters_reach_the_method(two):
    X, y = two
    learner = lipmetric.Lip(
        variant="diameter", slack="pair", c=3.0, diameter="cvar:0.2", anchor="within", anchor_weight=0.5, tol=1e-4,
        class_weights={"left": 2.0, "right": 1.0}, random_state=7,
    ).fit(X, y)
    assert learner.model_.spec == {
        "method": "lip", "variant": "diameter", "slack": "pair", "trade_off": {"c": 3.0}, "diameter": {"cvar": 0.2},
        "anchor": {"towards": "within", "weight": 0.5}, "solver": "auto", "mu": None, "rank": None,
        "class_weights": {"given": [2.0, 1.0]}, "tolerance": 1e-4, "max_iterations": None, "memory": None, "seed": 7,
    }
    assert learner.c_ == 3.0 and learner.dual_gap_ <= 1e-4
    chosen = lipmetric.Lip(c="auto").fit(X, y)
    assert chosen.model_.outcome["choice"] is not None
    random = lipmetric.NCA(init="random", random_state=np.random.default_rng(3), n_components=2).fit(X, y)
    assert random.components_.shape == (2, 4) and "random" in random.model_.spec["init"]


def test_a_search_begins_where_it_is_told(two):
    X, y = two
    cold = lipmetric.LMNN(n_components=2, tol=1e-8).fit(X, y)
    warm = lipmetric.LMNN(n_components=2, tol=1e-8, init=cold.components_).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    again = lipmetric.LMNN(n_components=2, tol=1e-8, warm_start=True).fit(X, y)
    first = again.n_iter_
    assert again.fit(X, y).n_iter_ < first
    with pytest.raises(ValueError, match="an array of 3 columns, but the rows have 4 features"):
        lipmetric.LMNN(init=np.eye(3)).fit(X, y)


def test_the_papers_classifier_names_rows_with_wrong_labels(two):
    X, y = two
    wrong = y.copy()
    wrong[[3, 40]] = wrong[[40, 3]]
    learner = lipmetric.LipschitzClassifier().fit(X, wrong)
    assert {3, 40} <= set(learner.suspect_rows_.tolist())
    assert learner.values_.shape == (60,) and learner.decision_function(X).shape == (60,)
    assert not hasattr(learner, "predict_proba")
    shares = lipmetric.LipschitzClassifier(calibrate=True).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert lipmetric.NCA().fit(X, y).suspect_rows_ is None


def test_a_row_that_moves_by_less_than_its_radius_keeps_its_class(two):
    X, y = two
    learner = lipmetric.Lip(scaling="none", certificate=True).fit(X, y)
    radius = learner.predict_radius(X, space="prepared")
    assert (radius > 0).all() and (learner.predict_radius(X) > 0).all()
    rng = np.random.default_rng(5)
    for _ in range(20):
        step = rng.normal(size=X.shape)
        step *= (0.999 * radius / np.linalg.norm(step, axis=1))[:, None]
        np.testing.assert_array_equal(learner.predict(X + step), learner.predict(X))
    assert learner.support_pairs_
    share = learner.certified_accuracy(X, y, [0.0, np.median(radius)])
    right = learner.predict(X) == y
    np.testing.assert_allclose(share, [right.mean(), (right & (radius > np.median(radius))).mean()])
    exact = learner.predict_radius(X, space="prepared", kind="exact")
    assert (exact >= radius * (1 - 1e-9)).all()
    other = learner.counterfactual(X[:5])
    np.testing.assert_allclose(other["distance"], exact[:5], rtol=1e-6)
    np.testing.assert_allclose(other["rows"] - other["changes"], X[:5], atol=1e-9)
    assert learner.predict(X[:5] + other["changes"] * (1 + 1e-6)).tolist() == other["classes"]
    with pytest.raises(ValueError, match="radius"):
        lipmetric.Lip(k=3, weights="distance").fit(X, y).predict_radius(X)


def test_a_tie_is_settled_alike_everywhere():
    X = np.array([[0.0], [1.0], [2.0], [4.0]])
    y = np.array(["a", "b", "b", "a"])
    knn = lipmetric.KNeighborsClassifier(2).fit(X, y)
    queries = np.array([[0.4], [0.6], [2.9], [3.1]])
    predicted = knn.predict(queries)
    assert predicted.tolist() == ["a", "b", "b", "a"]
    np.testing.assert_array_equal(knn.classes_[knn.predict_proba(queries).argmax(axis=1)], predicted)
    np.testing.assert_array_equal(knn.classes_[(knn.decision_function(queries) > 0).astype(int)], predicted)


def test_a_notebook_shows_the_diagram_and_the_certificate(two):
    X, y = two
    learner = lipmetric.Lip()
    assert "lipmetric-model" not in learner._repr_html_()
    assert "certified gap" in learner.fit(X, y)._repr_html_()


#: What a fitted estimator has, of scikit-learn's and metric-learn's names and of our own.
ATTRIBUTES = """
    components_ classes_ n_iter_ n_features_in_ feature_names_in_ objective_ dual_gap_ status_ history_ c_ c_max_ values_
    suspect_rows_ margins_ support_pairs_ model_
""".split()
METHODS = """
    fit transform fit_transform predict score decision_function get_feature_names_out set_output get_mahalanobis_matrix
    get_metric pair_distance pair_score predict_radius certified_accuracy counterfactual get_params set_params get_metadata_routing
""".split()
PARAMETERS = "classifier k weights scaling fill unseen time_limit n_jobs verbose callback".split()


@pytest.mark.parametrize("name", LEARNERS)
def test_a_fitted_estimator_has_every_name(two, name):
    pandas = pytest.importorskip("pandas")
    X, y = two
    learner = make(name).fit(pandas.DataFrame(X, columns=list("abcd")), y)
    assert [a for a in ATTRIBUTES if not hasattr(learner, a)] == []
    assert [m for m in METHODS if not callable(getattr(learner, m, None))] == []
    votes = name != "LipschitzClassifier"
    assert [p for p in PARAMETERS if p not in learner.get_params() and (votes or p not in ("classifier", "k", "weights"))] == []
    assert "sample_weight" in inspect.signature(learner.fit).parameters
    assert hasattr(learner, "predict_proba") == votes
    assert learner.classes_.tolist() == ["left", "right"] and learner.feature_names_in_.tolist() == list("abcd")
    # AutoMetric has those of what it has chosen.
    if name != "AutoMetric":
        assert (learner.dual_gap_ is not None) == (name in ("Lip", "LipschitzClassifier", "LMNN", "LMML", "MCML", "LipLocal"))
        assert (learner.c_max_ is not None) == (name in ("Lip", "LipschitzClassifier", "LipLocal"))
    assert (learner.support_pairs_ is None) and learner.margins_["rows"] == 60


def test_weights_count_while_a_distance_is_learned(two):
    X, y = two
    weights = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    often = np.repeat(np.arange(60), weights.astype(int))
    options = {"variant": "intra", "slack": "pair", "c": 5.0, "scaling": "none", "tol": 1e-8}
    weighted = lipmetric.Lip(**options).fit(X, y, sample_weight=weights)
    repeated = lipmetric.Lip(**options).fit(X[often], y[often])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    assert weighted.objective_ != pytest.approx(lipmetric.Lip(**options).fit(X, y).objective_, rel=1e-3)
    assert lipmetric.fit(X, y, "lip-i", **{k: v for k, v in options.items() if k != "variant"}, sample_weight=weights).objective == (
        weighted.objective_
    )
    with pytest.raises(ValueError, match="weight"):
        lipmetric.Lip().fit(X, y, sample_weight=np.where(np.arange(60) == 4, -1.0, 1.0))


def test_a_row_of_weight_zero_is_not_there(two):
    X, y = two
    wrong = y.copy()
    wrong[[3, 40]] = wrong[[40, 3]]
    weights = (np.arange(60) % 7 != 0).astype(float)
    kept = np.flatnonzero(weights)
    learner = lipmetric.LipschitzClassifier(certificate=True).fit(X, wrong, sample_weight=weights)
    alone = lipmetric.LipschitzClassifier(certificate=True).fit(X[kept], wrong[kept])
    np.testing.assert_array_equal(learner.components_, alone.components_)
    np.testing.assert_array_equal(learner.suspect_rows_, kept[alone.suspect_rows_])
    assert learner.suspect_rows_.size > 0
    np.testing.assert_array_equal(np.isnan(learner.values_), weights == 0)
    assert learner.support_pairs_[0][:2] == tuple(kept[list(alone.support_pairs_[0][:2])])


def test_the_default_is_what_the_program_does(tmp_path, program):
    program("datasets", "export", "haberman", "-o", "data.csv", cwd=tmp_path)
    program("fit", "data.csv", "--model", "model.lip", cwd=tmp_path)
    X, y = lipmetric.datasets.load_haberman()
    learner, model = lipmetric.AutoMetric().fit(X, y), lipmetric.load(tmp_path / "model.lip")
    assert learner.model_.description["classifier"] == model.description["classifier"]
    np.testing.assert_array_equal(learner.components_, model.components)
    np.testing.assert_array_equal(learner.predict(X), model.predict(X))
    scores = learner.decision_function(X)
    np.testing.assert_array_equal(learner.classes_[(scores > 0).astype(int)], learner.predict(X))
    shares = learner.predict_proba(X)
    np.testing.assert_array_equal(learner.classes_[shares.argmax(axis=1)], learner.predict(X))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (learner.predict_radius(X) >= 0).all()
    votes = lipmetric.AutoMetric(classifier="nearest").fit(X, y)
    assert "vote" in votes.model_.description["classifier"]
    with pytest.raises(ValueError, match="`k` is a parameter of classifier='nearest'"):
        lipmetric.AutoMetric(k=3).fit(X, y)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced", "log-loss", "auc"])
def test_the_score_to_choose_by_is_the_one_that_is_named(scoring):
    X, y = lipmetric.datasets.load_fertility()
    learner = lipmetric.AutoMetric(scoring=scoring, metrics=["within"]).fit(X, y)
    choice = learner.model_.outcome["choice"]
    assert learner.model_.spec["score"] == scoring
    assert 0.5 < choice["estimate"] <= 1.0
    if scoring == "accuracy":
        assert "score" not in choice
    else:
        assert -1.0 < choice["score"] < 0.0 if scoring == "log-loss" else 0.4 < choice["score"] <= 1.0
    with pytest.raises(ValueError, match="accuracy.*balanced.*log-loss.*auc"):
        lipmetric.AutoMetric(scoring="f1").fit(X, y)


LARGE = """
    import resource, sys
    import numpy as np
    import lipmetric
    dtype, order, call = sys.argv[1:]
    rows, columns = 200_000, 50
    X = np.asarray(np.random.default_rng(0).random((rows, columns), dtype=dtype), order=order)
    y = (X[:, 0] > 0.5).astype(int)
    learner = lipmetric.Euclidean().fit(X[:100], y[:100])
    ask = getattr(learner, call)
    ask(X[:10_000])
    # In units of X as 64-bit numbers, without the result itself.
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    before = peak()
    out = ask(X)
    assert call == "predict" or out.dtype == X.dtype
    print((peak() - before - out.nbytes) / (rows * columns * 8))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no `resource` there")
@pytest.mark.parametrize("call", ["transform", "predict"])
@pytest.mark.parametrize(("dtype", "order"), [("float64", "C"), ("float64", "F"), ("float32", "C"), ("float32", "F")])
def test_rows_to_ask_about_are_never_copied_whole(dtype, order, call):
    script = textwrap.dedent(LARGE)
    out = subprocess.run([sys.executable, "-c", script, dtype, order, call], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert float(out.stdout) < 0.5


def test_batches_are_seen_by_nobody(two, monkeypatch):
    X, y = two
    learner = lipmetric.Lip(k=3).fit(X, y)
    calls = [
        learner.predict, learner.predict_proba, learner.decision_function, learner.transform, learner.predict_radius,
        learner.model_.transform, learner.model_.predict_proba, learner.model_.radii,
    ]
    whole = [call(X) for call in calls] + [learner.model_.explain(X)]
    monkeypatch.setattr("lipmetric._core.BATCH", 28)
    parts = [call(X) for call in calls] + [learner.model_.explain(X)]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_equal(other, one)
    one = lipmetric.Lip().fit(X, y)
    assert one.counterfactual(X)["distance"].shape == (60,)


def wave(rows=240, seed=0):
    """A function of one of four features, and a little noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 4))
    return X, 10 + np.sin(3 * X[:, 0]) + 0.05 * rng.normal(size=rows)


@pytest.mark.parametrize("name", [name for name in REGRESSORS if name != "KNeighborsRegressor"])
def test_a_learned_distance_predicts_numbers_better_than_the_euclidean(name):
    (X, y), (X_new, y_new) = wave(), wave(seed=1)
    plain = make("KNeighborsRegressor").fit(X, y).score(X_new, y_new)
    learner = make(name).fit(X, y)
    assert learner.score(X_new, y_new) > plain + 0.1
    mapped = learner.transform(X_new[:5])
    expected = np.linalg.norm(mapped[0] - mapped[1])
    np.testing.assert_allclose(learner.get_metric()(X_new[0], X_new[1]), expected, rtol=1e-9)
    again = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(again.predict(X_new), learner.predict(X_new))


def test_the_mean_of_neighbours_is_that_of_scikit_learn():
    from sklearn.neighbors import KNeighborsRegressor

    (X, y), (X_new, _) = wave(), wave(seed=1)
    for weights in ("uniform", "distance"):
        ours = lipmetric.KNeighborsRegressor(4, weights=weights).fit(X, y)
        theirs = KNeighborsRegressor(4, weights=weights).fit(X, y)
        np.testing.assert_allclose(ours.predict(X_new), theirs.predict(X_new), rtol=1e-9)
        np.testing.assert_array_equal(ours.kneighbors(X_new)[1], theirs.kneighbors(X_new)[1])


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_the_smooth_function_is_kernel_ridge_of_scikit_learn(name):
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.metrics.pairwise import euclidean_distances

    (X, y), (X_new, _) = wave(), wave(seed=1)
    smooth = {"classifier": "smooth", "width": 0.7, "ridge": 0.1, "kernel": name}
    model = lipmetric.fit(X, y, "nn", task="regression", classifier=smooth, scaling="none")
    bandwidth = model.description["classifier"]["smooth"]["bandwidth"]
    power = 1 if name == "laplace" else 2
    kernel = lambda a, b: np.exp(-((euclidean_distances(a, b) / bandwidth) ** power) / power)  # noqa: E731
    theirs = KernelRidge(alpha=0.1, kernel="precomputed").fit(kernel(X, X), y - y.mean())
    np.testing.assert_allclose(model.predict(X_new), y.mean() + theirs.predict(kernel(X_new, X)), rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_mlkr_is_that_of_metric_learn(metric_learn):
    X, y = wave()
    theirs = metric_learn.MLKR(init="pca", tol=1e-8, max_iter=1000).fit(X, y).get_mahalanobis_matrix()
    ours = lipmetric.MLKR(scaling="none", held_out=0, tol=1e-8, max_iter=1000).fit(X, y).get_mahalanobis_matrix()

    def left(M):
        """The squared errors of the rows, each predicted from the others, that both minimise."""
        steps = X[:, None] - X[None]
        kernel = np.exp(-np.einsum("ijk,kl,ijl->ij", steps, M, steps))
        np.fill_diagonal(kernel, 0)
        return (((kernel @ y) / kernel.sum(1) - y) ** 2).sum()

    assert left(ours) <= left(theirs) * 1.001


def test_discriminants_are_the_directions_of_scikit_learn():
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    rng = np.random.default_rng(0)
    y = rng.integers(3, size=3000)
    X = rng.normal(size=(3000, 5)) * [1, 2, 1, 3, 2] + 2 * rng.normal(size=(3, 5))[y]
    ours = np.linalg.qr(lipmetric.Discriminant(scaling="none").fit(X, y).components_.T)[0]
    theirs = np.linalg.qr(LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_[:, :2])[0]
    # The cosines of the angles between the two planes; ours shrinks the covariance a little.
    assert np.linalg.svd(ours.T @ theirs)[1].min() > 0.99


def test_the_range_of_a_prediction_holds():
    X, y = wave()
    learner = make("AGOPRegressor", classifier="extension").fit(X, y)
    low, high = learner.predict_range(X[:20], 0.1, norm="linf", space="input")
    rng = np.random.default_rng(3)
    for _ in range(20):
        moved = learner.predict(X[:20] + rng.uniform(-0.0999, 0.0999, (20, 4)))
        assert ((low <= moved) & (moved <= high)).all()


def test_a_model_of_numbers_says_so_and_keeps_its_file(tmp_path):
    X, y = wave()
    model = lipmetric.fit(X, y, "agop", task="regression", classifier="smooth")
    assert model.task == "regression" and "numbers" in repr(model) and len(model.classes) == 0
    model.save(tmp_path / "m.lip")
    again = lipmetric.load(tmp_path / "m.lip")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again == model
    np.testing.assert_array_equal(model.neighbours(X[:3], k=1)["labels"][:, 0], y[:3])
    with pytest.raises(ValueError, match="task='regression'"):
        lipmetric.fit(X, y)
    with pytest.raises(ValueError, match="learns from classes"):
        lipmetric.fit(X, y, "lmnn", task="regression")
    with pytest.raises(ValueError, match="no number"):
        lipmetric.fit(X, ["a"] * len(y), task="regression")
    with pytest.raises(ValueError, match="between classes"):
        model.margins()
