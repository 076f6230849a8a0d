"""Folders, records and metrics that learn: cut into ranges, all scores are those of whole files, bit by bit."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.scoring.corpora import write
from trubleu import cli
from trubleu.cli import score
from trubleu.data import LineStream, References, corpus
from trubleu.errors import TrubleuWarning, UsageError
from trubleu.execution import engine
from trubleu.files.lines import read_text_lines
from trubleu.metrics import Bleu, registry
from trubleu.metrics.registry import metrics_by_name
from trubleu.scoring import partitions, score_files, score_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from trubleu.execution import Engine

SEGMENTS = 90
METRICS = ["-m", "dbleu-2", "-m", "sbleu-2", "--ci", "--resamples", "30"]
LEARNING = ["-m", "nist-2", "-m", "cider-d-2", "-m", "bleu-2"]


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ranges have few rows."""
    monkeypatch.setattr(partitions, "SMALLEST", 20)


@pytest.fixture(scope="module")
def two() -> Iterator[Engine]:
    with engine("local:2") as found:
        yield found


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main(["score", "--format", "json", *map(str, arguments)])
    out, error = capsys.readouterr()
    return code, out, error


def in_parts(path: Path, cuts: Sequence[int], *, packed: bool) -> Path:
    """Write the lines of a file to a folder of files."""
    lines = path.read_bytes().splitlines(keepends=True)
    folder = path.with_name(f"{path.name}-parts")
    folder.mkdir()
    for number, (begin, end) in enumerate(pairwise([0, *cuts, len(lines)])):
        data = b"".join(lines[begin:end])
        if number == 1:
            data = data.removesuffix(b"\n")  # the last line of a part need not end
        (folder / f"part-{number:05}.txt").write_bytes(gzip.compress(data) if packed else data)
    return folder


def as_records(folder: Path, ids: Sequence[str] | None = None) -> tuple[Path, Path, Path, Path]:
    """Write the corpus as JSON lines and as Parquet: references and outputs."""
    whole = References.read_parallel([folder / "r", folder / "q"], [folder / "wr", folder / "wq"])
    ids = ids or [f"segment {number}" for number in range(len(whole))]
    references = References(whole.texts, whole.offsets, whole.weights, ids=ids)
    texts = read_text_lines(folder / "s")
    paths = folder / "refs.jsonl", folder / "out.jsonl", folder / "refs.parquet", folder / "out.parquet"
    references.write(paths[0])
    references.write(paths[2])
    paths[1].write_text(
        "".join(json.dumps({"id": each, "text": text}) + "\n" for each, text in zip(ids, texts, strict=True))
    )
    pl.DataFrame({"text": texts, "id": ids}).write_parquet(paths[3], row_group_size=7)
    return paths


# Folders


@pytest.mark.parametrize("packed", [False, True])
def test_folders_are_their_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], packed: bool) -> None:
    write(tmp_path, SEGMENTS)
    plain = ["--ref", tmp_path / "r", "--weight", tmp_path / "wr", tmp_path / "s"]
    expected = run(capsys, *plain, *METRICS)
    r = in_parts(tmp_path / "r", [25, 25, 60], packed=packed)
    w = in_parts(tmp_path / "wr", [40], packed=False)
    s = in_parts(tmp_path / "s", [10, 50, 70], packed=packed)
    assert expected[0] == 0
    folders = ["--ref", r, "--weight", w, f"s={s}", *METRICS]
    assert run(capsys, *folders) == expected
    assert run(capsys, *folders, "--engine", "local") == expected


def test_a_wrong_line_of_a_folder_is_named_with_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, SEGMENTS)
    s = in_parts(tmp_path / "s", [50], packed=False)
    (s / "part-00001.txt").write_bytes(b"a\n\xff\n" + b"b\n" * 38)
    code, out, error = run(capsys, "--ref", tmp_path / "r", s)
    assert (code, out) == (2, "")
    assert error.startswith("trubleu: ")
    assert "part-00001.txt:2: byte 2 (0xff) is not valid UTF-8" in error
    (s / "part-00001.txt").unlink()
    assert f"{s} has 50 lines but {tmp_path / 'r'} has 90; every file" in run(capsys, "--ref", tmp_path / "r", s)[2]


# Records


