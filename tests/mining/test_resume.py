"""What is finished of an index is used again for the same rows and options, and for nothing else."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.mining.example import files, interrupted, plain, records, rows, shards, triples, write
from trubleu.data import Triple, TripleFiles, triple_formats
from trubleu.errors import CountedWarning, DataError
from trubleu.execution import hashing
from trubleu.execution.cache import Cache, Entries
from trubleu.files import ranges
from trubleu.mining import Index, index_builder, manifest, shard
from trubleu.text import sacrebleu

if TYPE_CHECKING:
    from pathlib import Path

BAD = {"id": "x", "message": "no response"}


def line(number: int) -> str:
    """Return a row, all of them equally long."""
    return json.dumps({"id": f"{number:03}", "message": f"hello {number:03}", "response": "hi"}) + "\n"


@pytest.mark.parametrize("joined", [True, False])
def test_rows_that_moved_though_no_byte_of_theirs_did(
    tmp_path: Path, joined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "BLOCK", 4 * len(line(0)))
    corpus = tmp_path / "c.jsonl"
    good = "".join(map(line, range(40)))
    # A line end more or less in the first block, which stays as long as it is, so that all rows behind it move by one.
    fewer = good[: len(line(0)) - 1] + " " + good[len(line(0)) :].replace(line(1), " " * (len(line(1)) - 1) + "\n", 1)
    before, after = (good, fewer) if joined else (fewer, good)
    corpus.write_text(before + "bad\n")
    interrupted(tmp_path / "x", [corpus], shard_triples=9)
    corpus.write_text(after)
    # The second shard is of rows 10 to 18, and both times these are in the third to the fifth block.
    Index.build(tmp_path / "x", corpus, shard_triples=9, resume=True)
    assert files(tmp_path / "x") == files(Index.build(tmp_path / "y", corpus, shard_triples=9).path)


def test_shards_of_other_code_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write(tmp_path / "c.jsonl", [*triples(20), BAD])

    def be(version: str) -> None:
        for module in (manifest, shard):
            monkeypatch.setattr(module, "__version__", version)
        monkeypatch.setattr(hashing, "code_digest", lambda: version)

    be("0.0.1")
    interrupted(tmp_path / "x", [corpus])
    be("9.9.9")
    with pytest.warns(CountedWarning):
        index = Index.build(tmp_path / "x", corpus, shard_triples=10, resume=True, skip_bad=True)
    assert {each._file.header["made_by"] for each in index.shards} == {"trubleu 9.9.9"}


def test_shards_of_another_model_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write(tmp_path / "c.jsonl", [*triples(20), BAD])
    loaded = sacrebleu.load("char")
    monkeypatch.setattr(sacrebleu, "load", lambda _name: loaded._replace(model="a"))
    interrupted(tmp_path / "x", [corpus], tokenize="char")
    monkeypatch.setattr(sacrebleu, "load", lambda _name: loaded._replace(model="b", split=str.split))
    for place, resume in (("x", True), ("y", False)):
        with pytest.warns(CountedWarning):
            Index.build(tmp_path / place, corpus, tokenize="char", shard_triples=10, resume=resume, skip_bad=True)
    assert files(tmp_path / "x") == files(tmp_path / "y")


def stopped(place: Path, corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build an index as far as its first shard."""
    usual = Entries.put

    def once(*arguments: Any, **options: Any) -> None:
        usual(*arguments, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Entries, "put", once)
        with pytest.raises(KeyboardInterrupt, match=r"continue with --resume"):
            Index.build(place, corpus, shard_triples=10)


def test_columns_that_the_source_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = tmp_path / "c.tsv.gz"
    corpus.write_bytes(gzip.compress("".join(f"a{row}\tb{row}\n" for row in range(20)).encode()))
    forth, back = (TripleFiles(corpus, columns=columns) for columns in ("message,response", "response,message"))
    stopped(tmp_path / "x", forth, monkeypatch)
    cache = Cache()
    index = Index.build(tmp_path / "x", back, shard_triples=10, resume=True, cache=cache)
    assert cache.reused == 0
    assert [index.triple(row)[1:] for row in (0, 19)] == [("b0", "a0"), ("b19", "a19")]
    assert files(tmp_path / "x") == files(Index.build(tmp_path / "y", back, shard_triples=10).path)


def test_columns_are_part_of_the_key(tmp_path: Path) -> None:
    (tmp_path / "c.tsv.gz").write_bytes(gzip.compress(b"a\tb\n"))
    path = str(tmp_path / "c.tsv.gz")
    options = manifest.IndexOptions(tokenize="13a", tokenizer="13a", lowercase=True, stop_words=(), shard_triples=10)
    keys = {
        repr(index_builder.plan(ranges.surveyed([file], contents=True), options, first=0)[0].depends(options))
        for columns in (None, ("message", "response"), ("response", "message"))
        for file in [triple_formats.TripleFile(path, path, columns=columns)]
    }
    assert len(keys) == 3


def test_nothing_is_left_to_read_of_the_first_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = [Triple(str(number), (), f"m{number} " * 400, "yes") for number in range(8)]
    corpus = [write(tmp_path / "a.jsonl", long[:4]), write(tmp_path / "b.jsonl", long[4:])]
    monkeypatch.setattr(index_builder, "BATCH", 4)
    monkeypatch.setattr(index_builder, "MOST_MEMORY", 2**12)  # so that a shard is written where the first file ends
    stopped(tmp_path / "x", corpus, monkeypatch)
    index = Index.build(tmp_path / "x", corpus, shard_triples=10, resume=True)
    assert [each.triples for each in index.shards] == [4, 4]
    assert rows(index) == plain(long)


def test_no_lines_are_read_where_none_are_left(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (file,) = ranges.surveyed([ranges.SourceFile(str(tmp_path / "a.txt"), "a.txt")])
    assert list(file.span(0, 2).after(2).lines()) == []


def test_shards_of_other_rows_are_kept_until_the_end(tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", [*triples(20), BAD])
    interrupted(tmp_path / "x", [corpus])
    write(corpus, [*triples(10), *triples(10, 3), BAD])
    with pytest.raises(DataError, match=r"c\.jsonl:21: .*; finished shards are kept, to continue with --resume"):
        Index.build(tmp_path / "x", corpus, shard_triples=10, resume=True)
    assert (len(records(tmp_path / "x")), len(shards(tmp_path / "x"))) == (4, 3)  # one is the same
    write(corpus, triples(20))
    cache = Cache()
    Index.build(tmp_path / "x", corpus, shard_triples=10, resume=True, cache=cache)
    assert cache.reused == 0  # a file of other bytes, whose rows may be others
    assert files(tmp_path / "x") == files(Index.build(tmp_path / "y", corpus, shard_triples=10).path)
