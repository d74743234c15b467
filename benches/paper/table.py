"""table.py [--program PATH] [--repeats 40]: the paper's table cell by cell, as in docs/paper.md.

Ours, the paper's, and the difference in standard errors, (ours - printed) / sqrt(s1^2/n + s2^2/10). Needs Python's standard
library only. With Fourclass fetched (`lipmetric datasets fetch fourclass`) it is taken as well.
"""
import argparse
import json
import pathlib
import subprocess

from printed import COLUMNS, PRINTED

ROOT = pathlib.Path(__file__).resolve().parents[2]


def odd_ones(report):
    """Printed means that are no multiple of 1 / (10 n_test), to two decimals, for the n_test of the splits here."""
    for row in report["data"]:
        right = 10 * row["test_rows"]
        for column, (mean, _) in PRINTED[row["name"]].items():
            if abs(100 * round(mean / 100 * right) / right - mean) > 0.0051:
                yield f"{row['name']} {column}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "target" / "release" / "lipmetric"))
    parser.add_argument("--repeats", type=int, default=40)
    args = parser.parse_args()
    command = [args.program, "compare", "--methods", "lip-d,lip-d-p,lip-i,lip-i-p,nn,lmnn,mcml,nca", "--paper", "--json"]
    done = subprocess.run([*command, "--repeats", str(args.repeats)], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    cells = {(c["data"], c["method"]): c for c in report["paper"]["cells"]}
    print(f"{args.repeats} splits, {report['seconds']:.0f} s; ours, printed, difference in standard errors\n")
    print("| | " + " | ".join(COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 1) + "|")
    within = compared = 0
    far = []
    for name in PRINTED:
        line = f"| {name} "
        for column in COLUMNS:
            cell = cells.get((name, column))
            printed = f"{PRINTED[name][column][0]:.2f}"
            if cell is None or cell["ours"] is None:
                line += f"| - / {printed} "
                continue
            z = cell["standard_errors"]
            line += f"| {100 * cell['ours']:.2f} / {printed}, {z:+.1f} "
            compared += 1
            within += cell["within_sd"]
            if abs(z) > 2:
                far.append(f"{name} {column} ({z:+.1f})")
        print(line + "|")
    print(f"\nno multiples of 1 / (10 n_test): {', '.join(odd_ones(report))}")
    print(f"\nwithin the printed standard deviation: {within} of {compared}; further than 2 standard errors: {len(far)}: {', '.join(far)}")


if __name__ == "__main__":
    main()
