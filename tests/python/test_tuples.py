"""Pairs, triplets and quadruplets: the conventions of metric-learn, and the figures of the library."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402

import lipmetric  # noqa: E402
from lipmetric import ITML, LipPairs, LMMLQuadruplets, LMMLTriplets  # noqa: E402


@pytest.fixture(scope="module")
def made():
    """Rows of two kinds that differ in the first feature, and pairs of them to learn from and to judge by."""
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=120)
    X = rng.normal(size=(120, 4)) * [0.4, 1.0, 3.0, 1.0]
    X[:, 0] += 2.0 * kind
    X[:, 1] += 0.5 * X[:, 2]
    pairs = np.array([(i, j) for i, j in rng.integers(120, size=(600, 2)) if i != j])
    y = np.where(kind[pairs[:, 0]] == kind[pairs[:, 1]], 1, -1)
    return X, kind, pairs[:200], y[:200], pairs[200:], y[200:]


@pytest.mark.parametrize("learner", [LipPairs, partial(ITML, tol=0.02)])
def test_pairs_as_arrays_and_as_row_numbers_are_the_same(made, learner):
    X, _, pairs, y, others, truth = made
    one = learner(preprocessor=X).fit(pairs, y)
    two = learner().fit(X[pairs], y)
    np.testing.assert_array_equal(one.components_, two.components_)
    assert one.threshold_ == two.threshold_
    np.testing.assert_array_equal(one.predict(others), two.predict(X[others]))
    assert one.score(others, truth) > 0.95
    assert np.mean(one.predict(others) == truth) > 0.85
    distance = one.pair_distance(others)
    np.testing.assert_array_equal(one.decision_function(others), -distance)
    np.testing.assert_allclose(distance, np.linalg.norm(np.subtract(*one.transform(X)[others.T]), axis=1), rtol=1e-9)
    metric = one.get_metric()
    assert metric(X[others[0, 0]], X[others[0, 1]]) == pytest.approx(distance[0])
    M = one.get_mahalanobis_matrix()
    d = X[others[3, 0]] - X[others[3, 1]]
    assert d @ M @ d == pytest.approx(distance[3] ** 2)


def test_the_optimum_is_certified_and_the_longest_pair_can_be_the_diameter(made):
    X, _, pairs, y, others, truth = made
    for diameter in ("mean", "max"):
        learner = LipPairs(preprocessor=X, diameter=diameter, tol=1e-6).fit(pairs, y)
        assert learner.converged_ and learner.dual_gap_ <= 1e-6
        assert learner.score(others, truth) > 0.95
    assert lipmetric.Model.from_bytes(learner.model_.to_bytes()) == learner.model_
    assert learner.model_.task == "pairs"


@pytest.mark.parametrize("diameter", ["mean", "max"])
def test_what_a_fit_of_pairs_claims_is_verified(made, diameter):
    X, _, pairs, y, _, _ = made
    learner = LipPairs(preprocessor=X, diameter=diameter, certificate=True).fit(pairs, y, strengths=np.linspace(0.5, 2, len(y)))
    found = learner.model_.verify()
    assert found["reasons"] == [] and found["weighted"] and found["gap"] <= 1e-4
    assert found["bound"] >= (1 - 1e-9) * learner.objective_ * (1 - learner.dual_gap_)
    assert lipmetric.Model.from_bytes(learner.model_.to_bytes()).verify() == found
    assert learner.model_.support_pairs
    with pytest.raises(ValueError, match="certificate"):
        LipPairs(preprocessor=X).fit(pairs, y).model_.verify()


def test_thresholds_are_set_and_chosen(made):
    X, _, pairs, y, others, truth = made
    learner = LipPairs(preprocessor=X).fit(pairs, y)
    distance = learner.pair_distance(others)

    def rates(threshold):
        told = distance <= threshold
        return np.mean(told[truth == 1]), np.mean(~told[truth == -1])

    best = max(np.mean((distance <= t) == (truth == 1)) for t in distance)
    learner.calibrate_threshold(others, truth)
    assert np.mean(learner.predict(others) == truth) == pytest.approx(best)
    learner.calibrate_threshold(others, truth, strategy="max_tpr", min_rate=0.97)
    assert rates(learner.threshold_)[1] >= 0.97
    assert rates(learner.threshold_)[0] == max(r[0] for r in map(rates, distance) if r[1] >= 0.97)
    learner.calibrate_threshold(others, truth, strategy="max_tnr", min_rate=0.97)
    assert rates(learner.threshold_)[0] >= 0.97
    learner.calibrate_threshold(others, truth, strategy="f_beta", beta=2.0)
    judged = learner.evaluate(others, truth)
    precision, recall = judged["precision"], judged["recall"]
    told = learner.predict(others) == 1
    assert precision == pytest.approx(np.mean(truth[told] == 1)) and recall == pytest.approx(np.mean(told[truth == 1]))
    assert np.all(learner.set_threshold(np.inf).predict(others) == 1)
    with pytest.raises(ValueError, match="min_rate"):
        learner.calibrate_threshold(others, truth, strategy="max_tpr")
    with pytest.raises(ValueError, match="none of accuracy"):
        learner.calibrate_threshold(others, truth, strategy="best")


def test_itml_is_the_algorithm_of_its_paper_in_plain_numpy(made):
    X, _, pairs, y, _, _ = made
    rows = X[:, :3]
    learner = ITML(preprocessor=rows, scaling="none", bounds=[0.5, 4.0], gamma=0.8, tol=1e-3)
    A = learner.fit(pairs, y).get_mahalanobis_matrix()
    order = np.r_[np.flatnonzero(y == 1), np.flatnonzero(y == -1)]
    D, sign = rows[pairs[order, 0]] - rows[pairs[order, 1]], y[order]
    # The rows are numbered by value: the differences may have the other sign, which changes nothing.
    B, lam, xi, gamma = np.eye(3), np.zeros(len(D)), np.where(sign == 1, 0.5, 4.0), 0.8
    for _ in range(learner.n_iter_):
        for k, (d, s) in enumerate(zip(D, sign, strict=True)):
            p = d @ B @ d
            alpha = min(lam[k], s * gamma / (gamma + 1) * (1 / p - 1 / xi[k]))
            lam[k] -= alpha
            xi[k] = gamma * xi[k] / (gamma + s * alpha * xi[k])
            v = B @ d
            B = B + s * alpha / (1 - s * alpha * p) * np.outer(v, v)
    np.testing.assert_allclose(A, B, rtol=1e-6, atol=1e-9)


def test_comparisons_hold_after_they_were_learned(made):
    X, kind, *_ = made
    rng = np.random.default_rng(1)
    drawn = rng.integers(120, size=(3000, 4))
    three = drawn[(kind[drawn[:, 0]] == kind[drawn[:, 1]]) & (kind[drawn[:, 0]] != kind[drawn[:, 2]]) & (drawn[:, 0] != drawn[:, 1])]
    three = three[:, :3]
    learner = LMMLTriplets(preprocessor=X).fit(three[:100])
    assert learner.dual_gap_ <= 1e-6 and learner.score(three[100:]) > 0.9
    np.testing.assert_array_equal(LMMLTriplets().fit(X[three[:100]]).components_, learner.components_)
    four = drawn[(kind[drawn[:, 0]] == kind[drawn[:, 1]]) & (kind[drawn[:, 2]] != kind[drawn[:, 3]]) & (drawn[:, 0] != drawn[:, 1])]
    learner = LMMLQuadruplets(preprocessor=X).fit(four[:100])
    assert learner.dual_gap_ <= 1e-6 and learner.score(four[100:]) > 0.85
    assert set(learner.predict(four)) <= {1, -1}


def test_strengths_count_and_bad_input_is_refused(made):
    X, _, pairs, y, _, _ = made
    plain = LipPairs(preprocessor=X, tol=1e-7).fit(pairs, y)
    twice = LipPairs(preprocessor=X, tol=1e-7).fit(pairs, y, strengths=np.full(len(y), 2.0))
    assert twice.objective_ == pytest.approx(2 * plain.objective_, rel=1e-5)
    with pytest.raises(ValueError, match="preprocessor"):
        LipPairs().fit(pairs, y)
    with pytest.raises(ValueError, match="shape"):
        LipPairs(preprocessor=X).fit(pairs[:, :1], y)
    with pytest.raises(ValueError, match="not 0"):
        LipPairs(preprocessor=X).fit(pairs, np.zeros(len(y)))
    with pytest.raises(ValueError, match="has 120"):
        LipPairs(preprocessor=X).fit(pairs + 1000, y)
    with pytest.raises(ValueError, match="none is dissimilar"):
        LipPairs(preprocessor=X).fit(pairs, np.ones(len(y)))
    with pytest.raises(ValueError, match="c_rel"):
        LipPairs(preprocessor=X, c_rel=2.0).fit(pairs, y)
    bad = X.copy()
    bad[pairs[0, 0], 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LipPairs(preprocessor=bad).fit(pairs, y)


def test_things_with_equal_features_are_two_things(made):
    X, _, pairs, y, _, _ = made
    equal = np.r_[X[pairs], np.stack([X[:2], X[:2]], axis=1)]
    learner = LipPairs().fit(equal, np.r_[y, 1, -1])
    assert any("equal features: 1" in note for note in learner.model_.outcome["notes"])
    assert learner.pair_distance(equal[-1:])[0] == 0


def test_learners_are_cloned_and_pickled(made):
    X, _, pairs, y, others, _ = made
    learner = LipPairs(preprocessor=X, c_rel=0.1).fit(pairs, y)
    assert clone(learner).c_rel == 0.1
    again = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(again.predict(others), learner.predict(others))


@pytest.mark.filterwarnings("ignore")
def test_itml_is_that_of_metric_learn(made, metric_learn):
    X, _, pairs, y, _, _ = made
    theirs = metric_learn.ITML(max_iter=50, tol=1e-3, gamma=1.0).fit(X[pairs], y, bounds=[0.5, 4.0])
    ours = ITML(scaling="none", bounds=[0.5, 4.0], tol=1e-3, max_iter=50).fit(X[pairs], y)
    np.testing.assert_allclose(ours.get_mahalanobis_matrix(), theirs.get_mahalanobis_matrix(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("learner", [LipPairs, ITML, LMMLTriplets, LMMLQuadruplets])
def test_ctrl_c_leaves_a_metric_and_a_threshold(made, learner):
    X, _, pairs, y, others, truth = made

    def pressed(_):
        raise KeyboardInterrupt

    one = learner(preprocessor=X, callback=pressed)
    of_pairs = learner in (LipPairs, ITML)
    rng = np.random.default_rng(1)
    known = (pairs, y) if of_pairs else (rng.permuted(np.tile(np.arange(120), (50, 1)), axis=1)[:, : one._size],)
    with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt) as stop:
        warnings.simplefilter("ignore")
        one.fit(*known)
    assert one.status_ == "interrupted" and stop.value.model is one.model_
    assert one.transform(X).shape[0] == 120
    if of_pairs:
        assert one.score(others, truth) > 0.6 and set(one.predict(others)) == {1, -1}
