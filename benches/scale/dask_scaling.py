"""Fits of the same rows on one machine and on clusters of one and of two workers: strong and weak scaling, what a pass costs beyond
its pairs, and memory.

    PYTHONPATH=target/python python benches/scale/dask_scaling.py [--rows 20000] [--features 16] [--tol 1e-2] > out.json

Workers have one thread each. CPU seconds are those of all processes, by `getrusage` of the client and of each worker; a machine that
does other things does not change them, as it does wall seconds. Each setting is a line of JSON; the last ones are the fitted model of
costs and what it says of 1,000,000 x 100 on 64 workers.
"""
import argparse
import json
import os
import resource
import sys
import time
import warnings

import dask.array as da
import distributed
import numpy as np

import lipmetric
from lipmetric.dask import DaskLip, _crew


#: Parts of a pass, at most (`PARTS` of crates/lipmetric/src/pairs/scan.rs).
PARTS = 256


def letters(rows, features, classes=26, seed=0):
    """Clusters like those of hand-written letters."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=1.6, size=(3 * classes, features))
    kind = rng.permutation(np.arange(rows) % (3 * classes))
    return centres[kind] + rng.normal(size=(rows, features)), kind % classes


def used():
    """CPU seconds and the largest size of this process in bytes."""
    told = resource.getrusage(resource.RUSAGE_SELF)
    return told.ru_utime + told.ru_stime, 1024 * told.ru_maxrss


def spec(args):
    return dict(slack="pair", solver="augmented", c=args.c, tol=args.tol, max_iter=args.iterations, k=1)


def alone(X, y, args):
    before, began = used()[0], time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = lipmetric.Lip(**spec(args), n_jobs=1).fit(X, y)
    return fitted, {"cpu": used()[0] - before, "wall": time.monotonic() - began}


class Noted(_crew.Crew):
    """Remembers the crew of the last fit."""

    last = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        Noted.last = self
        self.each = []

    def run(self, name, *args):
        began = time.monotonic()
        yield from super().run(name, *args)
        self.each.append((name, time.monotonic() - began))


def clustered(X, y, workers, args):
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
    )
    with cluster, distributed.Client(cluster) as client:
        chunk = -(-len(X) // 8)
        dX, dy = da.from_array(X, chunks=(chunk, X.shape[1])), da.from_array(y, chunks=chunk)
        client.run(lambda: __import__("lipmetric.dask"))
        idle = client.run(used)
        before, began = used()[0], time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = DaskLip(**spec(args), n_jobs=1).fit(dX, dy)
        wall, own, after = time.monotonic() - began, used()[0] - before, client.run(used)
        crew = Noted.last
        return fitted, {
            "client_cpu": own,
            "worker_cpu": [after[w][0] - idle[w][0] for w in after],
            "wall": wall,
            "passes": crew.passes,
            "tasks": crew.tasks,
            "pass_wall": crew.seconds,
            "bytes": crew.bytes,
            "failure": crew.failure,
        }


def copies(rows=300_000, features=30):
    """What reading the rows takes of a worker at most, the blocks themselves included, as multiples of 8 N p bytes."""
    rng = np.random.default_rng(0)
    blocks = [(rng.normal(size=(rows // 6, features)), np.arange(rows // 6) % 2, None) for _ in range(6)]
    before, request = used()[1], '{"spec": {"method": "lip"}}'
    held = _crew.build_share(*blocks, classes=np.array([0, 1]), request=request)
    return {"copies": 1 + (used()[1] - before) / (8 * rows * features), "kept": held.share.__sizeof__() / (8 * rows * features)}


def empty_pass(args):
    """What a pass takes whose pairs take nothing: a few rows, sent to the workers all the same."""
    X, y = letters(400, args.features)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, distributed.Client(cluster), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        least, _crew.LEAST_ROWS = _crew.LEAST_ROWS, 1
        DaskLip(**{**spec(args), "max_iter": 60}, n_jobs=1).fit(
            da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=200)
        )
        _crew.LEAST_ROWS = least
    walls = sorted(wall for _, wall in Noted.last.each[2:])
    return {"passes": len(walls), "median_wall": walls[len(walls) // 2], "least_wall": walls[0]}


def rate(args, features, rows=3900):
    """Pairs that a worker looks at in a CPU second, with so many features, once it has the rows: a long fit less a short one, of so few rows
    that no pass is over a sample."""
    X, y = letters(rows, features, classes=2)
    told = [clustered(X, y, 1, argparse.Namespace(c=args.c, tol=1e-9, iterations=steps))[1] for steps in (20, 120)]
    cpu = sum(told[1]["worker_cpu"]) - sum(told[0]["worker_cpu"])
    passes = told[1]["passes"] - told[0]["passes"]
    return passes * rows * (rows - 1) / 2 / cpu, passes, cpu


def model(rows, features, workers, pairs_per_second, overhead, network=1e9):
    """Seconds of a pass over all pairs, from the measured rate and overhead; what comes back goes through a network of so many
    bytes a second into one client. Parts are at most 256: each has a weight for the points from it on, and a row of features for
    each of its own points."""
    back = 8 * rows * (PARTS / 2 + features)
    compute, travel = rows * (rows - 1) / 2 / pairs_per_second / workers, back / network
    return {"seconds": compute + travel + overhead, "compute": compute, "travel": travel, "overhead": overhead, "bytes": back}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--c", type=float, default=1e4)
    parser.add_argument("--tol", type=float, default=1e-2)
    args = parser.parse_args()
    from lipmetric.dask import _learners

    _learners.Crew = Noted
    lines = []

    def tell(what, **figures):
        lines.append({"what": what, **figures})
        print(json.dumps(lines[-1]), flush=True)

    tell("reading the rows", **copies())
    half = int(args.rows / 2**0.5)
    X, y = letters(args.rows, args.features)
    expected, figures = alone(X, y, args)
    tell("one machine", rows=args.rows, **figures)
    for workers in (1, 2):
        fitted, figures = clustered(X, y, workers, args)
        same = fitted.components_.tobytes() == expected.components_.tobytes()
        tell("strong", rows=args.rows, workers=workers, same_bits=same, **figures)
    # Half the pairs on one worker: the same for each as all of them on two.
    _, figures = clustered(X[:half], y[:half], 1, args)
    tell("weak", rows=half, workers=1, **figures)
    empty = empty_pass(args)
    tell("empty pass", **empty)
    for features in (args.features, 100):
        found, passes, cpu = rate(args, features)
        tell("rate", features=features, pairs_per_cpu_second=found, passes=passes, cpu=cpu)
    tell("model", rows=1_000_000, features=100, workers=64, **model(1_000_000, 100, 64, found, empty["median_wall"]))
    print(f"load: {os.getloadavg()[0]:.1f}, client at most {used()[1] / 2**20:.0f} MiB", file=sys.stderr)


if __name__ == "__main__":
    main()
