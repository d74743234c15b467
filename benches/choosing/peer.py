"""peer.py METHOD FOLDER: fits METHOD (euclid, sklearn-nca, metric-learn-lmnn, metric-learn-lfda), at its defaults, on every
`*.train.csv` of FOLDER, and prints a JSON line each: accuracy of 1-NN, and of k-NN with k chosen by leave-one-out on the
mapped training rows, on the `*.test.csv` beside it."""

import csv
import json
import pathlib
import sys
import time
import warnings

import numpy as np

warnings.simplefilter("ignore")
KS = [1, 3, 5, 7, 9, 11, 15, 21, 31]


def read(path):
    with open(path) as f:
        rows = list(csv.reader(f))[1:]
    return np.array([[float(v) for v in r[:-1]] for r in rows]), np.array([r[-1] for r in rows])


def learner(method):
    if method == "euclid":
        return lambda x, y: lambda z: z
    if method == "sklearn-nca":
        from sklearn.neighbors import NeighborhoodComponentsAnalysis

        return lambda x, y: NeighborhoodComponentsAnalysis(random_state=0).fit(x, y).transform
    import metric_learn

    if method == "metric-learn-lfda":
        return lambda x, y: metric_learn.LFDA().fit(x, y).transform
    return lambda x, y: metric_learn.LMNN(random_state=0).fit(x, y).transform


def chosen(mapped, y):
    from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

    ks = [k for k in KS if k < len(y)]
    found = NearestNeighbors(n_neighbors=max(ks)).fit(mapped).kneighbors(return_distance=False)
    codes = np.unique(y, return_inverse=True)[1]
    right = [np.mean([np.bincount(codes[r[:k]]).argmax() == c for r, c in zip(found, codes)]) for k in ks]
    return KNeighborsClassifier(ks[int(np.argmax(right))])


def main(method, folder):
    from sklearn.neighbors import KNeighborsClassifier

    fit = learner(method)
    for train in sorted(pathlib.Path(folder).glob("*.train.csv")):
        name, repeat = train.name.split(".")[:2]
        out = dict(method=method, data=name, repeat=int(repeat))
        (x, a), (z, b) = read(train), read(str(train).replace(".train.", ".test."))
        try:
            codes = np.unique(a, return_inverse=True)[1]
            begun = time.process_time()
            transform = fit(x, codes)
            out["cpu"] = time.process_time() - begun
            tx, tz = np.real(transform(x)), np.real(transform(z))
            out["one"] = KNeighborsClassifier(1).fit(tx, a).score(tz, b)
            out["many"] = chosen(tx, a).fit(tx, a).score(tz, b)
        except ValueError as error:
            out["error"] = str(error)[:100]
        print(json.dumps(out), flush=True)


main(*sys.argv[1:3])
