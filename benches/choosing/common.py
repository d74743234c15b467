"""Data sets, splits and runs that the scripts of this folder share. Needs numpy and scikit-learn."""

import csv
import json
import os
import pathlib
import resource
import subprocess

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAM = ROOT / "target" / "release" / "lipmetric"
BUNDLED = ["australian", "cancer", "diabetes", "echo", "fertility", "haberman", "voting"]
SKLEARN = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer, "digits": load_digits}
ONE_THREAD = dict(os.environ, RAYON_NUM_THREADS="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")


def nuisance(r):
    """Two of twelve features tell the class."""
    x = r.normal(size=(300, 12))
    return x, (x[:, 0] + x[:, 1] > 0).astype(int)


def correlated(r):
    """Four classes that differ in three directions of fourteen mixed features."""
    y, z, centres = r.integers(0, 4, 600), r.normal(size=(600, 14)), np.zeros((4, 14))
    centres[:, :3] = 1.6 * r.normal(size=(4, 3))
    mixing = r.normal(size=(14, 14)) @ np.diag(np.exp(r.normal(size=14)))
    return (z + centres[y]) @ mixing, y


def pure_noise(r):
    x = r.normal(size=(200, 8))
    return x, r.integers(0, 2, 200)


def heavy_tails(r):
    """Six classes of unequal size."""
    y = r.choice(6, 210, p=[0.33, 0.36, 0.08, 0.06, 0.04, 0.13])
    centres, widths = 0.9 * r.normal(size=(6, 9)), np.exp(0.5 * r.normal(size=(6, 9)))
    return centres[y] + widths[y] * r.standard_t(3, size=(210, 9)), y


def half_binary(r):
    """Thirteen weak features, eight of them yes or no."""
    y = r.integers(0, 2, 270)
    x = r.normal(size=(270, 13)) + np.outer(2 * y - 1, 0.35 * r.normal(size=13))
    x[:, 5:] = x[:, 5:] > 0.3
    return x, y


def chequered(r):
    """The product of two signs, among eight features."""
    x = r.uniform(-1, 1, size=(400, 8))
    return x, ((x[:, 0] > 0) ^ (x[:, 1] > 0)).astype(int)


def spirals(r):
    """Two spirals in a plane, and four features of noise."""
    t, y = r.uniform(0, 3 * np.pi, 500), r.integers(0, 2, 500)
    x = np.c_[t * np.cos(t + np.pi * y), t * np.sin(t + np.pi * y)] + 0.4 * r.normal(size=(500, 2))
    return np.c_[x, 3 * r.normal(size=(500, 4))], y


def wide(r):
    """Sixty features made of eight."""
    y, mixing = r.integers(0, 2, 208), r.normal(size=(8, 60))
    z = r.normal(size=(208, 8)) + np.outer(2 * y - 1, 0.3 * r.normal(size=8))
    return z @ mixing + r.normal(size=(208, 60)), y


def five_clouds(r):
    y, centres = r.integers(0, 5, 400), 0.8 * r.normal(size=(5, 10))
    return centres[y] + r.normal(size=(400, 10)), y


def unequal_clouds(r):
    y, widths = r.integers(0, 3, 300), np.exp(0.8 * r.normal(size=(3, 6)))
    centres = 0.7 * r.normal(size=(3, 6))
    return centres[y] + widths[y] * r.normal(size=(300, 6)), y


GENERATORS = [
    nuisance, correlated, pure_noise, heavy_tails, half_binary, chequered, spirals, wide, five_clouds, unequal_clouds,
]
MADE = {f.__name__: f for f in GENERATORS}


def load(name, seed=0):
    """Features (NaN where missing) and class codes; the seed is of those that are generated."""
    if name in SKLEARN:
        return SKLEARN[name](return_X_y=True)
    if name in MADE:
        return MADE[name](np.random.default_rng(seed))
    with open(ROOT / "crates" / "lipmetric-io" / "data" / f"{name}.csv") as f:
        rows = list(csv.reader(f))[1:]
    x = np.array([[float(v) if v else np.nan for v in r[:-1]] for r in rows])
    return x, np.unique([r[-1] for r in rows], return_inverse=True)[1]


def split(y, repeat):
    """60 % of each class to train."""
    r = np.random.default_rng(1000 + repeat)
    train, test = [], []
    for label in np.unique(y):
        rows = r.permutation(np.flatnonzero(y == label))
        count = max(1, int(0.6 * len(rows) + 1e-9))
        train += list(rows[:count])
        test += list(rows[count:])
    return np.array(train), np.array(test)


def splits(name, repeats, seed=0):
    """60 % of each class to train; gaps filled with the training median, features z-scored by the training part."""
    x, y = load(name, seed)
    for repeat in range(repeats):
        train, test = split(y, repeat)
        a, b = x[train], x[test]
        middle = np.nanmedian(a, 0)
        a, b = np.where(np.isnan(a), middle, a), np.where(np.isnan(b), middle, b)
        mean, sd = a.mean(0), a.std(0)
        sd[sd == 0] = 1
        yield (a - mean) / sd, y[train], (b - mean) / sd, y[test]


def write(path, x, y):
    with open(path, "w") as f:
        out = csv.writer(f)
        out.writerow([f"f{k}" for k in range(x.shape[1])] + ["label"])
        out.writerows([*(repr(float(v)) for v in row), f"class {label}"] for row, label in zip(x, y))


def write_splits(folder, names, repeats, seed=0):
    for name in names:
        for k, (a, ya, b, yb) in enumerate(splits(name, repeats, seed)):
            write(folder / f"{name}.{k}.train.csv", a, ya)
            write(folder / f"{name}.{k}.test.csv", b, yb)


def ours(train, test, model, *options):
    """Accuracy on the test rows and the processor seconds of the fit."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    fit = [PROGRAM, "fit", train, "--model", model, "--threads", "1", "--json", *options]
    done = subprocess.run([str(c) for c in fit], env=ONE_THREAD, capture_output=True, text=True)
    if done.returncode not in (0, 4):
        return None
    cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    judge = [str(PROGRAM), "evaluate", str(test), "--model", str(model), "--json"]
    told = subprocess.run(judge, env=ONE_THREAD, capture_output=True, text=True, check=True)
    return json.loads(told.stdout)["accuracy"], cpu


def ranks(row):
    """Ranks of accuracies, best first, equal ones sharing; what failed is last."""
    row = [-1 if v is None else round(v, 6) for v in row]
    return [1 + sum(o > v for o in row) + 0.5 * (row.count(v) - 1) for v in row]


def print_table(title, columns, rows):
    """Mean accuracies in per cent, the best marked, with their mean and average rank."""
    print(f"\n**{title}**\n\n| data | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for name, values in rows.items():
        best = max(v for v in values if v is not None)
        shown = ("-" if v is None else f"**{100 * v:.1f}**" if v > best - 5e-5 else f"{100 * v:.1f}" for v in values)
        print(f"| {name} | {' | '.join(shown)} |")
    whole = [v for v in rows.values() if None not in v]
    means = (f"{100 * np.mean([v[c] for v in whole]):.2f}" for c in range(len(columns)))
    every = [ranks(v) for v in rows.values()]
    average = (f"{np.mean([r[c] for r in every]):.2f}" for c in range(len(columns)))
    print(f"| mean ({len(whole)} sets without gaps) | {' | '.join(means)} |")
    print(f"| average rank | {' | '.join(average)} |", flush=True)
