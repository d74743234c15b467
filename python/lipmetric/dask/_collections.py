"""Dask arrays and data frames: their blocks of rows, and what is computed of one block after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt

from .._frames import is_frame

#: Rows, labels and weights of a block; the latter two may be ``None``.
Block = tuple[Any, Any, Any]


def is_collection(rows: Any) -> bool:
    """Whether these are an array or a frame of Dask."""
    return bool(dask.is_dask_collection(rows))


def is_dask_frame(rows: Any) -> bool:
    """Whether this is a data frame or a series of Dask."""
    return is_collection(rows) and not isinstance(rows, da.Array)


def checked(X: Any) -> Any:
    """Rows of a Dask collection, each whole in one block."""
    if not is_collection(X):
        raise TypeError(
            f"X is a {type(X).__name__}, no Dask array or data frame: use `dask.array.from_array`, `dask.dataframe.read_parquet` "
            "and the like, or the estimator of the same name without `Dask`"
        )
    if not isinstance(X, da.Array):
        if not hasattr(X, "map_partitions") or not hasattr(X, "columns"):
            raise TypeError(f"X is a {type(X).__name__}; it must be a Dask array or data frame")
        return X
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; it must have two: a row for each instance, a column for each feature")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def delayed_blocks(values: Any) -> list[Any]:
    """The blocks of a collection as tasks; as many as it says, where reading could be simplified to fewer."""
    whole = values.to_delayed() if isinstance(values, da.Array) else values.to_delayed(optimize_graph=False)
    return list(np.ravel(whole))


#: What labels and weights are called beside the columns of a frame.
BESIDE = ("lipmetric: label", "lipmetric: weight")


def _taken_apart(frame: Any, columns: int) -> list[Any]:
    """The rows, labels and weights of a frame that holds all of them."""
    return [frame.iloc[:, :columns], *(frame[name] if name in frame.columns else None for name in BESIDE)]


def _read_together(X: Any, y: Any, weights: Any) -> list[Block] | None:
    """The blocks of a frame with its labels and weights, whose files are then read once; ``None`` where they have no common
    blocks."""
    beside = {name: column for name, column in zip(BESIDE, (y, weights), strict=True) if column is not None}
    if not all(is_dask_frame(column) and column.ndim == 1 for column in beside.values()):
        return None
    try:
        together = X.assign(**beside)
    except ValueError:
        return None
    if together.npartitions != X.npartitions:
        return None
    apart = dask.delayed(_taken_apart, nout=3)
    parts = [apart(block, len(X.columns)) for block in np.ravel(together.to_delayed())]
    return [(rows, labels, None if weights is None else shares) for rows, labels, shares in parts]


def _pieces(values: Any, like: Any, what: str, count: int) -> list[Any]:
    """The blocks of a column beside those of the rows."""
    if values is None:
        return [None] * count
    if not is_collection(values):
        raise TypeError(f"{what} is a {type(values).__name__}, no Dask collection as X is")
    if isinstance(values, da.Array):
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"{what} has {values.ndim} dimensions; it must have one: a value for each row")
        if isinstance(like, da.Array) and not (np.isnan(like.shape[0]) or np.isnan(values.shape[0])):
            if values.shape[0] != like.shape[0]:
                raise ValueError(f"{what} has {values.shape[0]} values, but X has {like.shape[0]} rows")
            values = values.rechunk((like.chunks[0],))
    pieces = delayed_blocks(values)
    if len(pieces) != count:
        raise ValueError(f"{what} has {len(pieces)} blocks, but X has {count}: give both the same (`rechunk`, `repartition`)")
    return pieces


def blocks_of(X: Any, y: Any = None, weights: Any = None) -> list[Block]:
    """The blocks of rows, with their labels and weights, as tasks that are still to be computed. A block that is lost is computed
    anew, from the file that it comes from."""
    X = checked(X)
    if y is not None and is_dask_frame(X):
        together = _read_together(X, y, weights)
        if together is not None:
            return together
    rows = delayed_blocks(X)
    labels, shares = _pieces(y, X, "y", len(rows)), _pieces(weights, X, "sample_weight", len(rows))
    return list(zip(rows, labels, shares, strict=True))


def size_of(block: Block) -> tuple[int, int, int]:
    """Rows and columns of a block, and how many labels it has."""
    rows, labels, weights = block
    if weights is not None and len(weights) != len(rows):
        raise ValueError(f"a block has {len(rows)} rows and {len(weights)} weights")
    return len(rows), rows.shape[1], len(rows) if labels is None else len(labels)


def joined_rows(parts: Sequence[Any]) -> Any:
    """Blocks as one: an array, or a frame."""
    if is_frame(parts[0]):
        import pandas as pd

        return pd.concat(list(parts), axis=0) if len(parts) > 1 else parts[0]
    return np.concatenate([np.asarray(part) for part in parts])


def joined_column(parts: Sequence[Any]) -> npt.NDArray[Any] | None:
    """The labels or weights of several blocks, if there are any."""
    return None if parts[0] is None else np.concatenate([np.asarray(part) for part in parts])


def name_of(y: Any) -> str | None:
    """What a series is called."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and is_dask_frame(y) else None


def _answer(rows: Any, what: str, local: Any, options: dict[str, Any], shape: tuple[int, ...], kind: Any) -> Any:
    """What an estimator says of a block; of none, nothing."""
    if len(rows) == 0:
        return np.empty((0, *shape), dtype=kind)
    return np.asarray(getattr(local, what)(rows, **options))


def _framed(rows: Any, names: list[str] | None, **asked: Any) -> Any:
    """The same with the rows' own index: a series, or a frame where the columns have names."""
    import pandas as pd

    values = _answer(rows, **asked)
    if names is None:
        return pd.Series(values, index=rows.index, name=asked["what"])
    return pd.DataFrame(values, index=rows.index, columns=names)


def by_blocks(
    X: Any, what: str, local: Any, *, names: list[str] | None = None, dtype: Any = np.float64, **options: Any
) -> Any:
    """What a fitted estimator's method gives for each block: an array of Dask, or for a frame a series or a frame. ``names`` are
    those of the columns; without any there is one value for each row. The estimator is sent to each worker once."""
    X = checked(X)
    shape = () if names is None else (len(names),)
    asked: dict[str, Any] = {"what": what, "options": options, "shape": shape, "kind": dtype}
    sent = dask.delayed(local, pure=False, name=f"lipmetric-model-{dask.base.tokenize(local)}")
    label = f"lipmetric-{what}"
    if isinstance(X, da.Array):
        out: dict[str, Any] = {"drop_axis": 1} if names is None else {"chunks": (X.chunks[0], (len(names),))}
        empty = np.empty((0, *shape), dtype=dtype)
        return X.map_blocks(_answer, local=sent, **asked, dtype=dtype, meta=empty, name=None, token=label, **out)
    empty = _framed(X._meta.iloc[:0], names=names, local=None, **asked)
    return X.map_partitions(_framed, names=names, local=sent, **asked, meta=empty, token=label)


