"""auto.py [SECONDS]: the exact solver beside the method of multipliers around the sizes where `auto` changes over.

Gaussian classes, Lip^D with a slack per pair, c = 0.01 c_max, one thread. Needs numpy.
"""
import pathlib
import sys
import tempfile

import numpy as np

from common import build, drive

SIZES = [(1000, 10), (3000, 10), (500, 36), (500, 50), (5000, 10)]


def table(folder, rows, features, classes=3):
    noise = np.random.default_rng(7)
    label = np.arange(rows) % classes
    x = 1.5 * noise.normal(size=(classes, features))[label] + noise.normal(size=(rows, features))
    path = pathlib.Path(folder) / f"{rows}x{features}.csv"
    lines = [",".join([*(f"{v:.6f}" for v in row), f"c{k}"]) for row, k in zip(x, label)]
    path.write_text("\n".join([",".join(f"f{k}" for k in range(features)) + ",label", *lines]) + "\n")
    return path


def cell(result):
    return result["error"][:60] if "error" in result else f"{result['gap']:.1e} in {result['cpu_s']:.1f} s"


def main(seconds):
    build()
    print("| rows x features | exact to 1e-6 | augmented to 1e-3 |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for rows, features in SIZES:
            path = table(folder, rows, features)
            cells = [
                cell(drive("fit", path, "lip-d", solver="exact", slack="pair", c_rel=0.01, tol=1e-6)),
                cell(drive("fit", path, "lip-d", solver="augmented", c_rel=0.01, tol=1e-3, seconds=seconds)),
            ]
            print(f"| {rows} x {features} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 120)
