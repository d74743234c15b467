"""Vector indexes: the neighbours of the real libraries are ours, and readers that know docs/export.md alone map as we do."""

import csv
import json
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest

import lipmetric

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")


def mixed(n=160, seed=0):
    """A table with gaps, truth values and categories: two of its columns say something."""
    rng = np.random.default_rng(seed)
    kind = np.array(["left", "right"])[rng.integers(2, size=n)]
    size = np.round(rng.normal(size=n) * 40 + 300 * (kind == "right"), 2)
    colour = np.where(rng.random(n) < 0.7, np.where(kind == "right", "red", "blue"), "green")
    rows = [["key", "size", "weight", "colour", "smooth", "kind"]]
    for i in range(n):
        gap = {3: "", 4: "-999"}.get(i % 17)
        rows.append([
            f"item {i}", size[i] if gap is None else gap, round(rng.normal(), 3), "" if i % 19 == 5 else colour[i],
            "" if i % 23 == 7 else ["no", "yes"][rng.integers(2)], kind[i],
        ])
    return rows


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as f:
        csv.writer(f).writerows(rows)


@pytest.fixture(scope="module")
def numbers():
    X, y = lipmetric.datasets.load_cancer()
    return lipmetric.fit(X, y, method="lip-i", c_rel=0.1), X, y


@pytest.fixture
def folder(tmp_path, program):
    """A model of a mixed table, the table, and new rows."""
    write(tmp_path / "all.csv", mixed())
    write(tmp_path / "new.csv", [row[:-1] for row in mixed(30, seed=1)])
    options = ("--ignore", "key", "--missing=-999", "--method", "lip-i", "--c-rel", "0.1")
    program("fit", "all.csv", *options, "--model", "m.lip", cwd=tmp_path)
    return tmp_path


def same_neighbours(squared, rows, model, X, queries):
    """The rows are as near as our neighbours, one by one (of equally near rows any may be named), and so are the distances."""
    rows = np.asarray(rows)
    ours = model.neighbours(queries, rows.shape[1])["distances"]
    assert all(len(set(row)) == len(row) for row in rows.tolist())
    z, q = model.transform(X), model.transform(queries)
    np.testing.assert_allclose(np.sqrt(((z[rows] - q[:, None]) ** 2).sum(-1)), ours, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.sqrt(np.maximum(squared, 0)), ours, rtol=1e-3, atol=1e-3)


def test_neighbours_are_those_of_a_double_loop(numbers):
    model, X, y = numbers
    rng = np.random.default_rng(0)
    queries = X[:40] + rng.normal(size=(40, X.shape[1]))
    found = model.neighbours(queries, k=7)
    z, q = model.transform(X), model.transform(queries)
    distances = np.sqrt(((q[:, None] - z[None]) ** 2).sum(-1))
    order = np.argsort(distances, axis=1, kind="stable")[:, :7]
    np.testing.assert_allclose(found["distances"], np.take_along_axis(distances, order, 1), rtol=1e-12)
    assert (found["labels"] == np.asarray(y)[found["rows"]]).all()
    for bad in (0, -1, 2.5, True, len(X) + 1):
        with pytest.raises(ValueError, match="k"):
            model.neighbours(queries, k=bad)
    assert model.neighbours(X[:0], k=3)["rows"].shape == (0, 3)


def test_neighbours_of_the_command_line_are_those_of_python(folder, program):
    out = program("neighbours", "m.lip", "new.csv", "--k", "3", "--ignore", "key", "--keep", "key", cwd=folder)
    rows = list(csv.DictReader(out.splitlines()))
    assert [r["key"] for r in rows[:4]] == ["item 0"] * 3 + ["item 1"]
    import pandas as pd

    model = lipmetric.load(folder / "m.lip")
    found = model.neighbours(pd.read_csv(folder / "new.csv").drop(columns="key"), k=3)
    assert [int(r["row"]) - 1 for r in rows] == found["rows"].ravel().tolist()
    assert [float(r["distance"]) for r in rows] == found["distances"].ravel().tolist()
    assert [r["label"] for r in rows] == found["labels"].ravel().tolist()
    # The line is where the row stands in the file.
    lines = (folder / "all.csv").read_text().splitlines()
    assert all(lines[int(r["line"]) - 1].split(",")[0] == f"item {int(r['row']) - 1}" for r in rows)


