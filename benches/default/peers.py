"""The other methods. Each is a function of training rows, their classes and test rows, all prepared; it gives the predicted
classes and how probable it holds them to be. The first four vote, with the number of neighbours chosen by leave-one-out on the
mapped training rows."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors, NeighborhoodComponentsAnalysis
from sklearn.svm import SVC

KS = [1, 3, 5, 7, 9, 11, 15, 21, 31]


def told(model, z):
    """Support vector machines predict by their decision values, which their probabilities do not always follow."""
    predicted, chances = model.predict(z), model.predict_proba(z)
    return predicted, chances[np.arange(len(z)), np.searchsorted(model.classes_, predicted)]


def voting(x, y, z):
    ks = [k for k in KS if k < len(y)]
    found = NearestNeighbors(n_neighbors=max(ks)).fit(x).kneighbors(return_distance=False)
    classes, codes = np.unique(y, return_inverse=True)
    votes = np.stack([codes[found] == c for c in range(len(classes))], axis=2).cumsum(1)
    right = [np.mean(votes[:, k - 1].argmax(1) == codes) for k in ks]
    return told(KNeighborsClassifier(ks[int(np.argmax(right))]).fit(x, y), z)


def mapped(learner):
    def fit(x, y, z):
        learned = learner().fit(x, np.unique(y, return_inverse=True)[1])
        return voting(learned.transform(x), y, learned.transform(z))

    return fit


def lmnn():
    from metric_learn import LMNN

    return LMNN(random_state=0)


def lfda(x, y, z):
    """On principal components: constant and dependent columns would make its eigenvalue problem singular."""
    from metric_learn import LFDA

    mean = x.mean(0)
    _, lengths, directions = np.linalg.svd(x - mean, full_matrices=False)
    kept = directions[lengths > 1e-8 * lengths[0]].T
    return mapped(LFDA)((x - mean) @ kept, y, (z - mean) @ kept)


def svm(x, y, z):
    grid = {"C": [0.1, 1, 10, 100, 1000], "gamma": [g / x.shape[1] for g in (0.01, 0.03, 0.1, 0.3, 1, 3)]}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    best = GridSearchCV(SVC(), grid, cv=folds, refit=False).fit(x, y).best_params_
    return told(SVC(**best, probability=True, random_state=0).fit(x, y), z)


def forest(x, y, z):
    return told(RandomForestClassifier(500, random_state=0).fit(x, y), z)


def boosting(x, y, z):
    return told(HistGradientBoostingClassifier(random_state=0).fit(x, y), z)


PEERS = {
    "k-NN": voting,
    "NCA": mapped(lambda: NeighborhoodComponentsAnalysis(random_state=0)),
    "LMNN": mapped(lmnn),
    "LFDA": lfda,
    "SVM": svm,
    "forest": forest,
    "boosting": boosting,
}
VOTING = ["k-NN", "NCA", "LMNN", "LFDA"]
