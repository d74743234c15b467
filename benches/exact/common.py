"""Runs the example program and the peer; one thread."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "target" / "release" / "examples" / "lip_fit"
ONE_THREAD = dict(os.environ, RAYON_NUM_THREADS="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")


def sets(folder):
    # The tests' folder also holds the reference optima.
    return sorted(p for p in pathlib.Path(folder).glob("*.csv") if p.stem != "optima")


def run(command):
    done = subprocess.run([str(c) for c in command], env=ONE_THREAD, capture_output=True, text=True)
    if done.returncode != 0:
        return {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "failed"}
    return json.loads(done.stdout.splitlines()[-1])


def fit(path, variant, c, slack="pair", tolerance=1e-6):
    return run([PROGRAM, path, variant, c, slack, tolerance])