def test_faiss_finds_our_neighbours(numbers):
    faiss = pytest.importorskip("faiss")
    model, X, _ = numbers
    queries = X[:50] + 0.3
    z = model.transform(queries).astype("f4")
    squared, rows = model.to_faiss(X).search(z, 5)
    same_neighbours(squared, rows, model, X, queries)
    ids = np.arange(len(X)) * 3 + 100
    squared, found = model.to_faiss(X, ids=ids).search(z, 5)
    same_neighbours(squared, (found - 100) // 3, model, X, queries)
    with pytest.raises(ValueError, match="whole numbers"):
        model.to_faiss(X, ids=[f"a{i}" for i in range(len(X))])
    with pytest.raises(ValueError, match="twice"):
        model.to_faiss(X, ids=np.zeros(len(X), dtype=int))


def test_files_of_the_command_line_are_read_by_faiss(tmp_path, program):
    faiss = pytest.importorskip("faiss")
    program("datasets", "export", "haberman", "-o", "h.csv", cwd=tmp_path)
    lines = (tmp_path / "h.csv").read_text().splitlines()
    keyed = [lines[0] + ",key", *(f"{line},{7 * i - 50}" for i, line in enumerate(lines[1:]))]
    (tmp_path / "k.csv").write_text("\n".join(keyed) + "\n")
    program("fit", "h.csv", "--method", "lip-d", "--c-rel", "0.1", "--model", "m.lip", cwd=tmp_path)
    program("export", "m.lip", "h.csv", "--to", "faiss", "-o", "plain.faiss", cwd=tmp_path)
    program("export", "m.lip", "k.csv", "--to", "faiss", "--id", "key", "--extra", "ignore", "-o", "ids.faiss", cwd=tmp_path)
    model = lipmetric.load(tmp_path / "m.lip")
    X, _ = lipmetric.datasets.load_haberman()
    plain, mapped = (faiss.read_index(str(tmp_path / f"{name}.faiss")) for name in ("plain", "ids"))
    assert type(plain).__name__ == "IndexFlatL2" and plain.ntotal == mapped.ntotal == 306
    z = model.transform(X).astype("f4")
    np.testing.assert_array_equal(plain.reconstruct_n(0, 306), z)
    assert (mapped.search(z[:20], 4)[1] == 7 * plain.search(z[:20], 4)[1] - 50).all()


def test_usearch_and_hnswlib_find_our_neighbours(numbers):
    model, X, _ = numbers
    queries, ids = X[:50] + 0.3, np.arange(len(X)) * 2 + 10
    z = model.transform(queries).astype("f4")
    pytest.importorskip("usearch")
    found = model.to_usearch(X, ids=ids).search(z, 5, exact=True)
    same_neighbours(found.distances, (found.keys.astype(int) - 10) // 2, model, X, queries)
    hnswlib = pytest.importorskip("hnswlib")
    index = model.to_hnswlib(X, ids=ids)
    assert isinstance(index, hnswlib.Index)
    index.set_ef(len(X))
    keys, squared = index.knn_query(z, k=5)
    same_neighbours(squared, (keys.astype(int) - 10) // 2, model, X, queries)
    with pytest.raises(ValueError, match="from 0 on"):
        model.to_usearch(X, ids=-ids)


def test_files_of_usearch_and_hnswlib_hold_the_vectors_the_ids_and_a_graph(tmp_path, program):
    text = program("datasets", "export", "cancer", cwd=tmp_path)
    header, *lines = text.splitlines()
    (tmp_path / "all.csv").write_text("\n".join([f"key,{header}", *(f"{3 * k + 5},{line}" for k, line in enumerate(lines))]) + "\n")
    program("fit", "all.csv", "--ignore", "key", "--method", "lip-i", "--c-rel", "0.1", "--model", "m.lip", cwd=tmp_path)
    model = lipmetric.load(tmp_path / "m.lip")
    frame = pytest.importorskip("pandas").read_csv(tmp_path / "all.csv")
    X = frame.drop(columns=["key", frame.columns[-1]])
    z = model.transform(X).astype("f4")
    usearch, hnswlib = pytest.importorskip("usearch.index"), pytest.importorskip("hnswlib")
    for ids, of in (("--id", "key"), lambda keys: (keys.astype(int) - 5) // 3), ((), lambda keys: keys.astype(int)):
        program("export", "m.lip", "all.csv", "--to", "usearch", *ids, "-o", "a.usearch", cwd=tmp_path)
        index = usearch.Index.restore(str(tmp_path / "a.usearch"))
        assert len(index) == len(z) and index.ndim == z.shape[1]
        found = index.search(z[:50], 5, exact=True)
        same_neighbours(found.distances, of(found.keys), model, X, X[:50])
        # By the graph: the query itself is a row, and is found.
        assert (of(index.search(z, 1).keys).ravel() == np.arange(len(z))).mean() > 0.5
        assert index.search(z, 1).distances.max() < 1e-9
        program("export", "m.lip", "all.csv", "--to", "hnswlib", *ids, "-o", "a.hnsw", cwd=tmp_path)
        index = hnswlib.Index("l2", z.shape[1])
        index.load_index(str(tmp_path / "a.hnsw"))
        assert index.get_current_count() == len(z)
        index.set_ef(len(z))
        keys, squared = index.knn_query(z[:50], k=5)
        same_neighbours(squared, of(keys), model, X, X[:50])
        index.set_ef(50)
        assert index.knn_query(z, k=1)[1].max() < 1e-9
        # What they have loaded takes more rows.
        index.resize_index(len(z) + 1)
        index.add_items(z[:1] + 100, [10**6])
        assert index.knn_query(z[:1] + 100, k=1)[0] == [[10**6]]


def test_arrays_fvecs_and_parquet_hold_the_mapped_rows_and_the_ids(folder, program):
    frame = pytest.importorskip("pandas").read_csv(folder / "all.csv")
    z = lipmetric.load(folder / "m.lip").transform(frame[["size", "weight", "colour", "smooth"]]).astype("f4")
    export = ("export", "m.lip", "all.csv", "--id", "key")
    program(*export, "--to", "npy", "-o", "a.npy", cwd=folder)
    array = np.load(folder / "a.npy")
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array, z)
    assert np.load(folder / "a.ids.npy").tolist() == frame["key"].tolist()
    assert np.load(folder / "a.map.npy").shape[0] == z.shape[1]
    program(*export, "--to", "fvecs", "-o", "a.fvecs", cwd=folder)
    raw = np.fromfile(folder / "a.fvecs", dtype="<i4").reshape(-1, z.shape[1] + 1)
    assert (raw[:, 0] == z.shape[1]).all()
    np.testing.assert_array_equal(raw[:, 1:].copy().view("<f4"), z)
    program(*export, "--to", "parquet", "--keep", "size,colour", "-o", "a.parquet", cwd=folder)
    table = pytest.importorskip("pyarrow.parquet").read_table(folder / "a.parquet")
    assert str(table.schema.field("vector").type).startswith("list<element: float")
    assert table["id"].to_pylist() == frame["key"].tolist()
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), dtype="f4"), z)
    np.testing.assert_array_equal(table["size"].to_pandas(), frame["size"])
    polars = pytest.importorskip("polars").read_parquet(folder / "a.parquet")
    np.testing.assert_array_equal(np.array(polars["vector"].to_list(), dtype="f4"), z)


