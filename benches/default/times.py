"""Processor seconds and memory of a default fit, on one thread, by the size of the table.

Usage: python benches/default/times.py [--program FILE] [SIZES ...]      a size is ROWSxFEATURES

Runs in the environment of table.py. Prints Markdown.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile

import numpy as np
from sklearn.datasets import make_classification
from tables import ROOT, numbers, write

SIZES = ["1000x20", "5000x20", "20000x20", "100000x20", "20000x100", "5000x300", "200x2000", "200x6000"]


def table(size):
    """Clusters of classes in some of the features: three classes, of a table that is wider than long two."""
    rows, features = map(int, size.split("x"))
    if features > rows:
        return numbers(*make_classification(
            rows, features, n_informative=30, n_redundant=50, class_sep=2, random_state=1
        ))
    return numbers(*make_classification(
        rows, features, n_informative=8, n_redundant=4, n_classes=3, flip_y=0.03, random_state=1
    ))


def measure(program, size):
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder) / "rows.csv"
        read = table(size)
        write(rows, read, np.arange(len(read.y)))
        process = subprocess.Popen([program, "fit", rows, "--threads", "1", "-q"], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{size}: the fit ended with exit code {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", default=SIZES)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "target" / "release" / "lipmetric")
    args = parser.parse_args()
    print("| table | processor seconds | memory |\n|---|---:|---:|")
    for size in args.sizes:
        seconds, memory = measure(args.program, size)
        print(f"| {size.replace('x', ' x ')} | {seconds:.1f} | {memory:.0f} MB |", flush=True)


main()
