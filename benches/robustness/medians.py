"""medians.py [PROGRAM]  ->  Markdown: certified radii by hyperplanes against half the margin over the largest singular value.

On each bundled data set and on scikit-learn's, 60 % of each class to train, standardised; one nearest neighbour. Medians over the
test rows of the radius on the prepared features (l2): by the triangle inequality, by hyperplanes and exact; in brackets as multiples of
the first. The last column is the least ratio of a row.
"""
import csv
import io
import pathlib
import sys
import tempfile

import numpy as np
from common import BUNDLED, factor, halves, run
from sklearn import datasets

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "target/release/lipmetric"
METHODS = {"Euclid": ["nn"], "NCA": ["nca"], "LMNN": ["lmnn"], "Lip^I": ["lip-i"]}


def tables(folder):
    for name in BUNDLED:
        text, _ = run(PROGRAM, "datasets", "export", name, parse=False)
        head, *rows = csv.reader(io.StringIO(text))
        yield name, head, rows
    for name in ["iris", "wine", "breast_cancer", "digits"]:
        data = getattr(datasets, f"load_{name}")()
        rows = [[*map(repr, map(float, x)), f"c{y}"] for x, y in zip(data.data, data.target)]
        yield name, [f"x{k}" for k in range(data.data.shape[1])] + ["label"], rows


print("| data | " + " | ".join(f"{m}: triangle, hyperplanes, exact" for m in METHODS) + " | least ratio of a row |")
print("|---|" + "---:|" * (len(METHODS) + 1))
ratios, limits = {method: [] for method in METHODS}, {method: [] for method in METHODS}
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for name, head, rows in tables(folder):
        for part, file in zip(halves(rows), ["train.csv", "test.csv"]):
            with open(folder / file, "w", newline="") as out:
                csv.writer(out).writerows([head, *part])
        cells, least = [], np.inf
        for method, words in METHODS.items():
            model = folder / "m.lip"
            run(PROGRAM, "fit", folder / "train.csv", "--method", *words, "--k", 1, "--model", model, "--json")
            text, _ = run(PROGRAM, "predict", folder / "test.csv", "--model", model, "--margin", "--radius", parse=False)
            told = list(csv.DictReader(io.StringIO(text)))
            new = np.array([float(t["radius_prepared"]) for t in told])
            old = np.array([float(t["margin"]) / 2 for t in told]) / np.linalg.norm(factor(model), 2)
            positive = old > 1e-9
            least = min(least, (new[positive] / old[positive]).min())
            text, _ = run(PROGRAM, "predict", folder / "test.csv", "--model", model, "--radius=exact", parse=False)
            exact = np.median([float(t["radius_prepared"]) for t in csv.DictReader(io.StringIO(text))])
            before, after = np.median(old), np.median(new)
            ratio = after / before if before > 0 else np.nan
            ratios[method].append(ratio)
            most = exact / before if before > 0 else np.nan
            limits[method].append(most)
            cells.append(f"{before:.3f}, {after:.3f} ({ratio:.2f}), {exact:.3f} ({most:.2f})")
        print(f"| {name} | " + " | ".join(cells) + f" | {least:.3f} |", flush=True)
medians = [f"{np.nanmedian(ratios[m]):.2f}, exact {np.nanmedian(limits[m]):.2f}" for m in METHODS]
print("| median of the multiples | " + " | ".join(medians) + " | |")
