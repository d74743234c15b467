"""Where near pairs see what all pairs cannot: generated data sets, one neighbour, 60 % to train.

Usage: python benches/choosing/local.py [--repeats 10]

Runs in an environment with scikit-learn, on the program built with `cargo build --release`. Prints a Markdown table.
"""

import argparse
import pathlib
import tempfile

import numpy as np
from common import ours, print_table, write_splits

NAMES = ["chequered", "spirals", "nuisance", "correlated", "five_clouds"]
METHODS = {
    "NN": ["--method", "nn"],
    "Lip^I": ["--method", "lip-i", "--c-rel", "0.1"],
    "Lip^I, mean": ["--method", "lip-i", "--c-rel", "0.1", "--diameter", "mean"],
    "LMNN": ["--method", "lmnn"],
    "Lip by near pairs": ["--method", "lip-local"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_splits(folder, NAMES, args.repeats)
        rows = {}
        for name in NAMES:
            rows[name] = []
            for options in METHODS.values():
                pairs = ((folder / f"{name}.{k}.train.csv", folder / f"{name}.{k}.test.csv") for k in range(args.repeats))
                found = [ours(train, test, folder / "m.lip", *options, "--k", "1") for train, test in pairs]
                rows[name].append(None if None in found else float(np.mean([f[0] for f in found])))
    print_table("One neighbour: accuracy in per cent", list(METHODS), rows)


main()
