"""Shards in files: what goes in comes out, and what is damaged is refused."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mining.shards import search
from trubleu.errors import DataError, UsageError
from trubleu.files.arrays import ArrayFile, write_arrays
from trubleu.mining import shard as module
from trubleu.mining.bm25 import Bm25
from trubleu.mining.shard import KIND, UNKNOWN, Shard, ShardInfo, ShardWriter, combined

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TEXTS = st.text(st.sampled_from("abÄß\u3000 \ud800😀\n"), max_size=12)
TRIPLES = st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=12)


def batch(triples: Sequence[tuple[str, str, str]]) -> Any:
    ids, messages, responses = zip(*triples, strict=True) if triples else ((), (), ())
    return SimpleNamespace(ids=ids, messages=messages, responses=responses)


def written(path: Path, triples: Sequence[tuple[str, str, str]], **options: Any) -> ShardInfo:
    writer = ShardWriter(options.pop("tokenize", "none"), lowercase=options.pop("lowercase", True), **options)
    writer.add(batch(triples))
    return writer.write(path)


def words_of(shard: Shard, field: int, row: int) -> list[str]:
    kernel = shard.kernel()
    return [kernel.word(number) for number in kernel.bag(field, row).tolist()]


@settings(max_examples=60, deadline=None)
@given(TRIPLES)
def test_everything_comes_back(tmp_path_factory: pytest.TempPathFactory, triples: list[tuple[str, str, str]]) -> None:
    path = tmp_path_factory.mktemp("shard") / "a.tbx"
    info = written(path, triples)
    shard = Shard(path)
    shard.check()
    assert shard.info == info
    assert [shard.triple(row) for row in range(shard.triples)] == triples
    for position, field in enumerate(("message", "response"), 1):
        documents = [triple[position].lower().split() for triple in triples]
        assert [words_of(shard, position - 1, row) for row in range(len(triples))] == documents
        frequencies = Counter(word for document in documents for word in set(document))
        words = [*frequencies, "nobody"]
        found = shard.frequencies(field, shard.numbers(words))  # type: ignore[arg-type]
        assert found.tolist() == [*frequencies.values(), 0]
        assert getattr(info, f"{field}_words") == sum(map(len, documents))
    assert shard.numbers(["nobody", "a b", ""]).tolist() == [UNKNOWN] * 3


@settings(max_examples=60, deadline=None)
@given(TRIPLES, st.data())
def test_content_does_not_depend_on_cuts(
    tmp_path_factory: pytest.TempPathFactory, triples: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("shard")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(triples)), max_size=3)))
    infos = [written(folder / "part", triples[a:b]) for a, b in pairwise([0, *cuts, len(triples)])]
    whole = written(folder / "whole", triples)
    assert combined(infos) == combined([whole]) == whole.content
    if triples:
        place = data.draw(st.integers(0, len(triples) - 1))
        column = data.draw(st.integers(0, 2))
        other = list(triples[place])
        other[column] += "x"
        changed = [*triples[:place], (other[0], other[1], other[2]), *triples[place + 1 :]]
        assert written(folder / "other", changed).content != whole.content


def test_order_and_borders_between_fields_are_part_of_the_content(tmp_path: Path) -> None:
    one = written(tmp_path / "a", [("1", "a", "b"), ("2", "c", "d")])
    assert one.content != written(tmp_path / "b", [("2", "c", "d"), ("1", "a", "b")]).content
    assert one.content != written(tmp_path / "c", [("1", "b", "a"), ("2", "c", "d")]).content


def test_a_writer_goes_on_with_a_new_shard(tmp_path: Path) -> None:
    writer = ShardWriter("13a", lowercase=True, stop_words=("A",))
    empty = writer.memory
    writer.add(batch([("1", "A b.", "c" * 100_000)]))
    assert writer.triples == 1
    assert writer.memory > empty + 100_000
    assert writer.write(tmp_path / "a") == ShardInfo(1, 2, 1, Shard(tmp_path / "a").info.content)
    assert (writer.triples, writer.memory) == (0, empty)
    writer.add(batch([("2", "a d", "e")]))
    writer.write(tmp_path / "b")
    assert Shard(tmp_path / "b").numbers(["a", "b", "d", "e"]).tolist() == [UNKNOWN, UNKNOWN, 0, 1]


def test_a_shard_has_room_for_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_TRIPLES", 3)
    writer = ShardWriter("13a", lowercase=True)
    writer.add(batch([("1", "a", "b")] * 2))
    with pytest.raises(UsageError, match="a shard holds at most 3 triples; write it, and continue with another"):
        writer.add(batch([("1", "a", "b")] * 2))
    assert writer.triples == 2


def test_a_callable_tokenizes(tmp_path: Path) -> None:
    written(tmp_path / "a", [("1", "New York, Rio", "x")], tokenize=lambda text: text.split(", "), lowercase=False)
    shard = Shard(tmp_path / "a")
    assert len(words_of(shard, 0, 0)) == 2


def test_rows_that_are_not_there(tmp_path: Path) -> None:
    written(tmp_path / "a", [("1", "a", "b")])
    shard = Shard(tmp_path / "a")
    for row in (-1, 1):
        with pytest.raises(UsageError, match=f"has 1 triples, so none has the number {row}"):
            shard.triple(row)
        with pytest.raises(UsageError, match="so none has the number"):
            shard.texts(np.array([0, row]))


def test_many_texts_at_once(tmp_path: Path) -> None:
    triples = [("1", "a", "b"), ("zwei", "ä \ud800", ""), ("3", "c c", "北京")]
    written(tmp_path / "a", triples)
    shard = Shard(tmp_path / "a")
    assert list(shard.texts(np.array([2, 0, 1, 0]))) == [triples[row] for row in (2, 0, 1, 0)]
    assert list(shard.texts(np.array([], np.int64))) == []


def test_reading_goes_on_after_memory_was_given_back(tmp_path: Path) -> None:
    written(tmp_path / "a", [("1", "a", "b")])
    shard = Shard(tmp_path / "a")
    assert shard.triple(0) == ("1", "a", "b")
    shard.release()
    assert shard.triple(0) == ("1", "a", "b")
    assert shard.numbers(["b"]).tolist() == [1]


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    written(tmp_path / "a", [("1", "a b", "c"), ("2", "b", "d e")])
    good = (tmp_path / "a").read_bytes()
    for place in range(0, len(good), 7):
        (tmp_path / "b").write_bytes(good[:place] + bytes([good[place] ^ 0x10]) + good[place + 1 :])
        with pytest.raises(DataError, match=r"index the corpus again with trubleu mine index|made by"):
            Shard(tmp_path / "b").check()


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "a", [("1", "a b", "c")])
    good = (tmp_path / "a").read_bytes()
    for size in (0, 10, 30, 200, len(good) - 1):
        (tmp_path / "b").write_bytes(good[:size])
        with pytest.raises(DataError, match=r"ends early|is not a part of a mining index"):
            Shard(tmp_path / "b")


def altered(tmp_path: Path, header: dict[str, Any] | None = None, **arrays: Any) -> Path:
    """Write a shard as a stranger may have made it: checksums fit, contents do not."""
    written(tmp_path / "good", [("1", "a b a", "c d"), ("2", "b", "d e"), ("3", "a", "Ä")])
    file = ArrayFile(tmp_path / "good", KIND)
    all_arrays = {name: np.array(file.array(name)) for name in file.lengths}
    for name, change in arrays.items():
        all_arrays[name] = change(all_arrays[name])
    write_arrays(tmp_path / "bad", KIND, {**file.header, **(header or {})}, all_arrays)
    return tmp_path / "bad"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"triples": 4}, "does not fit the others"),
        ({"triples": -1}, "its header lacks something"),
        ({"triples": "3"}, "its header lacks something"),
        ({"message_words": 6}, "its header does not fit its arrays"),
        ({"content": "xyz"}, "its header lacks something"),
        ({"content": None}, "its header lacks something"),
    ],
)
def test_crafted_headers_are_refused(tmp_path: Path, header: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Shard(altered(tmp_path, header))


def test_missing_and_other_arrays_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the array bags does not fit the others"):
        Shard(altered(tmp_path, bags=lambda array: array.astype(np.uint64)))
    with pytest.raises(DataError, match="the array response_hashes does not fit"):
        Shard(altered(tmp_path, response_hashes=lambda array: array[:-1]))
    file = ArrayFile(tmp_path / "good", KIND)
    write_arrays(tmp_path / "bad", KIND, file.header, {name: file.array(name) for name in list(file.lengths)[1:]})
    with pytest.raises(DataError, match="too few or too many arrays"):
        Shard(tmp_path / "bad")


def used(path: Path) -> None:
    """Use everything of a shard."""
    shard = Shard(path)
    for field in ("message", "response"):
        shard.frequencies(field, shard.numbers(["a", "b", "c", "d", "e", "ä", "nobody"]))
    for row in range(shard.triples):
        shard.sound(lambda: [words_of(shard, field, row) for field in (0, 1)])  # noqa: B023
        shard.triple(row)
    for epsilon in (0.0, 0.1):
        search(
            [shard],
            ["a b", "b"],
            ["d", "Ä"],
            tokenize="none",
            lowercase=True,
            bm25=Bm25(),
            alpha=0.5,
            epsilon=epsilon,
            top=2,
        )


def last_is_huge(array: Any) -> Any:
    array[-1] = np.iinfo(array.dtype).max
    return array


def all_are_huge(array: Any) -> Any:
    array[:] = np.iinfo(array.dtype).max
    return array


def middle_is_huge(array: Any) -> Any:
    array[len(array) // 2] = np.iinfo(array.dtype).max - 5
    return array


@pytest.mark.parametrize(
    "name",
    [
        "word_begins",
        "message_begins",
        "response_begins",
        "bag_begins",
        "id_text_begins",
        "message_text_begins",
        "response_text_begins",
    ],
)
@pytest.mark.parametrize("change", [last_is_huge, all_are_huge, middle_is_huge])
def test_places_outside_are_refused(tmp_path: Path, name: str, change: Any) -> None:
    with pytest.raises(DataError, match="was altered or damaged"):
        used(altered(tmp_path, **{name: change}))


@pytest.mark.parametrize("column", ["id", "message", "response"])
def test_texts_that_lie_outside_are_refused(tmp_path: Path, column: str) -> None:
    change: dict[str, Any] = {f"{column}_text_begins": middle_is_huge}
    shard = Shard(altered(tmp_path, **change))
    with pytest.raises(DataError, match=r"was altered or damaged \(a text lies outside\)"):
        shard.texts(np.arange(shard.triples))


@pytest.mark.parametrize("name", ["message_postings", "response_postings", "message_limits", "response_limits", "bags"])
@pytest.mark.parametrize("change", [all_are_huge, middle_is_huge, lambda array: array[::-1].copy()])
def test_wrong_contents_do_not_crash(tmp_path: Path, name: str, change: Any) -> None:
    path = altered(tmp_path, **{name: change})
    try:
        used(path)
    except DataError as error:
        assert "was altered or damaged" in str(error)  # noqa: PT017


def test_a_full_table_of_words_ends_the_search(tmp_path: Path) -> None:
    shard = Shard(altered(tmp_path, word_slots=lambda array: np.ones_like(array)))
    assert shard.numbers(["nobody"]).tolist() == [UNKNOWN]
    with pytest.raises(DataError, match="there is no word of this number"):
        Shard(altered(tmp_path, word_slots=all_are_huge)).numbers(["a"])
    for length in (0, 3, 8):
        with pytest.raises(DataError, match="its arrays do not fit each other"):
            Shard(altered(tmp_path, word_slots=lambda array, length=length: array[:length])).kernel()