@pytest.mark.parametrize("refs", [0, 2])
@pytest.mark.parametrize("outputs", [1, 3, "s"])
def test_records(tmp_path: Path, capsys: pytest.CaptureFixture[str], refs: int, outputs: int | str) -> None:
    write(tmp_path, SEGMENTS)
    paths = as_records(tmp_path)
    arguments = ["--refs", paths[refs], tmp_path / outputs if isinstance(outputs, str) else paths[outputs]]
    expected = run(capsys, *arguments, "--ci", "--resamples", "30", "--segments")
    assert expected[0] == 0
    assert '"metric": "dbleu-2"' in expected[1]  # there are weights
    assert run(capsys, *arguments, "--ci", "--resamples", "30", "--segments", "--engine", "local") == expected


def test_records_in_folders_with_processes(tmp_path: Path, two: Engine) -> None:
    write(tmp_path, SEGMENTS)
    refs, outputs, _, table = as_records(tmp_path)
    folder = tmp_path / "refs"
    folder.mkdir()
    lines = refs.read_text().splitlines(keepends=True)
    (folder / "a.jsonl").write_text("".join(lines[:33]))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress("".join(lines[33:]).encode()))
    make = partial(metrics_by_name, {"dbleu-2": {}})
    whole = score_parts(
        [(References.read(refs), {"a": read_text_lines(tmp_path / "s"), "b": read_text_lines(tmp_path / "s")})],
        ["a", "b"],
        SEGMENTS,
        make(),
        segments=True,
    )
    files = LineStream(references=[folder], weights=[], systems={"a": outputs, "b": table})
    assert score_files(files, make, two, segments=True, rows=11) == whole


def test_ids_must_come_in_the_same_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, SEGMENTS)
    refs, outputs, _, table = as_records(tmp_path)
    lines = outputs.read_text().splitlines(keepends=True)
    outputs.write_text("".join([*lines[:40], lines[41], lines[40], *lines[42:]]))
    assert run(capsys, "--refs", refs, outputs)[0] == 0
    code, out, error = run(capsys, "--refs", refs, outputs, "--engine", "local")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert f"out.jsonl:41 has the id 'segment 41' where {refs} has 'segment 40'" in error
    assert "sort both, or give whole files (no folder, no --engine)" in error
    pl.read_parquet(table).reverse().write_parquet(table)
    assert "out.parquet: row 1 has the id 'segment 89'" in run(capsys, "--refs", refs, table, "--engine", "local")[2]
    pl.read_parquet(table).reverse().drop("id").write_parquet(table)  # without ids they are in order
    assert run(capsys, "--refs", refs, table, "--engine", "local") == run(capsys, "--refs", refs, table)


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("out.jsonl", "", "out.jsonl:31 is blank, but here every line must hold one record"),
        ("out.jsonl", '{"text": "a"}', "out.jsonl:31: the field id is missing"),
        ("refs.jsonl", '{"id": "x", "references": []}', "refs.jsonl:31: references is empty"),
        ("refs.jsonl", "[]", "refs.jsonl:31: a line must hold one JSON object, not an array"),
    ],
)
def test_wrong_records(tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, line: str, message: str) -> None:
    write(tmp_path, SEGMENTS)
    as_records(tmp_path)
    lines = (tmp_path / file).read_text().splitlines()
    (tmp_path / file).write_text("".join(f"{each}\n" for each in [*lines[:30], line, *lines[31:]]))
    arguments = ["--refs", tmp_path / "refs.jsonl", tmp_path / "out.jsonl", "-m", "bleu", "--engine", "local"]
    code, out, error = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "1 of 5 partitions cannot be used, so there is no result: lines 21 to 40 (" in error
    assert message in error


def records(path: Path, weights: Sequence[Any]) -> Path:
    """Write references, some of which say a weight."""
    items = [{"text": "a b c"} | ({} if weight == "none" else {"weight": weight}) for weight in weights]
    path.write_text("".join(json.dumps({"id": str(i), "references": [item]}) + "\n" for i, item in enumerate(items)))
    return path


