"""Margins, ratios, bounds, extensions and certified radii of labelled rows, under a learned map or the Euclidean distance.

Every function takes the rows as they are: nothing is scaled. ``components`` is a map such as ``Model.components`` or an
estimator's ``components_``; the Euclidean distance where there is none. The names and numbers are those of the paper; see
docs/lipschitz.md.

>>> import numpy as np
>>> from lipmetric import lipschitz
>>> X, y = np.array([[0.0], [1.0], [4.0], [9.0]]), ["a", "a", "b", "b"]
>>> lipschitz.margin(X, y), lipschitz.ratios(X, y)["diameter"]
(3.0, 0.3333333333333333)
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _lipmetric
from ._core import places
from ._frames import class_name, labels_of, numbers_of

Array = npt.NDArray[np.float64]


def _sample(X: Any, y: Any, components: Any) -> tuple[Any, Any, Any]:
    """Rows, labels and the factor of the distance, as the compiled module takes them."""
    classes, codes = labels_of(y)
    return numbers_of(X), ([class_name(c) for c in classes.tolist()], codes), _factor(components)


def _factor(components: Any) -> Array | None:
    return None if components is None else numbers_of(components, "components")


def margins(X: Any, y: Any, components: Any = None) -> dict[str, Any]:
    """Margin, Lipschitz constant, diameters and margin ratios, with the pairs of rows that attain them."""
    return dict(_lipmetric.margins(_sample(X, y, components)))


def margin(X: Any, y: Any, components: Any = None) -> float:
    """The smallest distance between rows of different classes."""
    return float(margins(X, y, components)["margin"]["distance"])


def ratios(X: Any, y: Any, components: Any = None) -> dict[str, float]:
    """The margin over the diameter, and over the sum of the diameters of the classes."""
    measured = margins(X, y, components)
    return {"diameter": measured["ratio_diameter"], "intra": measured["ratio_intra"]}


def report(X: Any, y: Any, components: Any = None, *, delta: float | None = None, max_drop: int | None = None) -> dict[str, Any]:
    """Everything at once: margins, local ratios, the doubling dimension, learning bounds that hold with probability
    ``1 - delta``, and what leaving out up to ``max_drop`` rows does to them."""
    return dict(_lipmetric.report(_sample(X, y, components), delta, max_drop))


def page(
    X: Any,
    y: Any,
    components: Any = None,
    *,
    path: str | os.PathLike[str] | None = None,
    plots: str | os.PathLike[str] | None = None,
    plot_format: str = "svg",
    source: str = "the rows",
) -> str:
    """A page with pictures of the margins: the rows before and after, local ratios, distances within and between the classes,
    certified accuracy, bounds.

    One HTML file that needs no other. It is returned, and written to ``path``; each picture also as a file into the folder
    ``plots``, as ``"svg"`` or ``"png"``. ``source`` is what the rows are called in it.

    >>> import numpy as np
    >>> "<svg" in page(np.array([[0.0], [1.0], [4.0], [9.0]]), ["a", "a", "b", "b"])
    True
    """
    sample = _sample(X, y, components)
    names = [str(name) for name in getattr(X, "columns", [f"x{j + 1}" for j in range(sample[0].shape[1])])]
    return _lipmetric.margins_report(sample, names, source, places(path, plots, plot_format))


def bounds(X: Any, y: Any, components: Any = None, *, delta: float | None = None) -> dict[str, Any] | None:
    """Bounds of the error on new rows, by the diameter and by the class diameters; ``None`` for more than two classes."""
    found: dict[str, Any] | None = report(X, y, components, delta=delta)["bounds"]
    return found


def extension(
    X: Any, values: Any, queries: Any, components: Any = None, *, constant: float | None = None, alpha: float = 0.5
) -> Array:
    """The Lipschitz extension of values on the rows of ``X`` to the rows of ``queries``: ``alpha`` of the upper and the rest
    of the lower one. The constant is the smallest that the values allow, unless a larger one is given.

    >>> import numpy as np
    >>> extension(np.array([[0.0], [2.0]]), [-1.0, 1.0], np.array([[0.5]]))
    array([-0.5])
    """
    values = [float(v) for v in np.asarray(values, dtype=np.float64)]
    extended, _ = _lipmetric.extend(numbers_of(X), values, numbers_of(queries, "queries"), _factor(components), constant, alpha)
    return extended


def learned_values(X: Any, y: Any, components: Any = None, *, constant: float) -> dict[str, Any]:
    """The cheapest values of the rows for their own classes, at a Lipschitz constant of the squared distance, by a linear
    program: ``slack`` is one less the value. With the multipliers that prove them."""
    return dict(_lipmetric.learned_values(_sample(X, y, components), constant))


def radii(X: Any, y: Any, queries: Any, components: Any = None) -> tuple[npt.NDArray[Any], Array]:
    """The class of the nearest row for each query, and how far it may move, in the distance of ``components``, before that
    can change.

    >>> import numpy as np
    >>> X, y = np.array([[0.0], [4.0]]), ["a", "b"]
    >>> radii(X, y, np.array([[1.0]]))
    (array(['a'], dtype='<U1'), array([1.]))
    """
    told = _lipmetric.radii(_sample(X, y, components), numbers_of(queries, "queries"))
    return labels_of(y)[0][told["code"]], told["radius"]
