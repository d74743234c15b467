"""Metric learning on a cluster of Dask: rows in Dask arrays and data frames, the estimators' manners as in scikit-learn.

>>> import dask.array as da
>>> from lipmetric import datasets
>>> from lipmetric.dask import DaskKNeighborsClassifier
>>> X, y = datasets.load_haberman()
>>> X, y = da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100)
>>> knn = DaskKNeighborsClassifier(n_neighbors=3).fit(X, y)
>>> knn.predict(X[:3]).compute()
array([1, 1, 1])

What each does where, what it takes of memory, and when a single machine does better: docs/scale.md.
"""

from __future__ import annotations

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError(f"lipmetric.dask needs Dask ({error}): pip install 'lipmetric[dask]'") from error

from ._learners import DaskAutoMetric, DaskLip
from ._neighbors import DaskKNeighborsClassifier

__all__ = ["DaskAutoMetric", "DaskKNeighborsClassifier", "DaskLip"]
