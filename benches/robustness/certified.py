"""certified.py digits|fashion [PROGRAM] [--rows N] [--repeats N] [--methods NAMES] [--queries N] [--radii R,...] [--held-out] [--save FILE]  ->  Markdown: certified accuracy of 1-NN at several radii.

digits: scikit-learn's, 60 % of each class to train, several splits. fashion: Fashion-MNIST (Debian's package
dataset-fashion-mnist), the first N training rows (10,000), the first 1,000 test rows (--queries) of a shuffle with seed 42; with
--held-out, the training rows that follow the first N in the place of the test rows: settings are chosen by these. Features are
scaled to 0 to 1. Radii (--kind bound or exact) in l2 on the scaled features; with --radii 0 rows are predicted without any, which is
fast: --queries 10000 --radii 0 judges by all test rows. On Fashion-MNIST, NCA and LMNN learn a map to 50
dimensions in at most 50 steps. With several splits a second table has the difference of each method to Lip^rob on the same
splits, and its standard error. With one test set the standard error is that of the mean over its rows. What is in FILE is not
computed again.
"""
import argparse
import csv
import json
import pathlib
import tempfile

import numpy as np
from common import fashion, halves, run, write
from sklearn import datasets

parser = argparse.ArgumentParser()
parser.add_argument("data", choices=["digits", "fashion"])
parser.add_argument("program", nargs="?", default="target/release/lipmetric")
parser.add_argument("--rows", type=int, default=10_000)
parser.add_argument("--queries", type=int, default=1000)
parser.add_argument("--radii", type=lambda text: [float(r) for r in text.split(",")], help="in the place of the usual ones")
parser.add_argument("--held-out", action="store_true")
parser.add_argument("--repeats", type=int, default=5)
parser.add_argument("--kind", default="bound", choices=["bound", "exact"])
parser.add_argument("--methods", default="Euclid,NCA,LMNN,ARML,Lip^rob")
parser.add_argument("--save", type=pathlib.Path, help="results so far: a line of JSON per method and split")
args = parser.parse_args()

METHODS = {
    "Euclid": ["nn"],
    "NCA": ["nca"],
    "LMNN": ["lmnn"],
    "ARML": ["arml"],
    "Lip^rob": ["lip-robust"],
}
if args.data == "fashion":
    for name in ["NCA", "LMNN"]:
        METHODS[name] += ["--n-components", "50", "--max-iter", "50"]
RADII = {"digits": [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8], "fashion": [0, 0.25, 0.5, 0.75, 1, 1.5, 2]}[args.data]
RADII = args.radii or RADII
PLAIN = RADII == [0]


def parts(seed):
    if args.data == "digits":
        data = datasets.load_digits()
        rows = [[*x, y] for x, y in zip(data.data, data.target)]
        train, test = (np.array(part) for part in halves(rows, seed))
        return train[:, :-1], train[:, -1].astype(int), test[:, :-1], test[:, -1].astype(int)
    x, y = fashion("train")
    if args.held_out:
        judged = slice(args.rows, args.rows + args.queries)
        return x[: args.rows], y[: args.rows], x[judged], y[judged]
    test, truth = fashion("t10k")
    order = np.random.RandomState(42).permutation(len(test))[: args.queries]
    return x[: args.rows], y[: args.rows], test[order], truth[order]


def outcome(name, folder, truth):
    """Radii of the test rows, 0 where the prediction is wrong and above 0 where it is right, and CPU seconds."""
    method, model = METHODS.get(name) or name.split(), folder / "m.lip"
    _, seconds = run(args.program, "fit", folder / "train.csv", "--method", *method, "--k", 1, "--scale", "minmax", "--model", model, "--json")
    asked = [] if PLAIN else [f"--radius={args.kind}"]
    text, spent = run(args.program, "predict", folder / "test.csv", "--model", model, *asked, parse=False)
    rows = list(csv.DictReader(text.splitlines()))
    right = [r["prediction"] == f"c{t}" for r, t in zip(rows, truth)]
    radius = [max(float(r.get("radius_prepared", 0.0)), 1e-300) if ok else 0.0 for r, ok in zip(rows, right)]
    return {"radius": radius, "fit": seconds, "radii": spent}


def kept():
    lines = args.save.read_text().splitlines() if args.save and args.save.exists() else []
    return {tuple(key): result for key, result in map(json.loads, lines)}


told, known = {}, kept()
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for seed in range(args.repeats if args.data == "digits" else 1):
        x, y, test, truth = parts(seed)
        write(folder / "train.csv", x, y)
        write(folder / "test.csv", test, truth)
        for name in args.methods.split(","):
            judged = ["held out"] * args.held_out + [len(test)] * (args.data == "fashion")
            key = (args.data, "plain" if PLAIN else args.kind, len(x), name, seed, *judged)
            result = known.get(key) or outcome(name, folder, truth)
            if args.save and key not in known:
                with open(args.save, "a") as out:
                    out.write(json.dumps([key, result]) + "\n")
            radius = np.array(result["radius"])
            certified = radius[:, None] > np.array(RADII)
            told.setdefault(name, []).append((certified, np.median(radius), result["fit"]))
            print(f"<!-- {name} {seed}: fit {result['fit']:.0f} s, radii {result['radii']:.0f} s, {(100 * certified.mean(axis=0)).round(1)} -->", flush=True)
print("| method | " + " | ".join(f"{r:g}" for r in RADII) + " | median radius" * (not PLAIN) + " | fit, CPU s |")
print("|---|" + "---:|" * (len(RADII) + 2 - PLAIN))
for name, results in told.items():
    mean = np.mean([r[0].mean(axis=0) for r in results], axis=0)
    median = "" if PLAIN else f" | {np.mean([r[1] for r in results]):.3f}"
    rest = f"{median} | {np.mean([r[2] for r in results]):.0f} |"
    print(f"| {name} | " + " | ".join(f"{100 * a:.1f}" for a in mean) + rest)
ours = told.get("Lip^rob", [])
if ours:
    print("\n| Lip^rob less | " + " | ".join(f"{r:g}" for r in RADII) + " |")
    print("|---|" + "---:|" * len(RADII))
    for name, results in told.items():
        if name != "Lip^rob":
            apart = [100.0 * np.subtract(a[0], b[0], dtype=float) for a, b in zip(ours, results)]
            # A split is a draw where there are several; where there is one, a row is.
            apart = apart[0] if len(apart) == 1 else np.array([a.mean(axis=0) for a in apart])
            errors = apart.std(axis=0, ddof=1) / len(apart) ** 0.5
            print(f"| {name} | " + " | ".join(f"{m:+.2f} ± {e:.2f}" for m, e in zip(apart.mean(axis=0), errors)) + " |")
