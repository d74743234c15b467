"""LMML, LMNN and MCML to their certified gaps on the bundled data sets, all rows; one thread, CPU seconds.

Usage: python benches/rivals/certified.py [PROGRAM]

PROGRAM is the `lipmetric` program; target/release/lipmetric if it is not given.
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target" / "release" / "lipmetric")
    sets = ["australian", "cancer", "diabetes", "echo", "fertility", "haberman", "voting"]
    methods = [("lmml", "1e-6"), ("lmnn", "1e-3"), ("lmnn", "1e-6"), ("mcml", "1e-3"), ("mcml", "1e-6")]
    print("| data | " + " | ".join(f"{m} to {t}" for m, t in methods) + " |")
    print("|---|" + "---:|" * len(methods))
    for name in sets:
        cells = []
        for method, tolerance in methods:
            command = [program, "fit", "--data", name, "--method", method, "--tol", tolerance, "--threads", "1", "--json"]
            done = subprocess.run(command, capture_output=True, text=True)
            told = json.loads(done.stdout)
            mark = "" if told["status"] == "optimal" else f" ({told['status']}, gap {told['gap']:.1e})"
            cells.append(f"{told['cpu_seconds']:.3f} s{mark}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