def test_weights_that_only_some_segments_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A range without any weight is one that is not rated yet, as it is in the whole file."""
    monkeypatch.setattr(corpus, "HEAD", 5)
    (tmp_path / "s").write_text("a b d\n" * 50)
    late = records(tmp_path / "late.jsonl", ["none"] * 45 + [0.5] * 5)
    early = records(tmp_path / "early.jsonl", [0.5] * 5 + ["none"] * 45)
    arguments = [tmp_path / "s", "-m", "dbleu-2", "--unrated-as", "0.25"]
    expected = run(capsys, "--refs", early, *arguments)
    assert expected[0] == 0
    assert run(capsys, "--refs", early, *arguments, "--engine", "local") == expected
    code, _, error = run(capsys, "--refs", late, *arguments, "--engine", "local")
    assert code == 2
    assert "late.jsonl:46 has weights, but the first segments of" in error


def test_what_cannot_be_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, SEGMENTS)
    refs, outputs, _, table = as_records(tmp_path)
    long, prepared, packed = tmp_path / "long.parquet", tmp_path / "refs.tbp", tmp_path / "t.parquet.gz"
    References.read(refs).to_frame(long=True).write_parquet(long)
    References.read(refs).prepare().save(prepared)
    packed.write_bytes(gzip.compress(table.read_bytes()))
    shutil.copy(refs, refs.with_name("lines"))
    for arguments, message in (
        (
            ["--refs", long, outputs],
            "long.parquet: the column references must be there; columns found: id, text, weight",
        ),
        (
            ["--refs", prepared, outputs],
            "refs.tbp is neither text nor Parquet; prepared references are read as a whole",
        ),
        (["--refs", refs, packed], "t.parquet.gz is a Parquet file that was compressed again"),
        (["--ref", refs, outputs], "refs.jsonl holds whole segments, not one reference per line"),
        (["--ref", tmp_path / "r", "--source", table, tmp_path / "s"], "out.parquet holds records, but here"),
        (["--ref", tmp_path / "r", "--ref", refs.with_name("lines"), tmp_path / "s"], "lines holds records, but here"),
    ):
        code, out, error = run(capsys, *arguments, "--engine", "local")
        assert (code, out, error.count("\n")) == (2, "", 1)
        assert message in error
    table.write_bytes(b"PAR1 and no more")
    assert "out.parquet: the Parquet data is damaged" in run(capsys, "--refs", refs, table, "--engine", "local")[2]


# Metrics that learn


def test_metrics_that_learn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, SEGMENTS)
    arguments = ["--ref", tmp_path / "r", "--ref", tmp_path / "q", tmp_path / "s", tmp_path / "t", *LEARNING]
    expected = run(capsys, *arguments)
    assert (expected[0], expected[2]) == (0, "")
    assert '"cider-d-2|' in expected[1]
    assert "learned" not in expected[1]
    assert run(capsys, *arguments, "--engine", "local") == expected
    kept_here = ["--resume", tmp_path / "kept"]
    assert run(capsys, *arguments, "--engine", "local:2", *kept_here) == (
        *expected[:2],
        "trubleu: reused 0 of 10 parts\n",
    )
    kept = sorted((tmp_path / "kept").iterdir())
    assert len(kept) == 2 * 5  # what was learned, and scores
    with monkeypatch.context() as patch:
        patch.setattr(partitions, "learn_range", partial(pytest.fail, "it was learned"))
        patch.setattr(partitions.ScoreRange, "__call__", None)
        assert run(capsys, *arguments, "--engine", "local", *kept_here) == (
            *expected[:2],
            "trubleu: reused 10 of 10 parts\n",
        )
    (tmp_path / "r").write_text((tmp_path / "r").read_text().replace("a", "f", 1))
    changed = run(capsys, *arguments, "--engine", "local", "--quiet", *kept_here)
    # What one reference says is learned from its range alone, but changes what an n-gram is worth everywhere.
    assert len(list((tmp_path / "kept").iterdir())) == len(kept) + 1 + 5
    assert changed != expected
    monkeypatch.setattr(corpus, "WORTH_STREAMING", 0)
    assert run(capsys, *arguments) == changed


def test_metrics_learn_from_what_is_not_left_out(tmp_path: Path) -> None:
    files = write(tmp_path, SEGMENTS)
    make = partial(metrics_by_name, {"nist-2": {}, "cider-2": {}})
    for name, bad in (("q", 30), ("s", 70)):
        lines = (tmp_path / name).read_bytes().split(b"\n")
        (tmp_path / name).write_bytes(b"\n".join([*lines[:bad], b"\xff", *lines[bad + 1 :]]))
    with engine("local") as here, pytest.warns(TrubleuWarning, match="partitions were left out"):
        found = score_files(files, make, here, rows=20, skip_bad=True)
    for path in (tmp_path / name for name in ("r", "q", "wr", "wq", "s", "t")):
        kept = path.read_bytes().split(b"\n")
        path.write_bytes(b"\n".join(kept[:20] + kept[40:60] + kept[80:]))
    assert replace(found, left_out=()) == score_files(files, make)
    assert [(row.first, row.last) for row in found.left_out] == [(21, 40), (61, 80)]


def test_what_was_not_learned_from_is_not_scored_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write(tmp_path, SEGMENTS)
    lines = (tmp_path / "q").read_bytes().split(b"\n")
    (tmp_path / "q").write_bytes(b"\n".join([*lines[:30], b"\xff", *lines[31:]]))
    scored: list[str] = []
    usual = partitions.ScoreRange.__call__

    def told(self: partitions.ScoreRange, placed: Any, metrics: Any) -> Any:
        scored.append(str(placed))
        return usual(self, placed, metrics)

    monkeypatch.setattr(partitions.ScoreRange, "__call__", told)
    with engine("local") as here, pytest.warns(TrubleuWarning, match="1 of 5 partitions were left out"):
        score_files(files, partial(metrics_by_name, {"nist-2": {}}), here, rows=20, skip_bad=True)
    assert scored == ["lines 1 to 20", "lines 41 to 60", "lines 61 to 80", "lines 81 to 90"]


def test_workers_elsewhere_find_what_metrics_need(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths are made absolute, which changes no signature."""
    write(tmp_path, SEGMENTS)
    monkeypatch.chdir(tmp_path)
    arguments = ["--ref", "r", "s", "-m", "nist-2", "--corpus", "q"]
    expected = run(capsys, *arguments)
    assert (expected[0], "q-" in expected[1]) == (0, True)
    given: list[dict[str, Any]] = []
    usual = registry.metrics_by_name

    def told(settings: dict[str, Any]) -> Any:
        given.append(settings)
        return usual(settings)

    monkeypatch.setattr(registry, "metrics_by_name", told)
    assert run(capsys, *arguments, "--engine", "local") == expected
    assert given[-1] == {"nist-2": {"corpus": str(tmp_path / "q")}}
    some: dict[str, dict[str, Any]] = {"bleu2vec-2": {"vectors": "ready", "oov": "0.1"}, "b": {"vectors": "q"}}
    assert score._for_others(some) == {**some, "b": {"vectors": str(tmp_path / "q")}}


