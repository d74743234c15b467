"""What it is worth to choose trade-off, slack, diameter, variant and rank of Lip^D and Lip^I: one neighbour, 60 % to train.

Usage: python benches/choosing/forms.py [--repeats 5] [DATA ...]

Runs in an environment with scikit-learn, on the program built with `cargo build --release`. Prints a Markdown table, a row as
soon as it is known. The generated data sets come from another seed than those of the other scripts.
"""

import argparse
import pathlib
import tempfile

import numpy as np
from common import ours, print_table, write_splits

NAMES = [
    "echo", "fertility", "haberman", "iris", "wine",
    "nuisance", "pure_noise", "heavy_tails", "half_binary", "five_clouds", "unequal_clouds", "chequered",
]
METHODS = {
    "NN": ["--method", "nn"],
    "Lip^I": ["--method", "lip-i"],
    "c": ["--method", "lip-i", "--c", "auto"],
    "slack, diameter": ["--method", "lip-i", "--slack", "auto", "--diameter", "auto"],
    "c, slack, diameter": ["--method", "lip-i", "--c", "auto", "--slack", "auto", "--diameter", "auto"],
    "rank": ["--method", "lip-i", "--rank", "auto"],
    "all five": ["--method", "lip", "--slack", "auto", "--diameter", "auto", "--rank", "auto"],
    "auto": ["--method", "auto"],
}
SEED = 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("data", nargs="*", default=NAMES)
    args = parser.parse_args()
    rows, seconds = {}, {method: 0.0 for method in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_splits(folder, args.data, args.repeats, SEED)
        for name in args.data:
            rows[name] = []
            for method, options in METHODS.items():
                pairs = ((folder / f"{name}.{k}.train.csv", folder / f"{name}.{k}.test.csv") for k in range(args.repeats))
                found = [ours(train, test, folder / "m.lip", *options, "--k", "1") for train, test in pairs]
                rows[name].append(None if None in found else float(np.mean([f[0] for f in found])))
                seconds[method] += sum(f[1] for f in found if f) / args.repeats / len(args.data)
            print(name, *(f"{100 * v:.1f}" for v in rows[name]), flush=True)
    print_table("Accuracy in per cent", list(METHODS), rows)
    print(f"| processor seconds of a fit | {' | '.join(f'{s:.1f}' for s in seconds.values())} |")


main()
