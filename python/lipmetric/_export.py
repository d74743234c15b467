"""Mapped rows in vector indexes: plain Euclidean search there is search by the learned distance."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ._core import Model


def needed(module: str, package: str) -> Any:
    """A module that only this call needs."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise ImportError(f"this needs {package}: pip install {package}") from error


def vectors(model: Model, X: Any, unseen: str) -> npt.NDArray[np.float32]:
    """The mapped rows in single precision."""
    mapped = model.transform(X, unseen=unseen)
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(mapped, dtype=np.float32)
    if single.shape[1] == 0:
        raise ValueError("the learned map has no dimension (all distances are zero): there is nothing to search in")
    lost = np.argwhere(~np.isfinite(single))
    if len(lost):
        row, at = lost[0]
        raise ValueError(f"row {row}: element {at} of the mapped row is {mapped[row, at]:g}, which single precision cannot hold")
    return single


def whole_ids(ids: Any, rows: int, unsigned: bool = False) -> npt.NDArray[Any]:
    """Ids as 64-bit whole numbers, those of the rows where none are given."""
    kind = np.uint64 if unsigned else np.int64
    if ids is None:
        return np.arange(rows, dtype=kind)
    given = np.asarray(ids)
    checked(given, rows)
    if given.dtype.kind not in "iu" or (unsigned and given.dtype.kind == "i" and (given < 0).any()):
        least = "whole numbers from 0 on" if unsigned else "whole numbers"
        raise ValueError(f"`ids`: this index takes {least}; keep other ids in a list of your own, by the numbers of the rows")
    return given.astype(kind)


def checked(ids: npt.NDArray[Any], rows: int) -> None:
    """One id for each row, and all different."""
    if ids.shape != (rows,):
        raise ValueError(f"`ids`: there are {rows} rows, and the ids have the shape {ids.shape}; give one for each row")
    if len(set(ids.tolist())) < rows:
        raise ValueError("`ids`: some are there twice; every row needs its own")


def to_faiss(model: Model, X: Any, ids: Any, unseen: str) -> Any:
    """An exact index of Faiss."""
    faiss = needed("faiss", "faiss-cpu")
    z = vectors(model, X, unseen)
    flat = faiss.IndexFlatL2(z.shape[1])
    if ids is None:
        flat.add(z)
        return flat
    index = faiss.IndexIDMap(flat)
    index.add_with_ids(z, whole_ids(ids, len(z)))
    return index


def to_usearch(model: Model, X: Any, ids: Any, unseen: str, options: dict[str, Any]) -> Any:
    """An index of usearch."""
    usearch = needed("usearch.index", "usearch")
    z = vectors(model, X, unseen)
    index = usearch.Index(ndim=z.shape[1], **{"metric": "l2sq", "dtype": "f32", **options})
    index.add(whole_ids(ids, len(z), unsigned=True), z)
    return index


def to_hnswlib(model: Model, X: Any, ids: Any, unseen: str, options: dict[str, Any]) -> Any:
    """An index of hnswlib."""
    hnswlib = needed("hnswlib", "hnswlib")
    z = vectors(model, X, unseen)
    index = hnswlib.Index(space="l2", dim=z.shape[1])
    index.init_index(**{"max_elements": len(z), "ef_construction": 200, "M": 16, "random_seed": 0, **options})
    index.add_items(z, whole_ids(ids, len(z), unsigned=True))
    return index


def quoted(name: str) -> str:
    """A name as SQL takes any, with its schema where it has one."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split(".", 1))


def to_pgvector(model: Model, X: Any, connection: Any, table: str, ids: Any, unseen: str) -> int:
    """A table of PostgreSQL, filled by COPY within the connection's transaction."""
    z = vectors(model, X, unseen)
    keys: Sequence[Any] = range(len(z)) if ids is None else np.asarray(ids).tolist()
    if ids is not None:
        checked(np.asarray(ids), len(z))
    kind = "bigint" if all(isinstance(key, int) for key in keys) else "text"
    name = quoted(table)
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        cursor.execute(f"CREATE TABLE {name} (id {kind} PRIMARY KEY, vector vector({z.shape[1]}) NOT NULL)")
        with cursor.copy(f"COPY {name} (id, vector) FROM STDIN") as copy:
            for key, vector in zip(keys, z, strict=True):
                copy.write_row((key if kind == "bigint" else str(key), literal(vector)))
    return len(z)


def literal(vector: npt.NDArray[np.float32]) -> str:
    """A vector as pgvector reads it, to the last bit."""
    return "[" + ",".join(np.format_float_scientific(v, unique=True, trim="0") for v in vector) + "]"
