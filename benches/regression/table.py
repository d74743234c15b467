"""Regression beside scikit-learn and metric-learn: R2 on held-out rows, and processor seconds of a fit.

Usage: python benches/regression/table.py [--program FILE] [--splits N] [TABLES ...]

Needs the packages of requirements.txt (metric-learn runs on scikit-learn up to 1.7). Every method sees the same splits, four fifths of
the rows to train. Peers get features of mean 0 and deviation 1, and choose their settings by five-fold cross-validation on the
training rows. All have one thread. Prints Markdown.
"""

import argparse
import csv
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np
from metric_learn import MLKR
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ROOT = pathlib.Path(__file__).parents[2]
NEIGHBOURS = {"n_neighbors": [1, 3, 5, 7, 9, 11, 15, 21, 31]}


def wave(rows=400):
    """A function of one of ten features."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (rows, 10))
    return X, np.sin(4 * X[:, 0]) + 0.2 * rng.normal(size=rows)


def turned(rows=400):
    """A function of one direction that is no feature, with a step."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(rows, 8))
    along = X @ (np.array([1, 1, -1, 1, 0, 0, 0, 0]) / 2)
    return X, along + (along > 0.5) + 0.2 * rng.normal(size=rows)


TABLES = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "friedman1": lambda: make_friedman1(500, 10, noise=1.0, random_state=0),
    "friedman2": lambda: make_friedman2(500, noise=50.0, random_state=0),
    "friedman3": lambda: make_friedman3(500, noise=0.1, random_state=0),
    "wave": wave,
    "turned": turned,
}

OURS = {
    "auto": [],
    "AGOP, smooth": ["--method", "agop", "--classifier", "smooth"],
    "AGOP, extension": ["--method", "agop", "--classifier", "extension"],
    "MLKR, k-NN": ["--method", "mlkr"],
    "Euclid, k-NN": ["--method", "nn"],
}


def ridge():
    grid = {"alpha": [1e-3, 1e-2, 1e-1, 1.0], "gamma": [0.02, 0.05, 0.1, 0.2, 0.5, 1.0]}
    return GridSearchCV(KernelRidge(kernel="laplacian"), grid, cv=5)


class MetricLearn:
    """MLKR of metric-learn, and the mean of the nearest rows under it."""

    def fit(self, X, y):
        self.map = MLKR(random_state=0).fit(X, y)
        self.nearest = GridSearchCV(KNeighborsRegressor(), NEIGHBOURS, cv=5).fit(self.map.transform(X), y)
        return self

    def predict(self, X):
        return self.nearest.predict(self.map.transform(X))


PEERS = {
    "metric-learn MLKR, k-NN": MetricLearn,
    "scikit-learn k-NN": lambda: GridSearchCV(KNeighborsRegressor(), NEIGHBOURS, cv=5),
    "scikit-learn kernel ridge": ridge,
    "scikit-learn forest": lambda: RandomForestRegressor(500, random_state=0),
}


def write(path, X, y):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{k}" for k in range(X.shape[1])), "y"])
        writer.writerows(np.column_stack([X, y]).tolist())


def ours(program, options, train, test):
    """R2 and the processor seconds of a fit on one thread."""
    with tempfile.TemporaryDirectory() as folder:
        rows, new, model = (pathlib.Path(folder) / name for name in ("train.csv", "test.csv", "m.lip"))
        write(rows, *train)
        write(new, *test)
        fit = [program, "fit", rows, "--task", "regression", "--model", model, "--threads", "1", "-q", *options]
        process = subprocess.Popen(fit, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 4):
            raise SystemExit(f"{fit} ended with exit code {process.returncode}")
        said = subprocess.run([program, "predict", "--model", model, new], check=True, capture_output=True, text=True).stdout
    predicted = [float(row["prediction"]) for row in csv.DictReader(io.StringIO(said))]
    return r2_score(test[1], predicted), used.ru_utime + used.ru_stime


def peer(make, train, test):
    begun = time.process_time()
    learner = make_pipeline(StandardScaler(), make()) if not isinstance(make, type) else None
    if learner is None:
        scaler = StandardScaler().fit(train[0])
        learner = make().fit(scaler.transform(train[0]), train[1])
        seconds = time.process_time() - begun
        return r2_score(test[1], learner.predict(scaler.transform(test[0]))), seconds
    learner.fit(*train)
    seconds = time.process_time() - begun
    return r2_score(test[1], learner.predict(test[0])), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "target" / "release" / "lipmetric")
    args = parser.parse_args()
    methods = [*OURS, *PEERS]
    means, seconds = {}, {method: [] for method in methods}
    for name in args.tables:
        X, y = TABLES[name]()
        scores = {method: [] for method in methods}
        for train, test in ShuffleSplit(args.splits, test_size=0.2, random_state=0).split(X):
            parts = (X[train], y[train]), (X[test], y[test])
            for method, options in OURS.items():
                found = ours(args.program, options, *parts)
                scores[method].append(found[0])
                seconds[method].append(found[1])
            for method, make in PEERS.items():
                found = peer(make, *parts)
                scores[method].append(found[0])
                seconds[method].append(found[1])
        means[name] = {method: np.mean(values) for method, values in scores.items()}
        print(name, {method: round(value, 3) for method, value in means[name].items()}, file=sys.stderr, flush=True)
    print("| method | " + " | ".join(means) + " | mean | fit, CPU s |")
    print("|---|" + "---|" * (len(means) + 2))
    for method in methods:
        row = [means[name][method] for name in means]
        cells = [f"**{v:.3f}**" if v >= max(means[name].values()) - 5e-4 else f"{v:.3f}" for name, v in zip(means, row)]
        print(f"| {method} | " + " | ".join(cells) + f" | {np.mean(row):.3f} | {np.mean(seconds[method]):.2f} |")


if __name__ == "__main__":
    main()
