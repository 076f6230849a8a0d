"""Building indexes, adding to them, opening them."""

from __future__ import annotations

import json
import os
import warnings
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mining.example import files, interrupted, plain, records, rows, shards, triples, write
from trubleu.data import Triple, read_triples
from trubleu.data.triples import TripleList
from trubleu.errors import CountedWarning, DataError, TrubleuWarning, UsageError
from trubleu.execution.cache import Cache
from trubleu.mining import Index, index_builder
from trubleu.mining.manifest import MANIFEST, Manifest, read_fields, write_fields
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BAD = {"id": "x", "message": "no response"}
BLANK = {"id": "y", "message": " ", "response": "yes"}


def counts(index: Index, field: str, word: str) -> int:
    """Return in how many triples a word is, over all shards."""
    total = 0
    for shard in index.shards:
        total += int(shard.frequencies(field, shard.numbers([word]))[0])  # type: ignore[arg-type]
    return total


def test_an_index_gives_back_what_went_in(tmp_path: Path) -> None:
    corpus = triples(57)
    index = Index.build(tmp_path / "x", corpus, shard_triples=10)
    assert rows(index) == plain(corpus)
    assert [shard.triples for shard in index.shards] == [10, 10, 10, 10, 10, 7]
    words = tokenizer("13a").tokens
    assert index.message_words == sum(len(words(triple.message)) for triple in corpus)
    assert index.response_words == sum(len(words(triple.response)) for triple in corpus)
    index.check()
    assert (index.tokenize, index.lowercase, index.stop_words) == ("13a", True, ())
    assert repr(index) == f"<Index {tmp_path / 'x'}: 57 triples in 6 shards>"


def test_options_decide_what_a_word_is(tmp_path: Path) -> None:
    corpus = triples(40)
    kept = Index.build(tmp_path / "kept", corpus, lowercase=False)
    folded = Index.build(tmp_path / "folded", corpus, shard_triples=7)
    holding = sum("Rain" in triple.message.split() for triple in corpus)
    assert holding > 0
    assert (counts(kept, "message", "Rain"), counts(kept, "message", "rain")) == (holding, 0)
    assert (counts(folded, "message", "Rain"), counts(folded, "message", "rain")) == (0, holding)
    stopped = Index.build(tmp_path / "stopped", corpus, stop_words=["THE", "the", "a"], tokenize="words")
    assert stopped.stop_words == ("a", "the")
    assert counts(stopped, "message", "the") == 0
    assert stopped.message_words < folded.message_words
    assert kept.content == folded.content == stopped.content
    assert len({kept.signature, folded.signature, stopped.signature}) == 3


def test_the_signature_has_what_results_depend_on(tmp_path: Path) -> None:
    corpus = triples(20)
    index = Index.build(tmp_path / "x", corpus, shard_triples=9)
    assert index.signature == (
        ("tok", "13a"), ("case", "lc"), ("stop", "no"), ("triples", "20"), ("corpus", index.content),
    )  # fmt: skip
    other = Index.build(tmp_path / "y", corpus, stop_words=["we"], lowercase=False)
    stop = dict(other.signature)["stop"]
    assert stop.startswith("1.")
    assert len(stop) == 10
    assert dict(other.signature)["case"] == "mixed"


