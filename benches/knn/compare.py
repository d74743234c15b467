"""Exact k-nearest neighbours: this crate against scikit-learn, same data, same threads, same run.

Usage: python benches/knn/compare.py [--threads 1 2] [--k 1 5] [--repeats 3] [--only SUBSTRING] [--algorithms auto]

Prints a Markdown table: the best of the repeats for index (or fit) and search together, in wall and CPU seconds.
Fails if a neighbour differs from scikit-learn's by more than a tie.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.pop(name, None)

import numpy as np  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from shared import build, drive  # noqa: E402

QUERIES = 10_000
SHAPES = [
    ("uniform", 20_000, 16),
    ("gaussian", 20_000, 16),
    ("clustered", 20_000, 16),
    ("uniform", 10_000, 64),
    ("gaussian", 10_000, 64),
    ("clustered", 10_000, 64),
    ("uniform", 20_000, 2),
    ("uniform", 20_000, 4),
]


def sampler(kind, columns, rng):
    """A function that draws rows; clusters are 50 patches of dimension 3 with a little noise."""
    if kind == "uniform":
        return lambda n: rng.random((n, columns))
    if kind == "gaussian":
        return lambda n: rng.standard_normal((n, columns))
    centres = 3 * rng.standard_normal((50, columns))
    bases = 0.3 * rng.standard_normal((50, 3, columns))

    def draw(n):
        which = rng.integers(0, 50, n)
        patch = np.einsum("ni,nij->nj", rng.standard_normal((n, 3)), bases[which])
        return centres[which] + patch + 0.01 * rng.standard_normal((n, columns))

    return draw


def cpu_seconds(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def scikit_learn(rows, queries, k, threads, repeats, algorithms):
    """Best wall seconds with the CPU seconds of that run, over its algorithms, and the neighbours.

    Drops from `algorithms` what is hopelessly slow on these rows.
    """
    best, found = (np.inf, np.inf, ""), None
    labels = np.arange(len(rows)) % 2
    with threadpool_limits(threads):
        for algorithm in list(algorithms):
            for _ in range(repeats):
                wall, cpu = time.perf_counter(), cpu_seconds(resource.RUSAGE_SELF)
                model = KNeighborsClassifier(k, algorithm=algorithm, n_jobs=threads).fit(rows, labels)
                indices = model.kneighbors(queries, return_distance=False)
                wall = time.perf_counter() - wall
                cpu = cpu_seconds(resource.RUSAGE_SELF) - cpu
                best = min(best, (wall, cpu, algorithm))
                found = indices
                if wall > 4 * best[0]:
                    algorithms.remove(algorithm)
                    break
    return best, found


def ours(folder, columns, k, algorithm, threads, repeats):
    out = folder / "indices"
    settings = {"columns": columns, "k": k, "algorithm": algorithm, "threads": threads, "repeats": repeats, "out": out}
    report = drive("knn", folder / "rows", folder / "queries", **settings)
    best = min(zip(report["seconds"], report["cpu_seconds"]))
    return best, np.fromfile(out, dtype="<u8").astype(np.int64).reshape(-1, k)


def differences(rows, queries, a, b):
    """Number of neighbours whose distances differ, so that ties may be broken either way."""
    def squared(indices):
        return ((queries[:, None, :] - rows[indices]) ** 2).sum(axis=2)

    return int((~np.isclose(squared(a), squared(b), rtol=1e-9, atol=0)).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--k", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="shapes whose name, such as `uniform 20000 x 16`, contains this")
    parser.add_argument("--algorithms", nargs="+", default=["auto"], choices=["auto", "brute", "tree"])
    args = parser.parse_args()
    build()

    print("| rows | k | threads | scikit-learn s (cpu) | best of it | ours | ours s (cpu) | ratio wall | ratio cpu |")
    print("|---|---|---|---|---|---|---|---|---|")
    wrong = 0
    for kind, count, columns in SHAPES:
        name = f"{kind} {count} x {columns}"
        if args.only not in name:
            continue
        draw = sampler(kind, columns, np.random.default_rng(1))
        rows, queries = draw(count), draw(QUERIES)
        candidates = ["brute", "kd_tree", "ball_tree"]
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            rows.astype("<f8").tofile(folder / "rows")
            queries.astype("<f8").tofile(folder / "queries")
            for k in args.k:
                for threads in args.threads:
                    (wall, cpu, algorithm), expected = scikit_learn(
                        rows, queries, k, threads, args.repeats, candidates
                    )
                    for way in args.algorithms:
                        (our_wall, our_cpu), found = ours(folder, columns, k, way, threads, args.repeats)
                        wrong += differences(rows, queries, expected, found)
                        print(
                            f"| {name} | {k} | {threads} | {wall:.3f} ({cpu:.3f}) | {algorithm} "
                            f"| {way} | {our_wall:.3f} ({our_cpu:.3f}) | {wall / our_wall:.1f} | {cpu / our_cpu:.1f} |",
                            flush=True,
                        )
    if wrong:
        sys.exit(f"{wrong} neighbours differ from scikit-learn's")


if __name__ == "__main__":
    main()
