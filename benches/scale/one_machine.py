"""How far one machine gets: certified gap, CPU seconds and memory on tables that are hard for their size.

    one_machine.py [NAME ...] [--seconds 600]

Names (all unless given; `one_machine.py --list` says what they are). Tables are made up, the same each time: spectra of two
classes, overlapping Gaussian classes, blurred strokes of ten digits, clusters like letters (several clusters per class, whole
numbers from 0 to 15). One thread, but for `threads`. Needs the standard library alone; builds the driver (`benches/driver`).
"""
import argparse
import math
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import build, drive  # noqa: E402


def spectra(n, p, rng):
    """Two classes of echoes: a few peaks along the features, some of them of the class, with noise that depends on its neighbours."""
    peaks = [[(rng.uniform(0, p), rng.uniform(2, 8), rng.uniform(0.2, 1)) for _ in range(6)] for _ in range(2)]
    common = [(rng.uniform(0, p), rng.uniform(2, 8), rng.uniform(0.2, 1)) for _ in range(6)]
    for i in range(n):
        shape = [(at + rng.gauss(0, 1.5), width, height * math.exp(rng.gauss(0, 0.5))) for at, width, height in common + peaks[i % 2]]
        noise, row = 0.0, []
        for k in range(p):
            noise = 0.7 * noise + rng.gauss(0, 0.05)
            row.append(abs(noise + sum(h * math.exp(-(((k - at) / w) ** 2)) for at, w, h in shape)))
        yield row, i % 2


def gaussians(n, p, rng, classes=3):
    centres = [[rng.gauss(0, 2) / (1 + 0.2 * k) for k in range(p)] for _ in range(classes)]
    for i in range(n):
        common = rng.gauss(0, 0.5)
        yield [m + rng.gauss(0, 1) + common for m in centres[i % classes]], i % classes


def digits(n, rng):
    """Eight by eight pictures of a few strokes per class, moved and blurred, of whole numbers from 0 to 16."""
    strokes = [[(rng.uniform(1, 6), rng.uniform(1, 6), rng.uniform(1, 6), rng.uniform(1, 6)) for _ in range(3)] for _ in range(10)]
    for i in range(n):
        dx, dy, width = rng.gauss(0, 0.4), rng.gauss(0, 0.4), rng.uniform(0.6, 1.1)
        ends = [[v + rng.gauss(0, 0.4) for v in stroke] for stroke in strokes[i % 10]]
        points = [
            (x0 + t / 6 * (x1 - x0) + dx, y0 + t / 6 * (y1 - y0) + dy) for x0, y0, x1, y1 in ends for t in range(7)
        ]
        row = []
        for k in range(64):
            near = min((k % 8 - x) ** 2 + (k // 8 - y) ** 2 for x, y in points)
            row.append(round(16 * math.exp(-near / (2 * width * width))))
        yield row, i % 10


def letters(n, p, rng, classes=26, clusters=3):
    centres = [[[min(15, max(0, rng.gauss(7, 2.2))) for _ in range(p)] for _ in range(clusters)] for _ in range(classes)]
    for i in range(n):
        centre = centres[i % classes][rng.randrange(clusters)]
        yield [min(15, max(0, round(m + rng.gauss(0, 1.6)))) for m in centre], i % classes


# What a table is, how it is made, the task of the driver, and what is asked of it.
RUNS = {
    "spectra-1e-3": ("208 x 60, to 1e-3", lambda r: spectra(208, 60, r), "fit", {"c_rel": 0.01, "tol": 1e-3, "solver": "augmented"}),
    "spectra-1e-6": ("208 x 60, exact to 1e-6", lambda r: spectra(208, 60, r), "fit", {"c_rel": 0.01, "tol": 1e-6, "solver": "exact"}),
    "gaussians": ("500 x 50, exact to 1e-6", lambda r: gaussians(500, 50, r), "fit", {"c_rel": 0.01, "tol": 1e-6, "solver": "exact"}),
    "digits": ("1,797 x 64 of ten classes, to 1e-2", lambda r: digits(1797, r), "fit", {"c_rel": 0.01, "tol": 1e-2, "solver": "augmented"}),
    "letters": ("20,000 x 16 of 26 classes, to 1e-2", lambda r: letters(20000, 16, r), "fit", {"c_rel": 1e-4, "tol": 1e-2, "solver": "augmented"}),
    "path-pair": ("300 x 8, a path of 25 points against single fits", lambda r: gaussians(300, 8, r), "path", {"slack": "pair", "points": 25}),
    "path-row": ("the same with a slack per row", lambda r: gaussians(300, 8, r), "path", {"slack": "instance", "points": 25}),
    "threads": ("3,000 x 16 of 26 classes on two threads", lambda r: letters(3000, 16, r), "fit", {"c_rel": 1e-4, "tol": 1e-2, "solver": "augmented"}),
}


def write(path, rows):
    lines = [",".join([*map(repr, row), f"c{label}"]) for row, label in rows]
    features = lines[0].count(",")
    path.write_text("\n".join([",".join([*(f"f{k}" for k in range(features)), "label"]), *lines]) + "\n")


def run(name, path, seconds):
    what, make, task, options = RUNS[name]
    write(path, make(random.Random(name.split("-")[0])))
    if task == "path":
        told = drive("path", path, "lip-i", **options)
        return what, told.get("error") or ", ".join(f"{k} {v}" for k, v in told.items() if k != "fits")
    options = {"slack": "pair", "seconds": seconds, **options}
    told = drive("fit", path, "lip-i", **options)
    if "error" in told:
        return what, told["error"]
    said = f"gap {told['gap']:.1e}, {told['cpu_s']:.1f} CPU s, {told['peak_mb']:.0f} MB, {told['status']}, {told['iterations']} steps"
    if name == "threads":
        both = drive("fit", path, "lip-i", threads=2, **options)
        said += f"; wall time {told['wall_s']:.2f} s on one thread, {both['wall_s']:.2f} s on two: {told['wall_s'] / both['wall_s']:.2f} times"
    return what, said + "".join(f"; {note}" for note in told["notes"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*RUNS, []])
    parser.add_argument("--seconds", type=float, default=600, help="limit of a fit")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list:
        print("\n".join(f"{name:14} {about[0]}" for name, about in RUNS.items()))
        return
    build()
    print("| table | result |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.names or RUNS:
            what, said = run(name, pathlib.Path(folder) / f"{name}.csv", args.seconds)
            print(f"| {name}: {what} | {said} |", flush=True)


if __name__ == "__main__":
    main()
