"""A value for each segment, from tables and JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from trubleu.data import References, read_segment_values
from trubleu.errors import DataError
from trubleu.files.parquet import write_parquet

if TYPE_CHECKING:
    from pathlib import Path

REFERENCES = References(["a", "b", "c"], [0, 1, 2, 3], ids=["x", "y", "z"])


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_tables_are_joined_by_id_or_by_order(tmp_path: Path) -> None:
    by_id = written(tmp_path, "a.csv", "topic,ID,more\nm,z,1\nf,x,2\nf,x,3\nq,unknown,4\n")
    assert read_segment_values(by_id, "topic", REFERENCES) == ["f", None, "m"]
    by_order = written(tmp_path, "b.tsv", "topic\tsize\na\t1\nb\t2.5\nc\t\n")
    assert read_segment_values(by_order, "topic", REFERENCES) == ["a", "b", "c"]
    assert read_segment_values(by_order, "size", REFERENCES) == [1.0, 2.5, None]
    # A column without a title, as pandas writes row numbers, has no ids.
    numbered = written(tmp_path, "c.csv", ",size\n0,1\n1,2\n2,3\n")
    assert read_segment_values(numbered, "size", References(["a", "b", "c"], [0, 1, 2, 3])) == [1.0, 2.0, 3.0]


def test_json_lines_and_parquet(tmp_path: Path) -> None:
    lines = '{"id": "y", "n": 2, "long": true, "s": "2"}\n{"id": "x", "n": null, "s": "t"}\n'
    path = written(tmp_path, "a.jsonl", lines)
    assert read_segment_values(path, "n", REFERENCES) == [None, 2.0, None]
    assert read_segment_values(path, "long", REFERENCES) == [None, "true", None]
    assert read_segment_values(path, "s", REFERENCES) == ["t", "2", None]
    frame = pl.DataFrame({"id": ["z", "y"], "n": [1, 2]})
    write_parquet(tmp_path / "a.parquet", frame)
    assert read_segment_values(tmp_path / "a.parquet", "n", REFERENCES) == [None, 2.0, 1.0]


def test_a_file_of_references_without_ids_knows_its_own_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "refs.jsonl", '{"references": ["a"], "t": "p"}\n{"references": ["b"], "t": "q"}\n')
    references = References.read(path)
    assert read_segment_values(path, "t", references) == ["p", "q"]
    assert read_segment_values(path, "t", references.take([1])) == ["q"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "id,topik\nx,a\n", r"a.csv has no column 'topic'; did you mean topik\?"),
        ("a.csv", "id,topic\nq,a\n", "a.csv has no id of"),
        ("a.csv", "id,topic\nx,a\nx,b\n", "a.csv:3: topic is 'b', but 'a' in another row of this segment"),
        ("a.csv", "topic\na\n", "a.csv has 1 rows for 3 segments; give one for each, or a column id"),
        ("a.jsonl", '{"id": "x", "topic": [1]}\n', "a.jsonl:1: topic must be a text or a number .* not an array"),
        ("a.jsonl", "", "a.jsonl has no column 'topic'"),
        ("a.txt", "one text\n", r"a.txt has no column 'topic', as it holds one text per line; .* --by topic=FILE"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_segment_values(written(tmp_path, name, text), "topic", REFERENCES)
