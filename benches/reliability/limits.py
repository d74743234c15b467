#!/usr/bin/env python3
"""Tries `--time-limit` and Ctrl-C with every method on tables of several shapes, and prints what overran.

    LIPMETRIC=target/debug/lipmetric python3 benches/reliability/limits.py --limit 3

A limit holds if the program ends within a second of it, or 5 %; Ctrl-C, if it ends within a second. `fit` must have written a
model and end with 0 or 4 (130 after Ctrl-C), `evaluate` with 0 or 4. Reading the table is part of the time; where that alone takes
longer than the limit (`--method nn --time-limit 0.01` tells), it counts in the limit's place. Tables are made here: long, wide, many classes, many features.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import random_table  # noqa: E402

LIPMETRIC = str(pathlib.Path(os.environ.get("LIPMETRIC", "target/debug/lipmetric")).resolve())
METHODS = [
    ["auto"], ["lip"], ["lip-d", "--slack", "pair"], ["lip-d", "--slack", "instance"], ["lip-i", "--slack", "pair"],
    ["lip-i", "--slack", "instance"], ["lip-local"], ["lmnn"], ["lmnn", "--slack", "instance"], ["lmml"], ["nca"], ["mcml"],
    ["agop"], ["arml"], ["lip-robust"], ["nn"],
]
SHAPES = {"1500 x 16, 26 classes": (1500, 16, 26), "2000 x 45": (2000, 45, 2), "20000 x 10": (20000, 10, 3), "3000 x 1001": (3000, 1001, 2)}
WIDE = {"6000 x 2501": (6000, 2501, 2)}


def timed(args, folder, interrupt=None, most=300):
    """Seconds (after the interrupt, if there is one) and exit code; None where nobody would have waited."""
    begun = time.monotonic()
    child = subprocess.Popen([LIPMETRIC] + args, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if interrupt:
            try:
                child.wait(interrupt)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGINT)
                begun = time.monotonic()
        child.wait(most)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    return time.monotonic() - begun, child.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=3.0)
    parser.add_argument("--wide", action="store_true", help="also 6,000 x 2,501")
    parser.add_argument("--method", help="only methods whose options have this in them")
    parser.add_argument("--shape", help="only shapes whose name has this in it")
    parser.add_argument("--verbose", action="store_true", help="print every run")
    parser.add_argument("--ways", default="fit,evaluate,interrupt")
    args = parser.parse_args()
    tried = overruns = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for shape, size in {**SHAPES, **(WIDE if args.wide else {})}.items():
            if (args.shape or "") not in shape:
                continue
            random_table(folder / "rows.csv", size, 1, lambda y, j: y if j % 7 == 0 else 0)
            reading, _ = timed(["fit", "rows.csv", "--method", "nn", "--k", "1", "--time-limit", "0.01"], folder)
            for method in METHODS:
                name = " ".join(method)
                if (args.method or "") not in name:
                    continue
                limit = ["--time-limit", str(args.limit)]
                runs = {
                    "fit": (["fit", "rows.csv", "--model", "m.lip"] + limit, args.limit, None, (0, 4)),
                    "evaluate": (["evaluate", "rows.csv", "--repeats", "2"] + limit, args.limit, None, (0, 4)),
                    "interrupt": (["fit", "rows.csv", "--model", "m.lip"], 0.0, reading + args.limit, (0, 130)),
                }
                for way in args.ways.split(","):
                    command, allowed, interrupt, codes = runs[way]
                    (folder / "m.lip").unlink(missing_ok=True)
                    seconds, code = timed(command + ["--method"] + method, folder, interrupt)
                    over = seconds - (0.0 if interrupt else max(allowed, reading))
                    if args.verbose:
                        print(f"{shape}, {name}, {way}: {over:+.2f} s, exit code {code}", flush=True)
                    late = over > max(1.0, 0.05 * allowed)
                    wrong = code not in codes or (way != "evaluate" and not (folder / "m.lip").exists())
                    tried += 1
                    overruns += late or wrong
                    if late or wrong:
                        print(f"{shape}, {name}, {way}: {over:+.1f} s, exit code {code}", flush=True)
    print(f"{tried} runs, {overruns} overruns or wrong ends")
    return int(overruns > 0)


if __name__ == "__main__":
    sys.exit(main())
