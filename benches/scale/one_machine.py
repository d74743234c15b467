"""one_machine.py [--slack instance|pair|both] [--only NAME,...] [--limit FACTOR] [--json FILE] [--growth] [--threads] [--paths] [--border]: fits
of Lip^D and Lip^I on one machine, as a table: how near to the optimum a fit is proved to be, and what that took.

Each row is a problem that is made up the same way each time (`benches/driver`), but for the digits, which are scikit-learn's
(`pip install scikit-learn`). `c` is a fraction of c_max, whose computation is part of the time. Seconds are CPU seconds on one thread, so
that other work of the machine counts little; a fit is stopped after FACTOR (1.5 unless given) times the seconds that its row is given.
The slack is the default, one per row, first.

--growth fits the same kind of rows in growing numbers and tells the exponent of the time; --threads fits with one thread and with two,
in wall time; --paths compares a path of 25 trade-offs, to a gap of 1e-6 and to 1e-3, with single fits to 1e-6; --border compares the exact solver with the method of
multipliers around the sizes where `auto` goes over.
"""
import argparse
import json
import math
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import build, digits, drive  # noqa: E402

# Name, rows, c as a fraction of c_max, the gap asked for, seconds given.
ROWS = [
    ("sonar", "sonar:208x60x2", 0.1, 1e-3, 3),
    ("sonar", "sonar:208x60x2", 0.1, 1e-6, 20),
    ("500x50", "synthetic:500x50x3", 0.1, 1e-6, 10),
    ("digits", "digits", 0.1, 1e-2, 20),
    ("letters", "letters:20000x16x26", 1e-4, 1e-2, 120),
    ("wide", "synthetic:2000x784x10", 0.1, 5e-2, 300),
    ("100k", "synthetic:100000x10x3", 0.1, 1e-2, 600),
    ("70k", "synthetic:70000x50x10", 0.1, 5e-2, 600),
]
HEAD = ("problem", "N x p", "classes", "method", "slack", "c-rel", "gap asked", "gap", "CPU s", "given", "MB", "c_max known to",
        "ended")


def shown(v, form="{:.1e}"):
    return "-" if v is None else form.format(v)


def line(cells):
    print("| " + " | ".join(str(c) for c in cells) + " |", flush=True)


def ceiling(notes):
    """How well c_max is known; to 2 % or better where no note tells."""
    for note in notes:
        found = re.search(r"c_max is only known to lie between ([\d.e+]+) and ([\d.e+]+)", note)
        if found:
            return f"{100 * (float(found[2]) / float(found[1]) - 1):.0f} %"
    return "2 %"


def fit(data, method, slack, c_rel, tolerance, seconds, **more):
    """A fit of at most so many seconds: the driver's figures."""
    options = {"slack": slack, "c_rel": c_rel, "tol": tolerance, "cpu_seconds": seconds, "solver": "auto"}
    return drive("fit", data, method, **options, **more)


def table(rows, slacks, methods, factor, keep):
    line(HEAD)
    line("---" for _ in HEAD)
    for slack in slacks:
        for name, data, c_rel, tolerance, given in rows:
            for method in methods:
                told = fit(data, method, slack, c_rel, tolerance, factor * given)
                asked = {"problem": name, "data": data, "slack": slack, "c_rel": c_rel, "tol": tolerance, "given": given}
                keep({**asked, "method": method, **told})
                size = f"{told.get('n', '')} x {told.get('p', '')}"
                start = (name, size, told.get("classes", ""), method, slack, c_rel, f"{tolerance:.0e}")
                if "error" in told:
                    line((*start, "-", "-", given, "-", "-", told["error"][:60]))
                    continue
                figures = (shown(told["gap"]), f"{told['cpu_s']:.1f}", given, f"{told['peak_mb']:.0f}")
                line((*start, *figures, ceiling(told["notes"]), told["status"]))


def growth(sizes, slack, seconds, keep):
    """The time for growing numbers of rows, and the exponent with which it grows."""
    print(f"\nGrowth: synthetic, 10 features, 3 classes, lip-i, slack per {slack}, c-rel 0.1, gap 1e-2\n")
    line(("rows", "gap", "CPU s", "MB", "exponent since the row above"))
    line("---" for _ in range(5))
    before = None
    for n in sizes:
        told = fit(f"synthetic:{n}x10x3", "lip-i", slack, 0.1, 1e-2, seconds)
        keep(dict(told, growth=n, slack=slack))
        if "error" in told:
            line((n, told["error"][:60], "-", "-", "-"))
            continue
        cpu = told["cpu_s"]
        exponent = "-" if before is None else f"{math.log(cpu / before[1]) / math.log(n / before[0]):.2f}"
        line((n, shown(told["gap"]), f"{cpu:.2f}", f"{told['peak_mb']:.0f}", exponent))
        before = (n, cpu)


def two_threads(rows, slacks, keep):
    print("\nTwo threads: wall seconds of the same fit with one thread and with two\n")
    line(("problem", "slack", "one thread", "two threads", "ratio"))
    line("---" for _ in range(5))
    for slack in slacks:
        for name, data, c_rel, tolerance, given in rows:
            options = {"slack": slack, "c_rel": c_rel, "tol": tolerance, "cpu_seconds": 3 * given, "solver": "auto"}
            walls = []
            for threads in ("1", "2"):
                os.environ["RAYON_NUM_THREADS"] = threads
                told = drive("fit", data, "lip-i", threads=threads, **options)
                walls.append(told.get("wall_s", float("nan")))
                keep(dict(told, threads=threads, slack=slack, data=data))
            line((name, slack, f"{walls[0]:.2f}", f"{walls[1]:.2f}", f"{walls[0] / walls[1]:.2f}"))


