"""Runs the example programs; one thread."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "target" / "release" / "examples"
ONE_THREAD = dict(os.environ, RAYON_NUM_THREADS="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")


def sets(folder):
    # The tests' folder also holds the reference optima.
    return sorted(p for p in pathlib.Path(folder).glob("*.csv") if p.stem != "optima")


def run(program, *args, trace=False):
    environment = dict(ONE_THREAD, **({"LIP_TRACE": "1"} if trace else {}))
    done = subprocess.run([str(EXAMPLES / program), *map(str, args)], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["failed"])[-1]}, []
    curve = [line.split() for line in done.stderr.splitlines() if line.strip()]
    return json.loads(done.stdout.splitlines()[-1]), curve
