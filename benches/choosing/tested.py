"""The tuned method against nearest neighbours, NCA and LMNN of this program, with tests: the bundled sets and three of
scikit-learn's, the number of neighbours chosen for everyone.

Usage: python benches/choosing/tested.py [OPTIONS OF compare]     (in an environment with scikit-learn)
"""

import pathlib
import subprocess
import sys
import tempfile

from common import BUNDLED, PROGRAM
from sklearn import datasets

with tempfile.TemporaryDirectory() as folder:
    names = list(BUNDLED)
    for name in ("iris", "wine", "breast_cancer"):
        data = getattr(datasets, f"load_{name}")()
        rows = [",".join(f"f{i}" for i in range(data.data.shape[1])) + ",label"]
        rows += [",".join(repr(float(v)) for v in x) + f",class{y}" for x, y in zip(data.data, data.target)]
        (pathlib.Path(folder) / f"{name}.csv").write_text("\n".join(rows) + "\n")
        names.append(f"{name}.csv")
    options = ["--methods", "nn,nca,lmnn,auto", "--k", "auto", "--against", "auto", *sys.argv[1:]]
    subprocess.run([PROGRAM, "compare", *names, *options], cwd=folder, check=True)
