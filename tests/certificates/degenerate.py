#!/usr/bin/env python3
"""Fits degenerate tables by every method and slack, and judges each result.

    LIPMETRIC=target/debug/lipmetric python3 tests/certificates/degenerate.py

Every case is fitted by every method. What is asked of each run: it ends in time, with a documented exit code (0 done, 1 failed,
2 usage, 3 bad data, 4 not converged) and, where that is not 0 or 4, a message; what it prints and stores is finite; the model
predicts its own rows and maps them. Objective and bound are judged in rational arithmetic as in judge.py: the objective is that of
the stored L on the stored rows, to 1e-9; the bound is proved by the stored multipliers, or is not above any metric that is found.

    degenerate.py --case duplicates --method lip-i     one case, by one method

Exit code 1 if anything is false.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import judge

SECONDS = 20
DOCUMENTED = {0, 1, 2, 3, 4}


def cases():
    """Name: rows, labels."""
    rng = random.Random(7)
    normal = lambda n, p: [[rng.gauss(0, 1) for _ in range(p)] for _ in range(n)]
    half = lambda n: [i % 2 for i in range(n)]
    base = normal(8, 2)
    scaled = lambda rows, by: [[v * by for v in row] for row in rows]
    line = [[float(i), 0.0] for i in range(8)]
    out = {
        "ordinary": (base, half(8)),
        "duplicates": (base[:4] + base[:4], half(4) + half(4)),
        "duplicates of other classes": (base[:4] + base[:4], [0] * 4 + [1] * 4),
        "all rows equal": ([[1.0, 2.0]] * 6, half(6)),
        "all equal but one": ([[1.0, 2.0]] * 5 + [[2.0, 3.0]], half(6)),
        "each class one point": ([[float(i % 2), 1.0 - i % 2] for i in range(6)], half(6)),
        "two rows": ([[0.0, 1.0], [1.0, 0.0]], [0, 1]),
        "three rows": ([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [0, 1, 0]),
        "every row a class": (normal(5, 2), list(range(5))),
        "one row of a class": (normal(7, 2), [0] * 6 + [1]),
        "many classes": (normal(9, 2), [i // 2 for i in range(9)]),
        "one class": (normal(5, 2), [0] * 5),
        "one feature": (normal(8, 1), half(8)),
        "constant feature": ([[v[0], 3.0] for v in base], half(8)),
        "all features constant": ([[3.0, 3.0] for _ in base], half(8)),
        "nearly constant feature": ([[v[0], 3.0 + 1e-15 * i] for i, v in enumerate(base)], half(8)),
        "the same feature twice": ([[v[0], v[0]] for v in base], half(8)),
        "features that add up": ([v + [v[0] + v[1]] for v in base], half(8)),
        "more features than rows": (normal(5, 9), [0, 1, 0, 1, 0]),
        "on a line": (line, half(8)),
        "on a line, apart": (line, [0] * 4 + [1] * 4),
        "far outlier": (base[:7] + [[1e12, -1e12]], half(8)),
        "far offset": ([[v + 1e9 for v in row] for row in base], half(8)),
        "near pair of classes": (base[:7] + [[v + 1e-9 for v in base[0]]], half(8)),
        "two-valued": ([[float(i & 1), float(i >> 1 & 1)] for i in range(8)], [0, 0, 1, 1, 0, 1, 1, 1]),
        "huge": (scaled(base, 1e300), half(8)),
        "tiny": (scaled(base, 1e-300), half(8)),
        "at the end of the numbers": ([[1.7e308 * (1 if i % 3 else -1), float(i)] for i in range(8)], half(8)),
        "subnormal": ([[5e-324 * i, 5e-324 * (i * i % 5)] for i in range(8)], half(8)),
        "mixed scales": ([[v[0] * 1e150, v[1] * 1e-150] for v in base], half(8)),
    }
    return out


def methods():
    """Name: options."""
    lip = {
        f"{method}, {slack}": {
            "--method": method, "--slack": slack, "--diameter": "max", "--solver": "exact", "--c-rel": "0.1"
        }
        for method in ("lip-d", "lip-i")
        for slack in ("pair", "instance")
    }
    lip |= {
        f"{method}, {slack}, augmented": {
            "--method": method, "--slack": slack, "--diameter": "max", "--solver": "augmented", "--c-rel": "0.1"
        }
        for method, slack in (("lip-d", "instance"), ("lip-i", "pair"))
    }
    rivals = {f"lmnn, {slack}": {"--method": "lmnn", "--targets": "1", "--slack": slack, "--push": "0.9"} for slack in ("pair", "instance")}
    rivals["lmml"] = {"--method": "lmml", "--alpha": "1"}
    rivals |= {name: {"--method": name} for name in ("mcml", "nca", "lip-local")}
    # What is chosen, or has no objective of its own, is judged by what it predicts.
    others = {f"lip, {slack}": {"--method": "lip", "--slack": slack} for slack in ("pair", "instance")}
    others |= {name: {"--method": name} for name in ("auto", "agop", "arml", "lip-robust", "nn")}
    return lip | rivals | others


JUDGED = {"lip-d", "lip-i", "lmnn", "lmml", "mcml", "nca", "lip-local"}


def finite(value, path=""):
    """The first place in a JSON value that is no finite number."""
    if isinstance(value, float) and not math.isfinite(value):
        return path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next((found for k, v in items if (found := finite(v, f"{path}/{k}"))), None)


def run(folder, args):
    try:
        out = subprocess.run([judge.LIPMETRIC] + args, cwd=folder, capture_output=True, text=True, timeout=4 * SECONDS)
    except subprocess.TimeoutExpired:
        return None, "", "timed out"
    return out.returncode, out.stdout, out.stderr.strip()


def used(folder, code):
    """What is wrong with what a model predicts and maps of its own rows."""
    for command in ("predict", "transform"):
        ended, shown, said = run(folder, [command, "rows.csv", "--model", "m.lip", "--extra", "ignore", "--threads", "1"])
        if ended not in DOCUMENTED or "panicked" in said:
            return [f"{command} ended with {ended}: {said}"]
        if ended == 0 and any(word in shown for word in ("NaN", "inf")):
            return [f"{command} gives {shown!r}"]
        if ended != 0 and code == 0:
            return [f"{command} refuses a model that was fitted well: {said}"]
    return []


def one(task):
    case, (rows, labels), name, asked, scale = task
    asked = {**asked, "--scale": scale}
    rng = random.Random(case)
    lines = [",".join([f"a{j}" for j in range(len(rows[0]))] + ["label"])]
    lines += [",".join([repr(v) for v in row] + [f"c{y}"]) for row, y in zip(rows, labels)]
    false = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "rows.csv").write_text("\n".join(lines) + "\n")
        args = ["fit", "rows.csv", "--json", "--threads", "1", "--time-limit", str(SECONDS), "--model", "m.lip"]
        if judge.keeps_multipliers(asked):
            args.append("--certificate")
        code, shown, said = run(folder, args + [word for option in asked.items() for word in option])
        if code not in DOCUMENTED or "panicked" in said:
            false.append(f"exit code {code}: {said}")
        elif code in (1, 2, 3):
            false += [] if said else ["a refusal without a word"]
            false += [] if not (folder / "m.lip").exists() else ["a model of a fit that failed"]
        else:
            report = json.loads(shown)
            where = finite(report)
            false += [f"not finite: {where}"] if where else []
            false += used(folder, code)
            if asked["--method"] in JUDGED and not where:
                try:
                    tensors, model = judge.read_model(folder / "m.lip")
                    of = judge.judge_lip if "--solver" in asked else judge.judge_rival
                    false += of(folder, asked, (report, tensors, model), (1.0, case), rng)[1]
                except Exception as error:
                    false.append(f"cannot be judged: {type(error).__name__}: {error}")
    return case, name, scale, code, said, false


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", help="only cases whose name has this in it")
    parser.add_argument("--method", help="only methods whose name has this in it")
    parser.add_argument("--scales", default="standard,none", help="the scalings, separated by commas")
    parser.add_argument("--show", action="store_true", help="also print how each run ended")
    args = parser.parse_args()
    tasks = [
        (case, table, name, asked, scale)
        for case, table in cases().items()
        for name, asked in methods().items()
        for scale in args.scales.split(",")
        if (args.case or "") in case and (args.method or "") in name
    ]
    codes, wrong = collections.Counter(), 0
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for case, name, scale, code, said, false in pool.map(one, tasks, chunksize=4):
            codes[code] += 1
            wrong += bool(false)
            for what in false:
                print(f"{case}, {name}, {scale}: {what}", flush=True)
            if args.show:
                print(f"{case}, {name}, {scale}: {code} {said}", flush=True)
    ended = ", ".join(f"{code}: {count}" for code, count in sorted(codes.items(), key=str))
    print(f"{len(tasks)} fits of {len(cases())} tables; exit codes {ended}; {wrong} with something false")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
