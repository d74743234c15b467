"""sweep.py FOLDER: every c, both variants, both slack forms: status, certified gap, CPU seconds, times those at c = 1."""
import sys

from common import build, ceiling, fit, sets

FRACTIONS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3, 0.9, 0.99]


def main(folder):
    build()
    print("set variant slack c/c_max status gap cpu_s relative")
    for path in sets(folder):
        for variant in "DI":
            for slack in ("pair", "instance"):
                c_max = ceiling(path, variant, slack=slack)["c_max"]
                base = fit(path, variant, slack, c=1 if c_max > 1.01 else 0.1 * c_max)["cpu_s"]
                for fraction in FRACTIONS:
                    r = fit(path, variant, slack, c=fraction * c_max)
                    if "error" in r:
                        print(path.stem, variant, slack, fraction, r["error"][:100], flush=True)
                        continue
                    print(path.stem, variant, slack, fraction, r["status"], f"{r['gap']:.1e}", f"{r['cpu_s']:.4f}",
                          f"{r['cpu_s'] / base:.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