def reader():
    """The reader in Python that the page shows."""
    (block,) = (b for b in re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.M | re.S) if "def read_map" in b)
    assert len(block.strip().splitlines()) <= 30
    names = {}
    exec(compile(block, "docs/export.md", "exec"), names)
    return names


#: Options of a fit, and the version of its map. `auto`, the default, may take ranks.
MAPS = [("lip-i", "standard", 1), ("nn", "standard", 1), ("lip-i", "quantile", 2), ("nn", "unit", 3)]


@pytest.mark.parametrize(("method", "scale", "version"), MAPS)
def test_the_reader_of_the_page_maps_as_we_do(folder, program, method, scale, version):
    options = ("--ignore", "key", "--missing=-999", "--method", method, "--scale", scale)
    program("fit", "all.csv", *options, "--model", "m.lip", cwd=folder)
    program("export", "m.lip", "all.csv", "--to", "npy", "-o", "a.npy", cwd=folder)
    rows = list(csv.DictReader((folder / "new.csv").read_text(encoding="utf-8").splitlines()))
    names = reader()
    apply = names["read_map"](folder / "a.map.json")
    frame = pytest.importorskip("pandas").read_csv(folder / "new.csv")
    model = lipmetric.load(folder / "m.lip")
    expected = model.transform(frame[["size", "weight", "colour", "smooth"]])
    np.testing.assert_allclose([apply(row) for row in rows], expected, rtol=1e-12, atol=1e-12)
    written = json.loads((folder / "a.map.json").read_text())
    assert written == json.loads(json.dumps(model.map())) and written["version"] == version


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """A PostgreSQL server with pgvector, started for these tests."""
    pgserver = pytest.importorskip("pgserver")
    pytest.importorskip("psycopg")
    server = pgserver.get_server(str(tmp_path_factory.mktemp("pg")), cleanup_mode="delete")
    yield server
    server.cleanup()


