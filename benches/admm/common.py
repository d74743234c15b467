"""The driver, for the scripts of this folder."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import VARIANTS, build, digits, drive, run, sets  # noqa: E402, F401
