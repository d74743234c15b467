"""table.py FOLDER [SECONDS] [PAPER]: objective, certified gap and CPU seconds at c = 1 by each method, one thread.

Each fit ends after SECONDS of wall time (10), those of the paper's algorithm, which never arrive, after PAPER (10).
"""
import sys

from common import VARIANTS, build, drive, sets


def cell(result):
    if "error" in result:
        return result["error"][:60]
    return f"{result['objective']:.4f} {result['gap']:.1e} {result['cpu_s']:.2f} s"


def main(folder, seconds=10, paper=10):
    build()
    heads = ["", "paper, mu = 1", "admm to 1e-2", "admm to 1e-3", "augmented to 1e-2", "augmented to 1e-3", "exact to 1e-6"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for path in sets(folder):
        for variant in "DI":
            cells = [f"{path.stem} {variant}"]
            problem = ("fit", path, VARIANTS[variant])
            cells.append(cell(drive(*problem, solver="paper", c=1, tol=1e-3, seconds=paper, mu=1)))
            for method in ("admm", "augmented"):
                for tolerance in (1e-2, 1e-3):
                    cells.append(cell(drive(*problem, solver=method, c=1, tol=tolerance, seconds=seconds)))
            cells.append(cell(drive(*problem, solver="exact", slack="pair", c=1, tol=1e-6)))
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(float, sys.argv[2:]))