def test_pgvector_finds_our_neighbours(postgres, folder, program):
    import psycopg

    program("export", "m.lip", "all.csv", "--to", "pgvector", "--id", "key", "--keep", "size,colour", "--table", 'it"ems',
            "-o", "a.sql", cwd=folder)
    psql = pathlib.Path(__import__("pgserver").__file__).parent / "pginstall" / "bin" / "psql"
    subprocess.run([psql, postgres.get_uri(), "-q", "-f", folder / "a.sql"], check=True, capture_output=True)
    model = lipmetric.load(folder / "m.lip")
    pandas = pytest.importorskip("pandas")
    features = ["size", "weight", "colour", "smooth"]
    new, old = pandas.read_csv(folder / "new.csv"), pandas.read_csv(folder / "all.csv")
    ours = model.neighbours(new[features], 4)
    query = 'SELECT id, vector <-> %s::vector AS d, size FROM "it""ems" ORDER BY d LIMIT 4'
    with psycopg.connect(postgres.get_uri()) as connection:
        for z, distances in zip(model.transform(new[features]), ours["distances"], strict=True):
            found = connection.execute(query, (str(z.tolist()),)).fetchall()
            np.testing.assert_allclose([d for _, d, _ in found], distances, rtol=1e-4, atol=1e-4)
            sizes = old.set_index("key").loc[[key for key, _, _ in found], "size"]
            np.testing.assert_array_equal(np.array([s for *_, s in found], dtype=float), sizes)
        # From Python, in the connection's own transaction.
        assert model.to_pgvector(old[features], connection, "again", ids=old["key"]) == len(old)
        z = model.transform(old[features]).astype("f4")
        stored = connection.execute("SELECT id, vector::text FROM again").fetchall()
        assert {key: json.loads(v) for key, v in stored}.keys() == set(old["key"])
        for key, vector in stored[:10]:
            np.testing.assert_array_equal(np.array(json.loads(vector), dtype="f4"), z[old["key"].tolist().index(key)])
        # The query of the page.
        model.to_pgvector(old[features], connection, "patients", ids=old["key"])
        (block,) = (b for b in re.findall(r"^```sql\n(.*?)^```$", PAGE, flags=re.M | re.S) if b.startswith("SELECT"))
        nearest = connection.execute(block.replace("[0.1,0.2]", str(z[0].tolist()))).fetchall()
        assert len(nearest) == 10 and nearest[0] == (old["key"][0], 0.0)
        connection.rollback()
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT * FROM again")


@pytest.mark.parametrize(("method", "scale"), [names[:2] for names in MAPS])
def test_the_reader_in_sql_maps_as_we_do(postgres, folder, program, method, scale):
    import psycopg

    options = ("--ignore", "key", "--missing=-999", "--method", method, "--scale", scale)
    program("fit", "all.csv", *options, "--model", "m.lip", cwd=folder)
    program("export", "m.lip", "all.csv", "--to", "npy", "-o", "a.npy", cwd=folder)
    (block,) = (b for b in re.findall(r"^```sql\n(.*?)^```$", PAGE, flags=re.M | re.S) if "CREATE FUNCTION" in b)
    assert len(block.strip().splitlines()) <= 32
    rows = [{k: v for k, v in row.items() if v != ""} for row in csv.DictReader((folder / "new.csv").read_text(encoding="utf-8").splitlines())]
    frame = pytest.importorskip("pandas").read_csv(folder / "new.csv")
    expected = lipmetric.load(folder / "m.lip").transform(frame[["size", "weight", "colour", "smooth"]])
    with psycopg.connect(postgres.get_uri()) as connection:
        connection.execute(block)
        ask = "SELECT lipmetric_map(%s::jsonb, %s::jsonb)"
        text = (folder / "a.map.json").read_text()
        found = [connection.execute(ask, (text, json.dumps(row))).fetchone()[0] for row in rows]
        connection.rollback()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_what_cannot_be_exported_is_said(folder):
    program = pathlib.Path(os.environ["LIPMETRIC"]).resolve()

    def fails(*args):
        out = subprocess.run([program, *args], cwd=folder, capture_output=True, text=True)
        assert out.returncode in (2, 3), out
        return out.stderr

    for index in ("usearch", "hnswlib"):
        assert "whole numbers from 0 on" in fails("export", "m.lip", "all.csv", "--to", index, "--id", "key", "-o", "a")
    assert "no place for other columns" in fails("export", "m.lip", "all.csv", "--to", "npy", "--keep", "size", "-o", "a.npy")
    assert "whole numbers" in fails("export", "m.lip", "all.csv", "--to", "faiss", "--id", "key", "-o", "a.faiss")
    twice = mixed()
    twice[9][0] = twice[4][0]
    write(folder / "twice.csv", twice)
    message = fails("export", "m.lip", "twice.csv", "--to", "npy", "--id", "key", "-o", "a.npy")
    assert "line 10" in message and "item 3" in message and "line 5" in message
    assert not list(folder.glob("a.*"))


def test_there_is_an_id_for_each_row(numbers):
    pytest.importorskip("faiss")
    model, X, _ = numbers
    with pytest.raises(ValueError, match="shape"):
        model.to_faiss(X, ids=[1, 2])
