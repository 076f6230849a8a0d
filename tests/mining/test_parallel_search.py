"""Candidates mined on engines are those that are mined in this process, bit for bit."""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mining.example import triples
from trubleu.cli import main
from trubleu.data import Triple
from trubleu.errors import BadPartitionsError, DataError, TrubleuWarning
from trubleu.execution import engine, hashing
from trubleu.execution.cache import KIND
from trubleu.files.arrays import ArrayFile
from trubleu.mining import Index
from trubleu.mining import search as search_module
from trubleu.mining.manifest import ListedShard
from trubleu.mining.search import Queries, query_bags, search_shards, seed_cuts, shard_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.mining import Candidates

OPTIONS: dict[str, Any] = {"top": 4, "random": 2, "explain": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Index of 21 shards, with responses that come again and again."""
    corpus = [
        Triple(each.id, (), each.message, each.response if number % 3 else f" {'YES No!'.title()} ")
        for number, each in enumerate(triples(210))
    ]
    path = tmp_path_factory.mktemp("mining") / "chat.index"
    Index.build(path, corpus, shard_triples=10)
    return path


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut even a small search into groups, rounds and chunks."""
    monkeypatch.setattr(search_module, "GROUP_TRIPLES", 20)
    monkeypatch.setattr(search_module, "LEAST_SEEDS", 2)
    monkeypatch.setattr(search_module, "GROWTH", 3)
    monkeypatch.setattr(search_module, "PARTS", 8)


SEEDS = [*triples(9, seed=7), Triple("unknown", (), "nobody says so", "yes no!")]


def mined(index: Index, **options: Any) -> Candidates:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        return index.candidates(SEEDS, **(OPTIONS | options))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", ["local", "local:2"])
def test_candidates_are_the_same_on_every_engine(folder: Path, tmp_path: Path, name: str) -> None:
    index = Index.open(folder)
    told: list[int] = []
    with engine(name) as there:
        found = mined(index, engine=there, progress=told.append)
        assert mined(index, engine=there, keep=tmp_path / "kept") == found  # one engine, one search after the other
        assert mined(index, engine=there, keep=tmp_path / "kept") == found
    assert found == mined(index)
    assert sum(told) == len(SEEDS) * len(index.shards)
    assert len(told) > len(index.shards)
    assert max(each.mined for each in found) == 4


@pytest.mark.usefixtures("small_parts")
def test_warnings_are_the_same_on_an_engine(folder: Path) -> None:
    index = Index.open(folder)
    said = []
    for where in (None, engine("local")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            index.candidates(SEEDS, top=100, engine=where)
        said.append([(str(each.message), each.filename) for each in caught])
    assert said[0] == said[1]
    assert "nothing was mined for 1 seed: unknown" in said[0][0][0]
    assert {Path(filename) for _, filename in said[0]} == {Path(__file__)}


def test_lots_of_seeds_go_through_one_after_the_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index.open(folder)
    expected = mined(index)
    monkeypatch.setattr(search_module, "SEEDS_AT_ONCE", 3)
    assert mined(index) == expected
    with engine("local") as here:
        assert mined(index, engine=here) == expected


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch, small_parts: None) -> list[int]:
    """Return the first rows of parts, as they are searched."""
    rows: list[int] = []
    search = search_shards

    def noted(*arguments: Any, **options: Any) -> Any:
        if len(arguments[0]) < 21:  # not the whole index at once
            rows.append(options["first_row"])
        return search(*arguments, **options)

    monkeypatch.setattr(search_module, "search_shards", noted)
    return rows


def test_an_interrupted_search_goes_on(folder: Path, tmp_path: Path, searched: list[int]) -> None:
    index, keep = Index.open(folder), tmp_path / "kept"
    with engine("local") as here:
        expected = mined(index, engine=here)
    whole = sorted(searched)
    assert len(set(whole)) == 11
    searched.clear()

    def stop(_searches: int) -> None:
        if len(searched) == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mined(index, keep=keep, progress=stop)
    assert len(searched) == 9
    assert mined(index, keep=keep) == expected
    assert sorted(searched) == whole  # nothing twice, though whoever was interrupted had no engine and this one has
    with engine("local") as here:
        assert mined(index, engine=here, keep=keep) == expected
    assert sorted(searched) == whole


def test_what_was_kept_is_used_for_nothing_else(folder: Path, tmp_path: Path, searched: list[int]) -> None:
    index, keep = Index.open(folder), tmp_path / "kept"
    mined(index, keep=keep)
    parts = len(searched)
    for options in ({"alpha": 0.25}, {"top": 3}, {"k1": 1.0}, {"variant": "atire"}):
        before = len(searched)
        assert mined(index, keep=keep, **options) == mined(index, **options)
        assert len(searched) == before + parts
    texts = [index.triple(row) for row in range(len(index))]
    renamed = [Triple(f"other {name}", (), message, response) for name, message, response in texts]
    other = Index.build(tmp_path / "other.index", renamed, shard_triples=10)  # the same words, so the same weights
    before = len(searched)
    assert mined(other, keep=keep) == mined(other)
    assert len(searched) == before + parts
    before = len(searched)
    mined(index, keep=keep, random=0, explain=False)  # which the search does not depend on
    assert len(searched) == before


def test_what_other_code_found_is_found_again(
    folder: Path, tmp_path: Path, searched: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index.open(folder)
    expected = mined(index, keep=tmp_path)
    parts = len(searched)
    monkeypatch.setattr(hashing, "code_digest", lambda: "other code")
    assert mined(index, keep=tmp_path) == expected
    assert len(searched) == 2 * parts


def test_what_is_kept_depends_on_the_floors() -> None:
    (part,) = shard_groups("chat.index", list(listed([1])), 1)
    queries = Queries.of_bags(["b"], query_bags(["a"], ["b"], tokenize="none", lowercase=False))
    contents = {
        repr(search_module._Search((), 1, (queries,), (np.array([floor]),), None).content(part)) for floor in (0.0, 1.0)
    }
    assert len(contents) == 2


def test_a_damaged_result_is_made_again(folder: Path, tmp_path: Path, searched: list[int]) -> None:
    index, keep = Index.open(folder), tmp_path / "kept"
    expected = mined(index, keep=keep)
    parts = len(searched)
    found = [file for file in keep.iterdir() if b"Hits" in file.read_bytes()]  # not how often words come
    file = max(found, key=lambda file: ArrayFile(file, KIND).lengths["numbers"])
    content = bytearray(file.read_bytes())
    content[content.index(ArrayFile(file, KIND).unchecked("numbers").tobytes()) + 3] ^= 1
    file.write_bytes(content)
    assert mined(index, keep=keep) == expected
    assert len(searched) == parts + 1
    assert mined(index, keep=keep) == expected
    assert len(searched) == parts + 1


def test_a_folder_that_cannot_be_made(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"the folder .*kept cannot be created: .*; check the path"):
        mined(Index.open(folder), keep=tmp_path / "file" / "kept")


@pytest.fixture
def damaged(folder: Path, tmp_path: Path) -> tuple[Path, str]:
    """Copy the index, and alter a byte of the fourth shard where it is not seen before the shard is searched."""
    copy = tmp_path / "chat.index"
    copy.mkdir()
    for item in folder.iterdir():
        (copy / item.name).write_bytes(item.read_bytes())
    name = Index.open(folder).manifest.shards[3].file
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    return copy, name


@pytest.mark.usefixtures("small_parts")
def test_a_damaged_shard_is_named(damaged: tuple[Path, str]) -> None:
    path, name = damaged
    index = Index.open(path)
    with engine("local") as here, pytest.raises(BadPartitionsError, match="1 of 11 partitions") as error:
        mined(index, engine=here)
    (message,) = error.value.partitions.values()
    assert f"{path / name} was altered or damaged" in message


def seeds_file(folder: Path) -> Path:
    path = folder / "seeds.tsv"
    path.write_text("id\tmessage\tresponse\n" + "".join(f"{s.id}\t{s.message}\t{s.response}\n" for s in SEEDS))
    return path


def test_the_command_writes_nothing_if_a_shard_is_damaged(
    damaged: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, name = damaged
    line = ["mine", "run", str(path), "--seeds", str(seeds_file(tmp_path)), "--out", str(tmp_path / "out.jsonl")]
    assert main([*line, "--engine", "local", "--skip-bad"]) == 2
    assert name in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


def test_the_command_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    line = ["mine", "run", str(folder), "--seeds", str(seeds_file(tmp_path)), "--explain", "--random", "2", "--quiet"]
    kept = ["--resume", str(tmp_path / "kept")]
    for number, more in enumerate(([], kept, ["--engine", "local", *kept])):
        assert main([*line, *more, "--out", str(tmp_path / f"{number}.jsonl")]) == 0
    first, *others = (tmp_path.joinpath(f"{number}.jsonl").read_bytes() for number in range(3))
    assert others == [first, first]
    assert first.count(b"\n") == len(SEEDS)
    assert main([*line, "--out", str(tmp_path / "x.jsonl"), "--engine", "none"]) == 2


def listed(sizes: list[int]) -> Iterator[ListedShard]:
    for number, size in enumerate(sizes):
        yield ListedShard(
            file=f"shard-{number:05}.tbx",
            checksum="0" * 16,
            triples=size,
            message_words=0,
            response_words=0,
            content="0" * 16,
        )


@given(st.lists(st.integers(1, 30), min_size=1, max_size=30), st.integers(1, 60), st.integers(1, 9))
def test_groups_are_all_shards_in_order(sizes: list[int], most: int, together: int) -> None:
    shards = list(listed(sizes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "GROUP_SHARDS", together)
        groups = shard_groups("chat.index", shards, most)
    assert [shard for group in groups for shard in group.shards] == shards
    row = 0
    for group, following in pairwise([*groups, None]):
        assert group is not None
        assert group.row == row
        size = sum(shard.triples for shard in group.shards)
        assert size <= most or len(group.shards) == 1
        assert len(group.shards) <= together
        full = len(group.shards) == together
        assert following is None or full or size + following.shards[0].triples > most
        row += size


@given(st.integers(1, 10**6), st.integers(1, 5_000))
def test_chunks_are_all_seeds_and_of_like_size(seeds: int, groups: int) -> None:
    cuts = seed_cuts(seeds, groups)
    sizes = [last - first for first, last in pairwise(cuts)]
    assert (cuts[0], cuts[-1]) == (0, seeds)
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 1
    assert max(sizes) <= search_module.MOST_SEEDS
    assert len(sizes) == 1 or min(sizes) >= search_module.LEAST_SEEDS


def test_parts_are_named_by_files_and_seeds() -> None:
    (part,) = shard_groups("chat.index", list(listed([1, 1])), 5)
    assert str(part) == "chat.index: shard-00000.tbx to shard-00001.tbx"
    one = search_module.SearchPart("chat.index", part.shards[1:], 1, 0, (250, 500))
    assert str(one) == "chat.index: shard-00001.tbx, seeds 251 to 500"
    assert one.searches == 250
