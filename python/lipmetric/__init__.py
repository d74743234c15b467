"""Metric learning with certified optima.

>>> import lipmetric
>>> X, y = lipmetric.datasets.load_haberman()
>>> model = lipmetric.fit(X, y, method="lip-d")
>>> model.status
'optimal'

The functional core (:func:`fit`, :func:`load`, :class:`Model`, :func:`path`, :func:`compare`, :mod:`lipschitz`,
:mod:`datasets`) needs NumPy alone. The estimators (:class:`Lip`, :class:`AutoMetric`, :class:`LMNN`, ...) follow scikit-learn's
conventions and need scikit-learn; they are imported when they are first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import datasets, lipschitz
from ._compare import Comparison, compare
from ._core import Model, NotConverged, Path, fit, load, path, threads
from ._lipmetric import __version__
from ._names import ESTIMATORS

if TYPE_CHECKING:
    from ._estimators import *  # noqa: F403
    from ._neighbors import KNeighborsClassifier as KNeighborsClassifier
    from ._neighbors import KNeighborsRegressor as KNeighborsRegressor
    from ._tuples import ITML as ITML
    from ._tuples import LipPairs as LipPairs
    from ._tuples import LMMLQuadruplets as LMMLQuadruplets
    from ._tuples import LMMLTriplets as LMMLTriplets

__all__ = [  # noqa: PLE0604
    "Comparison",
    "Model",
    "NotConverged",
    "Path",
    "__version__",
    "compare",
    "datasets",
    "fit",
    "lipschitz",
    "load",
    "path",
    "threads",
    *ESTIMATORS,
]


def __getattr__(name: str) -> Any:
    if name not in ESTIMATORS:
        raise AttributeError(f"module 'lipmetric' has no attribute {name!r}")
    try:
        module = importlib.import_module(ESTIMATORS[name], __name__)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        raise ImportError(f"lipmetric.{name} needs scikit-learn: pip install 'lipmetric[sklearn]'") from error
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
