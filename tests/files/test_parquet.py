"""Parquet files with a checksum: whatever happens to one, what is read is what was written, or an error."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

from trubleu.data import References, Triple, read_triples, write_triples
from trubleu.data.corpus import ColumnFile
from trubleu.errors import DataError
from trubleu.files.parquet import read_parquet, write_parquet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAMAGED = r"x\.parquet(: the Parquet data is damaged or ends early| is damaged: its checksum does not match)"
FRAME = pl.DataFrame({"id": ["a", "b", "c"], "score": [1.5, 2.5, -3.25], "turns": [["x", "y"], [], ["z"]]})


def write_references(path: Path) -> object:
    References.from_lists([["it was great", "so bad"], ["no"]], [[1.0, -0.5], [0.25]]).write(path)
    return read_references(path)


def read_references(path: Path) -> object:
    references = References.read(path)
    assert references.weights is not None
    return references.ids, references.texts, references.weights.tolist()


def write_some_triples(path: Path) -> object:
    write_triples(path, [Triple("7", ("hi !",), "how are you ?", "fine"), Triple("8", (), "and you ?", "fine , too")])
    return list(read_triples(path))


KINDS: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "references": (write_references, read_references),
    "triples": (write_some_triples, lambda path: list(read_triples(path))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_bits_change_no_number(tmp_path: Path, kind: str) -> None:
    write, read = KINDS[kind]
    path = tmp_path / "x.parquet"
    expected = write(path)
    data = path.read_bytes()
    # Bits of the end, where the size of the footer is, without which the checksum is not found, and some of all others.
    places = [*range(8 * (len(data) - 8), 8 * len(data), 3), *random.Random(1).sample(range(8 * len(data)), 300)]
    refused = 0
    for place in places:
        damaged = bytearray(data)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            assert read(path) == expected
        except DataError as error:
            refused += 1
            assert str(path) in str(error)  # noqa: PT017
    assert refused > 0.9 * len(places)


def test_a_file_is_checked_again_after_a_change(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write_parquet(path, FRAME)
    file = ColumnFile(str(path), str(path), role="text")
    assert file.look().height == 3
    data = path.read_bytes()
    path.write_bytes(data[:10] + bytes([data[10] ^ 1]) + data[11:])
    with pytest.raises(DataError, match=DAMAGED):
        file.look()


def test_others_read_what_we_write_and_we_what_they_write(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "x.parquet"
    write_parquet(ours, FRAME)
    assert pl.read_parquet(ours).equals(FRAME)
    FRAME.write_parquet(theirs)  # no checksum
    for path in (ours, theirs):
        with path.open("rb") as stream:
            table = read_parquet(stream, path.name, ["id", "score", "turns"])
        assert table.columns == FRAME.to_dict(as_series=False)


def test_what_only_begins_like_parquet(tmp_path: Path) -> None:
    for data in (b"PAR1", b"PAR1PAR1", b"PAR1\x00\x00\x00\x00PAR1", b"PAR1\xff\xff\xff\xffPAR1"):
        path = tmp_path / "x.parquet"
        path.write_bytes(data)
        with pytest.raises(DataError, match=DAMAGED):
            References.read(path)


def test_no_room_is_one_sentence_and_no_file(tmp_path: Path) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))

    texts = random.Random(1).choices("abcdefghijklmnop", k=100_000)
    source = tmp_path / "refs.txt"
    source.write_text("".join(f"{''.join(texts[at : at + 50])}\n" for at in range(0, len(texts), 50)))
    # Without -B, Python would leave modules in its cache that end at the limit.
    command = [sys.executable, "-B", "-m", "trubleu", "refs", "convert", str(source), str(tmp_path / "x.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=little_room)
    assert done.returncode == 2
    assert done.stderr.endswith("x.parquet cannot be written: File too large; nothing was changed\n")
    assert done.stderr.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["refs.txt"]


ABORTING = [14, 358]
"""Bytes of the file below whose lowest bit makes Polars ask for more memory than any machine has, and abort."""


def read_whole(path: Path) -> int:
    with path.open("rb") as stream:
        return read_parquet(stream, path.name, None).height


def look_at_rows(path: Path) -> int | None:
    return ColumnFile(str(path), str(path), role="text").look().height


@pytest.mark.parametrize("place", ABORTING)
@pytest.mark.parametrize("read", [read_whole, look_at_rows])
def test_a_file_on_which_polars_aborts(tmp_path: Path, read: Callable[[Path], int | None], place: int) -> None:
    path = tmp_path / "x.parquet"
    texts = [f"some text number {number % 7}" for number in range(200)]
    weights = [[0.5, 1.0]] * 200
    pl.DataFrame({"id": list(map(str, range(200))), "text": texts, "w": weights}).write_parquet(path)
    data = path.read_bytes()
    assert read(path) == 200
    path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    with pytest.raises(DataError, match=r"x\.parquet: the Parquet data is damaged"):
        read(path)
