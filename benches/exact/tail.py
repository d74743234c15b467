"""tail.py FOLDER [FRACTION]: the diameter as the mean of the longest distances: CPU seconds of c_max, and of a fit to 1e-6 at
that fraction of it (0.3), for several levels."""
import sys

from common import PROGRAM, run, sets

LEVELS = ["0.01", "0.1", "0.5", "0.9"]


def main(folder, fraction="0.3"):
    print("set variant level c_max cpu_s status gap cpu_s")
    for path in sets(folder):
        for variant in "DI":
            for level in LEVELS:
                ceiling = run([PROGRAM, path, variant, "max", "pair", "1e-6", level])
                if "error" in ceiling:
                    print(path.stem, variant, level, ceiling["error"][:100], flush=True)
                    continue
                c = repr(float(fraction) * ceiling["c_max"])
                fit = run([PROGRAM, path, variant, c, "pair", "1e-6", level])
                told = fit.get("error") or f"{fit['status']} {fit['gap']:.1e} {fit['cpu_s']:.2f}"
                print(path.stem, variant, level, f"{ceiling['c_max']:.6g}", f"{ceiling['cpu_s']:.2f}", told, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
