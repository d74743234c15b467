"""draw.py  ->  docs/maps-before.svg, docs/maps-after.svg: rows of `turned` that no map has seen, in two principal components and in two
directions that were learned from others (LMNN).

Usage: python benches/maps/draw.py [PROGRAM]. Needs the packages of requirements.txt, and the program: `cargo build --release`.
"""

import csv
import pathlib
import subprocess
import sys
import tempfile

from sklearn.model_selection import train_test_split
from table import letters

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/lipmetric").resolve()
MAPS = {"before": ["--method", "nn", "--dims", "2"], "after": ["--method", "lmnn", "--n-components", "2"]}


def write(path, x, y):
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([*(f"x{k + 1}" for k in range(x.shape[1])), "class"])
        rows.writerows([*row, "ABCDEF"[kind]] for row, kind in zip(x.tolist(), y, strict=True))


x, y = letters()
parts = train_test_split(x, y, train_size=0.6, stratify=y, random_state=0)
with tempfile.TemporaryDirectory() as folder:
    for name, (rows, kinds) in {"train": parts[::2], "new": parts[1::2]}.items():
        write(f"{folder}/{name}.csv", rows, kinds)
    for name, options in MAPS.items():
        fit = ["fit", "train.csv", "--k", "auto", "--model", "m.lip", "-q", *options]
        subprocess.run([PROGRAM, *fit], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        picture = ROOT / f"docs/maps-{name}.svg"
        subprocess.run([PROGRAM, "plot", "m.lip", "new.csv", "-o", picture], cwd=folder, check=True)
        print(picture.relative_to(ROOT))
