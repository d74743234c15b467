"""The estimators on a real cluster of two worker processes."""

import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import lipmetric

pytest.importorskip("distributed", reason="lipmetric[dask] is not installed")

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import pandas as pd
from sklearn.base import clone

from lipmetric.dask import DaskAutoMetric, DaskKNeighborsClassifier, DaskLip, _crew

# Dask may be older than the pandas that it uses.
pytestmark = pytest.mark.filterwarnings("ignore:.*(inplace|copy) keyword")

QUICK = {"slack": "pair", "solver": "augmented", "c": 300.0, "tol": 0.1, "max_iter": 30}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit="1GiB"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster, monkeypatch):
    # Passes over few pairs travel as well.
    monkeypatch.setattr(_crew, "LEAST_ROWS", 200)
    cluster.scale(2)
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


def clusters(rows, features=5, seed=0):
    """Three classes that overlap."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    X = rng.normal(size=(rows, features))
    X[:, 0] += 1.5 * y
    X[:, 1] -= 1.0 * (y == 1)
    return X * np.linspace(0.5, 4.0, features), np.array(["a", "b", "c"])[y]


@pytest.fixture(scope="module")
def many():
    """So many rows that passes go to the workers, and what one machine learns of them."""
    X, y = clusters(1_500)
    return X, y, lipmetric.Lip(**QUICK).fit(X, y)


def blocks(X, y, size):
    return da.from_array(X, chunks=(size, X.shape[1])), da.from_array(y, chunks=size)


def assert_same_bits(fitted, expected):
    assert fitted.components_.tobytes() == expected.components_.tobytes()
    assert (fitted.objective_, fitted.dual_gap_, fitted.c_) == (expected.objective_, expected.dual_gap_, expected.c_)
    assert fitted.n_iter_ == expected.n_iter_


@pytest.fixture
def crews(monkeypatch):
    """The crews of the fits of a test, in their order."""
    made = []
    begin = _crew.Crew.__init__

    def noted(self, *args, **kwargs):
        begin(self, *args, **kwargs)
        made.append(self)

    monkeypatch.setattr(_crew.Crew, "__init__", noted)
    return made


def test_a_fit_on_a_cluster_has_the_bits_of_one_machine(client, many, crews):
    X, y, expected = many
    fitted = DaskLip(**QUICK).fit(*blocks(X, y, 400))
    assert_same_bits(fitted, expected)
    assert crews[0].passes > 5 and crews[0].failure is None
    assert type(fitted.to_local()) is lipmetric.Lip
    assert (fitted.to_local().predict(X[:50]) == expected.predict(X[:50])).all()
    # Neither rows nor parts are left behind.
    left = [key for keys in client.has_what().values() for key in keys if "lipmetric" in str(key)]
    deadline = time.monotonic() + 20
    while left and time.monotonic() < deadline:
        time.sleep(0.2)
        left = [key for keys in client.has_what().values() for key in keys if "lipmetric" in str(key)]
    assert left == []


def test_samples_of_many_rows_and_their_long_pairs_travel_as_well(client, crews, monkeypatch):
    asked = []
    run = _crew.Crew.run

    def noted(self, name, *args):
        asked.append(name)
        return run(self, name, *args)

    monkeypatch.setattr(_crew.Crew, "run", noted)
    X, y = clusters(4_500, 4, seed=2)
    params = {**QUICK, "c": 30_000.0, "tol": 0.02, "max_iter": 200}
    fitted = DaskLip(**params).fit(*blocks(X, y, 1_500))
    assert_same_bits(fitted, lipmetric.Lip(**params).fit(X, y))
    assert fitted.dual_gap_ <= 0.02
    assert {"rounded hinges", "survey"} <= set(asked), set(asked)
    assert crews[0].passes == len(asked) and crews[0].failure is None


def test_a_slack_per_row_and_weights_travel_as_well(client, crews):
    X, y = clusters(400, 3, seed=1)
    weight = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0 + np.arange(len(y)) % 2)
    params = {"slack": "instance", "solver": "augmented", "tol": 0.3, "max_iter": 15, "c": 3.0}
    dX, dy = blocks(X, y, 150)
    with warnings.catch_warnings():
        # Too few steps to converge.
        warnings.simplefilter("ignore")
        fitted = DaskLip(**params).fit(dX, dy, da.from_array(weight, chunks=150))
        expected = lipmetric.Lip(**params).fit(dX.compute(), dy.compute(), weight)
    assert_same_bits(fitted, expected)
    assert crews[0].passes > 3 and crews[0].failure is None


def test_files_of_parquet_and_of_numpy_and_zarr(client, many, tmp_path, crews):
    X, y, expected = many
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])]).assign(kind=y)
    dd.from_pandas(frame, npartitions=4).to_parquet(tmp_path / "rows")
    rows = dd.read_parquet(tmp_path / "rows")
    X_rows, labels = rows[[f"f{k}" for k in range(X.shape[1])]], rows["kind"]
    fitted = DaskLip(**QUICK).fit(X_rows, labels)
    assert_same_bits(fitted, expected)
    assert crews[0].passes > 5 and crews[0].failure is None
    predicted = fitted.predict(X_rows)
    assert isinstance(predicted, dd.Series)
    local = fitted.to_local().predict(frame[[f"f{k}" for k in range(X.shape[1])]])
    assert (predicted.compute().to_numpy() == local).all()
    mapped = fitted.transform(X_rows).compute()
    assert list(mapped.columns) == list(fitted.to_local().get_feature_names_out())
    assert np.array_equal(mapped.to_numpy(), fitted.to_local().transform(frame.drop(columns="kind")))
    da.to_npy_stack(tmp_path / "stack", da.from_array(X, chunks=(400, -1)))
    stacked = da.from_npy_stack(tmp_path / "stack")
    knn = DaskKNeighborsClassifier(3).fit(stacked, da.from_array(y, chunks=400))
    expected_rows = lipmetric.KNeighborsClassifier(3).fit(X, y).kneighbors(X[:40], return_distance=False)
    assert (knn.kneighbors(X[:40], return_distance=False) == expected_rows).all()
    pytest.importorskip("zarr")
    da.to_zarr(da.from_array(X, chunks=(400, -1)), str(tmp_path / "rows.zarr"))
    from_zarr = da.from_zarr(str(tmp_path / "rows.zarr"))
    assert (fitted.to_local().transform(X_rows.head(5)) == mapped.head(5).to_numpy()).all()
    assert (DaskKNeighborsClassifier(3).fit(from_zarr, da.from_array(y, chunks=400)).predict(X[:40]) == knn.predict(X[:40])).all()


def test_a_killed_worker_costs_time_never_the_fit(many, crews, monkeypatch):
    X, y, expected = many
    monkeypatch.setattr(_crew, "LEAST_ROWS", 200)
    began, run = threading.Event(), _crew.Crew.run

    def noted(self, *args):
        began.set()
        return run(self, *args)

    monkeypatch.setattr(_crew.Crew, "run", noted)
    # Workers of its own: one that is killed while it starts may not come back.
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as pair,
        distributed.Client(pair) as client,
    ):
        pids = list(client.run(os.getpid).values())

        def killer():
            began.wait(60)
            time.sleep(random.uniform(0.1, 1.0))
            os.kill(pids[0], signal.SIGKILL)

        thread = threading.Thread(target=killer)
        thread.start()
        fitted = DaskLip(**QUICK).fit(*blocks(X, y, 400))
        thread.join()
    assert_same_bits(fitted, expected)
    assert crews[-1].failure is None


# A fit that finds no better metric any more before Ctrl-C comes says so; then another one begins.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ctrl_c_ends_a_fit_with_the_best_so_far(client, many):
    X, y, _ = many
    # Where the tests run in the background of a shell, Python ignores Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(4.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    endless = {**QUICK, "tol": 1e-12, "max_iter": 10**6}
    try:
        with pytest.raises(KeyboardInterrupt) as told:
            while True:
                DaskLip(**endless).fit(*blocks(X, y, 400))
    finally:
        signal.signal(signal.SIGINT, before)
    model = getattr(told.value, "model", None)
    assert model is None or model.status == "interrupted"


def test_a_cluster_that_goes_away_leaves_the_rest_to_the_client(many, monkeypatch):
    X, y, expected = many
    monkeypatch.setattr(_crew, "LEAST_ROWS", 200)
    monkeypatch.setattr(_crew, "PATIENCE", 1.0)
    run = _crew.Crew.run
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as small:
        with distributed.Client(small) as client:

            def closing(self, *args):
                if self.passes == 3:
                    small.scale(0)
                    while client.scheduler_info(n_workers=-1)["workers"]:
                        time.sleep(0.05)
                return run(self, *args)

            monkeypatch.setattr(_crew.Crew, "run", closing)
            with pytest.warns(RuntimeWarning, match="no worker was there.*|given up"):
                fitted = DaskLip(**QUICK).fit(*blocks(X, y, 400))
    assert_same_bits(fitted, expected)


def test_what_does_not_fit_is_refused_before_it_starts_with_the_numbers(client):
    assert _crew.check_memory(1_000, 10, {}, 2**40) == _crew.WORKER_COPIES * 80_000
    worker = {"w": {"memory_limit": 10**9}}
    with pytest.raises(MemoryError, match=r"1000000 rows of 100 features: a worker needs about 5\.22 GiB.*limit of 0\.93 GiB"):
        _crew.check_memory(1_000_000, 100, worker, 2**40)
    with pytest.raises(MemoryError, match="the client, which runs the solver, needs about"):
        _crew.check_memory(1_000_000, 100, {}, 10**9)
    # A cluster without limits, and one worker that is large enough among small ones.
    assert _crew.check_memory(1_000_000, 100, {"w": {"memory_limit": 0}}, 2**40) > 0
    assert _crew.check_memory(1_000_000, 100, {**worker, "v": {"memory_limit": 2**40}}, 2**40) > 0
    # Never computed: it is refused from the sizes of its blocks.
    X = da.zeros((6_000_000, 20), chunks=(500_000, 20))
    y = da.zeros(6_000_000, chunks=500_000, dtype=int)
    with pytest.raises(MemoryError, match="6000000 rows of 20 features"):
        DaskLip().fit(X, y)


GOING = """
import sys, distributed, dask.array as da
from lipmetric.dask import DaskLip
client = distributed.Client(sys.argv[1])
X = da.random.default_rng(0).normal(size=(9000, 5), chunks=(3000, 5)).persist()
y = (X[:, 0] > 0).astype(int).persist()
print("begins", flush=True)
DaskLip(slack="pair", solver="augmented", tol=1e-6, c_rel=0.01, max_iter=100000).fit(X, y)
"""


def test_a_client_that_goes_away_leaves_nothing_behind(cluster, client, many):
    going = subprocess.Popen([sys.executable, "-c", GOING, cluster.scheduler_address], stdout=subprocess.PIPE, text=True)
    assert going.stdout.readline() == "begins\n"
    deadline = time.monotonic() + 60

    def held():
        return [key for keys in client.has_what().values() for key in keys if "lipmetric-rows" in str(key)]

    while not held():
        assert time.monotonic() < deadline and going.poll() is None
        time.sleep(0.1)
    going.kill()
    going.wait()
    going.stdout.close()
    deadline = time.monotonic() + 60
    while held():
        assert time.monotonic() < deadline, "the rows of a client that is gone are still held"
        time.sleep(0.2)
    X, y, expected = many
    assert_same_bits(DaskLip(**QUICK).fit(*blocks(X, y, 400)), expected)


def test_blocks_are_predicted_as_one_machine_does(blobs):
    X, y = blobs
    dX, dy = da.from_array(X, chunks=(25, 2)), da.from_array(y, chunks=40)
    fitted, local = DaskLip(k=3, verbose=0).fit(dX, dy), lipmetric.Lip(k=3).fit(X, y)
    assert_same_bits(fitted, local)
    for what in ("predict", "predict_proba", "decision_function", "transform", "predict_radius"):
        lazy = getattr(fitted, what)(dX)
        assert isinstance(lazy, da.Array) and lazy.chunks[0] == (25, 25, 25, 15)
        assert lazy.dtype == getattr(local, what)(X).dtype
        assert (lazy.compute() == getattr(local, what)(X)).all()
        assert (getattr(fitted, what)(X) == getattr(local, what)(X)).all()
    radii = fitted.predict_radius(dX, norm="linf", space="input")
    assert (radii.compute() == local.predict_radius(X, norm="linf", space="input")).all()
    assert fitted.transform(dX.astype(np.float32)).dtype == np.float32
    assert fitted.score(dX, dy) == local.score(X, y)
    assert DaskLip().fit(dX, dy).counterfactual(dX[:3])["distance"].shape == (3,)
    # Blocks of unknown size, some of them empty.
    some = dX[dX[:, 0] > 1.0]
    assert (fitted.predict(some).compute() == local.predict(X[X[:, 0] > 1.0])).all()
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict(dX).compute() == local.predict(X)).all()
    assert clone(fitted).get_params() == fitted.get_params()


def test_frames_keep_their_index_and_their_categories(blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(100, 190))
    frame["side"] = np.where(X[:, 2] > 0, "left", "right")
    labels = pd.Series(y, index=frame.index, name="kind")
    rows = dd.from_pandas(frame, npartitions=3)
    fitted, local = DaskLip().fit(rows, dd.from_pandas(labels, npartitions=3)), lipmetric.Lip().fit(frame, labels)
    assert_same_bits(fitted, local)
    predicted = fitted.predict(rows).compute()
    assert predicted.index.equals(frame.index) and (predicted.to_numpy() == local.predict(frame)).all()
    shares = fitted.predict_proba(rows).compute()
    assert list(shares.columns) == ["0", "1", "2"] and (shares.to_numpy() == local.predict_proba(frame)).all()
    assert (fitted.predict_radius(rows).compute().to_numpy() == local.predict_radius(frame)).all()


def test_auto_learns_what_it_does_on_one_machine(client, blobs):
    X, y = blobs
    fitted, local = DaskAutoMetric().fit(*blocks(X, y, 40)), lipmetric.AutoMetric().fit(X, y)
    assert fitted.components_.tobytes() == local.components_.tobytes()
    assert (fitted.predict(da.from_array(X, chunks=(30, 4))).compute() == local.predict(X)).all()
    assert type(fitted.to_local()) is lipmetric.AutoMetric


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_neighbours_among_blocks_are_those_of_one_index(weights):
    rng = np.random.default_rng(3)
    # Many equal distances, within blocks and across them.
    X, y = rng.integers(0, 3, size=(200, 3)).astype(float), rng.integers(0, 4, 200)
    queries = rng.integers(0, 3, size=(60, 3)).astype(float)
    for k in (1, 6, 90):
        local = lipmetric.KNeighborsClassifier(k, weights=weights).fit(X, y)
        knn = DaskKNeighborsClassifier(k, weights=weights).fit(*blocks(X, y, 37))
        for asked in (queries, da.from_array(queries, chunks=(25, 3))):
            distances, rows = dask.compute(*knn.kneighbors(asked))
            expected = local.kneighbors(queries)
            assert (distances == expected[0]).all() and (rows == expected[1]).all()
            assert (np.asarray(knn.predict(asked)) == local.predict(queries)).all()
            assert (np.asarray(knn.predict_proba(asked)) == local.predict_proba(queries)).all()
    assert knn.score(*blocks(X, y, 50)) == local.score(X, y)
    assert (knn.to_local().predict(queries) == local.predict(queries)).all()
    frame = dd.from_pandas(pd.DataFrame(queries), npartitions=2)
    assert (knn.predict(frame).compute() == local.predict(queries)).all()


def test_bad_input_is_refused_with_what_was_found():
    X, y = clusters(60)
    dX, dy = blocks(X, y, 20)
    refused = [
        (DaskLip(), (X, y), TypeError, "X is a ndarray, no Dask array or data frame"),
        (DaskLip(), (dX, y), TypeError, "y is a ndarray, no Dask collection as X is"),
        (DaskLip(), (dX, None), ValueError, "requires y to be passed"),
        (DaskLip(), (dX, dy[:50]), ValueError, "y has 50 values, but X has 60 rows"),
        (DaskLip(), (dX[:, 0], dy), ValueError, "X has 1 dimensions"),
        (DaskLip(c_rel=2.0), (dX, dy), ValueError, "c_rel"),
        (DaskKNeighborsClassifier(0), (dX, dy), ValueError, "`n_neighbors`: 0 is no number"),
        (DaskKNeighborsClassifier("auto"), (dX, dy), ValueError, "lipmetric.KNeighborsClassifier has it"),
        (DaskKNeighborsClassifier(61), (dX, dy), ValueError, "61 is more than the 60 rows"),
        (DaskKNeighborsClassifier(weights="far"), (dX, dy), ValueError, "'far' is not one of uniform, distance"),
    ]
    for estimator, given, kind, told in refused:
        with pytest.raises(kind, match=told):
            estimator.fit(*given)
    knn = DaskKNeighborsClassifier(2).fit(dX, dy)
    with pytest.raises(ValueError, match="X has 4 features, but DaskKNeighborsClassifier is expecting 5"):
        knn.predict(dX[:, :4])


def test_parts_are_dealt_in_runs_that_cost_about_the_same():
    costs = list(range(100, 0, -1))
    runs = _crew.portions(costs, 10)
    assert [part for run in runs for part in run] == list(range(100))
    sizes = [sum(costs[part] for part in run) for run in runs]
    assert 8 <= len(runs) <= 12 and max(sizes) < 1.5 * sum(costs) / len(runs)
    assert _crew.portions([5], 8) == [[0]] and _crew.portions([], 3) == []
