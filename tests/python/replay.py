"""A model file read and replayed in plain Python, as docs/model-file.md describes it: `replay.py MODEL ROWS.csv` predicts by one
nearest neighbour. It needs no package, neither ours nor anyone's."""

import csv
import json
import struct
import sys

MISSING = {"", "?", "na", "n/a", "nan", "null"}
TRUE = {"true", "yes", "t", "y", "1"}


def read(path):
    data = open(path, "rb").read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    model = json.loads(header.pop("__metadata__")["lipmetric"])["model"]
    tensors = {}
    for name, about in header.items():
        start, end = (8 + length + at for at in about["data_offsets"])
        kind = {"F64": "d", "U32": "I"}[about["dtype"]]
        values = struct.unpack(f"<{(end - start) // struct.calcsize(kind)}{kind}", data[start:end])
        width = about["shape"][1] if len(about["shape"]) == 2 else None
        tensors[name] = values if width is None else [values[i : i + width] for i in range(0, len(values), width)]
    return model, tensors


def number(cell, notation):
    if notation.get("thousands"):
        cell = cell.replace(notation["thousands"], "")
    return float(cell.replace(notation.get("decimal", "."), "."))


def prepare(model, row):
    schema, out = model["preparation"]["schema"], []
    notation = schema.get("notation", {})
    for feature, step in zip(schema["features"], model["preparation"]["steps"]):
        cell, kind = row[feature["name"]].strip(), feature["encoding"]["kind"]
        missing = cell.lower() in MISSING or cell in notation.get("missing", [])
        if kind == "category":
            levels = feature["encoding"]["levels"]
            at = step["fill"] if missing else levels.index(cell)
            out += [float(i == at) for i in range(len(levels))]
            continue
        if missing:
            value = step["fill"]
        elif kind == "boolean":
            value = float(cell.lower() in TRUE)
        else:
            value = number(cell, notation)
        out.append(bent(value, step["knots"]) if "knots" in step else (value - step["offset"]) / step["scale"])
    if model["preparation"]["scaling"] == "unit":
        length = sum(v * v for v in out) ** 0.5
        out = [v / length for v in out] if length else out
    return out


def bent(value, knots):
    """Linear between the knots, constant beyond them."""
    if value <= knots[0][0]:
        return knots[0][1]
    for (a, u), (b, v) in zip(knots, knots[1:]):
        if value <= b:
            return u + (v - u) * (value - a) / (b - a)
    return knots[-1][1]


def mapped(tensors, x):
    return x if "L" not in tensors else [sum(a * b for a, b in zip(row, x)) for row in tensors["L"]]


def predict(model, tensors, row):
    z = mapped(tensors, prepare(model, row))
    distances = [sum((a - b) ** 2 for a, b in zip(z, mapped(tensors, x))) for x in tensors["train.x"]]
    return model["classes"][tensors["train.y"][distances.index(min(distances))]]


if __name__ == "__main__":
    model, tensors = read(sys.argv[1])
    delimiter = sys.argv[3] if len(sys.argv) > 3 else ","
    for row in csv.DictReader(open(sys.argv[2], newline=""), delimiter=delimiter):
        print(predict(model, tensors, row))
