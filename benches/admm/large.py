"""large.py [NAME ...]: the large runs: certified gap over time, CPU and wall seconds, peak memory. All threads.

Names: many (20,000 x 10), rows (60,000 x 10), features (1,000 x 100), digits (1,797 x 64, from scikit-learn; or digits:FILE.csv), wide
(2,000 x 784), both (70,000 x 50). All unless given.
"""
import pathlib
import sys
import tempfile

from common import build, digits, drive


RUNS = {
    "many": ("synthetic:20000x10x3", "c_rel=0.01", 1e-4, 300),
    "rows": ("synthetic:60000x10x3", "c_rel=0.01", 1e-3, 300),
    "features": ("synthetic:1000x100x3", "c_rel=0.01", 1e-4, 600),
    "digits": (digits, "c_rel=0.01", 5e-2, 120),
    "wide": ("synthetic:2000x784x10", "c=2000", 1e-2, 240),
    "both": ("synthetic:70000x50x10", "c=1e7", 1e-2, 600),
}


def main(names):
    build()
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            name, _, given = name.partition(":")
            data, c, tolerance, seconds = RUNS[name]
            data = given or data
            data = data if isinstance(data, str) else data(folder)
            limits = {"tol": tolerance, "seconds": seconds}
            told, progress = drive("fit", data, "lip-d", c, trace=True, threads="all", solver="augmented", **limits)
            print(name, pathlib.Path(data).name, f"{c}, limit {seconds} s")
            last = None
            for words in progress:
                if len(words) == 8 and words[3] != last:
                    last = words[3]
                    print(f"    {words[6]:>9} s  objective {words[1]}  bound {words[2]}  gap {words[3]}")
            print("   ", told, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or RUNS)
