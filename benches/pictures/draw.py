"""draw.py  ->  docs/pictures-before.svg, docs/pictures-after.svg: a bundled data set before and after a learned distance.

Needs the program: `cargo build --release`, or its place in LIPMETRIC.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("LIPMETRIC", ROOT / "target/release/lipmetric")).resolve()
FIT = ["fit", "--data", "cancer", "--method", "lip-i", "--c-rel", "0.1"]

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([PROGRAM, *FIT, "--plots", folder], check=True, stdout=subprocess.DEVNULL)
    for name in ["before", "after"]:
        shutil.copy(pathlib.Path(folder) / f"{name}.svg", ROOT / f"docs/pictures-{name}.svg")
        print(f"docs/pictures-{name}.svg")
