"""Kills a worker at a random moment of a fit on two workers, ten times, and says how many of the fits end with the bits of one machine.

    PYTHONPATH=target/python python benches/scale/dask_kills.py [--times 10] [--rows 12000] [--seed 0]
"""
import argparse
import json
import os
import random
import signal
import threading
import time
import warnings

import dask.array as da
import distributed

import lipmetric
from dask_scaling import letters
from lipmetric.dask import DaskLip, _crew, _learners

SPEC = dict(slack="pair", solver="augmented", c=8000.0, tol=1e-2, max_iter=200)


def pair():
    """Two workers, of their own for each fit: a worker that is killed while it starts may not come back."""
    return distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")


def killed(address, X, y, chance, usual):
    """A fit during which a worker is killed, and what was noticed of it."""
    moment, made = chance.uniform(0.0, usual), []

    class Noted(_crew.Crew):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self)

    def kill():
        time.sleep(moment)
        with distributed.Client(address, set_as_default=False) as other:
            os.kill(chance.choice(list(other.run(os.getpid).values())), signal.SIGKILL)

    _learners.Crew = Noted
    thread = threading.Thread(target=kill)
    thread.start()
    began = time.monotonic()
    fitted = DaskLip(**SPEC).fit(X, y)
    wall = time.monotonic() - began
    thread.join()
    return fitted, {"killed_after": moment, "wall": wall, "lost": made[0].lost, "passes": made[0].passes, "failure": made[0].failure}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--rows", type=int, default=12_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = letters(args.rows, 6)
    expected = lipmetric.Lip(**SPEC).fit(X, y).components_.tobytes()
    chunk = -(-args.rows // 4)
    chance, same = random.Random(args.seed), 0
    dX, dy = da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk)
    with pair() as cluster, distributed.Client(cluster):
        began = time.monotonic()
        DaskLip(**SPEC).fit(dX, dy)
        usual = time.monotonic() - began
        print(json.dumps({"undisturbed": usual}), flush=True)
    for _ in range(args.times):
        with pair() as cluster, distributed.Client(cluster):
            fitted, told = killed(cluster.scheduler_address, dX, dy, chance, usual)
        told["same_bits"] = fitted.components_.tobytes() == expected
        same += told["same_bits"]
        print(json.dumps(told), flush=True)
    print(f"{same} of {args.times} fits end with the bits of one machine")


if __name__ == "__main__":
    main()
