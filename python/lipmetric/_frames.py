"""Rows and labels as the library takes them: arrays of numbers, or named columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: A name, the cells (numbers, or texts), and the kind where the frame's own type says it.
Column = tuple[str, Any, str | None]


def _library(frame: Any) -> str:
    return type(frame).__module__.partition(".")[0]


def is_frame(rows: Any) -> bool:
    """Whether these are named columns: a frame of pandas or polars, a table of Arrow, or a mapping of names to columns."""
    # A sparse matrix of SciPy may be a dictionary, too.
    mapping = isinstance(rows, Mapping) and not hasattr(rows, "shape")
    return mapping or (_library(rows) in ("pandas", "polars", "pyarrow") and hasattr(rows, "columns"))


def columns_of(frame: Any) -> list[Column]:
    """The columns of a frame."""
    if isinstance(frame, Mapping):
        return [_plain(str(name), np.asarray(cells)) for name, cells in frame.items()]
    library = _library(frame)
    if library == "polars":
        return [_polars(frame[name]) for name in frame.columns]
    if library == "pyarrow":
        frame = frame.to_pandas()
    return [_pandas(str(name), frame.iloc[:, at]) for at, name in enumerate(frame.columns)]


def _refuse(name: str, what: str) -> TypeError:
    return TypeError(f"column `{name}` holds {what}; turn it into numbers or texts, or leave it out")


def _texts(cells: Sequence[Any]) -> list[str | None]:
    return [None if cell is None or cell != cell else str(cell) for cell in cells]


def _truths(cells: Sequence[Any]) -> list[str | None]:
    return [None if text is None else text.lower() for text in _texts(cells)]


def _plain(name: str, cells: npt.NDArray[Any]) -> Column:
    if cells.ndim != 1:
        raise ValueError(f"column `{name}` has {cells.ndim} dimensions; it must have one")
    if cells.dtype.kind == "b":
        return name, _truths(cells.tolist()), "boolean"
    if cells.dtype.kind in "iuf":
        return name, cells.astype(np.float64), None
    if cells.dtype.kind in "OUT":
        return name, _texts(cells.tolist()), None
    raise _refuse(name, f"values of the type {cells.dtype}")


def _pandas(name: str, series: Any) -> Column:
    dtype = series.dtype
    if getattr(dtype, "name", "") == "category":
        missing = series.isna().to_numpy()
        return name, [None if m else str(v) for m, v in zip(missing, series.tolist(), strict=True)], "category"
    if getattr(dtype, "kind", "O") == "b":
        missing = series.isna().to_numpy()
        return name, [None if m else str(bool(v)).lower() for m, v in zip(missing, series.tolist(), strict=True)], "boolean"
    if getattr(dtype, "kind", "O") in "iuf":
        return name, np.ascontiguousarray(series.to_numpy(dtype=np.float64, na_value=np.nan)), None
    if getattr(dtype, "kind", "O") in "mMc":
        raise _refuse(name, f"values of the type {dtype}")
    missing = series.isna().to_numpy()
    return name, [None if m else str(v) for m, v in zip(missing, series.tolist(), strict=True)], None


def _polars(series: Any) -> Column:
    name, dtype = str(series.name), series.dtype
    if dtype.is_numeric():
        return name, np.array([np.nan if v is None else v for v in series.to_list()], dtype=np.float64), None
    kind = str(dtype).partition("(")[0]
    if kind == "Boolean":
        return name, _truths(series.to_list()), "boolean"
    if kind in ("Categorical", "Enum"):
        return name, _texts(series.to_list()), "category"
    if kind == "String":
        return name, _texts(series.to_list()), None
    raise _refuse(name, f"values of the type {dtype}")


def rows_of(rows: Any) -> Any:
    """Rows as the library takes them. Arrays of single and double precision, in either order, are handed over as they are."""
    if is_frame(rows):
        return columns_of(rows)
    array = np.asarray(rows)
    if array.ndim != 2:
        sparse = "; it is sparse: use `.toarray()`" if hasattr(rows, "toarray") else ""
        what = "a row for each instance, a column for each feature"
        raise ValueError(f"X has {array.ndim} dimensions; it must have two: {what}{sparse}")
    if array.dtype not in (np.float64, np.float32):
        if array.dtype.kind == "c":
            raise ValueError("X holds complex numbers, which cannot be compared")
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"X holds something that is no number ({error}); give a frame for categories") from None
    return array


def aligned(value: Any) -> Any:
    """Arrays, also those of columns, whose numbers begin where the processor wants them: what came over a network or out of a file
    without a copy may not."""
    if isinstance(value, np.ndarray):
        return value if value.flags.aligned else value.copy()
    if isinstance(value, tuple) or (isinstance(value, list) and value and isinstance(value[0], tuple)):
        return type(value)(aligned(part) for part in value)
    return value


def is_single(rows: Any) -> bool:
    """Whether these are an array of single precision."""
    dtype = getattr(rows, "dtype", None)
    return dtype is not None and dtype == np.float32


def chosen_rows(rows: Any, numbers: npt.NDArray[np.intp]) -> Any:
    """Some of the rows, of an array or of columns."""
    if isinstance(rows, np.ndarray):
        return rows[numbers]
    cells = [values[numbers] if isinstance(values, np.ndarray) else [values[i] for i in numbers] for _, values, _ in rows]
    return [(name, chosen, kind) for (name, _, kind), chosen in zip(rows, cells, strict=True)]


def numbers_of(rows: Any, what: str = "X") -> npt.NDArray[np.float64]:
    """An array of double precision of two dimensions."""
    array = np.require(rows, dtype=np.float64, requirements="A")
    if array.ndim != 2:
        raise ValueError(f"{what} has {array.ndim} dimensions; it must have two")
    return array


def class_name(value: Any) -> str:
    """What the library calls a class: whole numbers without a point."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


