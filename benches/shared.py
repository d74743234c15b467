"""Runs the driver (benches/driver), which it builds first; one thread unless told otherwise."""
import json
import os
import pathlib
import random
import resource
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "bench-driver"
ONE_THREAD = dict(os.environ, RAYON_NUM_THREADS="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
VARIANTS = {"D": "lip-d", "I": "lip-i"}


def build():
    subprocess.run(["cargo", "build", "--release", "--quiet", "--package", "bench-driver"], cwd=ROOT, check=True)


def sets(folder):
    # The tests' folder also holds the reference optima.
    return sorted(p for p in pathlib.Path(folder).glob("*.csv") if p.stem != "optima")


def run(command, env=ONE_THREAD):
    """The JSON line that a command ends with, and its standard error; {"error": ...} if it fails."""
    done = subprocess.run([str(c) for c in command], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["failed"])[-1]}, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def drive(task, *args, trace=False, threads=None, **options):
    """A task of the driver: its result and, with `trace`, the progress as lists of words."""
    env = dict(ONE_THREAD if threads is None else os.environ, **({"BENCH_TRACE": "1"} if trace else {}))
    told, progress = run([PROGRAM, task, *args, *(f"{name}={value}" for name, value in options.items())], env)
    return (told, [line.split() for line in progress.splitlines() if line.strip()]) if trace else told


def spent():
    """CPU seconds of this process and of those that it has waited for."""
    use = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in use)


def digits(folder):
    """scikit-learn's digits as a file of the folder."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    path = pathlib.Path(folder) / "digits.csv"
    lines = [",".join([*map(str, row), str(k)]) for row, k in zip(x, y)]
    path.write_text("\n".join([",".join(f"f{k}" for k in range(64)) + ",label", *lines]) + "\n")
    return str(path)


def random_table(path, shape, seed, raised):
    """Rows of so many features and classes; `raised(class, feature)` is the mean of a feature in a class."""
    n, p, classes = shape
    rng = random.Random(seed)
    with open(path, "w") as out:
        out.write(",".join(f"a{j}" for j in range(p)) + ",label\n")
        for _ in range(n):
            y = rng.randrange(classes)
            out.write(",".join(f"{rng.gauss(raised(y, j), 1):.4f}" for j in range(p)) + f",c{y}\n")
