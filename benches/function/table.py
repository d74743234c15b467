"""table.py [PROGRAM] [--repeats N] [--method lip-i] [--diameter max]  ->  Markdown tables: what the paper's classifier is worth.

On each bundled data set, N stratified splits (60 % of each class to train): accuracy of Euclidean 1-NN, Euclidean k-NN with k
chosen, 1-NN under the learned metric, and the Lipschitz extension of the learned values under the same metric. The metric's c is
chosen by cross-validation, by the extension's predictions. Then the rows of Australian and Voting that the optimum on all rows
relabels. PROGRAM: target/release/lipmetric by default.
"""
import argparse
import csv
import json
import math
import pathlib
import random
import statistics
import subprocess
import tempfile

TRAIN = 0.6

parser = argparse.ArgumentParser()
parser.add_argument("program", nargs="?", default="target/release/lipmetric")
parser.add_argument("--repeats", type=int, default=10)
parser.add_argument("--method", default="lip-i")
parser.add_argument("--diameter", default="max", help="max, as in the paper, or mean")
args = parser.parse_args()


def run(*words):
    done = subprocess.run([args.program, *map(str, words)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def split(rows, seed):
    """Stratified: the same part of each class, at random."""
    generator, parts = random.Random(seed), ([], [])
    for label in sorted({row[-1] for row in rows}):
        own = [row for row in rows if row[-1] == label]
        generator.shuffle(own)
        cut = math.floor(TRAIN * len(own))
        parts[0].extend(own[:cut])
        parts[1].extend(own[cut:])
    return parts


def write(path, head, rows):
    with open(path, "w", newline="") as out:
        csv.writer(out).writerows([head, *rows])


def trial(folder, head, rows, seed):
    """Accuracies of the four rules on one split."""
    train, test, model = folder / "train.csv", folder / "test.csv", folder / "m.lip"
    for path, part in zip((train, test), split(rows, seed)):
        write(path, head, part)

    def accuracy(*method):
        fit = run("fit", train, "--model", model, "--json", *method)
        return run("evaluate", test, "--model", model, "--json")["accuracy"], fit

    function, fit = accuracy("--method", args.method, "--diameter", args.diameter, "--c", "auto", "--classifier", "extension")
    return [
        accuracy("--method", "nn")[0],
        accuracy("--method", "nn", "--k", "auto")[0],
        accuracy("--method", args.method, "--diameter", args.diameter, "--c", repr(fit["c"]))[0],
        function,
    ]


def exported(name, folder):
    path = folder / "all.csv"
    subprocess.run([args.program, "datasets", "export", name, "-o", path], check=True, capture_output=True)
    with open(path, newline="") as source:
        head, *rows = csv.reader(source)
    return head, rows


def main():
    names = [entry["name"] for entry in run("datasets", "list", "--json") if entry["available"]]
    print("| data | 1-NN | k-NN, k chosen | 1-NN, learned metric | extension, same metric | gain over 1-NN, same metric |")
    print("|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as place:
        folder, columns = pathlib.Path(place), []
        for name in names:
            head, rows = exported(name, folder)
            trials = [trial(folder, head, rows, seed) for seed in range(args.repeats)]
            means = [100 * statistics.mean(t[k] for t in trials) for k in range(4)]
            gains = [100 * (t[3] - t[2]) for t in trials]
            # Nadeau and Bengio: the splits overlap, so that their spread says too little.
            spread = statistics.stdev(gains) * math.sqrt(1 / args.repeats + (1 - TRAIN) / TRAIN) if args.repeats > 1 else 0
            columns.append([*means, statistics.mean(gains)])
            print(f"| {name} | " + " | ".join(f"{m:.1f}" for m in means) + f" | {columns[-1][4]:+.1f} ± {spread:.1f} |", flush=True)
        mean = [statistics.mean(c[k] for c in columns) for k in range(5)]
        print("| mean | " + " | ".join(f"{m:.2f}" for m in mean[:4]) + f" | {mean[4]:+.2f} |")
        for name in ("australian", "voting"):
            fit = run("fit", "--data", name, "--method", args.method, "--c-rel", "0.3", "--json")
            suspects, classes = fit["suspects"]["relabelled"], fit["class_names"]
            print(f"\n{name}: {len(suspects)} of {fit['n']} rows are relabelled at c-rel 0.3")
            print(", ".join(f"{s['place']} ({classes[s['class']]}, slack {s['slack']:.2f})" for s in suspects[:12]))


main()
