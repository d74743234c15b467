"""speed.py [PROGRAM]  ->  Markdown: CPU seconds for the radii of 1,000 queries against 10,000 x 16 rows, one thread.

Ten classes around centres of their own; the metric is Euclid's and one that NCA learned from 1,000 of the rows. The time is that of
`predict --radius`, which tells the radius in three spaces, less that of `predict`, divided by three. Beside it numpy, which computes the same bound over all pairs of rows, for a few
of the queries.
"""
import pathlib
import sys
import tempfile
import time

import numpy as np
from common import factor, run, write

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "target/release/lipmetric"
ROWS, QUERIES, FEATURES, CLASSES, SHOWN = 10_000, 1_000, 16, 10, 10


def sample(n, generator, centres):
    y = generator.integers(0, CLASSES, n)
    return centres[y] + generator.normal(size=(n, FEATURES)), y


def in_numpy(x, y, queries, labels, metric, s):
    """The s-th smallest over other rows of the s-th largest over own rows."""
    z, w = x @ metric.T, x @ metric.T @ metric
    radii = []
    for q, label in zip(queries, labels):
        d = ((z - metric @ q) ** 2).sum(1)
        own, other = np.flatnonzero(y == label), np.flatnonzero(y != label)
        squares = (w[own] ** 2).sum(1)[:, None] + (w[other] ** 2).sum(1) - 2 * w[own] @ w[other].T
        eps = np.maximum(0, d[other] - d[own][:, None]) / (2 * np.sqrt(np.maximum(squares, 1e-300)))
        farthest = -np.partition(-eps, s - 1, axis=0)[s - 1]
        radii.append(np.partition(farthest, s - 1)[s - 1])
    return np.array(radii)


generator = np.random.default_rng(0)
centres = generator.normal(size=(CLASSES, FEATURES))
(x, y), (queries, truth) = sample(ROWS, generator, centres), sample(QUERIES, generator, centres)
print("| metric | radius | CPU seconds, 1,000 queries | numpy over all pairs, CPU seconds per 1,000 |")
print("|---|---|---:|---:|")
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    write(folder / "train.csv", x, y)
    write(folder / "part.csv", x[:1000], y[:1000])
    write(folder / "test.csv", queries, truth)
    run(PROGRAM, "fit", folder / "part.csv", "--method", "nca", "--scale", "none", "--model", folder / "nca.lip", "--json")
    for name in ["nn", "nca"]:
        for k, kinds in [(1, ["bound", "exact"]), (11, ["bound"])]:
            model = folder / "m.lip"
            extra = ["--method", "nn"] if name == "nn" else ["--method", "nca", "--warm-start", folder / "nca.lip", "--max-iter", 1]
            run(PROGRAM, "fit", folder / "train.csv", *extra, "--k", k, "--scale", "none", "--model", model, "--json")
            _, plain = run(PROGRAM, "predict", folder / "test.csv", "--model", model, parse=False)
            metric = factor(model)
            for kind in kinds:
                # predict tells the radius in three spaces.
                text, seconds = run(PROGRAM, "predict", folder / "test.csv", "--model", model, f"--radius={kind}", parse=False)
                seconds = (seconds - plain) / 3
                beside = "-"
                if kind == "bound":
                    told = [line.split(",") for line in text.splitlines()[1:]]
                    labels = np.array([int(t[0][1:]) for t in told])
                    begun = time.process_time()
                    radii = in_numpy(x, y, queries[:SHOWN], labels[:SHOWN], metric, (k + 1) // 2)
                    beside = f"{(time.process_time() - begun) * QUERIES / SHOWN:.0f}"
                    ours = np.array([float(t[2]) for t in told[:SHOWN]])
                    assert (ours >= radii * (1 - 1e-9)).all() and (k > 1 or np.allclose(ours, radii)), (ours, radii)
                what = "exact" if kind == "exact" else "bound"
                print(f"| {name} | {what}, k = {k} | {seconds:.2f} | {beside} |", flush=True)
