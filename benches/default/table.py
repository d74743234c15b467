"""The program as it comes, beside what people use instead: same splits, one thread.

Usage: python benches/default/table.py [--cache FILE] [--other | --heavy | --fresh] [--only NAMES] [--repeats 10] [--column NAME=OPTIONS ...]

Runs in an environment with requirements.txt, on the program built with `cargo build --release`. FILE keeps all results,
split by split: a later run computes only what it lacks, of the program what this very build has not computed with these options.
`--peers-only` fills it with the other packages' and stops.
Prints Markdown: accuracies with their mean and average rank, corrected t-tests, calibration errors and processor seconds.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"
import argparse
import csv
import hashlib
import json
import pathlib
import resource
import shlex
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from peers import PEERS, VOTING
from scipy import stats
from tables import FIRST, FRESH, HEAVY, OTHER, ROOT, encoded, load, split, write

from common import ranks

warnings.simplefilter("ignore")
OURS = {"lipmetric": "", "lipmetric, votes": "--classifier nearest"}
BINS = 15


def result(name, repeat, method, cpu, y, predicted, chances):
    return dict(
        data=name, split=repeat, method=method, cpu=round(cpu, 3), right=[int(v) for v in predicted == y],
        chance=[round(float(v), 4) for v in chances],
    )


def peer(method, name, table, repeat):
    train, test = split(table.y, repeat)
    x, z = encoded(table, train, test)
    begun = time.process_time()
    try:
        predicted, chances = PEERS[method](x, table.y[train], z)
    except (ValueError, np.linalg.LinAlgError) as error:
        return dict(data=name, split=repeat, method=method, error=str(error)[:200])
    return result(name, repeat, method, time.process_time() - begun, table.y[test], predicted, chances)


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ours(program, column, options, name, table, repeat):
    """Fits, and predicts with probabilities; the time is that of both."""
    train, test = split(table.y, repeat)
    with tempfile.TemporaryDirectory() as folder:
        rows, asked, model, out = (pathlib.Path(folder) / n for n in ("train.csv", "test.csv", "m.lip", "out.csv"))
        write(rows, table, train)
        write(asked, table, test)
        begun = spent()
        commands = (
            ["fit", rows, "--model", model, "--threads", "1", "--json", *shlex.split(options)],
            ["predict", asked, "--model", model, "--proba", "--unseen", "ignore", "-o", out],
        )
        for command in commands:
            done = subprocess.run([str(c) for c in [program, *command]], capture_output=True, text=True)
            # 4: stopped at a limit, with a model.
            if done.returncode not in (0, 4):
                return dict(data=name, split=repeat, method=column, error=done.stderr.strip()[-200:])
        cpu = spent() - begun
        with open(out) as f:
            told = list(csv.DictReader(f))
    predicted = np.array([row["prediction"] for row in told])
    chances = [float(row[f"proba:{row['prediction']}"]) for row in told]
    return result(name, repeat, column, cpu, table.y[test], predicted, chances)


class Cache:
    def __init__(self, path):
        self.path, self.held = path, {}
        if path and path.exists():
            self.held = {(r["data"], r["split"], r["method"], r.get("by")): r for r in map(json.loads, path.open())}

    def get(self, name, repeat, method, compute, by=None):
        """`by` tells builds of the program, and the options it was given, apart."""
        key = (name, repeat, method, by)
        if key not in self.held:
            self.held[key] = {**compute(), **({"by": by} if by else {})}
            if self.path:
                with self.path.open("a") as f:
                    f.write(json.dumps(self.held[key]) + "\n")
        return self.held[key]


class Column:
    """A method's results, by data set."""

    def __init__(self, results):
        self.results = results

    def each(self, name):
        """The accuracies of the splits, or nothing if one of them failed."""
        results = self.results[name]
        return None if any("error" in r for r in results) else np.array([np.mean(r["right"]) for r in results])

    def accuracy(self, name):
        each = self.each(name)
        return None if each is None else float(each.mean())

    def cpu(self, name):
        return None if self.each(name) is None else float(np.mean([r["cpu"] for r in self.results[name]]))

    def calibration(self, name):
        """Expected calibration error of the predicted class, over the test rows of all splits, in bins of equal width."""
        if self.each(name) is None:
            return None
        right = np.concatenate([r["right"] for r in self.results[name]])
        chance = np.concatenate([r["chance"] for r in self.results[name]])
        cell = np.minimum((chance * BINS).astype(int), BINS - 1)
        gaps = (abs(right[cell == b].mean() - chance[cell == b].mean()) * np.mean(cell == b) for b in np.unique(cell))
        return float(sum(gaps))


def corrected(first, second):
    """The p-value of the resampled t-test with the correction of Nadeau and Bengio; 40 % test rows, 60 % training rows."""
    difference = first - second
    deviation = np.sqrt((1 / len(difference) + 0.4 / 0.6) * difference.var(ddof=1))
    if deviation == 0:
        return 1.0 if difference.mean() == 0 else 0.0
    return float(2 * stats.t.sf(abs(difference.mean() / deviation), len(difference) - 1))


