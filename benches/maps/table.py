"""Maps of two directions, judged on rows that were held out: how many of them the nearest training rows predict rightly.

Usage: python benches/maps/table.py [--program FILE] [--splits N] [--dims N] [SETS ...]

Needs the packages of requirements.txt. Every map sees the same splits, six tenths of each class to train, features of mean 0 and
deviation 1 by the training rows, and the same votes predict: of the 1, 5, 15 or 31 nearest, whichever does best on the training rows left
out one at a time. Seconds are processor time of a fit on one thread (user and system, children included). Prints Markdown.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import NeighborhoodComponentsAnalysis

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))
from shared import spent  # noqa: E402
from votes import accuracy, nearest  # noqa: E402


def letters():
    """Six classes of 60 rows in ten features: they differ along three directions, and noise is wider than that."""
    rng = np.random.default_rng(7)
    turn = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    y = np.repeat(np.arange(6), 60)
    z = rng.normal(size=(360, 10)) * np.array([1, 1, 1, 4, 4, 4, 3, 3, 2, 2])
    z[:, :3] += 3.5 * rng.normal(size=(6, 3))[y]
    return z @ turn, y


SETS = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "turned": letters,
}


def ours(program, options):
    def fit(x, y, z):
        with tempfile.TemporaryDirectory() as folder:
            np.savez(f"{folder}/train.npz", x=x, y=y)
            np.savez(f"{folder}/new.npz", x=np.concatenate([x, z]))
            begin = spent()
            words = ["fit", "train.npz", "--scale", "none", "--k", "auto", "--threads", "1", "--model", "m.lip", *options]
            done = subprocess.run([str(program), *words], cwd=folder, capture_output=True, text=True)
            if done.returncode not in (0, 4):
                raise SystemExit(f"{words}: {done.stderr}")
            seconds = spent() - begin
            subprocess.run([str(program), "transform", "--model", "m.lip", "new.npz", "-o", "z.npy"], cwd=folder, check=True)
            mapped = np.load(f"{folder}/z.npy")
        return mapped[: len(x)], mapped[len(x) :], seconds

    return fit


def peer(make):
    def fit(x, y, z):
        begin = spent()
        learned = make(len(np.unique(y))).fit(x, y)
        seconds = spent() - begin
        return learned.transform(x), learned.transform(z), seconds

    return fit


def judge(train, codes, new, truth):
    return accuracy(train, codes, nearest(train, new), truth)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "target/release/lipmetric", type=pathlib.Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--dims", type=int, default=2)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    asked = parser.parse_args()
    program, dims = asked.program.resolve(), str(asked.dims)
    few = lambda classes: min(asked.dims, classes - 1)
    maps = {
        "all features, Euclidean": lambda x, y, z: (x, z, 0.0),
        "all directions, NCA": ours(program, ["--method", "nca"]),
        "all directions, LMNN": ours(program, ["--method", "lmnn"]),
        "all directions, Lip^I": ours(program, ["--method", "lip-i", "--c-rel", "0.1"]),
        f"{dims}: PCA (`nn --dims {dims}`)": ours(program, ["--method", "nn", "--dims", dims]),
        f"{dims} leading of NCA (`--dims`)": ours(program, ["--method", "nca", "--dims", dims]),
        f"{dims} leading of LMNN (`--dims`)": ours(program, ["--method", "lmnn", "--dims", dims]),
        f"{dims} leading of Lip^I (`--dims`)": ours(program, ["--method", "lip-i", "--c-rel", "0.1", "--dims", dims]),
        f"{dims} leading of auto (`--dims`)": ours(program, ["--classifier", "nearest", "--dims", dims]),
        f"{dims} learned by NCA (`--n-components`)": ours(program, ["--method", "nca", "--n-components", dims]),
        f"{dims} learned by NCA, log": ours(program, ["--method", "nca", "--loss", "log", "--n-components", dims]),
        f"{dims} learned by LMNN (`--n-components`)": ours(program, ["--method", "lmnn", "--n-components", dims]),
        f"{dims} of `--method discriminant`": lambda x, y, z: ours(
            program, ["--method", "discriminant", "--n-components", str(few(len(np.unique(y))))]
        )(x, y, z),
        "scikit-learn PCA": peer(lambda _: PCA(asked.dims)),
        "scikit-learn LDA": peer(lambda classes: LinearDiscriminantAnalysis(n_components=few(classes))),
        "scikit-learn NCA": peer(lambda _: NeighborhoodComponentsAnalysis(asked.dims, random_state=0)),
    }
    told = {name: {} for name in maps}
    for name in asked.sets:
        x, y = SETS[name]()
        for train, test in StratifiedShuffleSplit(asked.splits, test_size=0.4, random_state=0).split(x, y):
            deviation = x[train].std(axis=0)
            z = (x - x[train].mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
            for map_name, fit in maps.items():
                near, new, seconds = fit(z[train], y[train], z[test])
                told[map_name].setdefault(name, []).append((judge(near, y[train], new, y[test]), seconds))
    print("| map | " + " | ".join(asked.sets) + " | mean | fit, CPU s |")
    print("|---|" + "---:|" * (len(asked.sets) + 2))
    for map_name, sets in told.items():
        means = [np.mean([r[0] for r in rows]) for rows in sets.values()]
        seconds = np.mean([r[1] for rows in sets.values() for r in rows])
        print(f"| {map_name} | " + " | ".join(f"{v:.1f}" for v in means) + f" | {np.mean(means):.1f} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
