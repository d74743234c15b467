"""The model file as Python reads it: safetensors and JSON, no package of ours."""

import csv
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
from safetensors import safe_open

LIPMETRIC = str(pathlib.Path(os.environ["LIPMETRIC"]).resolve())


def run(*args, cwd):
    return subprocess.run([LIPMETRIC, *args], cwd=cwd, check=True, capture_output=True, text=True).stdout


def read_model(path):
    with safe_open(path, framework="numpy") as f:
        tensors = {name: f.get_tensor(name) for name in f.keys()}
        header = json.loads(f.metadata()["lipmetric"])
    return tensors, header


def prepare(model, rows):
    """The preparation steps, replayed from the file's description alone (numeric columns)."""
    x = np.empty((len(rows), len(model["feature_names"])))
    for j, (feature, step) in enumerate(zip(model["preparation"]["schema"]["features"], model["preparation"]["steps"])):
        cells = [row[feature["name"]] for row in rows]
        values = np.array([step["fill"] if c == "" else float(c) for c in cells])
        x[:, j] = (values - step["offset"]) / step["scale"]
    return x


@pytest.mark.parametrize("name", ["haberman", "cancer", "voting"])
def test_predictions_made_from_the_file_alone_are_the_programs(tmp_path, name):
    run("datasets", "export", name, "-o", "data.csv", cwd=tmp_path)
    run("fit", "data.csv", "--method", "lip-d", "--c", "0.5", "--model", "m.lip", cwd=tmp_path)
    tensors, header = read_model(tmp_path / "m.lip")
    assert header["format_version"] == 2
    model = header["model"]
    assert tensors["L"].dtype == np.float64 and tensors["L"].shape[1] == len(model["feature_names"])
    rows = list(csv.DictReader((tmp_path / "data.csv").read_text().splitlines()))
    x = prepare(model, rows)
    np.testing.assert_allclose(x, tensors["train.x"], rtol=1e-12, atol=1e-12)
    # A few rows nudged, so that the nearest training row is not the row itself.
    nudged = [dict(row) for row in rows[:40]]
    first = model["preparation"]["schema"]["features"][0]["name"]
    for row in nudged:
        row[first] = str(float(row[first] or 0) + 0.37)
    with open(tmp_path / "new.csv", "w", newline="") as f:
        writer = csv.DictWriter(f, fieldnames=rows[0].keys())
        writer.writeheader()
        writer.writerows(nudged)
    z = prepare(model, nudged) @ tensors["L"].T
    train = tensors["train.x"] @ tensors["L"].T
    distance = ((z[:, None, :] - train[None, :, :]) ** 2).sum(-1)
    expected = [model["classes"][tensors["train.y"][i]] for i in distance.argmin(1)]
    out = run("predict", "--model", "m.lip", "new.csv", "--distance", cwd=tmp_path).splitlines()
    assert out[0] == "prediction,distance"
    predicted = [line.rsplit(",", 1) for line in out[1:]]
    assert [p[0] for p in predicted] == expected
    np.testing.assert_allclose([float(p[1]) for p in predicted], np.sqrt(distance.min(1)), rtol=1e-9, atol=1e-9)


def test_arrays_written_by_the_program_are_read_by_numpy(tmp_path):
    run("fit", "--data", "haberman", "--model", "m.lip", cwd=tmp_path)
    run("transform", "--data", "haberman", "--model", "m.lip", "-o", "z.npy", cwd=tmp_path)
    tensors, _ = read_model(tmp_path / "m.lip")
    z = np.load(tmp_path / "z.npy")
    np.testing.assert_allclose(z, tensors["train.x"] @ tensors["L"].T, rtol=1e-12, atol=1e-12)
    run("datasets", "export", "haberman", "-o", "h.npz", cwd=tmp_path)
    arrays = np.load(tmp_path / "h.npz")
    assert arrays["X"].shape == (306, 3) and arrays["y"].shape == (306,)


def test_arrays_written_by_numpy_are_read_by_the_program(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4))
    y = np.where(x[:, 0] > 0, "up", "down")
    np.savez(tmp_path / "plain.npz", X=x, y=y)
    np.savez_compressed(tmp_path / "packed.npz", X=np.asfortranarray(x.astype(np.float32)), y=y)
    np.save(tmp_path / "all.npy", np.column_stack([x, (x[:, 0] > 0).astype(float)]))
    for name in ["plain.npz", "packed.npz", "all.npy"]:
        fit = json.loads(run("fit", name, "--method", "nn", "--json", cwd=tmp_path))
        assert (fit["n"], fit["p"], fit["classes"]) == (60, 4, 2)


@pytest.mark.parametrize("scale", ["standard", "quantile", "unit"])
def test_a_reader_of_some_lines_replays_every_kind_of_column(tmp_path, scale):
    """Categories, booleans, gaps and European numbers, by plain Python that knows docs/model-file.md alone."""
    colours = ["rot", "blau", "grün", ""]
    rows = ["maß;farbe;glatt;art"]
    for i in range(60):
        size = "" if i % 11 == 3 else f"{1000 * (i % 7) + i * 37 % 19:,}".replace(",", ".") + f",{i % 10}"
        rows.append(f"{size};{colours[i * 7 % 4]};{['ja', 'nein'][i % 2] if i % 13 == 99 else ['yes', 'no'][i * 5 % 3 % 2]};{'ab'[i % 3 == 0]}")
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    notation = ("--decimal", ",", "--thousands", ".")
    method = "nn" if scale == "unit" else "lip-i"
    run("fit", "a.csv", *notation, "--method", method, "--k", "1", "--scale", scale, "--model", "m.lip", cwd=tmp_path)
    program = run("predict", "a.csv", "--model", "m.lip", "--no-header", cwd=tmp_path)
    replay = pathlib.Path(__file__).with_name("replay.py")
    here = subprocess.run(["python3", replay, "m.lip", "a.csv", ";"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert here.stdout == program