def cell(value, best, percent):
    if value is None:
        return "-"
    shown = f"{100 * value:.1f}" if percent else f"{value:.3g}"
    return f"**{shown}**" if best is not None and abs(value - best) < 5e-5 else shown


def heading(title, columns):
    print(f"\n**{title}**\n\n| data | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")


def accuracies(names, columns):
    heading("Accuracy in per cent, mean of the splits", columns)
    rows = {n: [c.accuracy(n) for c in columns.values()] for n in names}
    for name, row in rows.items():
        best = max(v for v in row if v is not None)
        print(f"| {name} | {' | '.join(cell(v, best, True) for v in row)} |")
    whole = [row for row in rows.values() if None not in row]
    means = (f"{100 * np.mean([row[c] for row in whole]):.2f}" for c in range(len(columns)))
    print(f"| mean ({len(whole)} sets without gaps) | {' | '.join(means)} |")
    every = [ranks(row) for row in rows.values()]
    print(f"| average rank | {' | '.join(f'{np.mean([r[c] for r in every]):.2f}' for c in range(len(columns)))} |")


def tests(names, columns, first):
    """Where a column differs from the first significantly: + where the first is better, - where it is worse."""
    others = [c for c in columns if c != first]
    heading(f"{first} against each, corrected t-test: significantly better (+) or worse (-) at 5 %", others)
    counts = {c: [0, 0] for c in others}
    for name in names:
        row = []
        for other in others:
            a, b = columns[first].each(name), columns[other].each(name)
            if a is None or b is None:
                row.append("-")
                continue
            p = corrected(a, b)
            sign = "" if p >= 0.05 else " (+)" if a.mean() > b.mean() else " (-)"
            counts[other][0 if sign == " (+)" else 1] += bool(sign)
            row.append(f"{100 * (a.mean() - b.mean()):+.1f}{sign}")
        print(f"| {name} | {' | '.join(row)} |")
    print(f"| better, worse | {' | '.join(f'{counts[c][0]}, {counts[c][1]}' for c in others)} |")


def figures(title, names, columns, of, percent):
    heading(title, columns)
    rows = {n: [of(c, n) for c in columns.values()] for n in names}
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(cell(v, None, percent) for v in row)} |")
    whole = [row for row in rows.values() if None not in row]
    print(f"| mean ({len(whole)} sets without gaps) | {' | '.join(cell(v, None, percent) for v in np.mean(whole, 0))} |")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=pathlib.Path, help="a file that keeps the results, split by split")
    parser.add_argument("--other", action="store_true", help="other tables, which the default was not made with")
    parser.add_argument("--heavy", action="store_true", help="generated tables, most of them with heavy tails")
    parser.add_argument("--fresh", action="store_true", help="generated tables, which the Gaussian kernel was not made with")
    parser.add_argument("--only", help="these data sets, by name, separated by commas")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--column", action="append", default=[], metavar="NAME=OPTIONS", help="instead of our two columns")
    parser.add_argument("--peers", help="these of the other methods, separated by commas; `none` for none of them")
    parser.add_argument("--peers-only", action="store_true", help="fill the cache and stop")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "target" / "release" / "lipmetric")
    return parser.parse_args()


def main():
    args = arguments()
    named = OTHER if args.other else HEAVY if args.heavy else FRESH if args.fresh else FIRST
    names = args.only.split(",") if args.only else named
    cache = Cache(args.cache)
    peers = list(PEERS) if not args.peers else [p for p in args.peers.split(",") if p != "none"]
    mine = {} if args.peers_only else dict(c.split("=", 1) for c in args.column) or OURS
    build = hashlib.sha256(args.program.read_bytes()).hexdigest()[:16] if mine else ""
    results = {m: {n: [] for n in names} for m in [*mine, *peers]}
    for name in names:
        table = load(name)
        for repeat in range(args.repeats):
            for method in peers:
                found = cache.get(name, repeat, method, lambda: peer(method, name, table, repeat))
                results[method][name].append(found)
            for column, options in mine.items():
                by = f"{build} {options}"
                found = cache.get(
                    name, repeat, column, lambda: ours(args.program, column, options, name, table, repeat), by
                )
                results[column][name].append(found)
                if "error" in results[column][name][-1]:
                    print(f"{name}, split {repeat}, {column}: {results[column][name][-1]['error']}", file=sys.stderr)
        print(f"{name}: done", file=sys.stderr, flush=True)
    if args.peers_only:
        return
    columns = {m: Column(r) for m, r in results.items()}
    accuracies(names, columns)
    votes = {m: c for m, c in columns.items() if m in VOTING or "nearest" in mine.get(m, "")}
    if len(votes) > 1:
        print("\nOf those that vote by a distance alone:")
        accuracies(names, votes)
    tests(names, columns, next(iter(columns)))
    figures("Expected calibration error in per cent", names, columns, Column.calibration, True)
    figures("Processor seconds of a fit and its predictions, mean", names, columns, Column.cpu, False)


main()
