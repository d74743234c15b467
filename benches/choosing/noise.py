"""Wrong labels: 0 to 20 % of the training labels are changed, the test labels are not; one neighbour votes.

Usage: python benches/choosing/noise.py [--repeats 10] [--only METHOD] [DATA ...]

Runs in an environment with scikit-learn, on the program built with `cargo build --release`. Prints a Markdown table per data
set (default: fertility, voting, cancer).
"""

import argparse
import pathlib
import tempfile

import numpy as np
from common import ours, splits, write

METHODS = {
    "NN": ["--method", "nn"],
    "LMNN": ["--method", "lmnn"],
    "Lip^I, slack per pair": ["--method", "lip-i", "--slack", "pair", "--c-rel", "0.1"],
    "Lip^I, slack per row": ["--method", "lip-i", "--slack", "instance", "--c-rel", "0.1"],
    "the same, CVaR 0.1": ["--method", "lip-i", "--slack", "instance", "--c-rel", "0.1", "--diameter", "cvar:0.1"],
    "Lip by near pairs": ["--method", "lip-local"],
    "auto": ["--method", "auto"],
    "auto, k chosen": ["--method", "auto", "--k", "auto"],
}
SHARES = [0, 0.05, 0.1, 0.2]


def changed(y, share, repeat):
    """Labels of which this share, chosen anew for each repeat, is another class."""
    r = np.random.default_rng(repeat)
    y, classes = y.copy(), np.unique(y)
    for i in r.permutation(len(y))[: round(share * len(y))]:
        y[i] = r.choice(classes[classes != y[i]])
    return y


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--only", choices=METHODS)
    parser.add_argument("data", nargs="*", default=["fertility", "voting", "cancer"])
    args = parser.parse_args()
    for name in args.data:
        print(f"\n**{name}**: accuracy in per cent\n\n| method | " + " | ".join(f"{100 * s:.0f} %" for s in SHARES) + " |")
        print("|---|" + "---:|" * len(SHARES), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for k, (a, ya, b, yb) in enumerate(splits(name, args.repeats)):
                write(folder / f"{k}.test.csv", b, yb)
                for share in SHARES:
                    write(folder / f"{k}.{share}.csv", a, changed(ya, share, k))
            for method in [args.only] if args.only else METHODS:
                options = METHODS[method]
                options = options if "--k" in options else [*options, "--k", "1"]
                row = []
                for share in SHARES:
                    pairs = ((folder / f"{k}.{share}.csv", folder / f"{k}.test.csv") for k in range(args.repeats))
                    found = [ours(train, test, folder / "m.lip", *options) for train, test in pairs]
                    row.append("-" if None in found else f"{100 * np.mean([f[0] for f in found]):.1f}")
                print(f"| {method} | " + " | ".join(row) + " |", flush=True)


main()
