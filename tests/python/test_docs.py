"""Blocks of Python in the documents run as they stand, and commands are ones that the program takes."""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pandas")

ROOT = pathlib.Path(__file__).parents[2]


def blocks(text):
    """The blocks of Python, those in tabs as well."""
    found = re.findall(r"^( *)```python\n(.*?)^\1```$", text, flags=re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for _, block in found]


def run(place, least):
    """Runs the blocks of a page one after another, of which there are so many at least."""
    found = blocks((ROOT / place).read_text(encoding="utf-8"))
    assert len(found) >= least
    names = {}
    for block in found:
        exec(compile(block, place, "exec"), names)
    return names


def commands(text):
    """What is typed into a terminal, of the program's own commands."""
    return [shlex.split(line, comments=True)[1:] for line in re.findall(r"^ *\$ (lipmetric .*)$", text, flags=re.MULTILINE)]


#: Bundled data sets of which a small one stands in for all, so that a page runs in seconds.
SMALL = {name: "echo" for name in ("cancer", "diabetes")}


def small(command):
    """A command as it is typed, on little data: another bundled set, two splits of a comparison; and the file that its output
    goes to, if any."""
    into = None
    if ">" in command:
        at = command.index(">")
        command, into = command[:at], command[at + 1]
    words = [command[0], *(SMALL.get(word, word) for word in command[1:])]
    if words[0] == "compare":
        named = any(not word.startswith("-") and word.endswith(".csv") for word in words[1:])
        words[1:1] = [] if named else ["echo"]
        words += ["--repeats", "2"]
    return words, into


def typed(place):
    """The commands of a page."""
    return commands((ROOT / place).read_text(encoding="utf-8"))


def type_in(place, folder, program, made=small):
    """Runs the commands of a page one after another, on little data unless something else is made of them."""
    found = typed(place)
    assert found
    for words, into in map(made, found):
        told = program(*words, cwd=folder)
        if into is not None:
            (folder / into).write_text(told)


def echo_files(folder, program):
    """Files that the pages name: rows with a label of their own name, a column to ignore, rows without a label, models."""
    header, *rows = program("datasets", "export", "echo", cwd=folder).splitlines()[:41]
    names = header.split(",")
    (folder / "cancer.csv").write_text("\n".join([header, *rows]) + "\n")
    (folder / "my.csv").write_text("\n".join([",".join([*names[:-1], "kind"]), *rows]) + "\n")
    (folder / "new.csv").write_text("\n".join(line.rpartition(",")[0] for line in [header, *rows[:9]]) + "\n")
    patients = [f"{k},{row}" for k, row in enumerate(rows, 1)]
    (folder / "patients.csv").write_text("\n".join([",".join(["id", *names[:-1], "diagnosis"]), *patients]) + "\n")
    for name in ("patients", "m"):
        program("fit", "cancer.csv", "--method", "lip-i", "--model", f"{name}.lip", cwd=folder)


def whole_files(folder, program):
    """The bundled set that the first page works on."""
    for name in ("patients", "new"):
        program("datasets", "export", "cancer", "-o", f"{name}.csv", cwd=folder)


def house_files(folder, _):
    """Rows with a number to predict."""
    rows = [f"{k % 7},{k % 11},{(k % 7) ** 2 + k / 100}" for k in range(60)]
    (folder / "houses.csv").write_text("\n".join(["rooms,age,price", *rows]) + "\n")
    (folder / "new.csv").write_text("\n".join(["rooms,age", *(row.rpartition(",")[0] for row in rows[:9])]) + "\n")


def pair_files(folder, program):
    """Rows with names, and pairs of them."""
    header, *rows = program("datasets", "export", "echo", cwd=folder).splitlines()
    kinds = [row.rpartition(",")[2] for row in rows]
    named = [f"r{k},{row.rpartition(',')[0]}" for k, row in enumerate(rows)]
    (folder / "rows.csv").write_text("\n".join(["name," + header.rpartition(",")[0], *named]) + "\n")
    for at, name in enumerate(("pairs", "held-out", "asked")):
        chosen = [(k, (k * 7 + at + 1) % len(rows)) for k in range(len(rows))]
        lines = [f"r{i},r{j},{1 if kinds[i] == kinds[j] else -1}" for i, j in chosen if i != j]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


#: What each page with commands finds in the folder where they are typed.
PAGES = {
    "README.md": echo_files,
    "docs/compare.md": echo_files,
    "docs/embeddings.md": None,
    "docs/export.md": None,
    "docs/forms.md": echo_files,
    "docs/function.md": echo_files,
    "docs/index.md": whole_files,
    "docs/maps.md": echo_files,
    "docs/pairs.md": pair_files,
    "docs/pictures.md": echo_files,
    "docs/regression.md": house_files,
    "docs/rivals.md": echo_files,
    "docs/robustness.md": echo_files,
    "docs/smooth.md": echo_files,
}


@pytest.mark.parametrize("page", [page for page, files in PAGES.items() if files is not None])
def test_what_the_pages_type_into_a_terminal_runs(tmp_path, program, page):
    PAGES[page](tmp_path, program)
    type_in(page, tmp_path, program)