def named_classes(names: Sequence[str]) -> npt.NDArray[Any]:
    """The classes of a model by their names: whole numbers, numbers, truth values or texts, whichever all of them are."""
    if list(names) == ["False", "True"]:
        return np.array([False, True])
    for kind, dtype in ((int, np.int64), (float, np.float64)):
        try:
            values = [kind(name) for name in names]
        except ValueError:
            continue
        if [class_name(value) for value in values] == list(names) and np.all(np.isfinite(values)):
            return np.array(values, dtype=dtype)
    return np.array(list(names))


def labels_of(y: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint32]]:
    """The classes in order, and the code of each label."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"y has {labels.ndim} dimensions; it must have one: a label for each row")
    if labels.dtype.kind == "f":
        if np.isnan(labels).any():
            raise ValueError(f"y: the label of row {int(np.isnan(labels).argmax())} is missing; leave the row out")
        if not np.all(labels == np.floor(labels)):
            raise ValueError("y holds fractions, so it is hardly a class; to predict numbers, say task='regression'")
    if labels.dtype.kind == "O":
        absent = [i for i, label in enumerate(labels) if label is None or label != label]
        if absent:
            raise ValueError(f"y: the label of row {absent[0]} is missing; leave the row out")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise ValueError("y mixes labels of different types, which have no order; make all of them texts") from None
    return classes, codes.reshape(-1).astype(np.uint32)


#: Different numbers from which on they are hardly classes, whatever the number of rows; of fewer rows that are mostly different ...
MANY = 100
#: ... these are enough.
SOME = 20


def warn_of_numbers(classes: npt.NDArray[Any], rows: int, stacklevel: int) -> None:
    """Warns of classes that look like numbers to predict."""
    count = len(classes)
    if classes.dtype.kind in "iuf" and (count >= MANY or (count > SOME and 2 * count > rows)):
        text = f"y has {count} different numbers on {rows} rows, each of which is taken for a class; to predict numbers, "
        warnings.warn(text + "say task='regression', or take a regressor", UserWarning, stacklevel=stacklevel + 1)


def targets_of(y: Any) -> npt.NDArray[np.float64]:
    """The numbers that are to be predicted."""
    try:
        numbers = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("y holds something that is no number; to predict classes, say task='classification'") from None
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if numbers.ndim != 1:
        raise ValueError(f"y has {numbers.ndim} dimensions; it must have one: a number for each row")
    return np.ascontiguousarray(numbers)


def label_name(y: Any, rows: Any) -> str:
    """What the labels' column is called in the model; never like a feature."""
    name = getattr(y, "name", None)
    name = name if isinstance(name, str) and name else "label"
    taken = {column[0] for column in rows} if isinstance(rows, list) else set()
    while name in taken:
        name += "_"
    return name
