"""The functional core: models, frames, threads, interruptions, and the command line's models."""

import json
import pathlib
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest

import lipmetric
from lipmetric import lipschitz

METHODS = ["auto", "lip-d", "lip-i", "lip-local", "lmnn", "lmml", "nca", "mcml", "discriminant", "nn"]


def unaligned(X):
    """The same numbers from an odd address, as what comes over a network without a copy may have them."""
    out = np.frombuffer(b"." + X.tobytes(), dtype=X.dtype, offset=1).reshape(X.shape)
    assert not out.flags.aligned
    return out


def test_numbers_at_odd_addresses_are_read_as_any_others(two):
    X, y = two
    model, odd = lipmetric.fit(X, y, "lip-i"), lipmetric.fit(unaligned(X), y, "lip-i")
    assert (model.components == odd.components).all()
    assert (model.predict(unaligned(X)) == model.predict(X)).all()
    assert (model.transform(unaligned(X)) == model.transform(X)).all()
    assert lipschitz.margins(unaligned(X), y) == lipschitz.margins(X, y)
    columns, odd_columns = ({f"c{k}": of(X[:, k].copy()) for k in range(4)} for of in (np.asarray, unaligned))
    named = lipmetric.fit(odd_columns, y, "lip-i")
    assert (named.predict(columns) == named.predict(odd_columns)).all()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_predicts_and_survives_its_bytes(two, method):
    X, y = two
    model = lipmetric.fit(X, y, method)
    again = lipmetric.Model.from_bytes(model.to_bytes())
    assert again == model and pickle.loads(pickle.dumps(model)) == model
    assert set(model.predict(X)) <= {"left", "right"}
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert np.mean(model.predict(X) == y) > 0.8


