"""Pairwise rankings: rows as numbers, ties kept, every mistake with its line."""

from __future__ import annotations

import csv
import gzip
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.data import Rankings, match_systems, name_systems
from trubleu.errors import CountedWarning, DataError

COLUMNS = ["srclang", "trglang", "segmentId", "judgeID", "system1Id", "system1rank", "system2Id", "system2rank"]
COLUMNS.append("rankingID")
HEADER = ",".join(COLUMNS) + "\n"
ROW = "deu,eng,581,judge1,A.txt,3,B.txt,4,1\n"


def rows_of(rankings: Rankings) -> list[tuple[Any, ...]]:
    """Return the rows as a file has them; rankings by number."""
    return [
        (
            *rankings.language_pairs[rankings.language_pair[row]].split("-"),
            rankings.segments[rankings.segment[row]],
            rankings.judges[rankings.judge[row]],
            rankings.systems[rankings.system_a[row]],
            rankings.rank_a[row],
            rankings.systems[rankings.system_b[row]],
            rankings.rank_b[row],
            rankings.ranking[row],
        )
        for row in range(len(rankings))
    ]


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "r.csv.gz"
    path.write_bytes(gzip.compress((HEADER + ROW + "deu,eng,7,judge2,C.txt,2,A.txt,2,x\n").encode()))
    found = Rankings.read(path)
    assert rows_of(found) == [
        ("deu", "eng", "581", "judge1", "A.txt", 3, "B.txt", 4, 0),
        ("deu", "eng", "7", "judge2", "C.txt", 2, "A.txt", 2, 1),
    ]
    assert found.systems == ("A.txt", "B.txt", "C.txt")
    assert found.source == str(path)
    assert repr(found) == f"<Rankings from {path}: 2 of 3 systems>"
    with pytest.raises(AttributeError):
        found.systems = ()  # type: ignore[misc]
    for name in ("segment", "system_a", "rank_a", "system_b", "rank_b", "judge", "ranking", "language_pair"):
        column = getattr(found, name)
        assert column.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


name = st.sampled_from(["A", "B", "C", "a,b", 'say "hi"', "two\nlines", "x\u2028y", " x"])
row = st.tuples(
    st.sampled_from(["deu", "eng"]),
    st.sampled_from(["eng", "rus"]),
    st.sampled_from(["1", "2", "03"]),
    name,
    name,
    st.sampled_from([1, 2, 5, -1]),
    name,
    st.sampled_from([1, 2, 30]),
    st.sampled_from(["9", "10", "x"]),
).map(lambda row: (*row[:6], "another" if row[4] == row[6] else row[6], *row[7:]))


@given(st.lists(row, max_size=20), st.sampled_from([",", "\t"]), st.sampled_from(["\n", "\r\n"]))
@pytest.mark.filterwarnings("ignore::trubleu.errors.CountedWarning")
def test_every_way_to_read_gives_the_same_rows(rows: list[Any], delimiter: str, end: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("r.csv" if delimiter == "," else "r")
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter=delimiter, lineterminator=end)
            writer.writerow(COLUMNS)
            writer.writerows(rows)
        found = Rankings.read(path)
    kept = [each for each in rows if -1 not in each]
    numbers: dict[str, int] = {}
    for each in kept:
        numbers.setdefault(each[-1], len(numbers))
    assert rows_of(found) == [(*each[:-1], numbers[each[-1]]) for each in kept]
    for names, used in (
        (found.segments, [each[2] for each in kept]),
        (found.judges, [each[3] for each in kept]),
        (found.systems, [system for each in kept for system in (each[4], each[6])]),
        (found.language_pairs, [f"{each[0]}-{each[1]}" for each in kept]),
    ):
        assert names == tuple(dict.fromkeys(used))
    for pair in found.language_pairs:
        part = found.select(pair)
        own = [each[:-1] for each in kept if f"{each[0]}-{each[1]}" == pair]
        assert [each[:-1] for each in rows_of(part)] == own
        assert part.language_pairs == (pair,)
        assert set(part.systems) == {system for each in own for system in (each[4], each[6])}


