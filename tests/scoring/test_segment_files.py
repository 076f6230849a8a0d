"""Scores of segments in a folder are those that a report would have, whoever wrote them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.scoring.corpora import make_metrics, write
from trubleu import cli
from trubleu.errors import DataError, TrubleuWarning
from trubleu.execution import engine
from trubleu.scoring import partitions, read_segment_scores, score_files
from trubleu.scoring.partitions import ScoreRange, segment_lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from trubleu.metrics import Metric
    from trubleu.scoring.partitions import Placed, RangeScores

SEGMENTS = 90


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ranges have few rows."""
    monkeypatch.setattr(partitions, "SMALLEST", 20)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_wherever_they_are_written_they_are_the_same(tmp_path: Path) -> None:
    files = write(tmp_path, SEGMENTS)
    expected = score_files(files, make_metrics, segments=True)
    report = score_files(files, make_metrics, segments_to=tmp_path / "alone")
    assert report.segments == ()
    assert report.scores == expected.scores
    with engine("local:2") as two:
        score_files(files, make_metrics, two, segments_to=tmp_path / "two")
    written = contents(tmp_path / "alone")
    assert written == contents(tmp_path / "two")
    assert len(written) == 6
    rows = list(read_segment_scores(tmp_path / "two"))
    assert sorted(rows, key=lambda row: (row.metric, row.system)) == sorted(
        expected.segments, key=lambda row: (row.metric, row.system)
    )
    assert [row.id for row in rows[:5]] == ["1", "1", "1", "1", "2"]  # segments first, as parts follow each other
    manifest = json.loads(written["manifest.json"])
    signatures = {row.metric: row.signature for row in expected.scores}
    assert manifest["metrics"] == [{"metric": name, "signature": text} for name, text in signatures.items()]
    assert (manifest["what"], manifest["systems"], manifest["rows"]) == ("scores of segments", ["s", "t"], 4 * SEGMENTS)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is read as a whole and what is cut into ranges come to the same lines."""
    write(tmp_path, SEGMENTS)
    (tmp_path / "wr").write_text("-1\n" + "0.5\n" * (SEGMENTS - 1))
    options = ["score", "--ref", str(tmp_path / "r"), "--weight", str(tmp_path / "wr"), str(tmp_path / "s")]
    options += ["-m", "dbleu-2", "-m", "sbleu-2", "--no-positive", "skip", "--quiet"]
    assert cli.main([*options, "--segments", "--format", "json"]) == 0
    expected = json.loads(capsys.readouterr().out)["segments"]
    lines = []
    for name, more in (("whole", []), ("ranges", ["--engine", "local"])):
        assert cli.main([*options, "--segments-to", str(tmp_path / name), *more]) == 0
        assert "segments" not in capsys.readouterr().out
        parts = sorted((tmp_path / name).glob("part-*"))
        lines.append([json.loads(line) for part in parts for line in part.read_text().splitlines()])
    assert lines[0] == lines[1]
    assert sorted(lines[0], key=lambda row: row["metric"]) == expected
    assert lines[0][0]["score"] is None  # dbleu-2 was told to skip it
    assert cli.main([*options, "--segments-to", str(tmp_path / "whole"), "--lowercase"]) == 2
    assert "whole holds the finished result of other work" in capsys.readouterr().err


def test_interrupted_work_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write(tmp_path, SEGMENTS)
    kept, out = tmp_path / "kept", tmp_path / "out"
    score_files(files, make_metrics, segments_to=out)
    expected = contents(out)
    for path in out.iterdir():
        path.unlink()
    scored: list[str] = []
    stop = True
    usual = ScoreRange.__call__

    def told(self: ScoreRange, placed: Placed, metrics: Mapping[str, Metric]) -> RangeScores:
        scored.append(str(placed))
        if stop and len(scored) == 4:
            raise KeyboardInterrupt
        return usual(self, placed, metrics)

    monkeypatch.setattr(ScoreRange, "__call__", told)

    def again() -> list[str]:
        scored.clear()
        with engine("local") as here:
            score_files(files, make_metrics, here, segments_to=out, keep=kept)
        return list(scored)

    with pytest.raises(KeyboardInterrupt):
        again()
    assert len(list(out.iterdir())) == 3
    with pytest.raises(DataError, match="not finished"):
        next(read_segment_scores(out))
    stop = False
    assert again() == ["lines 61 to 80", "lines 81 to 90"]
    assert contents(out) == expected
    assert again() == []
    assert contents(out) == expected
    sorted(out.glob("part-*"))[2].unlink()
    assert again() == ["lines 41 to 60"]
    lines = (tmp_path / "t").read_text().splitlines()
    (tmp_path / "t").write_text("".join(f"{line}\n" for line in [*lines[:45], "c c c", *lines[46:]]))
    assert again() == ["lines 41 to 60"]
    assert len(contents(out)) == len(expected)
    assert contents(out) != expected


def test_ranges_that_are_left_out_leave_no_parts(tmp_path: Path) -> None:
    files = write(tmp_path, SEGMENTS)
    lines = (tmp_path / "q").read_bytes().split(b"\n")
    (tmp_path / "q").write_bytes(b"\n".join([*lines[:44], b"\xff", *lines[45:]]))
    with engine("local") as here, pytest.warns(TrubleuWarning, match="1 of 5 partitions were left out"):
        score_files(files, make_metrics, here, segments_to=tmp_path / "out", skip_bad=True)
    assert sorted(name[:13] for name in contents(tmp_path / "out")) == [
        "manifest.json",
        *(f"part-0000000{number}" for number in range(4)),
    ]
    ids = list(dict.fromkeys(row.id for row in read_segment_scores(tmp_path / "out")))
    assert ids == [str(number + 1) for number in range(SEGMENTS) if not 40 <= number < 60]
    assert json.loads(contents(tmp_path / "out")["manifest.json"])["left_out"] == [{"first": 41, "last": 60}]


def test_what_was_scored_beside_bad_ranges_is_not_scored_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write(tmp_path, SEGMENTS)
    lines = (tmp_path / "q").read_bytes().split(b"\n")
    (tmp_path / "q").write_bytes(b"\n".join([*lines[:44], b"\xff", *lines[45:]]))
    scored: list[str] = []
    usual = ScoreRange.__call__

    def told(self: ScoreRange, placed: Placed, metrics: Mapping[str, Metric]) -> RangeScores:
        scored.append(str(placed))
        return usual(self, placed, metrics)

    monkeypatch.setattr(ScoreRange, "__call__", told)
    found = []
    for number in (9, 1):
        scored.clear()
        with engine("local") as here, pytest.warns(TrubleuWarning, match="1 of 5 partitions were left out"):
            score_files(files, make_metrics, here, segments_to=tmp_path / "out", keep=tmp_path / "kept", skip_bad=True)
        assert len(scored) == number
        found.append(contents(tmp_path / "out"))
    assert scored == ["lines 41 to 60"]
    assert found[0] == found[1]


def test_what_is_no_number_is_null() -> None:
    lines = segment_lines(["1", "2"], {("m", "s"): [float("nan"), float("inf")]})
    assert [json.loads(line, parse_constant=pytest.fail)["score"] for line in lines] == [None, None]
