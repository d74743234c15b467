"""size.py  ->  how long a page takes and how large it is, for a small and a large learned metric.

    python benches/pictures/size.py            # 690 x 14 (australian) and 100,000 x 20
    python benches/pictures/size.py --rows 20000

Needs the program: `cargo build --release`, or its place in LIPMETRIC. A model is fitted once; then `inspect` reads it with a page and
without, and the difference is what the page costs. Times are CPU seconds, the least of three runs, so that other work on the machine
does not count; `fit` and `margins` make their pages the same way.
"""
import argparse
import os
import pathlib
import random
import resource
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("LIPMETRIC", ROOT / "target/release/lipmetric")).resolve()


def cpu(*command):
    """CPU seconds of a run of the program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PROGRAM, *map(str, command)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows_file(path, rows, columns, seed=0):
    """Four classes, told apart by six of the columns."""
    random.seed(seed)
    centres = [[random.gauss(0, 2.5) if j < 6 else 0.0 for j in range(columns)] for _ in range(4)]
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(f"x{j}" for j in range(columns)) + ",label\n")
        for i in range(rows):
            centre = centres[i % 4]
            file.write(",".join(f"{random.gauss(c, 1):.5f}" for c in centre) + f",class {i % 4}\n")


def measure(name, model, folder):
    page = folder / "page.html"
    plain = min(cpu("inspect", model) for _ in range(3))
    drawn = min(cpu("inspect", model, "--report", page) for _ in range(3))
    print(f"{name:<34}{drawn - plain:10.2f} s{plain:12.2f} s{page.stat().st_size / 1e6:10.2f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=20)
    args = parser.parse_args()
    print(f"{'model':<34}{'the page':>12}{'to load it':>14}{'size':>13}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subset = ["fit", "--data", "australian", "--method", "lip-i", "--c-rel", "0.1", "--model", folder / "small.lip"]
        cpu(*subset)
        measure("australian, 690 x 14, lip-i", folder / "small.lip", folder)
        rows_file(folder / "large.csv", args.rows, args.columns)
        cpu("fit", folder / "large.csv", "--method", "agop", "--model", folder / "large.lip")
        measure(f"{args.rows} x {args.columns}, agop", folder / "large.lip", folder)


if __name__ == "__main__":
    main()