@pytest.mark.parametrize("options", [[], ["--k", "3"], ["--classifier", "extension"]])
def test_models_of_the_command_line_predict_the_same_bits_here(tmp_path, program, options):
    program("datasets", "export", "cancer", "-o", "data.csv", cwd=tmp_path)
    method = ["--method", "lip-i"] if "extension" in options else ["--method", "lmnn"]
    program("fit", "data.csv", *method, *options, "--model", "m.lip", cwd=tmp_path)
    model = lipmetric.load(tmp_path / "m.lip")
    X, _ = lipmetric.datasets.load_cancer()
    X[:, 0] += 0.37
    names = lipmetric.datasets.about("cancer")["columns"][:-1]
    np.savetxt(tmp_path / "new.csv", X, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    out = program("predict", "--model", "m.lip", "new.csv", "--proba", "--margin", cwd=tmp_path).splitlines()
    told = [line.split(",") for line in out[1:]]
    explained = model.explain(X)
    assert model.predict(X).tolist() == [row[0] for row in told]
    assert model.predict_proba(X).tolist() == [[float(row[1]), float(row[2])] for row in told]
    assert explained["margin"].tolist() == [float(row[3]) for row in told]


def test_models_of_python_are_used_by_the_command_line(tmp_path, program, blobs):
    X, y = blobs
    model = lipmetric.fit(X, y, "lip-d", slack="pair")
    model.save(tmp_path / "m.lip")
    np.savetxt(tmp_path / "new.csv", X + 0.2, delimiter=",", header="a,b,c,d", comments="", fmt="%.17g")
    out = program("predict", "--model", "m.lip", "new.csv", "--proba", "--radius", cwd=tmp_path).splitlines()
    told = np.array([[float(cell) for cell in line.split(",")] for line in out[1:]])
    np.testing.assert_array_equal(told[:, 0], model.predict(X + 0.2))
    np.testing.assert_array_equal(told[:, 1:4], model.predict_proba(X + 0.2))
    np.testing.assert_array_equal(told[:, 4], model.radii(X + 0.2))
    spec = json.loads(program("inspect", "m.lip", "--spec", cwd=tmp_path))
    assert lipmetric.fit(X, y, spec) == model


def test_a_fit_of_the_same_table_is_the_same_in_both(tmp_path, program):
    pytest.importorskip("pandas")
    program("datasets", "export", "haberman", "-o", "data.csv", cwd=tmp_path)
    program("fit", "data.csv", "--method", "lip-d", "--c", "0.5", "--model", "m.lip", cwd=tmp_path)
    X, y = lipmetric.datasets.load_haberman(as_frame=True)
    there, here = lipmetric.load(tmp_path / "m.lip"), lipmetric.fit(X, y, "lip-d", c=0.5)
    np.testing.assert_array_equal(here.factor, there.factor)
    np.testing.assert_array_equal(here.predict(X), there.predict(X))
    assert here.outcome == there.outcome


def test_the_order_and_the_precision_of_an_array_do_not_matter(two):
    X, y = two
    X = X.astype(np.float32).astype(np.float64)
    wide = np.zeros((60, 8))
    wide[:, ::2] = X
    model = lipmetric.fit(X, y, "nca")
    for same in (np.asfortranarray(X), X.astype(np.float32), wide[:, ::2], X.tolist()):
        assert lipmetric.fit(same, y, "nca") == model
        mapped = model.transform(same)
        np.testing.assert_array_equal(mapped, model.transform(X).astype(mapped.dtype))
    X.setflags(write=False)
    assert lipmetric.fit(X, y, "nca") == model


def test_any_number_of_threads_gives_the_same_bits(blobs):
    X, y = blobs
    models = [lipmetric.fit(X, y, "lip-i", n_jobs=n) for n in (1, 2, 3, -1)]
    assert all(model == models[0] for model in models)


def test_threads_follow_the_environment():
    ask = "import lipmetric; print(lipmetric.threads())"
    for name in ("LIPMETRIC_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
        out = subprocess.run([sys.executable, "-c", ask], env={**clean_environment(), name: "3"}, capture_output=True, text=True)
        assert out.stdout.strip() == "3", out.stderr


def clean_environment():
    import os

    return {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}


def test_classes_keep_their_kind(blobs):
    X, y = blobs
    for labels, dtype in ((y, "i"), (y.astype(float), "i"), (y > 0, "b"), (np.array(["a", "b", "c"])[y], "U")):
        predicted = lipmetric.fit(X, labels, "nn").predict(X)
        assert predicted.dtype.kind == dtype
        np.testing.assert_array_equal(predicted, labels)


def test_columns_of_any_kind_are_prepared(tmp_path, program):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rng = np.random.default_rng(1)
    n = 80
    colour = np.array(["red", "blue", "green"])[rng.integers(3, size=n)]
    size = rng.normal(size=n) + (colour == "red")
    y = np.where((colour == "red") ^ (size > 1), "yes", "no")
    sizes = [None if i % 9 == 0 else float(v) for i, v in enumerate(size)]
    colours = [None if i % 11 == 0 else str(c) for i, c in enumerate(colour)]
    truth = [bool(v > 0) for v in size]
    columns = {"size": sizes, "colour": colours, "big": truth}
    frames = [
        pandas.DataFrame(columns),
        pandas.DataFrame(columns).astype({"colour": "category"}),
        pandas.DataFrame(columns).convert_dtypes(),
        polars.DataFrame(columns),
        polars.DataFrame(columns, schema_overrides={"colour": polars.Categorical}),
        {"size": np.array(sizes, dtype=float), "colour": np.array(colours, dtype=object), "big": np.array(truth)},
    ]
    models = [lipmetric.fit(frame, y, "lip-i") for frame in frames]
    assert models[0].feature_names == ["size", "colour=blue", "colour=green", "colour=red", "big"]
    for frame, model in zip(frames, models, strict=True):
        assert model == models[0]
        np.testing.assert_array_equal(model.predict(frame), models[0].predict(frames[0]))
    frames[0].assign(label=y).to_csv(tmp_path / "data.csv", index=False)
    program("fit", "data.csv", "--method", "lip-i", "--model", "m.lip", cwd=tmp_path)
    np.testing.assert_array_equal(lipmetric.load(tmp_path / "m.lip").factor, models[0].factor)
    new = frames[0].assign(colour="violet")
    with pytest.raises(ValueError, match="column `colour`: level `violet` was not seen in training"):
        models[0].predict(new)
    assert len(models[0].predict(new, unseen="ignore")) == n
    with pytest.raises(TypeError, match="column `when` holds values of the type datetime64"):
        lipmetric.fit(frames[0].assign(when=pandas.Timestamp("2020-01-01")), y)


def test_wrong_input_is_refused_by_name(two):
    X, y = two
    broken = X.copy()
    broken[3, 1] = np.inf
    for arguments, parameters, message in [
        ((X, y, "lmn"), {}, "`method`: there is no 'lmn'; there are agop, "),
        ((X, y[:-1]), {}, "labels: expected 60, found 59"),
        ((X, ["a"] * 60), {}, "there is only one class"),
        ((X[:, 0], y), {}, "X has 1 dimensions"),
        ((broken, y), {}, "row 4, column `x2`: `inf` is not a"),
        ((X, y, "lmnn"), {"tol": 2.0}, "parameter `tol`: 2 is not from 1e-12"),
        ((X, y, "lip-d"), {"c": -1.0}, "parameter `c`: -1 is not positive"),
        ((X, y, "lip-d"), {"c": float("nan")}, "infinite or not a number"),
        ((X, y, "lip-d"), {"slack": "both"}, "`slack`: unknown variant `both`"),
        ((X, y, "nn"), {"k": 100}, "100 neighbours of 60 training rows"),
        ((X, y, "nn"), {"k": "many"}, "`many` is not a number such as 3, nor `auto`"),
        ((X, y, "nn"), {"classifier": "oracle"}, "unknown variant `oracle`"),
        ((X, y, "nn"), {"scaling": "log"}, "unknown variant `log`"),
        ((X, y, "nn"), {"scaling": "quantile"}, "QuantileTransformer"),
        ((X, y, "nn"), {"scaling": "unit"}, "Normalizer"),
        ((X, y, "nn"), {"time_limit": -1}, "`time_limit`: -1 is not a number of seconds"),
        ((X, y, "nn"), {"n_jobs": 0}, "`n_jobs`: 0 threads"),
        ((X, np.linspace(0, 1, 60)), {}, "y holds fractions"),
        ((X, [None, *y[1:]]), {}, "the label of row 0 is missing"),
    ]:
        with pytest.raises(ValueError, match=message.replace("(", r"\(")):
            lipmetric.fit(*arguments, **parameters)
    with pytest.raises(TypeError, match="lmnn has no parameter `c`; it has n_neighbors, push"):
        lipmetric.fit(X, y, "lmnn", c=1)
    with pytest.raises(FileNotFoundError, match=r"nothing\.lip"):
        lipmetric.load("nothing.lip")
    with pytest.raises(ValueError, match="not a lipmetric model"):
        lipmetric.Model.from_bytes(b"something else entirely")
    with pytest.raises(ValueError, match="`radius_norm`: `l3` is not one of l2, linf, l1"):
        lipmetric.fit(X, y, "nn").radii(X, norm="l3")
    with pytest.raises(ValueError, match="has the norm l2, not linf"):
        lipmetric.fit(X, y, "nn").radii(X, norm="linf")


@pytest.mark.filterwarnings("ignore:lip")
def test_a_time_limit_before_c_max_is_known_leaves_a_model():
    X = np.random.default_rng(0).normal(size=(150, 60))
    y = np.arange(150) % 2
    for method, slack in [("lip-i", "pair"), ("lip-d", "instance"), ("lip", "pair")]:
        model = lipmetric.fit(X, y, method, slack=slack, time_limit=1e-3)
        assert model.status == "time_limit" and model.outcome["notes"], (method, slack)
        assert len(model.predict(X)) == 150


def test_numbers_that_are_taken_for_classes_are_told():
    X, some = np.arange(900.0).reshape(300, 3), np.arange(300) % 120
    for y in (some, some.astype(float), np.arange(300)):
        with pytest.warns(UserWarning, match=f"{len(set(y))} different numbers on 300 rows.*task='regression'"):
            lipmetric.fit(X, y, "nn")
    with pytest.warns(UserWarning, match="120 different numbers on 300 rows.*take a regressor"):
        lipmetric.KNeighborsClassifier().fit(X, some)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lipmetric.fit(X, [f"person {k}" for k in some], "nn")
        lipmetric.fit(X, some % 90, "nn")


def test_a_callback_sees_every_step_and_may_end_the_fit(two):
    X, y = two
    seen = []
    model = lipmetric.fit(X, y, "lip-d", callback=seen.append)
    assert len(seen) >= model.outcome["iterations"] and seen[-1]["gap"] <= 1e-6
    # First `c_max`, between bounds that come nearer, then the fit.
    first = [s["c_max"] for s in seen if s["c_max"] is not None]
    assert first and first[-1][1] <= first[0][1] and all(s["objective"] is None for s in seen if s["c_max"] is not None)
    fit = [s["iteration"] for s in seen if s["iteration"] > 0 and s["c_max"] is None]
    np.testing.assert_array_equal(model.history["iteration"], fit)
    with pytest.warns(UserWarning, match="interrupted"):
        # With `c_rel`, `c_max` would be computed first.
        early = lipmetric.fit(X, y, "lip-d", c=1.0, callback=lambda at: at["gap"] is not None and at["gap"] < 0.5)
    assert early.status == "interrupted" and 1e-6 < early.dual_gap

    with pytest.raises(RuntimeError, match="before there was anything to return"):
        lipmetric.fit(X, y, "lip-d", callback=lambda _: True)

    def fails(_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        lipmetric.fit(X, y, "lip-d", callback=fails)


def test_progress_goes_to_standard_error(two, capsys):
    X, y = two
    lipmetric.fit(X, y, "lip-d", verbose=2)
    shown = capsys.readouterr()
    assert shown.out == "" and "iteration" in shown.err and "gap" in shown.err


def test_a_fit_that_ends_early_warns_and_keeps_its_best(two):
    X, y = two
    with pytest.warns(UserWarning, match="stopped at the iteration limit; raise `max_iter`"):
        model = lipmetric.fit(X, y, "lip-d", max_iter=2)
    assert not model.converged and model.dual_gap > 1e-6


SLOW = """
    import signal, sys, time
    import numpy as np
    import lipmetric
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 30))
    y = rng.integers(2, size=1500)
    def begun(at):
        global said
        if at["gap"] is not None and not said:
            said = True
            print("begun", flush=True)
    said = False
    try:
        {call}
    except KeyboardInterrupt as stop:
        print("stopped", {best}, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize(
    ("call", "best"),
    [
        ("lipmetric.fit(X, y, 'lip-d', tol=1e-12, slack='pair', c=100.0, callback=begun)", "stop.model.status"),
        (
            "learner = lipmetric.Lip(variant='diameter', tol=1e-12, slack='pair', c=100.0, callback=begun); learner.fit(X, y)",
            "learner.status_",
        ),
        ("lipmetric.fit(X, y, 'lmnn', tol=1e-12, callback=begun)", "stop.model.status"),
    ],
)
def test_ctrl_c_stops_a_fit_and_leaves_the_best_so_far(call, best):
    script = textwrap.dedent(SLOW).format(call=call, best=best)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "begun\n"
        running.send_signal(signal.SIGINT)
        assert running.communicate(timeout=60)[0] == "stopped interrupted\n"
        assert running.returncode == 0


def test_other_threads_of_python_go_on_during_a_fit(blobs):
    X, y = blobs
    X = np.tile(X, (8, 1)) + np.random.default_rng(0).normal(size=(720, 4))
    turns, done = [], threading.Event()

    def count():
        while not done.is_set():
            turns.append(time.perf_counter())
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    begun = time.perf_counter()
    lipmetric.fit(X, np.tile(y, 8), "lip-i", slack="pair", tol=1e-9)
    ended = time.perf_counter()
    done.set()
    other.join()
    assert sum(begun < t < ended for t in turns) > 3


def test_a_forked_process_can_fit(tmp_path):
    script = textwrap.dedent("""
        import multiprocessing, warnings
        import lipmetric
        def work(_):
            X, y = lipmetric.datasets.load_haberman()
            return lipmetric.fit(X, y, "lip-d").objective
        if __name__ == "__main__":
            here = work(0)
            with multiprocessing.get_context("fork").Pool(2) as pool:
                assert pool.map(work, range(3)) == [here] * 3
            print("same")
    """)
    (tmp_path / "forked.py").write_text(script)
    out = subprocess.run([sys.executable, str(tmp_path / "forked.py")], capture_output=True, text=True, timeout=120)
    assert out.stdout == "same\n", out.stderr


def test_a_path_gets_simpler_as_c_grows(two):
    X, y = two
    points = lipmetric.path(X, y, "lip-d", points=4, slack="pair")
    assert [p["outcome"]["status"] for p in points] == ["optimal"] * 4
    single = lipmetric.fit(X, y, "lip-d", slack="pair", c_rel=points[2]["c_rel"])
    assert points[2]["outcome"]["objective"] == pytest.approx(single.objective, rel=1e-5)
    assert points[0]["support"] and all(role in ("margin", "diameter") for _, _, role, _ in points[0]["support"])
    with pytest.raises(ValueError, match="lmnn has no regularisation path"):
        lipmetric.path(X, y, "lmnn")


def test_a_certificate_is_kept_and_verified(two):
    X, y = two
    model = lipmetric.fit(X, y, "lip-d", slack="pair", certificate=True)
    assert model.support_pairs and lipmetric.fit(X, y, "lip-d").support_pairs is None
    verified = model.verify()
    assert verified["bound"] <= model.objective * (1 + 1e-9)


def test_the_toolbox_agrees_with_the_definitions(two):
    X, y = two
    L = np.random.default_rng(2).normal(size=(2, 4))
    for components, mapped in ((None, X), (L, X @ L.T)):
        distance = np.linalg.norm(mapped[:, None] - mapped[None], axis=-1)
        different = y[:, None] != y[None]
        margin = distance[different].min()
        assert lipschitz.margin(X, y, components) == pytest.approx(margin)
        widths = sum(distance[np.ix_(y == c, y == c)].max() for c in ("left", "right"))
        ratios = lipschitz.ratios(X, y, components)
        assert ratios["diameter"] == pytest.approx(margin / distance.max())
        assert ratios["intra"] == pytest.approx(margin / widths)
        values = np.where(y == "left", -1.0, 1.0)
        extended = lipschitz.extension(X, values, X[:5] + 0.1, components)
        query = (X[:5] + 0.1) if components is None else (X[:5] + 0.1) @ L.T
        reach = 2 / margin * np.linalg.norm(query[:, None] - mapped[None], axis=-1)
        expected = ((values + reach).min(axis=1) + (values - reach).max(axis=1)) / 2
        np.testing.assert_allclose(extended, expected, rtol=1e-9, atol=1e-9)
        classes, radii = lipschitz.radii(X, y, X[:5], components)
        assert classes.tolist() == y[:5].tolist()
        nearest = [distance[i][y != y[i]].min() / 2 for i in range(5)]
        np.testing.assert_allclose(radii, nearest, rtol=1e-6)
    assert lipschitz.report(X, y)["margins"] == lipschitz.margins(X, y)
    assert lipschitz.bounds(X, y)["diameter"]["n"] == 60
    assert max(lipschitz.learned_values(X, y, constant=100.0)["slack"]) < 1e-6


def test_methods_are_compared_on_the_same_splits(two, blobs):
    found = lipmetric.compare(
        {"two": two, "three": blobs},
        {"1-NN": {"method": "nn"}, "3-NN": {"method": "nn", "k": 3}, "Lip": {"method": "lip-d", "c_rel": 0.1}},
        repeats=3,
        verbose=0,
    )
    assert found.accuracy.shape == (2, 3, 3) and not found.refusals
    assert found.analysis["against"] == "1-NN" and [m["method"] for m in found.analysis["methods"]] == ["3-NN", "Lip"]
    assert str(found).splitlines()[0].split() == ["1-NN", "3-NN", "Lip"]
    refused = lipmetric.compare({"two": two}, {"nn": {"method": "nn"}, "k": {"method": "nn", "k": 50}}, repeats=1)
    assert "50 neighbours" in refused.refusals["two", "k"] and np.isnan(refused.mean[0, 1])


def test_methods_are_ranked_by_certified_accuracy(two):
    X, y = two
    asked = {"methods": ["nn", "arml"], "repeats": 2, "radii": [0, 0.1, 0.5], "norm": "linf"}
    found = lipmetric.compare({"two": two}, **asked, rank_by=0.1)
    plain = lipmetric.compare({"two": two}, **asked)
    assert found.radii == [0.0, 0.1, 0.5] and found.certified.shape == (1, 2, 2, 3)
    assert (np.diff(found.certified, axis=-1) <= 0).all()
    np.testing.assert_array_equal(found.accuracy, found.certified[..., 1])
    np.testing.assert_array_equal(plain.accuracy, found.certified[..., 0])
    for wrong, said in [
        ({"rank_by": 0.2}, "none of `radii`"), ({"radii": (), "rank_by": 0.1}, "give these, too"), ({"radii": [-1.0]}, "not a length"),
        ({"radii": 0.5}, "no list of lengths"), ({"norm": "l3"}, "l3"), ({"space": "learned"}, "l2, not linf"),
    ]:
        with pytest.raises(ValueError, match=said):
            lipmetric.compare({"two": two}, **{**asked, **wrong})
    model = lipmetric.fit(X, y, "nn")
    told = model.certified_accuracy(X, y, [0, 0.1, 0.5], norm="linf")
    radii = model.radii(X, norm="linf", space="prepared")
    right = model.predict(X) == y
    np.testing.assert_allclose(told, [right.mean(), *((right & (radii > r)).mean() for r in (0.1, 0.5))])
    for args, said in [((X, y[:3], [0]), "one for each row"), ((X, y, [np.nan]), "not a length"), ((X, y, 0.1), "no list of lengths")]:
        with pytest.raises(ValueError, match=said):
            model.certified_accuracy(*args)


def test_a_few_directions_of_a_distance_are_a_map_of_their_own(two, tmp_path, program):
    X, y = two
    model = lipmetric.fit(X, y, "nn", dims=2, scaling="none", k=1)
    centred = np.asarray(X) - np.asarray(X).mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    ours, theirs = model.factor, vectors[:, ::-1][:, :2].T
    np.testing.assert_allclose(np.abs((ours * theirs).sum(axis=1)), 1.0, rtol=1e-8)
    assert "kept of" in model.outcome["notes"][-1] and model.transform(X).shape == (len(X), 2)
    for bad, what in ((0, "dims"), (True, "dims"), (1.5, "dims"), (99, "99 directions")):
        with pytest.raises(ValueError, match=what):
            lipmetric.fit(X, y, "nn", dims=bad)
    with pytest.raises(ValueError, match="dims"):
        lipmetric.fit(X, y, "nn", dims=2, classifier="smooth")


def test_bundled_data_sets_are_whole():
    for name in lipmetric.datasets.names():
        X, y = lipmetric.datasets.load(name)
        assert X.dtype == np.float64 and len(X) == len(y) and len(np.unique(y)) == 2
        assert lipmetric.datasets.about(name)["licence"]
        assert getattr(lipmetric.datasets, f"load_{name}")()[0].shape == X.shape
    assert np.isnan(lipmetric.datasets.load_cancer()[0]).sum() == 16


def test_a_notebook_shows_what_was_learned(two):
    X, y = two
    shown = lipmetric.fit(X, y, "lip-d")._repr_html_()
    for text in ("lip-d", "certified gap", "<svg", "left (30), right (30)"):
        assert text in shown
    names = np.array(["<b>", "&"])[(y == "left").astype(int)]
    assert "<b>" not in lipmetric.fit(X, names, "nn")._repr_html_()


def test_files_are_written_whole(tmp_path, two):
    X, y = two
    model = lipmetric.fit(X, y, "nn")
    model.save(tmp_path / "m.lip")
    assert pathlib.Path(tmp_path / "m.lip").read_bytes() == model.to_bytes()
    with pytest.raises(OSError, match="folder"):
        model.save(tmp_path / "no" / "folder" / "m.lip")


def test_a_report_is_a_page_of_its_own_with_names_as_text(tmp_path):
    X, y = lipmetric.datasets.load_echo()
    model = lipmetric.fit(X, y, method="lip-i")
    page = model.report(tmp_path / "page.html", source="<script>alert(1)</script>")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    assert all(f'<figure id="{name}"' in page for name in ("before", "after", "objective", "spectrum"))
    # The file holds no course of the fit: all else is the same.
    again = type(model).from_bytes(model.to_bytes()).report()
    assert '<figure id="after"' in again and '<figure id="objective"' not in again
    with pytest.raises(OSError, match="nowhere"):
        model.report(tmp_path / "nowhere" / "page.html")


def test_paths_comparisons_and_margins_have_pages_of_their_own(tmp_path):
    X, y = lipmetric.datasets.load_echo()
    along = lipmetric.path(X, y, "lip-i", points=3, least=0.05, folds=3, source="<b>echo</b>")
    assert isinstance(along, list) and all(0 < point["held_out_accuracy"] <= 1 for point in along)
    page = along.report(tmp_path / "path.html", plots=tmp_path / "figures")
    assert (tmp_path / "path.html").read_text(encoding="utf-8") == page
    assert "&lt;b&gt;echo" in page and "<b>echo" not in page and '<figure id="accuracy"' in page and "chosen" in page
    assert (tmp_path / "figures" / "ratios.svg").exists()
    again = pickle.loads(pickle.dumps(along))
    assert again.report() == page and again[0]["c_rel"] == along[0]["c_rel"]
    assert lipmetric.path(X, y, "lip-d", points=2)[0]["held_out_accuracy"] is None
    with pytest.raises(ValueError, match="folds"):
        lipmetric.path(X, y, "lip-local", points=2, folds=3)

    found = lipmetric.compare(["echo", "fertility", "haberman"], ["nn", "lmnn"], repeats=2)
    page = found.report(plots=tmp_path / "compared")
    assert all(name in page for name in ("echo", "fertility", "LMNN" if "LMNN" in found.methods else "lmnn", "2 splits"))
    assert (tmp_path / "compared" / "splits-1.svg").exists()
    assert pickle.loads(pickle.dumps(found)).report() == page

    X, y = lipmetric.datasets.load_haberman()
    components = lipmetric.fit(X, y, method="lip-i").components
    page = lipschitz.page(X, y, components, path=tmp_path / "margins.html", source="haberman")
    assert '<figure id="after"' in page and '<figure id="certified"' in page
    assert '<figure id="after"' not in lipschitz.page(X, y)


def test_pictures_are_png_where_the_module_was_built_with_it(tmp_path):
    X, y = lipmetric.datasets.load_echo()
    model = lipmetric.fit(X, y, method="nn")
    try:
        model.report(plots=tmp_path, plot_format="png")
    except RuntimeError as error:
        assert "feature `png`" in str(error) and not list(tmp_path.iterdir())
    else:
        assert (tmp_path / "before.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="svg"):
        model.report(plot_format="gif")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_fit_makes_one_copy_of_the_rows(dtype, order):
    """The prepared rows, which the model keeps, in double precision; beside them a column and some rows at a time."""
    rows, columns = 60_000, 50
    code = f"""
import resource, numpy as np, lipmetric
rng = np.random.default_rng(0)
X = np.asarray(rng.normal(size=({rows}, {columns})), dtype=np.{np.dtype(dtype).name}, order="{order}")
y = rng.integers(2, size=len(X))
lipmetric.fit(X[:200], y[:200], "nn", n_jobs=1)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
model = lipmetric.fit(X, y, "nn", n_jobs=1)
print((peak() - before) / (8 * X.size))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(out.stdout) < 1.6, out.stdout