def paths(slacks, keep):
    points = 25
    print(f"\nPaths: {points} trade-offs from 0.9 to 9e-7 of c_max, in single fits of mean length to 1e-6 (CPU seconds)\n")
    line(("rows", "method", "slack", "c_max", f"{points} single fits", "path to 1e-6", "in single fits", "path to 1e-3", "in single fits"))
    line("---" for _ in range(9))
    for slack in slacks:
        for data in ("synthetic:200x10x3", "synthetic:500x20x3", "sonar:208x30x2"):
            for method in ("lip-i", "lip-d"):
                fine = drive("path", data, method, slack=slack, points=points)
                loose = drive("path", data, method, slack=slack, points=points, tol=1e-3, alone="false")
                keep(dict(fine, data=data, slack=slack, method=method))
                keep(dict(loose, data=data, slack=slack, method=method, tol=1e-3))
                if wrong := fine.get("error") or loose.get("error"):
                    line((data, method, slack, wrong[:60], *"-----"))
                    continue
                single = fine["single_s"] / points
                cells = [f(told) for told in (fine, loose) for f in (lambda t: f"{t['path_s']:.2f}", lambda t: f"{t['path_s'] / single:.1f}")]
                line((data, method, slack, f"{fine['c_max_s']:.2f}", f"{fine['single_s']:.2f}", *cells))


def border(slacks, keep):
    """The exact solver and what `auto` takes; with a slack per row the method of multipliers."""
    seconds = 30
    sizes = {
        "pair": ("synthetic:1000x10x3", "synthetic:1000x20x3", "synthetic:1500x20x3", "synthetic:2000x10x3", "sonar:1000x20x2"),
        "instance": ("synthetic:300x10x3", "synthetic:500x10x3", "synthetic:1000x10x3", "synthetic:1000x20x3"),
    }
    asked = {"pair": ((0.1, 1e-2), (0.1, 1e-4), (0.01, 1e-2), (0.01, 1e-4), (0.001, 1e-2), (0.001, 1e-4)), "instance": ((0.1, 1e-2), (0.01, 1e-2))}
    for slack in slacks:
        other = "auto" if slack == "pair" else "augmented"
        print(f"\nThe exact solver and {other}: lip-i, slack per {slack} (CPU seconds, at most {seconds})\n")
        line(("problem", "c-rel", "gap asked", "exact: gap", "CPU s", f"{other}: gap", "CPU s"))
        line("---" for _ in range(7))
        for data in sizes[slack]:
            for c_rel, tolerance in asked[slack]:
                cells = [data, c_rel, f"{tolerance:.0e}"]
                for solver in ("exact", other):
                    options = {"slack": slack, "c_rel": c_rel, "tol": tolerance, "cpu_seconds": seconds, "solver": solver}
                    told = drive("fit", data, "lip-i", **options)
                    keep(dict(told, data=data, slack=slack, c_rel=c_rel, tol=tolerance, solver=solver))
                    cells += [told["error"][:60], "-"] if "error" in told else [shown(told["gap"]), f"{told['cpu_s']:.2f}"]
                line(cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slack", choices=("instance", "pair", "both"), default="both")
    parser.add_argument("--methods", default="lip-i,lip-d")
    parser.add_argument("--only", default="", help="names of problems, with commas")
    parser.add_argument("--limit", type=float, default=1.5, metavar="FACTOR")
    parser.add_argument("--json", metavar="FILE", help="adds the figures of each fit to a file, a line each")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--paths", action="store_true")
    parser.add_argument("--border", action="store_true")
    args = parser.parse_args()
    build()
    slacks = ("instance", "pair") if args.slack == "both" else (args.slack,)
    names = [n for n in args.only.split(",") if n]
    unknown = set(names) - {r[0] for r in ROWS}
    if unknown:
        parser.error(f"no problem {', '.join(sorted(unknown))}; there are {', '.join(dict.fromkeys(r[0] for r in ROWS))}")

    def keep(record):
        if args.json:
            with open(args.json, "a", encoding="utf-8") as out:
                print(json.dumps(record), file=out)

    with tempfile.TemporaryDirectory() as folder:
        extra = args.growth or args.threads or args.paths or args.border
        rows = [r for r in ROWS if not names or r[0] in names] if names or args.threads or not extra else []
        rows = [(r[0], digits(folder) if r[1] == "digits" else r[1], *r[2:]) for r in rows]
        if not extra or names:
            table(rows, slacks, args.methods.split(","), args.limit, keep)
        if args.growth:
            for slack in slacks:
                growth((1000, 3000, 10_000, 30_000, 100_000), slack, 900, keep)
        if args.threads:
            two_threads([r for r in rows if r[0] not in ("wide", "100k", "70k")], slacks, keep)
        if args.paths:
            paths(slacks, keep)
        if args.border:
            border(slacks, keep)


if __name__ == "__main__":
    main()
