"""``trubleu vectors`` as its users call it."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from trubleu.cli import main
from trubleu.vectors import VectorStore, as_source, similarity

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

NGRAMS = ["like", "do not like", "hate", "love", "the weather", "snake_case"]
VECTORS = [[1.0, 0.1], [0.9, 0.5], [0.8, 0.5], [-1.0, 0.2], [0.0, -1.0], [-1.0, -1.0]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    options: dict[str, str | int] = {"mode": "joint", "window": 5}
    VectorStore.write("v.store", NGRAMS, VECTORS, counts=[60, 50, 40, 30, 20, 10], options=options)
    apart = ["do", "not", "do not", "make"]
    VectorStore.write("apart.store", apart, [[1, 0], [0, 1], [-1, 0], [1, 1]], options={"mode": "separate"})
    (tmp_path / "v.vec").write_text("3 2\nlike 1 0.1\ndo_not 0 1\nhate 1 1\n")
    (tmp_path / "phrases.txt").write_text("hate\n\n  do   not like \nlove\n")
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["vectors", *arguments])
        except SystemExit as stop:  # argparse leaves this way
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_info(run: Run) -> None:
    code, out, err = run("info", "v.store")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines() if line and not line.startswith("-")] == [
        ["name", "dimensions", "n-grams", "numbers"],
        [as_source("v.store").name, "2", "6", "float32"],
        ["Orders"],
        ["words", "n-grams", "seen"],
        ["1", "4", "140"],
        ["2", "1", "20"],
        ["3", "1", "50"],
        ["How", "they", "were", "made"],
        ["option", "value"],
        ["mode", "joint"],
        ["window", "5"],
    ]
    found = json.loads(run("info", "v.vec", "--format", "json")[1])
    assert found["vectors"][0]["entries"] == 3
    assert [(row["order"], row["entries"]) for row in found["orders"]] == [(1, 2), (2, 1)]


def test_nearest_shows_phrases(run: Run) -> None:
    code, out, err = run("nearest", "v.store", "do  not like", "--top", "2")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[2] == ["1", "hate", "0.999", "40"]
    assert lines[3][:2] == ["2", "like"]
    assert lines[-1][:4] == ["nearest", "to", "'do", "not"]
    rows = list(csv.DictReader(io.StringIO(run("nearest", "v.store", "hate", "--format", "csv")[1])))
    rows = [row for row in rows if row["ngram"] == "do not like"]
    assert float(rows[0]["similarity"]) == pytest.approx(similarity(as_source("v.store"), "hate", "do not like"))


def test_nearest_among_candidates(run: Run) -> None:
    found = json.loads(run("nearest", "v.store", "like", "--among", "phrases.txt", "--format", "json")[1])
    assert [row["ngram"] for row in found["neighbours"]] == ["do not like", "hate", "love"]


def test_unknown_phrases(run: Run) -> None:
    code, _, err = run("nearest", "v.store", "like hate")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("trubleu: 'like hate' has no vector in store:v-")


def test_similarity(run: Run) -> None:
    code, out, _ = run("similarity", "v.vec", "like", "do not", "hate", "hate", "--format", "json")
    assert code == 0
    rows = json.loads(out)["similarities"]
    assert [(row["one"], row["other"]) for row in rows] == [("like", "do not"), ("hate", "hate")]
    assert [row["similarity"] for row in rows] == pytest.approx([0.1 / np.sqrt(1.01), 1])


def test_ready_vectors(run: Run) -> None:
    pytest.importorskip("wordllama", reason="wordllama, which carries the ready vectors, is not installed")
    code, out, _ = run("similarity", "ready", "research paper", "scientific article", "--digits", "4")
    assert code == 0
    assert "0.3555" in out
    code, out, _ = run("nearest", "ready", "do not like", "--among", "phrases.txt", "--out", "found.txt")
    assert (code, out) == (0, "")
    assert run("info", "ready")[1].endswith("It has a vector for any n-gram of any number of words.\n")
    assert run("convert", "ready", "r.store")[2].startswith("trubleu: ready has a vector for any n-gram and no list")


def test_convert(run: Run, folder: Path) -> None:
    assert run("convert", "v.store", "w.vec.gz") == (0, "", "")
    assert run("convert", "w.vec.gz", "w.store", "--dtype", "float16") == (0, "", "")
    assert VectorStore.open("w.store").ngrams() == tuple(NGRAMS)
    assert run("convert", "v.vec", "x.txt") == (0, "", "")
    assert (folder / "x.txt").read_text().splitlines()[2] == "do_not 0 1"
    (folder / "twice.vec").write_text("2 1\na 1\na 2\n")
    code, _, err = run("convert", "twice.vec", "once.store")
    assert (code, err) == (0, "trubleu: warning: names that come again in twice.vec, whose first vector counts: 1\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info"], "vectors info needs one SOURCE; give it"),
        (["info", "v.store", "v.vec"], "vectors info needs one SOURCE, not 2 arguments"),
        (["info", "none.vec"], "none.vec: there is no such file; check the path"),
        (["nearest", "v.store"], 'vectors nearest needs SOURCE "SOME WORDS", not 1 argument'),
        (["nearest", "v.store", "like", "--top", "0"], "top=0 must be at least 1"),
        (["nearest", "v.store", "like", "--among", "none.txt"], "none.txt: there is no such file; check the path"),
        (["nearest", "v.store", "like", "--among", "phrases.txt", "--out", "phrases.txt"], "would be lost"),
        (["nearest", "v.store", "like", "--out", "v.store"], "v.store is read by this command and would be lost"),
        (["similarity", "v.store", "like"], "similarity compares pairs, but there are 1 phrases"),
        (["similarity", "v.store", "like", "never"], "'never' has no vector in store:v-"),
        (["convert", "v.vec"], "vectors convert needs SOURCE TARGET, not 1 argument"),
        (["convert", "v.vec", "v.vec"], "v.vec is read by this command and would be lost"),
        (["convert", "v.vec", "w.csv"], "the name w.csv does not tell the format"),
        (["convert", "v.vec", "w.store", "--dtype", "int8"], "dtype=int8 is not known"),
        (["convert", "v.vec", "no/w.store"], "there is no folder no; create it first"),
        (["train2"], "invalid choice"),
    ],
)
def test_bad_input_is_one_sentence(run: Run, arguments: list[str], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("trubleu: ")
    assert err.count("\n") == 1
    assert message in err


def test_an_empty_list_of_candidates(run: Run, folder: Path) -> None:
    (folder / "empty.txt").write_text("\n")
    assert run("nearest", "v.store", "like", "--among", "empty.txt")[2].endswith(
        "empty.txt has no n-grams; give one per line\n"
    )


def test_help_needs_no_numpy(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert 'nearest vectors.store "do not like"' in out