@settings(max_examples=12)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=4), st.integers(1, 9), st.randoms(use_true_random=False))
def test_neither_shards_nor_additions_change_what_an_index_is(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], shard_triples: int, draw: Any
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    corpus = triples(sum(sizes), seed=draw.randint(0, 10**6))
    whole = Index.build(folder / "whole", corpus)
    ends = list(accumulate(sizes))
    parts = [corpus[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    grown = Index.build(folder / "grown", parts[0], shard_triples=shard_triples)
    for part in parts[1:]:
        grown = grown.add(part)
    assert rows(grown) == rows(whole)
    assert grown.content == whole.content
    assert (grown.message_words, grown.response_words) == (whole.message_words, whole.response_words)
    assert all(shard.triples <= shard_triples for shard in grown.shards)
    assert len(grown.shards) == sum(-(-size // shard_triples) for size in sizes)
    swapped = corpus[1:] + corpus[:1]
    if swapped != corpus:
        assert Index.build(folder / "swapped", swapped).content != whole.content


def test_files_folders_and_lists_make_the_same_index(tmp_path: Path) -> None:
    corpus = triples(30)
    (tmp_path / "in").mkdir()
    one, two = write(tmp_path / "in" / "a.jsonl", corpus[:13]), write(tmp_path / "in" / "b.jsonl", corpus[13:])
    made = [
        Index.build(tmp_path / "1", [one, two]),
        Index.build(tmp_path / "2", str(tmp_path / "in")),
        Index.build(tmp_path / "3", corpus),
        Index.build(tmp_path / "4", iter(corpus)),
        Index.build(tmp_path / "5", TripleList(corpus)),
        Index.build(tmp_path / "6", (os.fspath(path) for path in (one, two))),
    ]
    assert {index.content for index in made} == {made[0].content}
    assert [(source.name, source.triples) for source in made[0].manifest.sources] == [(str(one), 13), (str(two), 17)]
    assert [(source.name, source.triples) for source in made[2].manifest.sources] == [("<triples>", 30)]
    assert len({shards(tmp_path / str(number))[0].read_bytes() for number in range(1, 7)}) == 1


def test_only_a_few_triples_are_held_at_once(tmp_path: Path) -> None:
    taken = 0

    def made() -> Iterator[Triple]:
        nonlocal taken
        for triple in triples(100):
            taken += 1
            yield triple

    seen: list[tuple[int, int]] = []

    def told(_more: int) -> None:
        seen.append((taken, len(list((tmp_path / "x").glob("shard-*")))))

    Index.build(tmp_path / "x", made(), shard_triples=10, progress=told)
    # When a batch has been taken, all shards but those of the last two batches are on the disk.
    assert all(shards >= taken // 10 - 3 for taken, shards in seen)
    assert len(seen) == 10


def test_long_texts_end_a_shard_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = [Triple(str(number), (), f"m{number} " * 400, "yes") for number in range(64)]
    monkeypatch.setattr(index_builder, "BATCH", 4)
    monkeypatch.setattr(index_builder, "MOST_MEMORY", 2**17)
    index = Index.build(tmp_path / "x", corpus, shard_triples=64)
    sizes = [shard.triples for shard in index.shards]
    assert len(sizes) > 2
    assert len(set(sizes[:-1])) == 1
    assert rows(index) == plain(corpus)


def test_a_shard_has_as_many_triples_as_were_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_builder, "BATCH", 8)
    index = Index.build(tmp_path / "x", triples(95), shard_triples=30)
    assert [shard.triples for shard in index.shards] == [30, 30, 30, 5]


def test_warnings_name_the_line_that_calls(tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", [*triples(3), BAD, BLANK])
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        index = Index.build(tmp_path / "x", corpus, skip_bad=True, stop_words=["e.g."])
        index.add(corpus, skip_bad=True)
        read_triples(corpus, skip_bad=True)
        index.candidates(corpus, skip_bad=True, random=9)
        index.candidates([Triple("odd", (), "zzz", "zzz")])
    assert len(warned) == 13
    assert {each.filename for each in warned} == {__file__}


def test_skipped_rows_are_counted_once(tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", [BLANK, *triples(11), BAD, BAD, BLANK, *triples(3, 2), BAD])
    with pytest.warns(CountedWarning) as warned:
        index = Index.build(tmp_path / "x", corpus, shard_triples=5, skip_bad=True)
    assert [str(each.message) for each in warned] == [
        "rows with a missing or wrong field, skipped: 3",
        "rows with a blank message or response, skipped: 2",
    ]
    assert (index.manifest.bad, index.manifest.empty, len(index)) == (3, 2, 14)
    with pytest.warns(CountedWarning) as warned:
        index = index.add(corpus, skip_bad=True)
    assert [each.message.count for each in warned] == [3, 2]  # type: ignore[union-attr]
    assert (index.manifest.bad, index.manifest.empty, len(index)) == (6, 4, 28)


def test_a_bad_row_is_named_and_leaves_nothing_behind(tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", [*triples(3), BAD])
    with pytest.raises(DataError, match=r"c\.jsonl:4: the field response is missing; [^;]*$"):
        Index.build(tmp_path / "x", corpus)
    assert not (tmp_path / "x").exists()
    (tmp_path / "x").mkdir()
    with pytest.raises(DataError, match=r"c\.jsonl:4: the field response is missing"):
        Index.build(tmp_path / "x", corpus)
    assert files(tmp_path / "x") == {"lock": b""}
    index = Index.build(tmp_path / "x", triples(5))
    before = files(tmp_path / "x")
    with pytest.raises(DataError, match=r"c\.jsonl:4: the field response is missing"):
        index.add(corpus)
    assert files(tmp_path / "x") == before


def test_a_bad_row_after_many_good_ones_can_be_skipped_afterwards(tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", [*triples(25), BAD, *triples(14, 2)])
    with pytest.raises(
        DataError, match=r"c\.jsonl:26: the field response is missing; .*; finished shards are kept, to continue"
    ):
        Index.build(tmp_path / "x", corpus, shard_triples=10)
    with pytest.warns(CountedWarning, match=r"missing or wrong field, skipped: 1"):
        Index.build(tmp_path / "x", corpus, shard_triples=10, skip_bad=True, resume=True)
    with pytest.warns(CountedWarning, match=r"missing or wrong field, skipped: 1"):
        Index.build(tmp_path / "y", corpus, shard_triples=10, skip_bad=True)
    assert files(tmp_path / "x") == files(tmp_path / "y")


@pytest.mark.parametrize("content", ["", "\n\n", json.dumps(BLANK) + "\n"])
def test_an_empty_corpus(tmp_path: Path, content: str) -> None:
    (tmp_path / "c.jsonl").write_text(content)
    skipped = r" \(1 row skipped\)" if content.strip() else ""
    with pytest.raises(DataError, match=rf"c\.jsonl has no triples{skipped}; give triples with a message"):
        Index.build(tmp_path / "x", tmp_path / "c.jsonl")
    assert not (tmp_path / "x").exists()
    with pytest.raises(DataError, match=r"<triples> has no triples; give"):
        Index.build(tmp_path / "x", [])
    index = Index.build(tmp_path / "x", triples(3))
    before = files(tmp_path / "x")
    with pytest.raises(DataError, match=r"c\.jsonl has no triples"):
        index.add(tmp_path / "c.jsonl")
    assert files(tmp_path / "x") == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokenize": "13b"}, r"there is no tokenizer '13b'"),
        ({"tokenize": str.split}, r"its tokenizer is given by name, such as 13a"),
        ({"shard_triples": 0}, r"shard-triples is 0, but must be between 1 and 1048576"),
        ({"shard_triples": 2**20 + 1}, r"shard-triples is 1048577"),
        ({"shard_triples": 1.5}, r"shard-triples is 1\.5"),
        ({"stop_words": "the a"}, r"stop words are a list, not one string"),
        ({"stop_words": ["the a"]}, r"the stop word 'the a' is not one word"),
        ({"stop_words": [""]}, r"the stop word '' is not one word"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Index.build(tmp_path / "x", triples(2), **options)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("corpus", [7, None, [7], [Triple("1", (), "a", "b"), "c"]])
def test_what_is_no_corpus(tmp_path: Path, corpus: Any) -> None:
    with pytest.raises((UsageError, DataError), match=r"a corpus is files or triples, not|must be a Triple, not"):
        Index.build(tmp_path / "x", corpus)
    assert not (tmp_path / "x").exists()


def test_a_stop_word_that_is_never_a_word_is_said(tmp_path: Path) -> None:
    with pytest.warns(TrubleuWarning, match=r"the tokenizer 13a never makes these stop words, .*: e\.g\.$"):
        Index.build(tmp_path / "x", triples(2), stop_words=["e.g.", "the"])


def test_rows_that_are_not_there(tmp_path: Path) -> None:
    index = Index.build(tmp_path / "x", triples(3))
    for row in (-1, 3):
        with pytest.raises(UsageError, match=rf"there is no row {row}; the index has 3 triples"):
            index.triple(row)


def test_lone_surrogates_come_back(tmp_path: Path) -> None:
    index = Index.build(tmp_path / "x", [Triple("\ud83d", (), "a \udc80", "b \ud800")], stop_words=["\udc80"])
    assert rows(Index.open(index.path)) == [("\ud83d", "a \udc80", "b \ud800")]
    assert Index.open(index.path).stop_words == ("\udc80",)
    assert index.signature == Index.open(index.path).signature


def test_whoever_has_an_index_open_sees_no_change(tmp_path: Path) -> None:
    index = Index.build(tmp_path / "x", triples(12), shard_triples=5)
    before = (len(index), index.content, rows(index))
    grown = index.add(triples(9, 2))
    assert (len(index), index.content, rows(index)) == before
    assert (len(grown), rows(grown)) == (21, before[2] + plain(triples(9, 2)))
    assert grown.manifest.options.shard_triples == 5


def test_adding_keeps_what_is_there(tmp_path: Path) -> None:
    index = Index.build(tmp_path / "x", triples(12), shard_triples=5, tokenize="words", lowercase=False)
    before = files(tmp_path / "x")
    grown = index.add(triples(2, 2))
    after = files(tmp_path / "x")
    assert {name: content for name, content in after.items() if name in before and name != "index.json"} == {
        name: content for name, content in before.items() if name != "index.json"
    }
    (added,) = after.keys() - before.keys()
    assert added.startswith("shard-00001-00-")
    assert (grown.tokenize, grown.lowercase) == ("words", False)


def test_names_that_shards_once_had(tmp_path: Path) -> None:
    index = Index.build(tmp_path / "x", triples(12), shard_triples=5)
    fields = read_fields(tmp_path / "x" / "index.json")
    for number, shard in enumerate(fields["shards"]):
        (tmp_path / "x" / shard["file"]).rename(tmp_path / "x" / f"shard-{number:05}.tbx")
        shard["file"] = f"shard-{number:05}.tbx"
    write_fields(tmp_path / "x" / "index.json", fields)
    grown = Index.open(tmp_path / "x").add(triples(3, 2))
    assert rows(grown) == [*rows(index), *plain(triples(3, 2))]
    assert [shard.file[:14] for shard in grown.manifest.shards] == [
        "shard-00000.tb", "shard-00001.tb", "shard-00002.tb", "shard-00003-00",
    ]  # fmt: skip


def test_an_index_can_be_moved(tmp_path: Path) -> None:
    index = Index.build(tmp_path / "x", triples(12), shard_triples=5)
    (tmp_path / "far").mkdir()
    moved = (tmp_path / "x").rename(tmp_path / "far" / "y")
    assert rows(Index.open(moved)) == rows(index)
    Index.open(moved).add(triples(3, 2)).check()


def test_folders_that_are_taken(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"x holds something else \(notes\.txt\); choose another folder for the index"):
        Index.build(folder, triples(2))
    assert sorted(files(folder)) == ["lock", "notes.txt"]
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match=r"file cannot be created: File exists; check the path"):
        Index.build(tmp_path / "file", triples(2))
    with pytest.raises(DataError, match=r"no/x cannot be created: No such file or directory; check the path"):
        Index.build(tmp_path / "no" / "x", triples(2))
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    write(corpus / "c.jsonl", triples(2))
    for paths in (corpus, str(corpus), [corpus / "c.jsonl", corpus]):
        with pytest.raises(
            UsageError, match=r"corpus/x would lie in .*corpus, which is the corpus; choose another place"
        ):
            Index.build(corpus / "x", paths)
    index = Index.build(corpus / "x", [corpus / "c.jsonl"])
    with pytest.raises(
        UsageError,
        match=r"corpus/x lies in .*corpus, which is the corpus; move it elsewhere, or give the files one by one$",
    ):
        index.add(corpus)
    assert len(index.add([corpus / "c.jsonl"])) == 4
    Index.build(tmp_path / "y", triples(2))
    before = files(tmp_path / "y")
    with pytest.raises(UsageError, match=r"y is an index already; add to it, or choose another folder"):
        Index.build(tmp_path / "y", triples(2))
    assert files(tmp_path / "y") == before


def test_what_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing: there is no such index; check the path"):
        Index.open(tmp_path / "nothing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(
        DataError, match=r"file is not an index, which would be a folder; create one with trubleu mine index"
    ):
        Index.open(tmp_path / "file")
    with pytest.raises(
        DataError, match=r" is not an index: index\.json is missing; create one with trubleu mine index"
    ):
        Index.open(tmp_path)
    corpus = write(tmp_path / "c.jsonl", [*triples(25), BAD])
    interrupted(tmp_path / "x", [corpus])
    with pytest.raises(DataError, match=r"the index .*x is not finished; continue with trubleu mine index"):
        Index.open(tmp_path / "x")


def test_leftovers_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    record = f"built-{'1' * 16}-{'0' * 64}.result"
    for name in ("shard-00000.tbx", "shard-00007-00-0123456789ab.tbx", ".trubleu-0123456789abcdef.tmp", "lock", record):
        (folder / name).write_text("left over")
    index = Index.build(folder, triples(12), shard_triples=10)
    made = [shard.file for shard in index.manifest.shards]
    assert sorted(files(folder)) == ["index.json", "lock", *made]
    (folder / "shard-00002.tbx").write_text("left over")
    (folder / record).write_text("left over")
    (folder / "notes.txt").write_text("mine")
    grown = index.add(triples(5, 2))
    grown.check()
    assert sorted(files(folder)) == ["index.json", "lock", "notes.txt", *(s.file for s in grown.manifest.shards)]


class TestResume:
    """What may be continued, and what not."""

    @pytest.fixture
    def corpus(self, tmp_path: Path) -> list[Path]:
        return [
            write(tmp_path / "a.jsonl", triples(25)),
            write(tmp_path / "b.jsonl", [*triples(8, 2), BAD]),
        ]

    def test_an_unfinished_index_is_not_written_over(self, tmp_path: Path, corpus: list[Path]) -> None:
        interrupted(tmp_path / "x", corpus)
        before = files(tmp_path / "x")
        with pytest.raises(
            UsageError,
            match=r"x holds an index that was not finished; continue with --resume, or discard it with --no-cache",
        ):
            Index.build(tmp_path / "x", triples(3))
        with pytest.raises(DataError, match=r"the index .*x is not finished"):
            index_builder.write_index(str(tmp_path / "x"), triples(3))
        assert files(tmp_path / "x") == before

    def test_nothing_to_resume(self, tmp_path: Path, corpus: list[Path]) -> None:
        with pytest.raises(UsageError, match=r"there is nothing to resume in .*x; index without --resume"):
            Index.build(tmp_path / "x", corpus, resume=True)
        assert not (tmp_path / "x").exists()
        (tmp_path / "x").mkdir()
        with pytest.raises(UsageError, match=r"there is nothing to resume in .*x; index without --resume"):
            Index.build(tmp_path / "x", corpus, resume=True)
        index = Index.build(tmp_path / "x", corpus[0])
        with pytest.raises(UsageError, match=r"x is finished, there is nothing to resume"):
            Index.build(tmp_path / "x", corpus[0], resume=True)
        with pytest.raises(UsageError, match=r"there is nothing to resume in .*x; add without --resume"):
            index.add(corpus[0], resume=True)

    @pytest.mark.parametrize(
        "options",
        [
            {"tokenize": "words"}, {"lowercase": False}, {"stop_words": ["we", "you"]}, {"stop_words": []},
            {"shard_triples": 11},
        ],
    )  # fmt: skip
    def test_other_options(self, tmp_path: Path, corpus: list[Path], options: dict[str, Any]) -> None:
        """Nothing is used that was made with others."""
        same: dict[str, Any] = {"stop_words": ["we"], "shard_triples": 10}
        interrupted(tmp_path / "x", corpus, **same)
        cache = Cache()
        write(corpus[1], triples(8, 2))
        index = Index.build(tmp_path / "x", corpus, **(same | options), resume=True, cache=cache)
        assert cache.reused == 0
        assert files(index.path) == files(Index.build(tmp_path / "y", corpus, **(same | options)).path)

    def test_other_columns(self, tmp_path: Path) -> None:
        corpus = tmp_path / "c.tsv"
        corpus.write_text("one\ttwo\n" * 25 + "one\n")
        for number, columns in enumerate((["message", "response"], ["response", "message"], None)):
            place, cache = tmp_path / f"x{number}", Cache()
            interrupted(place, [corpus], columns="message,response")
            with pytest.warns(CountedWarning, match=r"skipped: 1"):
                index = Index.build(
                    place, corpus, columns=columns, shard_triples=10, resume=True, skip_bad=True, cache=cache
                )
            assert cache.reused == (0 if number else 2)
            assert rows(index)[0][1:] == (("two", "one") if number == 1 else ("one", "two"))

    def test_other_sources(self, tmp_path: Path, corpus: list[Path]) -> None:
        interrupted(tmp_path / "x", corpus)
        before = files(tmp_path / "x")
        corpus[1].rename(tmp_path / "kept.jsonl")
        with pytest.raises(DataError, match=r"b\.jsonl: there is no such file"):
            Index.build(tmp_path / "x", corpus, shard_triples=10, resume=True)
        assert files(tmp_path / "x") == before
        cache = Cache()
        Index.build(tmp_path / "x", corpus[0], shard_triples=10, resume=True, cache=cache)
        assert cache.reused == 2  # the shards of the first file alone
        assert files(tmp_path / "x") == files(Index.build(tmp_path / "y", corpus[0], shard_triples=10).path)

    def test_changed_contents_are_indexed_anew(self, tmp_path: Path, corpus: list[Path]) -> None:
        interrupted(tmp_path / "x", corpus)
        before = files(tmp_path / "x")
        write(corpus[1], triples(8, 4))
        os.utime(corpus[0])
        Index.build(tmp_path / "x", corpus, shard_triples=10, resume=True)
        after = files(tmp_path / "x")
        assert after == files(Index.build(tmp_path / "y", corpus, shard_triples=10).path)
        same = [name for name in before if name.startswith("shard-") and before[name] == after.get(name)]
        assert [name[:11] for name in sorted(same)] == ["shard-00000", "shard-00001"]

    def test_what_can_be_read_only_once(self, tmp_path: Path) -> None:
        given: list[Any] = [*triples(25), 7]
        with pytest.raises(DataError, match=r"number 26 must be a Triple, not [^;]*$"):
            Index.build(tmp_path / "x", given, shard_triples=10)
        assert not (tmp_path / "x").exists()
        index = Index.build(tmp_path / "x", triples(5))
        before = files(tmp_path / "x")
        with pytest.raises(DataError, match=r"number 26 must be a Triple, not [^;]*$"):
            index.add(given)
        assert files(tmp_path / "x") == before

    def test_an_addition(self, tmp_path: Path, corpus: list[Path]) -> None:
        index = Index.build(tmp_path / "x", triples(12, 3), shard_triples=10)
        whole = Index.build(tmp_path / "y", triples(12, 3), shard_triples=10)
        with pytest.raises(DataError, match=r"b\.jsonl:9: .*; finished shards are kept, to continue"):
            index.add(corpus)
        assert len(records(tmp_path / "x")) == 3
        assert rows(Index.open(tmp_path / "x")) == plain(triples(12, 3))
        with pytest.raises(
            UsageError,
            match=r"x holds an addition that was not finished; continue with --resume, or discard it with --no-cache",
        ):
            index.add(triples(3))
        with pytest.raises(UsageError, match=r"in .*x is an addition; resume that with mine add"):
            Index.build(tmp_path / "x", corpus, shard_triples=10, resume=True)
        with pytest.warns(CountedWarning, match=r"skipped: 1"):
            grown = index.add(corpus, resume=True, skip_bad=True)
        with pytest.warns(CountedWarning, match=r"skipped: 1"):
            whole.add(corpus, skip_bad=True)
        assert files(tmp_path / "x") == files(tmp_path / "y")
        assert len(grown) == 45

    def test_an_addition_can_be_given_up(self, tmp_path: Path, corpus: list[Path]) -> None:
        index = Index.build(tmp_path / "x", triples(12, 3), shard_triples=10)
        Index.build(tmp_path / "y", triples(12, 3), shard_triples=10).add(triples(3))
        with pytest.raises(DataError):
            index.add(corpus)
        assert len(files(tmp_path / "x")) > len(files(tmp_path / "y"))
        index.add(triples(3), cache=Cache(anew=True))
        assert files(tmp_path / "x") == files(tmp_path / "y")

    def test_ctrl_c(self, tmp_path: Path) -> None:
        corpus = write(tmp_path / "c.jsonl", triples(95))
        Index.build(tmp_path / "y", corpus, shard_triples=10)
        told = 0

        def stop(_more: int) -> None:
            nonlocal told
            told += 1
            if told == 5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt, match=r"interrupted; continue with --resume, or discard it with"):
            Index.build(tmp_path / "x", corpus, shard_triples=10, progress=stop)
        index = Index.build(tmp_path / "x", corpus, shard_triples=10, resume=True)
        assert files(tmp_path / "x") == files(tmp_path / "y")
        told = 4
        with pytest.raises(KeyboardInterrupt, match=r"^$"):
            Index.build(tmp_path / "z", corpus, shard_triples=10, progress=stop)
        assert not (tmp_path / "z").exists()
        told = 0
        with pytest.raises(KeyboardInterrupt, match=r"interrupted; continue with --resume, or discard it with --no-"):
            index.add(corpus, progress=stop)
        assert len(Index.open(tmp_path / "x")) == 95


def test_the_manifest_can_be_read_by_anyone(tmp_path: Path) -> None:
    index = Index.build(tmp_path / "x", triples(12), shard_triples=10)
    found = json.loads((tmp_path / "x" / "index.json").read_text())
    assert [shard["file"] for shard in found["shards"]] == [path.name for path in shards(tmp_path / "x")]
    assert sum(shard["triples"] for shard in found["shards"]) == 12
    assert found["checksum"] == index.manifest.checksum
    assert Manifest.read(tmp_path / "x") == index.manifest


@pytest.mark.filterwarnings("ignore::trubleu.errors.CountedWarning")
@settings(max_examples=20)
@given(st.data())
def test_interruptions_leave_no_trace(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("interrupted")
    kinds = st.lists(st.sampled_from([None, None, None, BAD, BLANK]), min_size=1, max_size=12)
    given_files: list[list[Any]] = data.draw(st.lists(kinds, min_size=1, max_size=4), label="rows of files")
    made = iter(triples(100))
    corpus = [
        write(folder / f"{number}.jsonl", [row or next(made) for row in found])
        for number, found in enumerate([*given_files, [None]])
    ]
    options: dict[str, Any] = {"shard_triples": data.draw(st.integers(1, 6)), "skip_bad": True}
    Index.build(folder / "whole", corpus, **options)
    resume = False
    for wait in [*data.draw(st.lists(st.integers(1, 8), max_size=5), label="tells before Ctrl-C"), 10**9]:
        left = wait

        def stop(_more: int) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

        try:
            Index.build(folder / "x", corpus, **options, resume=resume, progress=stop)
        except KeyboardInterrupt:
            resume = bool(records(folder / "x"))
            assert resume == (folder / "x").exists()
        else:
            break
    assert files(folder / "x") == files(folder / "whole")


# The version of a tokenizer


def test_an_index_of_another_version_of_its_tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "x"
    with monkeypatch.context() as before:
        before.setattr("trubleu.text.words.SIGNATURE", "words")
        index = Index.build(place, triples(12), tokenize="words")
        assert dict(index.signature)["tok"] == "words"
        Index.open(place)
    message = (
        r"index\.json was made with the tokenizer words, which is words-3 now and makes other tokens; "
        "remove the folder and index the corpus again"
    )
    with pytest.raises(DataError, match=message):
        Index.open(place)
    # At first there was no version in the file.
    found = read_fields(place / MANIFEST)
    del found["options"]["tokenizer"]
    write_fields(place / MANIFEST, found)
    with pytest.raises(DataError, match=message):
        Index.open(place)
    index = Index.build(tmp_path / "y", triples(12), tokenize="words")
    assert (index.tokenize, dict(index.signature)["tok"]) == ("words", "words-3")
    assert Index.open(tmp_path / "y").signature == index.signature


def test_an_index_without_a_version(tmp_path: Path) -> None:
    index = Index.build(tmp_path / "x", triples(12), tokenize="chat")
    found = read_fields(tmp_path / "x" / MANIFEST)
    del found["options"]["tokenizer"]
    write_fields(tmp_path / "x" / MANIFEST, found)
    assert Index.open(tmp_path / "x").signature == index.signature
