"""What the scripts of this folder share: data sets as CSV files, the program, its model files."""
import csv
import gzip
import json
import pathlib
import resource
import struct
import subprocess

import numpy as np

BUNDLED = ["australian", "cancer", "diabetes", "echo", "fertility", "haberman", "voting"]
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")


def run(program, *words, parse=True):
    """A run of the program on one thread: its JSON (or text) and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, env={"RAYON_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 4):  # 4: not converged, the result was written
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    seconds = after.ru_utime - before.ru_utime
    return (json.loads(done.stdout) if parse else done.stdout), seconds


def write(path, x, y):
    with open(path, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([f"x{k}" for k in range(x.shape[1])] + ["label"])
        writer.writerows([*map(repr, map(float, row)), f"c{label}"] for row, label in zip(x, y))


def factor(path):
    """The matrix L of a model file."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8 : 8 + size])["L"]
    begin, end = (8 + size + offset for offset in entry["data_offsets"])
    return np.frombuffer(data[begin:end], "<f8").reshape(entry["shape"])


def halves(rows, seed=0, part=0.6):
    """Stratified: a part of each class, at random, and the rest. Rows end with their label."""
    generator, parts = np.random.default_rng(seed), ([], [])
    for label in sorted({row[-1] for row in rows}):
        own = [row for row in rows if row[-1] == label]
        order = generator.permutation(len(own))
        cut = int(part * len(own))
        parts[0].extend(own[i] for i in order[:cut])
        parts[1].extend(own[i] for i in order[cut:])
    return parts


def fashion(name):
    def read(kind, skip):
        for path in FASHION.glob(f"{name}-{kind}*"):
            opened = gzip.open(path) if path.suffix == ".gz" else open(path, "rb")
            with opened as file:
                return np.frombuffer(file.read()[skip:], np.uint8)
        raise SystemExit("Fashion-MNIST is not there: apt-get install dataset-fashion-mnist")

    labels = read("labels", 8)
    return read("images", 16).reshape(len(labels), -1).astype(float), labels
