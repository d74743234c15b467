"""A fitted model as a notebook shows it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._core import Model


def _figure(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value))


def _bars(heights: list[float], width: int = 240, height: int = 60) -> str:
    """A small picture of the spectrum, each bar an eigenvalue."""
    top = max(heights, default=0.0)
    if top <= 0.0:
        return ""
    step = width / len(heights)
    bars = "".join(
        f'<rect x="{i * step:.1f}" y="{height * (1 - v / top):.1f}" width="{max(step - 1, 0.5):.1f}" '
        f'height="{height * v / top:.1f}"><title>{v:.6g}</title></rect>'
        for i, v in enumerate(heights)
    )
    return f'<svg width="{width}" height="{height}" role="img" aria-label="spectrum" fill="#4a78b5">{bars}</svg>'


def model_html(model: Model) -> str:
    """The model in a table: what it is, its certificate, its spectrum."""
    about, outcome = model.description, model.outcome
    rows: list[tuple[str, str]] = [
        ("method", escape(model.method)),
        ("prediction", escape(about["prediction"])),
        ("features", f"{len(about['feature_names'])}, of which {about['rank']} directions count"),
        ("classes", escape(", ".join(f"{n} ({c})" for n, c in zip(about["classes"], about["class_counts"], strict=True)))),
        ("ended", escape(about["ended"])),
    ]
    certificate = [("objective", "objective"), ("lower bound", "dual"), ("certified gap", "gap"), ("c", "c"), ("c_max", "c_max")]
    rows += [(name, _figure(outcome[key])) for name, key in certificate if outcome[key] is not None]
    picture = _bars([float(v) for v in np.asarray(model.spectrum)[:60]])
    if picture:
        rows.append(("spectrum", picture))
    rows += [("note", escape(note)) for note in outcome["notes"]]
    body = "".join(f'<tr><th style="text-align:left">{name}</th><td style="text-align:left">{value}</td></tr>' for name, value in rows)
    return f'<table class="lipmetric-model">{body}</table>'