#: Pages whose blocks of Python are run, each by a test of its own.
PYTHON = ["README", *(f"docs/{name}" for name in (
    "embeddings", "export", "faq", "index", "maps", "pairs", "pictures", "python", "regression", "robustness", "scale",
))]


def test_every_block_of_every_page_is_run():
    """Commands and Python here, SQL in test_export.py, Rust as a documentation test. Installations are not, nor what `make`
    runs anyhow."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        place, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        kinds = {kind for kind in re.findall(r"^ *```(.*)$", text, flags=re.MULTILINE) if kind}
        assert kinds <= {"console", "python", "sql", "rust"}, f"{place} has blocks of {kinds}"
        assert "python" not in kinds or place.removesuffix(".md") in PYTHON, f"{place}: its Python is not run"
        assert "sql" not in kinds or place == "docs/export.md", f"{place}: its SQL is not run"
        assert "rust" not in kinds or place == "README.md", f"{place}: its Rust is not run"
        assert bool(typed(place)) == (place in PAGES), f"{place}: its commands are not run, or it has none"
        others = re.findall(r"^ *\$ (?!lipmetric )(.*)$", text, flags=re.MULTILINE)
        known = ("pip install", "cargo install", "cargo run --release -- compare", "make test ")
        wrong = [line for line in others if not line.startswith(known)]
        wrong += re.findall(r"^    +lipmetric .*$", text, flags=re.MULTILINE)
        assert not wrong, f"{place}: {wrong} is not run"


def test_the_blocks_of_the_python_page_run_one_after_another(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run("docs/python.md", 7)
    assert "size" in capsys.readouterr().out


def test_the_answers_to_questions_hold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("docs/faq.md", 5)


@pytest.mark.filterwarnings("ignore:.*(inplace|copy) keyword")
def test_the_example_of_a_cluster_runs(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    run("docs/scale.md", 3)


def test_the_counterfactual_of_the_page_on_robustness_is_the_one_that_it_tells(capsys):
    run("docs/robustness.md", 1)
    told = capsys.readouterr().out
    assert "neg 1.236" in told
    assert "-30" in told and "3.5" in told


def test_the_blocks_on_maps_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run("docs/maps.md", 1)
    assert "kept of" in capsys.readouterr().out
    assert (tmp_path / "map.html").exists()


def test_the_blocks_on_regression_run(capsys):
    run("docs/regression.md", 2)
    assert "AutoRegressor" in capsys.readouterr().out


def test_the_blocks_on_pairs_run(capsys):
    run("docs/pairs.md", 3)
    assert "of new comparisons hold" in capsys.readouterr().out


def test_the_page_on_embeddings_runs(tmp_path, monkeypatch, program, capsys):
    monkeypatch.chdir(tmp_path)
    run("docs/embeddings.md", 3)
    assert "held-out accuracy: raw" in capsys.readouterr().out
    type_in("docs/embeddings.md", tmp_path, program)


def test_a_page_with_pictures_is_made_as_the_document_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("docs/pictures.md", 1)
    assert (tmp_path / "cancer.html").stat().st_size < 1_000_000
    assert "<svg" in (tmp_path / "cancer-figures" / "after.svg").read_text(encoding="utf-8")


def test_the_blocks_of_the_first_page_run(tmp_path, monkeypatch, program, capsys):
    monkeypatch.chdir(tmp_path)
    whole_files(tmp_path, program)
    run("docs/index.md", 3)
    assert "benign" in capsys.readouterr().out


def test_the_page_on_vector_indexes_runs(tmp_path, monkeypatch, program, capsys):
    for library in ("faiss", "usearch", "hnswlib"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    type_in("docs/export.md", tmp_path, program, lambda words: (words, None))
    names = run("docs/export.md", 3)
    assert len(names["read_map"](tmp_path / "patients.map.json")({})) == names["z"].shape[1]
    assert capsys.readouterr().out


def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs")
    out = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True,
    )
    assert out.returncode == 0, out.stderr
    assert (tmp_path / "index.html").exists()
    assert "lipmetric compare" in (tmp_path / "cli.html").read_text(encoding="utf-8")


def test_the_blocks_of_the_readme_run(tmp_path, monkeypatch, program, capsys):
    monkeypatch.chdir(tmp_path)
    program("datasets", "export", "echo", "-o", "patients.csv", cwd=tmp_path)
    program("fit", "patients.csv", "--model", "patients.lip", cwd=tmp_path)
    program("datasets", "export", "echo", "-o", "new.csv", cwd=tmp_path)
    run("README.md", 2)
    assert capsys.readouterr().out


def test_the_tour_runs(tmp_path, monkeypatch, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    tour = json.loads((ROOT / "examples" / "tour.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in tour["cells"] if cell["cell_type"] == "code"]
    names = {}
    for cell in cells:
        exec(compile(cell, "examples/tour.ipynb", "exec"), names)
    names["plt"].close("all")
    assert "certified gap" in capsys.readouterr().out
