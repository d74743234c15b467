"""tail.py FOLDER [FRACTION]: the diameter as the mean of the longest distances: CPU seconds of c_max, and of a fit to 1e-6 at
that fraction of it (0.3), for several levels."""
import sys

from common import build, ceiling, fit, sets

LEVELS = ["0.01", "0.1", "0.5", "0.9"]


def main(folder, fraction="0.3"):
    build()
    print("set variant level c_max cpu_s status gap cpu_s")
    for path in sets(folder):
        for variant in "DI":
            for level in LEVELS:
                top = ceiling(path, variant, diameter=level)
                if "error" in top:
                    print(path.stem, variant, level, top["error"][:100], flush=True)
                    continue
                r = fit(path, variant, c=float(fraction) * top["c_max"], diameter=level, tol=1e-6)
                told = r.get("error") or f"{r['status']} {r['gap']:.1e} {r['cpu_s']:.2f}"
                print(path.stem, variant, level, f"{top['c_max']:.6g}", f"{top['cpu_s']:.2f}", told, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
