"""naive.py TRAIN.csv [D|I] [ITERATIONS] [MU]: Algorithm 1 with materialised matrices in numpy beside ours.

Features are scaled to unit variance. Prints the objective of both after each iteration at which ours reports it, and the CPU seconds per iteration. Needs numpy.
"""
import pathlib
import sys
import tempfile
import time

import numpy as np

from common import VARIANTS, build, drive


def naive(x, y, variant, iterations, mu, c=1.0):
    n, f = x.shape
    i, j = np.triu_indices(n, 1)
    d = x[i] - x[j]
    a = (d[:, :, None] * d[:, None, :]).reshape(len(i), f * f)
    same = y[i] == y[j]
    a1, a2 = a[~same], a[same] if variant == "I" else a
    inverse1 = np.linalg.inv(a1.T @ a1 + np.eye(f * f))
    inverse2 = np.linalg.inv(a2.T @ a2 + np.eye(f * f))
    m = m1 = m2 = np.eye(f).ravel()
    al1, al2, al3, al4 = np.zeros(f * f), np.zeros(f * f), np.zeros(len(a1)), np.zeros(len(a2))
    curve = []
    begun = time.process_time()
    for _ in range(iterations):
        v = 2 - a1 @ m1 - al3 / mu
        p = np.where(v > 1 / mu, v - 1 / mu, np.minimum(v, 0))
        v = a2 @ m2 - al4 / mu
        low, high = v.max() - c / mu, v.max()
        for _ in range(60):
            t = (low + high) / 2
            low, high = (t, high) if np.maximum(0, v - t).sum() > c / mu else (low, t)
        q = np.minimum(v, (low + high) / 2)
        m1 = inverse1 @ (m - (al1 + a1.T @ (al3 + mu * p - 2 * mu)) / mu)
        m2 = inverse2 @ (m + (a2.T @ (al4 + mu * q) - al2) / mu)
        s = ((m1 + m2) / 2 + (al1 + al2) / (2 * mu)).reshape(f, f)
        values, vectors = np.linalg.eigh((s + s.T) / 2)
        m = (vectors * np.maximum(values, 0) @ vectors.T).ravel()
        al1, al2 = al1 + mu * (m1 - m), al2 + mu * (m2 - m)
        al3, al4 = al3 + mu * (p + a1 @ m1 - 2), al4 + mu * (q - a2 @ m2)
        curve.append(m)
    seconds = (time.process_time() - begun) / iterations
    return [c * (a2 @ m).max() + np.maximum(0, 2 - a1 @ m).sum() for m in curve], seconds


def main(path, variant="D", iterations="50", mu="1"):
    iterations, mu = int(iterations), float(mu)
    table = np.genfromtxt(path, delimiter=",", skip_header=1, dtype=str)
    x, y = table[:, :-1].astype(float), table[:, -1]
    # Features of very different scales lose all digits in the naive form's p^2 x p^2 inverse.
    x = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1)
    build()
    theirs, seconds = naive(x, y, variant, iterations, mu)
    scaled = pathlib.Path(tempfile.mkdtemp()) / "scaled.csv"
    rows = [",".join([*map(repr, map(float, row)), label]) for row, label in zip(x, y)]
    scaled.write_text("\n".join([",".join(f"f{k}" for k in range(x.shape[1] + 1)), *rows]) + "\n")
    ours, curve = drive(
        "fit", scaled, VARIANTS[variant], trace=True, solver="paper", c=1, tol=1e-9, mu=mu, max_iter=iterations
    )
    print("iteration naive ours")
    for row in curve:
        if int(row[0]) <= iterations:
            print(row[0], f"{theirs[int(row[0]) - 1]:.6f}", row[1])
    # The first iterations of ours also evaluate the objective and the bound.
    print(f"seconds per iteration: naive {seconds:.5f}, ours {ours['cpu_s'] / ours['iterations']:.5f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
