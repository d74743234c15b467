"""Where each estimator is: they are imported when they are first asked for.

Written by python/generate.py from the methods of the library: change those, or the script.
"""

ESTIMATORS = {
    "AGOP": "._estimators",
    "AGOPRegressor": "._estimators",
    "ARML": "._estimators",
    "AutoMetric": "._estimators",
    "AutoRegressor": "._estimators",
    "Discriminant": "._estimators",
    "Euclidean": "._estimators",
    "LMML": "._estimators",
    "LMNN": "._estimators",
    "Lip": "._estimators",
    "LipLocal": "._estimators",
    "LipRobust": "._estimators",
    "LipschitzClassifier": "._estimators",
    "MCML": "._estimators",
    "MLKR": "._estimators",
    "NCA": "._estimators",
    "ITML": "._tuples",
    "LMMLQuadruplets": "._tuples",
    "LMMLTriplets": "._tuples",
    "LipPairs": "._tuples",
    "KNeighborsClassifier": "._neighbors",
    "KNeighborsRegressor": "._neighbors",
}
