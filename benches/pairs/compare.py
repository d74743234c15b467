"""Distances learned from pairs, ours beside metric-learn's, on pairs of rows that no learner has seen.

    python -m venv env && env/bin/pip install numpy scikit-learn==1.7.2 metric-learn==0.7.0
    make wheel && env/bin/pip install target/wheels/lipmetric-*.whl
    env/bin/python benches/pairs/compare.py [--pairs 200 1000] [--splits 5]

metric-learn 0.7.0 does not run with a newer scikit-learn. Each split: 60 % of the rows to learn from, scaled to mean 0 and deviation 1
by them; as many pairs as asked for, half of them similar; 3,000 pairs of the other rows, half of them similar, to judge by. AUC is the
chance that a similar pair is nearer than a dissimilar one; accuracy is that of each learner's own threshold (metric-learn chooses it on
the training pairs, we by cross-validation). CPU seconds of the fit, one thread, thresholds included. A learner that fails, or is
stopped after LIMIT CPU seconds, counts as the Euclidean distance and is marked with its number of failures.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import signal
import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import roc_auc_score

import lipmetric

warnings.simplefilter("ignore")

#: CPU seconds of a fit, at most.
LIMIT = 20


def tables():
    """The data sets: four that come with scikit-learn, three with lipmetric."""
    out = {f.__name__[5:]: f(return_X_y=True) for f in (load_iris, load_wine, load_breast_cancer, load_digits)}
    for name in ("cancer", "diabetes", "haberman"):
        X, y = getattr(lipmetric.datasets, f"load_{name}")()
        X = np.asarray(X, dtype=float)
        out[name] = (np.where(np.isnan(X), np.nanmedian(X, axis=0), X), np.unique(y, return_inverse=True)[1])
    return out


def draw(y, count, rng):
    """So many pairs of rows, half of them of one class, and their labels."""
    found = {1: [], -1: []}
    while min(map(len, found.values())) < count // 2:
        i, j = rng.integers(len(y), size=2)
        if i != j:
            found[1 if y[i] == y[j] else -1].append((i, j))
    half = count // 2
    return np.array(found[1][:half] + found[-1][:half]), np.repeat([1, -1], half)


class Euclidean:
    """Nothing learned; the threshold is the best on the training pairs."""

    def fit(self, pairs, y):
        distance, best = self.pair_distance(pairs), (0.0, 0.0)
        for t in np.unique(distance):
            best = max(best, (np.mean(np.where(distance <= t, 1, -1) == y), t))
        self.threshold_ = best[1]
        return self

    def pair_distance(self, pairs):
        return np.linalg.norm(pairs[:, 0] - pairs[:, 1], axis=1)

    def predict(self, pairs):
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)


def learners():
    """What is compared."""
    import metric_learn

    plain = {"scaling": "none", "n_jobs": 1}
    return {
        "Euclidean": Euclidean,
        "metric-learn ITML": lambda: metric_learn.ITML(random_state=0),
        "metric-learn MMC": lambda: metric_learn.MMC(random_state=0),
        "lipmetric ITML": lambda: lipmetric.ITML(**plain),
        "lipmetric LipPairs": lambda: lipmetric.LipPairs(**plain),
        "lipmetric LipPairs, max": lambda: lipmetric.LipPairs(diameter="max", **plain),
    }


def late(*_):
    raise TimeoutError


def judged(make, train, y, test, truth):
    """AUC, accuracy, CPU seconds, and whether it failed."""
    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    begun, failed = time.process_time(), 0
    try:
        learner = make().fit(train, y)
        distance, told = learner.pair_distance(test), learner.predict(test)
        if not np.isfinite(distance).all():
            raise ValueError("distances are not finite")
    except Exception:  # noqa: BLE001
        failed = 1
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    seconds = time.process_time() - begun
    if failed:
        learner = Euclidean().fit(train, y)
        distance, told = learner.pair_distance(test), learner.predict(test)
    return roc_auc_score(truth, -distance), np.mean(told == truth), seconds, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--splits", type=int, default=5)
    args = parser.parse_args()
    sets, known = tables(), learners()
    for count in args.pairs:
        found = {name: {} for name in known}
        for table, (X, y) in sets.items():
            for split in range(args.splits):
                rng = np.random.default_rng(split)
                order = rng.permutation(len(y))
                own, rest = order[: int(0.6 * len(y))], order[int(0.6 * len(y)) :]
                deviation = X[own].std(axis=0)
                Z = (X - X[own].mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
                (pairs, labels), (others, truth) = draw(y[own], count, rng), draw(y[rest], 3000, rng)
                train, test = Z[own][pairs], Z[rest][others]
                for name, make in known.items():
                    found[name].setdefault(table, []).append(judged(make, train, labels, test, truth))
        print(f"\n{count} pairs, {args.splits} splits: AUC in % (accuracy in %)\n")
        print("| learner | " + " | ".join(sets) + " | mean | CPU s |")
        print("|---|" + "---|" * (len(sets) + 2))
        for name, results in found.items():
            means = {table: np.mean([r[:3] for r in runs], axis=0) for table, runs in results.items()}
            failed = {table: sum(r[3] for r in runs) for table, runs in results.items()}
            cells = [
                f"{100 * m[0]:.1f} ({100 * m[1]:.1f})" + (f", failed {failed[t]}" if failed[t] else "") for t, m in means.items()
            ]
            whole = np.mean(list(means.values()), axis=0)
            cells += [f"{100 * whole[0]:.2f} ({100 * whole[1]:.2f})", f"{whole[2]:.2f}"]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
