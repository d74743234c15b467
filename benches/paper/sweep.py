"""sweep.py [--program PATH] [--repeats 20] [--only WORD] [--out FILE]: what the paper's columns may be.

Runs the program's `compare` once per assumption (slack form, c, filling, scaling, ADMM's mu and number of iterations) and
measures how far the means are from the printed ones, in standard errors: z = (ours - printed) / sqrt(s1^2/n + s2^2/10).
Needs Python's standard library only. With Fourclass fetched (`lipmetric datasets fetch fourclass`) it is taken as well.
"""
import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from printed import PRINTED

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXACT = ("Lip^D", "Lip^I")
GAPS = ["cancer", "echo", "voting"]


def assumptions():
    """Name, data sets (none: all), options, and which printed columns the two or more methods stand for."""
    lip = ["--methods", "lip-d,lip-i"]
    for slack in ("instance", "pair"):
        for c in (("0.1", "1", "10") if slack == "instance" else ("1", "10", "100")):
            yield f"exact {slack} c={c}", [], [*lip, "--slack", slack, "--c", c], EXACT
    # The classifier that the text describes, instead of the nearest neighbour.
    yield "extension instance c=1", [], [*lip, "--slack", "instance", "--c", "1", "--classifier", "extension"], EXACT
    yield "extension instance c=0.999c_max", ["haberman"], [*lip, "--c-rel", "0.999", "--classifier", "extension"], EXACT
    for fill in ("mean", "mode", "zero"):
        yield f"exact instance c=1 fill={fill}", GAPS, [*lip, "--slack", "instance", "--c", "1", "--fill", fill], EXACT
    yield "exact instance c=1 fill=class-mean", GAPS, [*lip, "--slack", "instance", "--c", "1"], EXACT
    # c = 1 is above c_max there: what a solver's rounding leaves is near the last metric below it.
    yield "exact instance c=0.999c_max", ["haberman"], [*lip, "--slack", "instance", "--c-rel", "0.999"], EXACT
    rivals = ["--methods", "nn,lmnn,mcml,nca"]
    columns = ("NN", "LMNN", "MCML", "NCA")
    for scale in ("standard", "minmax", "none"):
        yield f"rivals scale={scale}", [], [*rivals, "--scale", scale], columns
    # The toolbox's MCML keeps only a rotation, under which nearest neighbours are Euclid's.
    for scale in ("standard", "minmax", "none"):
        yield f"nn for MCML scale={scale}", [], ["--methods", "nn", "--scale", scale], ("MCML",)
    for scale in ("standard", "minmax"):
        for fill in ("mean", "mode", "zero"):
            yield f"rivals scale={scale} fill={fill}", GAPS, [*rivals, "--scale", scale, "--fill", fill], columns
        yield f"rivals scale={scale} fill=class-mean", GAPS, [*rivals, "--scale", scale], columns
    for scale in ("standard", "minmax"):
        for mu, steps in (("1", "1"), ("1", "10"), ("1", "100"), ("1", "1000"), ("0.01", "100")):
            options = [*lip, "--slack", "pair", "--c", "1", "--solver", "paper", "--mu", mu, "--max-iter", steps]
            yield f"admm scale={scale} mu={mu} steps={steps}", [], [*options, "--scale", scale], ("Lip^D(P)", "Lip^I(P)")


def compare(program, data, options, repeats):
    command = [program, "compare", *data, *options, "--repeats", str(repeats), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)["data"]


def class_means(program, names, folder):
    """Copies in which a gap holds the mean of its column over its own class: what must not be done, and sometimes is."""
    paths = []
    for name in names:
        path = pathlib.Path(folder) / f"{name}.csv"
        subprocess.run([program, "datasets", "export", name, "-o", str(path)], check=True, capture_output=True)
        with open(path, newline="") as file:
            head, *rows = list(csv.reader(file))
        means = {}
        for column in range(len(head) - 1):
            for label in {row[-1] for row in rows}:
                known = [float(row[column]) for row in rows if row[-1] == label and row[column]]
                means[column, label] = statistics.mean(known)
        for row in rows:
            row[:-1] = [cell or means[column, row[-1]] for column, cell in enumerate(row[:-1])]
        with open(path, "w", newline="") as file:
            csv.writer(file).writerows([head, *rows])
        paths.append(str(path))
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "target" / "release" / "lipmetric"))
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", help="also write every cell, a JSON object per line")
    args = parser.parse_args()
    out = open(args.out, "a") if args.out else None
    for name, data, options, columns in assumptions():
        if args.only not in name:
            continue
        begun = time.time()
        with tempfile.TemporaryDirectory() as folder:
            files = class_means(args.program, data, folder) if name.endswith("class-mean") else data
            table = compare(args.program, files, options, args.repeats)
        print(f"\n{name}  ({time.time() - begun:.0f} s)")
        print(f"{'':11}" + "".join(f"{c:>24}" for c in columns) + "   (ours, printed, z)")
        squares = {c: [] for c in columns}
        for row in table:
            row["name"] = pathlib.Path(row["name"]).stem
            line, splits = f"{row['name']:11}", []
            for column, cell in zip(columns, row["methods"]):
                values = [100 * s["accuracy"] for s in cell["splits"] if s["accuracy"] is not None]
                splits.append(values)
                mean, sd = PRINTED[row["name"]][column]
                if len(values) < args.repeats:
                    line += f"{'refused':>10}{mean:8.2f}      "
                    continue
                ours, spread = statistics.mean(values), statistics.stdev(values)
                z = (ours - mean) / math.sqrt(spread**2 / len(values) + sd**2 / 10)
                squares[column].append(z * z)
                line += f"{ours:10.2f}{mean:8.2f}{z:6.1f}"
                if out:
                    record = {"assumption": name, "data": row["name"], "column": column, "mean": ours, "sd": spread, "z": z}
                    print(json.dumps(record), file=out, flush=True)
            if len(splits) == 2 and splits[0] and splits[1]:
                same = sum(a == b for a, b in zip(*splits))
                line += f"   the same on {same} of {args.repeats} splits"
            print(line)
        print("rms of z   " + "".join(f"{rms(squares[c]):24.2f}" for c in columns), flush=True)


def rms(squares):
    return math.sqrt(sum(squares) / len(squares)) if squares else float("nan")


if __name__ == "__main__":
    main()
