"""peer.py [--variant intra|diameter] [--data australian]: a fit from Python beside the same problem in CVXPY, in one run.

    pip install . cvxpy clarabel
    python benches/python/peer.py

Lip^I or Lip^D with a slack per pair and c = 1, on 60 % of the rows, features scaled to [0, 1], one thread. CVXPY states the problem as a
user would, with a constraint per pair, and Clarabel solves it. Both objectives are computed again from the returned metric, over all
pairs. Times are CPU seconds: of ours the least of five fits, everything from arrays to a fitted model; of CVXPY one solve, its
compilation included.
"""
import argparse
import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
import time  # noqa: E402

import numpy as np  # noqa: E402

import lipmetric  # noqa: E402


def rows_of(name):
    """The training rows, as both solvers see them."""
    X, y = lipmetric.datasets.load(name)
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    chosen = np.random.default_rng(0).permutation(len(X))[: round(0.6 * len(X))]
    X, y = X[chosen], np.unique(y[chosen], return_inverse=True)[1]
    span = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(span > 0, span, 1), y


def differences(X, y, variant):
    """Differences of rows that are pushed apart, and of those whose largest distance is the diameter."""
    i, j = np.triu_indices(len(X), 1)
    apart = y[i] != y[j]
    bounding = slice(None) if variant == "diameter" else ~apart
    return X[i[apart]] - X[j[apart]], X[i[bounding]] - X[j[bounding]]


def objective(L, push, bound):
    """The objective at M = L^T L, over all pairs."""
    def squared(d):
        return ((d @ L.T) ** 2).sum(axis=1)

    return squared(bound).max() + np.maximum(0, 2 - squared(push)).sum()


def by_cvxpy(push, bound):
    """The factor of the metric that Clarabel finds."""
    import cvxpy as cp

    size = push.shape[1]
    M = cp.Variable((size, size), PSD=True)
    flat, slack, diameter = cp.vec(M, order="C"), cp.Variable(len(push), nonneg=True), cp.Variable()

    def squares(d):
        return np.einsum("na,nb->nab", d, d).reshape(len(d), -1)

    constraints = [squares(push) @ flat + slack >= 2, squares(bound) @ flat <= diameter]
    cp.Problem(cp.Minimize(diameter + cp.sum(slack)), constraints).solve(solver="CLARABEL")
    values, vectors = np.linalg.eigh(M.value)
    return (vectors * np.sqrt(np.maximum(values, 0))).T


def timed(work):
    begun = time.process_time()
    result = work()
    return result, time.process_time() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant", choices=["intra", "diameter"], default="intra")
    parser.add_argument("--data", default="australian")
    args = parser.parse_args()
    X, y = rows_of(args.data)
    push, bound = differences(X, y, args.variant)
    method = "lip-i" if args.variant == "intra" else "lip-d"

    def ours():
        return lipmetric.fit(X, y, method, slack="pair", c=1.0, scaling="none", n_jobs=1)

    fits = [timed(ours) for _ in range(5)]
    model, seconds = fits[0][0], min(s for _, s in fits)
    print(f"{args.data}, {len(X)} x {X.shape[1]}, {method}, a slack per pair, c = 1")
    print(f"lipmetric.fit      {seconds:10.4f} CPU s  objective {objective(model.components, push, bound):.6f}  gap {model.dual_gap:.1e}", flush=True)
    factor, peer = timed(lambda: by_cvxpy(push, bound))
    print(f"CVXPY, Clarabel    {peer:10.2f} CPU s  objective {objective(factor, push, bound):.6f}")
    print(f"ratio              {peer / seconds:10.0f}")


if __name__ == "__main__":
    main()
