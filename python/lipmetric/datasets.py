"""The data sets of the paper that travel with the package.

>>> from lipmetric import datasets
>>> datasets.names()
['australian', 'cancer', 'diabetes', 'echo', 'fertility', 'haberman', 'voting']
>>> X, y = datasets.load_cancer()
>>> X.shape, sorted(set(y.tolist()))
((699, 9), ['benign', 'malignant'])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import _lipmetric
from ._frames import named_classes


def names() -> list[str]:
    """The names of the data sets."""
    return list(_lipmetric.datasets())


def about(name: str) -> dict[str, Any]:
    """What is known about a data set: title, description, remarks, source, citation, licence, names of the columns."""
    known = dict(_lipmetric.dataset(name))
    known["columns"] = [column for column, _ in known["columns"]]
    return known


def load(name: str, *, as_frame: bool = False) -> tuple[Any, npt.NDArray[Any]]:
    """The rows and labels of a data set: NaN where a value is missing. With ``as_frame`` the rows are a frame of pandas."""
    *features, (_, labels) = _lipmetric.dataset(name)["columns"]
    y = _labels(labels)
    if as_frame:
        import pandas

        return pandas.DataFrame(dict(features)), y
    return np.column_stack([np.asarray(cells, dtype=np.float64) for _, cells in features]), y


def _labels(labels: Any) -> npt.NDArray[Any]:
    if isinstance(labels, np.ndarray):
        return labels.astype(np.int64) if np.all(labels == np.floor(labels)) else labels
    classes = sorted(set(labels))
    known = named_classes(classes)
    return np.asarray(known[np.searchsorted(np.array(classes), np.array(labels))])


def load_australian(*, as_frame: bool = False) -> tuple[Any, npt.NDArray[Any]]:
    """Credit card applications and whether they were approved: 690 rows, 14 features."""
    return load("australian", as_frame=as_frame)


def load_cancer(*, as_frame: bool = False) -> tuple[Any, npt.NDArray[Any]]:
    """Breast tumour samples and their diagnosis: 699 rows, 9 features, 16 values missing."""
    return load("cancer", as_frame=as_frame)


def load_diabetes(*, as_frame: bool = False) -> tuple[Any, npt.NDArray[Any]]:
    """Women of Pima heritage and whether they have diabetes: 768 rows, 8 features."""
    return load("diabetes", as_frame=as_frame)


def load_echo(*, as_frame: bool = False) -> tuple[Any, npt.NDArray[Any]]:
    """Echocardiograms and survival after a heart attack."""
    return load("echo", as_frame=as_frame)


def load_fertility(*, as_frame: bool = False) -> tuple[Any, npt.NDArray[Any]]:
    """Fertility and the way of life: 100 rows, 9 features."""
    return load("fertility", as_frame=as_frame)


def load_haberman(*, as_frame: bool = False) -> tuple[Any, npt.NDArray[Any]]:
    """Survival after breast cancer surgery: 306 rows, 3 features."""
    return load("haberman", as_frame=as_frame)


def load_voting(*, as_frame: bool = False) -> tuple[Any, npt.NDArray[Any]]:
    """Votes in the House of Representatives, by party."""
    return load("voting", as_frame=as_frame)
