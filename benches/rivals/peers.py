"""peers.py METHOD TRAIN.csv TEST.csv  ->  one JSON line: fit CPU seconds, objectives, accuracy, peak memory.

METHOD: euclid, sklearn-nca, mlpack-lmnn, mlpack-nca, metric-learn-lmnn, metric-learn-nca, or `factor:FILE`, which measures
the factor L in a CSV file. The objectives are computed here, in plain numpy, the same way for everyone:
nca = expected number of rows that pick another class; lmnn = 1/2 pull + 1/2 push over 3 target neighbours and all impostors.
One thread; features z-scored on the training part.
"""
import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")
import csv
import json
import resource
import sys
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")


def read(path):
    rows = list(csv.reader(open(path)))[1:]
    return np.array([[float(v) for v in r[:-1]] for r in rows]), np.array([r[-1] for r in rows])


def squared(a, b):
    return np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1)[None, :] - 2 * a @ b.T, 0)


def nca_objective(z, y):
    total = 0.0
    for start in range(0, len(z), 500):
        rows = np.arange(start, min(start + 500, len(z)))
        d = squared(z[rows], z)
        d[np.arange(len(rows)), rows] = np.inf
        p = np.exp(-(d - d.min(1, keepdims=True)))
        p /= p.sum(1, keepdims=True)
        total += (p * (y[rows][:, None] != y[None, :])).sum()
    return total


def lmnn_objective(x, z, y, k=3, push=0.5):
    pull = hinge = 0.0
    for label in np.unique(y):
        own, other = np.flatnonzero(y == label), np.flatnonzero(y != label)
        d = squared(x[own], x[own])
        np.fill_diagonal(d, np.inf)
        targets = np.argsort(d, axis=1, kind="stable")[:, : min(k, len(own) - 1)]
        apart = squared(z[own], z[other])
        for a in range(targets.shape[1]):
            t = ((z[own] - z[own[targets[:, a]]]) ** 2).sum(1)
            pull += t.sum()
            hinge += np.maximum(0, 1 + t[:, None] - apart).sum()
    return (1 - push) * pull + push * hinge


def learner(method):
    if method == "euclid":
        return lambda X, y: (lambda Z: Z)
    if method.startswith("factor:"):
        L = np.loadtxt(method.removeprefix("factor:"), delimiter=",", ndmin=2)
        return lambda X, y: (lambda Z: Z @ L.T)
    if method == "sklearn-nca":
        from sklearn.neighbors import NeighborhoodComponentsAnalysis as NCA

        return lambda X, y: NCA(random_state=0).fit(X, y).transform
    if method.startswith("mlpack-"):
        import mlpack

        f, kw = (mlpack.lmnn, dict(k=3)) if method.endswith("lmnn") else (mlpack.nca, {})

        def fit(X, y):  # the binding returns the transpose: X @ output is the transformed data
            options = dict(seed=1, optimizer="lbfgs", max_iterations=200, **kw)
            L = np.asarray(f(input_=X, labels=y.astype(np.int64), **options)["output"])
            return lambda Z: Z @ L

        return fit
    import metric_learn

    cls = getattr(metric_learn, method.removeprefix("metric-learn-").upper())
    return lambda X, y: cls(random_state=0).fit(X, y).transform


def main(method, train, test):
    from sklearn.neighbors import KNeighborsClassifier

    (X, a), (Z, b) = read(train), read(test)
    code = {label: k for k, label in enumerate(sorted(set(a)))}
    a, b = np.array([code[label] for label in a]), np.array([code[label] for label in b])
    sd = X.std(0)
    sd[sd == 0] = 1
    Z, X = (Z - X.mean(0)) / sd, (X - X.mean(0)) / sd
    fit = learner(method)
    begun = time.process_time()
    T = fit(X, a)
    cpu = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    acc = {f"acc{k}": round(KNeighborsClassifier(k).fit(T(X), a).score(T(Z), b), 4) for k in (1, 3)}
    print(
        json.dumps(
            dict(
                method=method, n=len(X), p=X.shape[1], cpu_s=round(cpu, 4), **acc, peak_mb=round(peak),
                nca=nca_objective(T(X), a), lmnn=lmnn_objective(X, T(X), a),
            )
        )
    )


main(*sys.argv[1:4])
