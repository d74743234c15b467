"""The tuned method beside plain neighbours, NCA, LMNN and LFDA: same splits, one thread.

Usage: python benches/choosing/table.py [--peers DIR] [--repeats 10] [--keep FOLDER] [--made]

DIR holds two environments: `current` (scikit-learn) and `metric-learn` (metric-learn with a scikit-learn that it still works
with). Runs in an environment with scikit-learn, on the program built with `cargo build --release`. Prints Markdown: accuracy
with one neighbour, and with their number chosen (the peers': by leave-one-out on the mapped training rows). digits has three
splits. `--made` takes generated data sets instead. FOLDER keeps the peers' results, which take long, for the next run.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np
from common import BUNDLED, MADE, ONE_THREAD, SKLEARN, ours, print_table, write_splits

PEERS = {
    "NN": ("current", "euclid"), "NCA": ("current", "sklearn-nca"),
    "LMNN": ("metric-learn", "metric-learn-lmnn"), "LFDA": ("metric-learn", "metric-learn-lfda"),
}


def peer(args, folder, kept, method):
    """{(data, repeat): (1-NN, k-NN, cpu) or None}"""
    store = kept / f"{method}.jsonl"
    if not store.exists():
        environment, name = PEERS[method]
        python = args.peers / environment / "bin" / "python"
        done = subprocess.run(
            [str(python), str(pathlib.Path(__file__).with_name("peer.py")), name, str(folder)],
            env=ONE_THREAD, capture_output=True, text=True, check=True,
        )
        store.write_text(done.stdout)
    lines = map(json.loads, store.read_text().splitlines())
    return {
        (r["data"], r["repeat"]): None if "error" in r else (r["one"], r["many"], r["cpu"]) for r in lines
    }


def mean(results, name, figure):
    values = [v for (data, _), v in results.items() if data == name]
    return None if None in values else float(np.mean([v[figure] for v in values]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default=pathlib.Path.home() / ".cache" / "lipmetric-peers", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--made", action="store_true")
    parser.add_argument("--only-peers", action="store_true", help="fill the folder of --keep and stop")
    args = parser.parse_args()
    names = list(MADE) if args.made else BUNDLED + list(SKLEARN)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        kept = args.keep or folder
        kept.mkdir(parents=True, exist_ok=True)
        write_splits(folder, [n for n in names if n != "digits"], args.repeats)
        write_splits(folder, [n for n in names if n == "digits"], min(3, args.repeats))
        results = {method: peer(args, folder, kept, method) for method in PEERS}
        if args.only_peers:
            return
        results["auto"] = {}
        for train in sorted(folder.glob("*.train.csv")):
            name, repeat = train.name.split(".")[:2]
            test = folder / train.name.replace(".train.", ".test.")
            both = [ours(train, test, folder / "m.lip", "--k", k) for k in ("1", "auto")]
            results["auto"][name, int(repeat)] = (both[0][0], both[1][0], both[0][1])
    for title, figure in (("One neighbour", 0), ("The number of neighbours chosen", 1)):
        rows = {n: [mean(r, n, figure) for r in results.values()] for n in names}
        print_table(f"{title}: accuracy in per cent", list(results), rows)
    print("\n| processor seconds of a fit, mean | " + " | ".join(results) + " |")
    print("|---|" + "---:|" * len(results))
    for n in names:
        cells = (mean(r, n, 2) for r in results.values())
        print(f"| {n} | " + " | ".join("-" if v is None else f"{v:.2f}" for v in cells) + " |")


main()
