"""large.py [NAME ...]: the large runs: certified gap over time, CPU and wall seconds, peak memory. All threads.

Names: many (20,000 x 10), rows (60,000 x 10), features (1,000 x 100), digits (1,797 x 64, from scikit-learn; or digits:FILE.csv), wide
(2,000 x 784), both (70,000 x 50). All unless given.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from common import EXAMPLES


def digits(folder):
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    path = pathlib.Path(folder) / "digits.csv"
    lines = [",".join([*map(str, row), str(k)]) for row, k in zip(x, y)]
    path.write_text("\n".join([",".join(f"f{k}" for k in range(64)) + ",label", *lines]) + "\n")
    return str(path)


RUNS = {
    "many": ("synthetic:20000x10x3", "rel0.01", 1e-4, 300),
    "rows": ("synthetic:60000x10x3", "rel0.01", 1e-3, 300),
    "features": ("synthetic:1000x100x3", "rel0.01", 1e-4, 600),
    "digits": (digits, "rel0.01", 5e-2, 120),
    "wide": ("synthetic:2000x784x10", "2000", 1e-2, 240),
    "both": ("synthetic:70000x50x10", "1e7", 1e-2, 600),
}


def main(names):
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            name, _, given = name.partition(":")
            data, c, tolerance, seconds = RUNS[name]
            data = given or data
            data = data if isinstance(data, str) else data(folder)
            args = [str(EXAMPLES / "admm_fit"), data, "D", c, "augmented", str(tolerance), str(seconds)]
            done = subprocess.run(args, env=dict(os.environ, LIP_TRACE="1"), capture_output=True, text=True)
            print(name, pathlib.Path(data).name, f"c = {c}, limit {seconds} s")
            last = None
            for line in done.stderr.splitlines():
                words = line.split()
                if len(words) == 8 and words[3] != last:
                    last = words[3]
                    print(f"    {words[6]:>9} s  objective {words[1]}  bound {words[2]}  gap {words[3]}")
            print("   ", json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else done.stderr[-300:], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or RUNS)
