"""The driver, for the scripts of this folder."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import VARIANTS, build, drive, run, sets  # noqa: E402, F401


def fit(path, variant, slack="pair", **options):
    return drive("fit", path, VARIANTS[variant], slack=slack, **options)


def ceiling(path, variant, **options):
    return drive("c-max", path, VARIANTS[variant], **options)
