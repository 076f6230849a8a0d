"""Commands whose files all lie on S3 do what they do with files of this machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main
from trubleu.data import References, read_triples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.remote.conftest import Store

    Run = Callable[..., tuple[int, str, str]]

WORDS = ("red", "blue", "green", "warm", "cold")
LINES = 600


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return call


def lines(step: int) -> str:
    return "".join(f"the {WORDS[i * step % 5]} house number {i % 7} is {WORDS[i // 3 % 5]}\n" for i in range(LINES))


def conversations() -> str:
    pairs = [(WORDS[i % 5], WORDS[i // 5 % 5]) for i in range(25)]
    rows = [
        {"id": f"t{i}", "message": f"was it {one} or {other} ?", "response": f"it was {one} , not {other}"}
        for i, (one, other) in enumerate(pairs)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def both(store: Store, folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    store.put(name, text)


def test_score(store: Store, tmp_path: Path, run: Run) -> None:
    for name, step in {"refs.txt": 1, "day=1/first.txt": 2, "second.txt": 3}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        both(store, tmp_path, name, lines(step))
    options = ("-m", "bleu-4", "--format", "json", "--ci", "--resamples", "50", "--quiet")
    assert run("score", "--ref", "refs.txt", "x=day=1/first.txt", "second.txt", *options, "--out", "out")[0] == 0
    expected = (tmp_path / "out").read_text()
    at = store.address
    files = ("--ref", at("refs.txt"), at("day=1/first.txt"), at("second.txt"))
    assert run("score", *files, *options, "--out", at("out.json")) == (0, "", "")
    found = json.loads(store.get("out.json") or b"")
    assert [row["system"] for row in found["scores"]] == ["first", "second"]
    assert found["scores"][1] == json.loads(expected)["scores"][1]
    assert found["scores"][0]["score"] == json.loads(expected)["scores"][0]["score"]

    spread = (*files, *options, "--engine", "local", "--resume", at("kept"))
    assert run("score", *spread, "--out", at("again.json")) == (0, "", "")
    assert store.get("again.json") == store.get("out.json")
    kept = [key for key in store.keys() if key.startswith("kept/")]  # noqa: SIM118
    assert kept
    store.put(kept[0], b"damaged")
    assert run("score", *spread, "--out", at("third.json")) == (0, "", "")
    assert store.get("third.json") == store.get("out.json")


def test_input_is_not_written_over(store: Store, tmp_path: Path, run: Run) -> None:
    for name in ("refs.txt", "first.txt"):
        store.put(name, "one\n")
    at = store.address
    code, _, err = run("score", "--ref", at("refs.txt"), at("first.txt"), "--out", at("first.txt"))
    assert (code, err.count("\n")) == (2, 1)
    assert "is read by this command and would be lost" in err
    assert store.get("first.txt") == b"one\n"


def test_bad_files_are_named(store: Store, run: Run) -> None:
    at = store.address
    store.put("refs.txt", "one\ntwo\n")
    store.put("bad.txt", b"one\n\xff\n")
    code, _, err = run("score", "--ref", at("refs.txt"), at("bad.txt"))
    assert (code, err) == (
        2,
        f"trubleu: {at('bad.txt')}:2: byte 4 (0xff) is not valid UTF-8; convert the file to UTF-8\n",
    )
    code, _, err = run("score", "--ref", at("refs.txt"), at("none.txt"))
    assert (code, err) == (2, f"trubleu: {at('none.txt')}: there is no such file; check the path\n")
    code, _, err = run("score", "--ref", at("refs.txt"), at("refs.txt"), "--out", "s3://no-such-bucket/x")
    assert (code, err.count("\n")) == (2, 1)
    assert "there is no bucket no-such-bucket" in err
    code, _, err = run("score", "--ref", "nosuch://refs.txt", at("refs.txt"))
    assert (code, err.count("\n")) == (2, 1)
    assert "nosuch:// is not known to fsspec" in err


def test_references(store: Store, run: Run) -> None:
    at = store.address
    row = {"id": "a", "references": [{"text": "hello there", "weight": 1.0}, {"text": "hi", "weight": 0.5}]}
    store.put("refs.jsonl", json.dumps(row) + "\n")
    assert run("refs", "convert", at("refs.jsonl"), at("refs.parquet"))[0] == 0
    assert run("refs", "prepare", at("refs.parquet"), "--out", at("refs.prepared"), "--quiet")[0] == 0
    assert References.read(at("refs.parquet")).texts == References.read(at("refs.jsonl")).texts
    store.put("sys.txt", "hello there\n")
    names = ("refs.jsonl", "refs.parquet", "refs.prepared")
    outs = [run("score", "--refs", at(name), at("sys.txt"), "-m", "dbleu-2", "--format", "json") for name in names]
    assert {code for code, _, _ in outs} == {0}
    assert len({json.loads(out)["scores"][0]["score"] for _, out, _ in outs}) == 1


def test_triples_are_indexed_and_mined(store: Store, tmp_path: Path, run: Run) -> None:
    at = store.address
    text = conversations()
    (tmp_path / "corpus").mkdir()
    both(store, tmp_path, "corpus/a.jsonl", text)
    store.put("corpus/_SUCCESS", b"")
    assert len(read_triples(at("corpus"))) == text.count("\n")
    assert run("triples", "sample", at("corpus"), "--n", "5", "--seed", "1", "--out", at("seeds.parquet"))[0] == 0
    assert run("triples", "sample", "corpus", "--n", "5", "--seed", "1", "--out", "seeds.parquet")[0] == 0
    assert read_triples(at("seeds.parquet")) == read_triples("seeds.parquet")

    shards = ("--shard-triples", "10", "--quiet")
    assert run("mine", "index", "corpus", "--out", "chat.index", *shards)[0] == 0
    assert run("mine", "index", at("corpus"), "--out", at("chat.index"), *shards) == (0, "", "")
    local = ("mine", "run", "chat.index", "--seeds", "seeds.parquet", "--out", "found.jsonl", "--quiet")
    assert run(*local)[0] == 0
    remote = ("mine", "run", at("chat.index"), "--seeds", at("seeds.parquet"), "--out", at("found.jsonl"), "--quiet")
    assert run(*remote)[0] == 0
    assert (store.get("found.jsonl") or b"").decode() == (tmp_path / "found.jsonl").read_text()
