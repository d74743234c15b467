"""What scikit-learn's own checks say of every estimator.

    python tests/python/checks.py        # with lipmetric and scikit-learn installed

prints how many checks passed, how many ask for something else on purpose (and which), and how many do not apply. The tests run the
same, and fail if any other check fails.
"""

import collections
import sys
import warnings

import sklearn
from sklearn.utils.estimator_checks import check_estimator

import lipmetric
import lipmetric._tuples
from lipmetric._names import ESTIMATORS

#: They learn from pairs, triplets or quadruplets of rows, which these checks do not give: see test_tuples.py.
TUPLES = lipmetric._tuples.__all__
CHECKED = sorted(set(ESTIMATORS) - set(TUPLES))
#: Those that learn nothing take no weights.
WEIGHTED = [name for name in CHECKED if not name.startswith("KNeighbors")]

#: The labels of these checks are random. The best metric of LMML is then zero, which it says instead of mapping all rows to one
#: point.
ZERO = dict.fromkeys(
    [
        "check_fit_score_takes_y",
        "check_dtype_object",
        "check_supervised_y_2d",
        "check_fit_idempotent",
        "check_sample_weights_list",
    ],
    "the best metric of random labels is zero",
)

#: A row of weight 2 counts twice in what is minimised. It is still one row: for the scaling, and among its neighbours.
WEIGHTS = {
    "check_sample_weight_equivalence_on_dense_data": "weights count while the distance is learned, rows are not repeated",
    # Its name in older versions.
    "check_sample_weights_invariance": "weights count while the distance is learned, rows are not repeated",
}


def expected(name):
    """Checks that ask for something else, and why it is not done."""
    return {**WEIGHTS, **(ZERO if name == "LMML" else {})} if name in WEIGHTED else {}


def results(name):
    """What every check says."""
    return check_estimator(
        getattr(lipmetric, name)(), expected_failed_checks=expected(name), on_fail=None, on_skip=None
    )


def main():
    warnings.simplefilter("ignore")
    print(f"scikit-learn {sklearn.__version__}, Python {sys.version.partition(' ')[0]}\n")
    print("| estimator | passed | ask for something else | do not apply | failed |\n|---|---:|---:|---:|---:|")
    failed = []
    for name in CHECKED:
        told = results(name)
        counts = collections.Counter(result["status"] for result in told)
        print(f"| `{name}` | {counts['passed']} | {counts['xfail']} | {counts['skipped']} | {counts['failed']} |", flush=True)
        failed += [(name, result["check_name"]) for result in told if result["status"] == "failed"]
    print(f"\nThe checks give labelled rows: they do not apply to {', '.join(TUPLES)}, which learn from tuples of rows.")
    for name, check in failed:
        print(f"failed: {name}, {check}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