def test_outputs_that_were_not_ranked(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(HEADER + ROW + "deu,eng,5,j,A.txt,-1,D.txt,2,2\ndeu,eng,5,j,A.txt,-1,D.txt,-1,2\n")
    with pytest.warns(
        CountedWarning, match=r"^lines of .*r\.csv with an output that was not ranked \(-1\), left out: 2$"
    ):
        found = Rankings.read(path)
    assert (len(found), found.systems, found.segments) == (1, ("A.txt", "B.txt"), ("581",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", " is empty; its first line must name the columns srclang, trglang, segmentId, judgeID, system1Id, "),
        ("\n", " is empty; its first line must name the columns srclang"),
        (
            "srclang,trglang\n",
            ":1: the columns segmentId, .*, rankingID must be there; columns found: srclang, trglang$",
        ),
        (HEADER.replace("judgeID", "judge"), ":1: the column judgeID must be there; columns found: srclang, "),
        (
            HEADER.replace("rankingID", "rankingID,rankingid"),
            ":1: there are 2 columns rankingID; leave only one of them$",
        ),
        (
            HEADER.replace("rankingID", "system3Id"),
            r":1: lines of this file rank more than two systems \(there is a co",
        ),
        (HEADER + ROW.replace(",3,", ",0,"), ":2: a rank must be an integer from 1, the best, or -1 .*, not '0'$"),
        (HEADER + ROW + ROW.replace(",4,", ",x,"), ":3: a rank must be an integer from 1, .* ranked, not 'x'$"),
        (HEADER + ROW + ROW.replace(",4,", ",1.5,"), r":3: a rank must be an integer from 1, .*, not '1\.5'$"),
        (HEADER + ROW + ROW.replace(",4,", ",-2,"), ":3: a rank must be an integer from 1, .*, not '-2'$"),
        (HEADER + ROW + ROW.replace(",4,", ",,"), ":3: a rank must be an integer from 1, .*, not ''$"),
        (
            HEADER + "\n" + ROW.replace("B.txt", "A.txt"),
            ":3: the system 'A.txt' is compared with itself; leave this line",
        ),
        (HEADER + ROW.replace("581", " "), ":2: the segment is empty; every line names one$"),
        (HEADER + ROW.replace("B.txt", ""), ":2: the system is empty; every line names one$"),
        (HEADER + ROW.replace("eng", ""), ":2: the language is empty; every line names two$"),
        (HEADER + ROW + "deu,eng\n", ":3: this line has 2 fields but the first has 9; add what is missing, and"),
        (HEADER + ROW + ROW.replace("judge1", '"a\nb"') + "x\n", ":5: this line has 1 field but the first has 9;"),
        (HEADER + ROW + '"x', ":3: this is not CSV: unexpected end of data; write the file again$"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=rf"/r\.csv{message}") as caught:
        Rankings.read(path)
    assert "\n" not in str(caught.value)


def test_upper_case_and_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("note," + HEADER.upper() + "x," + ROW)
    assert rows_of(Rankings.read(path)) == [("deu", "eng", "581", "judge1", "A.txt", 3, "B.txt", 4, 0)]


def test_nothing_ranked(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(HEADER)
    assert (len(Rankings.read(path)), Rankings.read(path).systems) == (0, ())
    with pytest.raises(DataError, match=r"has no rankings of the language pair 'de-en'; there are none at all$"):
        Rankings.read(path).select("de-en")


def columns(**changes: Any) -> dict[str, Any]:
    return {
        "segment": ["1", "1"],
        "system_a": ["A", "A"],
        "rank_a": [1, 2],
        "system_b": ["B", "C"],
        "rank_b": [3, 2],
    } | changes


def test_from_columns() -> None:
    found = Rankings.from_columns(**columns())
    assert (found.systems, found.judges, found.language_pairs) == (("A", "B", "C"), ("",), ("",))
    assert found.ranking.tolist() == [0, 1]
    assert found == Rankings.from_columns(**columns(), source="elsewhere")
    assert found != Rankings.from_columns(**columns(rank_a=[1, 3]))
    assert found != Rankings.from_columns(**columns(system_a=["A", "D"]))
    together = Rankings.from_columns(**columns(), judge=["x", "y"], ranking=["7", "7"], language_pair=["de-en"] * 2)
    assert (together.judges, together.ranking.tolist(), together.language_pairs) == (("x", "y"), [0, 0], ("de-en",))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rank_a": [1]}, r"^rankings: columns differ in length \(2 of segment, 2 of system_a, 1 of rank_a, 2 of "),
        ({"rank_a": [1, 2.0]}, r"^rankings: row 2: a rank must be an integer .*, not '2\.0'$"),
        ({"segment": ["1", 1]}, "^rankings: row 2: the segment must be a string, not 1$"),
        ({"system_b": ["B", "A"]}, "^rankings: row 2: the system 'A' is compared with itself;"),
    ],
)
def test_columns_that_cannot_be_used(changes: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Rankings.from_columns(**columns(**changes))


def test_a_language_pair_that_is_not_there() -> None:
    found = Rankings.from_columns(**columns(language_pair=["de-en"] * 2))
    with pytest.raises(
        DataError, match=r"^rankings has no rankings of the language pair 'de-em'; did you mean de-en\?$"
    ):
        found.select("de-em")


@pytest.mark.parametrize(
    ("file", "pair", "systems", "count"), [("deu-eng", "de-en", 13, 40_535), ("eng-rus", "en-ru", 10, 49_302)]
)
def test_the_rankings_of_wmt15(real_data: Path, file: str, pair: str, systems: int, count: int) -> None:
    folder = real_data / "wmt15"
    path = folder / "judgements" / f"wmt15.{file}.csv.gz"
    found = Rankings.read(path)
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        expected = [tuple(each.values()) for each in csv.DictReader(stream)]
    assert len(found) == len(expected) == count
    assert [tuple(map(str, each[:-1])) for each in rows_of(found)] == [each[:-1] for each in expected]
    assert (found.language_pairs, len(found.systems)) == ((file,), systems)
    outputs = [str(each) for each in (folder / "system-outputs" / pair).iterdir()]
    for known in (name_systems(outputs), [Path(each).name for each in outputs]):
        matched = match_systems(found.systems, known)
        assert set(matched) == set(found.systems)
        assert set(matched.values()) == set(known)
        assert all(wrong.startswith(system) for wrong, system in matched.items())
