"""What Python costs on top of the library: import, calls, memory, the size of the wheel.

    python benches/python/overhead.py        # with lipmetric installed (pip install .)

Times are CPU milliseconds, the least of many runs, so that other work on the machine does not count.
"""

import pathlib
import resource
import subprocess
import sys
import time

import numpy as np

import lipmetric


def least(function, runs):
    """The least CPU time of a call, in milliseconds."""
    times = []
    for _ in range(runs):
        begun = time.process_time()
        function()
        times.append(time.process_time() - begun)
    return 1e3 * min(times)


def child(code):
    """CPU milliseconds of an interpreter that runs some code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 5)), rng.integers(2, size=50)
    plain = min(child("pass") for _ in range(9))
    numpy = min(child("import numpy") for _ in range(9))
    ours = min(child("import lipmetric") for _ in range(9))
    print(f"import lipmetric              {ours - plain:8.2f} ms, of which NumPy {numpy - plain:.2f} ms")
    model = lipmetric.fit(X, y, "nn")
    model.predict(X)
    print(f"fit, 50 rows, nothing to learn{least(lambda: lipmetric.fit(X, y, 'nn'), 300):8.2f} ms")
    print(f"predict one row               {least(lambda: model.predict(X[:1]), 300):8.2f} ms")
    print(f"transform one row             {least(lambda: model.transform(X[:1]), 300):8.2f} ms")
    learner = lipmetric.Euclidean().fit(X, y)
    print(f"an estimator predicts one row {least(lambda: learner.predict(X[:1]), 300):8.2f} ms")
    X, y = lipmetric.datasets.load_australian()
    train = np.random.default_rng(0).permutation(len(X))[: round(0.6 * len(X))]
    arguments = {"method": "lip-d", "slack": "pair", "c": 1.0, "scaling": "minmax", "n_jobs": 1}
    print(f"Lip^D, 60 % of australian     {least(lambda: lipmetric.fit(X[train], y[train], **arguments), 5):8.2f} ms")
    module = pathlib.Path(lipmetric._lipmetric.__file__)
    print(f"the compiled module           {module.stat().st_size / 1e6:8.2f} MB")


if __name__ == "__main__":
    main()