def test_a_single_segment_is_too_little_for_cider(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, 1)
    arguments = ["--ref", tmp_path / "r", tmp_path / "s", "-m", "cider-2"]
    expected = run(capsys, *arguments)
    assert expected[0] == 2
    assert "there is one segment only; score more of them together" in expected[2]
    assert run(capsys, *arguments, "--engine", "local") == expected


def test_what_cannot_be_counted_cannot_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, SEGMENTS)
    folder = in_parts(tmp_path / "s", [50], packed=True)
    half = folder / "part-00001.txt"
    half.write_bytes(half.read_bytes()[:-20])
    arguments = ["--ref", tmp_path / "r", folder, "--engine", "local"]
    assert "--skip-bad" not in run(capsys, *arguments)[2]
    code, out, error = run(capsys, *arguments, "--skip-bad")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert "part-00001.txt" in error
    assert "must be counted, --skip-bad cannot leave this out" in error


class Knowing(Bleu):
    """BLEU that pretends to learn."""

    @property
    def learns(self) -> bool:
        return True


def knowing() -> dict[str, Any]:
    return {"mine": Knowing()}


def test_what_learns_in_its_own_way_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"mine needs .* does not add up over parts"):
        score_files(write(tmp_path, 10), knowing)


def test_nothing_to_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s").write_text("")
    arguments = ["--ref", tmp_path / "s", tmp_path / "s", "-m", "nist-2"]
    expected = run(capsys, *arguments)
    assert (expected[0], expected[2]) == (0, "trubleu: warning: there are no segments, and the score of nothing is 0\n")
    assert run(capsys, *arguments, "--engine", "local") == expected
