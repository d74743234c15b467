#!/usr/bin/env python3
"""Kills fits with `kill -9` at random moments, goes on by the same command, and compares what comes out with a fit that nobody disturbed.

    LIPMETRIC=target/debug/lipmetric python3 benches/reliability/checkpoint.py --rounds 100

Each round is a fit of one of the methods on a table that is made here. It is killed at a random moment of the time that it takes, once
to three times, and then left to end; a round in which no kill came in time is tried again. The same result means: for methods that certify an optimum, an objective that differs by no more than the
two certified gaps together; for the others, the same bytes of the metric. A line in FILE (`--done`) is written for every round, so that an interrupted
run of this script goes on, too.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import random_table  # noqa: E402

LIPMETRIC = str(pathlib.Path(os.environ.get("LIPMETRIC", "target/debug/lipmetric")).resolve())

# Method, options, rows, columns, classes: each takes some seconds.
FITS = [
    (["lip-d", "--slack", "pair"], 700, 12, 4, True),
    (["lip-i", "--slack", "instance"], 220, 10, 3, True),
    (["lip-i", "--slack", "pair", "--solver", "augmented"], 900, 20, 3, True),
    (["lmnn"], 1200, 16, 4, True),
    (["nca"], 1500, 16, 4, False),
    (["mcml"], 1200, 16, 3, True),
    (["lip-local", "--tol", "1e-6"], 3000, 40, 3, False),
    (["arml"], 1500, 20, 3, False),
    (["auto"], 700, 12, 3, False),
]


def disturbed(folder, method, rng, longest):
    """Kills a fit one to three times and goes on: how often, how often there was something to go on from, and the exit code."""
    kills, taken_up, wanted = 0, 0, rng.randrange(1, 4)
    while kills < wanted:
        code = fit(folder, method, "resumed", True, kill=rng.uniform(0.02, longest))
        if code is None:
            kills += 1
            taken_up += (folder / "fit.checkpoint").exists()
        elif kills:
            # What was left of it was shorter than the time to the next kill.
            return kills, taken_up, code
        else:
            longest /= 2
            if longest < 0.04:
                sys.exit(f"{' '.join(method)}: no kill came before the end; make the table larger")
    return kills, taken_up, fit(folder, method, "resumed", True)


def fit(folder, method, name, checkpoint, kill=None):
    """The exit code, or None if it was killed."""
    command = [LIPMETRIC, "fit", "rows.csv", "--json", "--model", f"{name}.lip", "--method"] + method
    command += ["--checkpoint", "fit.checkpoint"] if checkpoint else []
    with open(folder / f"{name}.json", "w") as out:
        child = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.DEVNULL)
        try:
            return child.wait(kill)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return None


def factor(path):
    """The bytes of the metric in a model file."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    entry = json.loads(data[8 : 8 + length]).get("L")
    return data[8 + length :][slice(*entry["data_offsets"])] if entry else b""


def same(folder, certified):
    whole, resumed = (json.loads((folder / f"{name}.json").read_text()) for name in ("whole", "resumed"))
    if not certified:
        return factor(folder / "whole.lip") == factor(folder / "resumed.lip"), ""
    a, b = whole["objective"], resumed["objective"]
    room = (whole["gap"] + resumed["gap"]) * abs(a) + 1e-12
    return abs(a - b) <= room and whole["status"] == resumed["status"], f"{a:.9g} and {b:.9g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--longest", type=float, default=60.0, help="seconds after which a fit is killed at the latest")
    parser.add_argument("--done", default="checkpoint-rounds.jsonl")
    args = parser.parse_args()
    done = pathlib.Path(args.done)
    known = [json.loads(line) for line in done.read_text().splitlines()] if done.exists() else []
    with tempfile.TemporaryDirectory() as scratch:
        folder, table = pathlib.Path(scratch), None
        for number in sorted(range(args.rounds), key=lambda k: k % len(FITS)):
            if any(r["round"] == number for r in known):
                continue
            method, n, p, classes, certified = FITS[number % len(FITS)]
            if table != method:
                random_table(folder / "rows.csv", (n, p, classes), 7, lambda y, j: 0.6 * y if j % 5 == 0 else 0)
                begun = time.monotonic()
                fit(folder, method, "whole", False)
                table, longest = method, min(args.longest, time.monotonic() - begun)
            rng = random.Random(number)
            (folder / "fit.checkpoint").unlink(missing_ok=True)
            kills, taken_up, code = disturbed(folder, method, rng, longest)
            equal, told = same(folder, certified)
            clean = sorted(f.name for f in folder.iterdir() if f.name.startswith(".") or "checkpoint" in f.name)
            round_ = {"round": number, "method": " ".join(method), "kills": kills, "taken_up": taken_up, "code": code,
                      "same": equal, "left": clean}
            known.append(round_)
            with done.open("a") as out:
                out.write(json.dumps(round_) + "\n")
            if not equal or clean:
                print(round_, told, flush=True)
    good = sum(r["same"] and not r["left"] for r in known)
    print(f"{good} of {len(known)} the same; killed {sum(r['kills'] for r in known)} times, "
          f"taken up from a checkpoint {sum(r['taken_up'] for r in known)} times")
    return int(good < len(known))


if __name__ == "__main__":
    sys.exit(main())
