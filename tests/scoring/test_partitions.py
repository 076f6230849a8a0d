"""Scores of ranges of lines are those of the whole, bit by bit, whoever works and whatever happens to them."""

from __future__ import annotations

import errno
import os
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.scoring.corpora import SAMPLING, make_metrics, whole, write
from trubleu import cli
from trubleu.errors import BadPartitionsError, DataError, EngineError, TrubleuWarning, UsageError
from trubleu.execution import engine, hashing
from trubleu.execution.cache import Cache
from trubleu.metrics import Bleu
from trubleu.metrics.registry import metrics_by_name
from trubleu.render.scores import render_scores
from trubleu.scoring import Sampling, partitions, score_files, score_parts
from trubleu.scoring.partitions import ScoreRange
from trubleu.scoring.systems import LeftOutRow
from trubleu.stats import sample
from trubleu.text import sacrebleu

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trubleu.execution import Engine
    from trubleu.metrics import Metric
    from trubleu.scoring import ScoreReport
    from trubleu.scoring.partitions import Placed, RangeScores


@pytest.fixture(scope="module")
def two() -> Iterator[Engine]:
    with engine("local:2") as found:
        yield found


@pytest.mark.parametrize("rows", [1, 7, 50, 999])
def test_ranges_of_any_size_in_this_process(tmp_path: Path, rows: int) -> None:
    files = write(tmp_path, 100)
    with engine("local") as here:
        found = score_files(files, make_metrics, here, sampling=SAMPLING, rows=rows)
    assert found == whole(files)
    assert found == score_files(files, make_metrics, sampling=SAMPLING, rows=rows)


def test_chunks_and_blocks_are_cut_anywhere(tmp_path: Path, two: Engine) -> None:
    """With ranges that fit neither chunks of 65,536 rows nor the 10,000 blocks of more than a million."""
    files = write(tmp_path, 1_000_003, names="rs")
    make = partial(metrics_by_name, {"sbleu-2": {}})
    sampling = Sampling(interval=True, resamples=40)
    found = score_files(files, make, two, sampling=sampling, rows=149_999)
    assert found == score_parts(files.counted(), ["s"], 1_000_003, make(), sampling=sampling)
    assert found.blocks == 10_000


def test_workers_that_are_killed_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write(tmp_path, 500)
    make = partial(metrics_by_name, {"tests.execution.functions:Fatal": {}})
    monkeypatch.chdir(tmp_path)
    Path("deaths").mkdir()
    with engine("local:2") as processes:
        found = score_files(files, make, processes, sampling=SAMPLING, rows=100)
    assert len(list(Path("deaths").iterdir())) == 2
    assert found == score_files(files, make, sampling=SAMPLING)


def test_scores_of_segments_come_in_the_usual_order(tmp_path: Path, two: Engine) -> None:
    files = write(tmp_path, 90)
    one_part = score_parts(files.counted(), ["s", "t"], 90, make_metrics(), segments=True)
    assert score_files(files, make_metrics, two, segments=True, rows=20) == one_part
    assert len(one_part.segments) == 90 * 2 * 2


def test_a_bad_range_is_named_or_left_out(tmp_path: Path, two: Engine) -> None:
    files = write(tmp_path, 100)
    lines = (tmp_path / "q").read_bytes().split(b"\n")
    (tmp_path / "q").write_bytes(b"\n".join([*lines[:44], b"\xff", *lines[45:]]))
    with pytest.raises(BadPartitionsError, match=r"1 of 5 .*lines 41 to 60 \(.*q:45: byte .* is not valid UTF-8"):
        score_files(files, make_metrics, two, sampling=SAMPLING, rows=20)
    with pytest.raises(DataError, match=r"^\S*q:45: byte"):
        score_files(files, make_metrics, rows=20)
    with pytest.warns(TrubleuWarning, match="1 of 5 partitions were left out: lines 41 to 60"):
        found = score_files(files, make_metrics, two, sampling=SAMPLING, rows=20, skip_bad=True)
    for path in map(Path, files.paths):
        kept = path.read_bytes().split(b"\n")
        path.write_bytes(b"\n".join(kept[:40] + kept[60:]))
    assert found.left_out == (LeftOutRow(first=41, last=60),)
    assert replace(found, left_out=()) == whole(files)
    assert found.to_dict()["left_out"] == [{"schema": 1, "first": 41, "last": 60}]
    assert '"left_out": [' in render_scores(found, "json")
    assert "left out, as they cannot be used: 20 lines (41 to 60)" in render_scores(found)
    (tmp_path / "wr").write_text("7\n" * 80)
    with pytest.warns(TrubleuWarning), pytest.raises(DataError, match="no range of lines that can be used"):
        score_files(files, make_metrics, two, rows=20, skip_bad=True)
    with pytest.raises(UsageError, match=r"only an engine leaves out ranges \(skip_bad\)"):
        score_files(files, make_metrics, skip_bad=True)


@pytest.mark.parametrize("where", ["keep", "segments_to"])
def test_a_full_disk_changes_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    files = write(tmp_path, 100)
    Cache().key(tmp_path)  # which is written once
    usual, done = os.fsync, []

    def full(descriptor: int) -> None:
        done.append(descriptor)
        if len(done) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        usual(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    folder = tmp_path / "there"
    with engine("local") as here, pytest.raises(EngineError, match=r"there.* cannot be written: No space left"):
        score_files(files, make_metrics, here, rows=20, skip_bad=True, **{where: folder})  # type: ignore[arg-type]
    assert not (folder / "manifest.json").exists()
    assert len(list(folder.iterdir())) == 2


def test_folders_are_checked_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, 10)
    (tmp_path / "file").touch()
    monkeypatch.setattr(partitions, "counted_on", None)
    for option in ("--resume", "--segments-to"):
        for place, message in (
            ("file", "cannot be created: File exists"),
            ("no/such", "cannot be created: No such file"),
        ):
            code, _, error = run(tmp_path, "--engine", "local", option, str(tmp_path / place), capsys=capsys)
            assert (code, message in error) == (2, True)


def test_workers_must_make_the_same_metrics(tmp_path: Path) -> None:
    """As with another file of vectors under the same path."""
    files = write(tmp_path, 10).counted()
    made: list[int] = []

    def make() -> dict[str, Metric]:
        made.append(0)
        return metrics_by_name({"bleu-2": {"lowercase": len(made) > 1}})

    what = r"the metric bleu-2 is bleu-2\|.*case:lc.* on the node \S+, but bleu-2\|.*case:mixed"
    with engine("local") as here, pytest.raises(UsageError, match=what):
        score_files(files, make, here, skip_bad=True)


def test_finished_ranges_are_not_scored_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two: Engine) -> None:
    files = write(tmp_path, 100)
    kept = tmp_path / "kept"
    with_workers = score_files(files, make_metrics, two, sampling=SAMPLING, rows=20, keep=kept)
    results = sorted(kept.iterdir())
    assert len(results) == 5
    scored: list[str] = []
    usual = ScoreRange.__call__

    def told(self: ScoreRange, placed: Placed, metrics: Mapping[str, Metric]) -> RangeScores:
        scored.append(str(placed))
        return usual(self, placed, metrics)

    monkeypatch.setattr(ScoreRange, "__call__", told)

    def again() -> tuple[ScoreReport, list[str]]:
        scored.clear()
        with engine("local") as here:
            return score_files(files, make_metrics, here, sampling=SAMPLING, rows=20, keep=kept), list(scored)

    assert again() == (with_workers, [])
    assert with_workers == whole(files)
    results[0].write_bytes(results[0].read_bytes()[:-1] + b"x")
    found, done = again()
    assert (found, len(done)) == (with_workers, 1)
    lines = (tmp_path / "t").read_text().splitlines()
    (tmp_path / "t").write_text("".join(f"{line}\n" for line in [*lines[:45], "c c c", *lines[46:]]))
    assert again() == (whole(files), ["lines 41 to 60"])
    with monkeypatch.context() as patch:
        patch.setattr(hashing, "code_digest", lambda: "other code")
        assert len(again()[1]) == 5
    with pytest.raises(UsageError, match="scores of segments are kept in files only"):
        score_files(files, make_metrics, two, segments=True, keep=kept)
    with pytest.raises(DataError, match=r"the folder .*none/kept cannot be created: No such file"):
        score_files(files, make_metrics, two, keep=tmp_path / "none" / "kept")


def test_another_model_of_a_tokenizer_is_other_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, usual = write(tmp_path, 20), sacrebleu.load("char")
    make = partial(metrics_by_name, {"bleu-2": {"tokenize": "char"}})
    for model, kept in (("a", 1), ("a", 1), ("b", 2)):
        monkeypatch.setattr(sacrebleu, "load", lambda _name, model=model: usual._replace(model=model))
        with engine("local") as here:
            score_files(files, make, here, keep=tmp_path / "kept")
        assert len(list((tmp_path / "kept").iterdir())) == kept


def test_what_is_kept_holds_blocks_and_warnings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "BLOCK_THRESHOLD", 50)
    monkeypatch.setattr(sample, "BLOCK_COUNT", 30)
    files = write(tmp_path, 100)
    (tmp_path / "r").write_text("\n" + "".join((tmp_path / "r").read_text().splitlines(keepends=True)[1:]))
    with pytest.warns(TrubleuWarning, match="empty references"):
        expected = whole(files)
    for _ in range(2):
        with engine("local") as here, pytest.warns(TrubleuWarning, match=r"empty references .*: 1$"):
            found = score_files(files, make_metrics, here, sampling=SAMPLING, rows=17, keep=tmp_path / "kept")
        assert found == expected
        assert found.blocks == 30


class Warned(Bleu):
    """BLEU with warnings of others."""

    def statistics(self, *arguments: Any, **options: Any) -> Any:
        warnings.warn("this will change", FutureWarning, stacklevel=1)
        warnings.warn("that, too", Foreign, stacklevel=1)
        return super().statistics(*arguments, **options)


class Foreign(UserWarning):
    """A warning of somebody else."""


def test_warnings_of_others_are_kept(tmp_path: Path) -> None:
    files = write(tmp_path, 10)
    for _ in range(2):
        with engine("local") as here, pytest.warns() as told:
            score_files(files, lambda: {"mine": Warned(2)}, here, keep=tmp_path / "kept")
        assert [str(each.message) for each in told] == ["this will change", "that, too"]
        assert told[0].category is FutureWarning
        assert issubclass(told[1].category, UserWarning)
        assert len(list((tmp_path / "kept").iterdir())) == 1


def test_warnings_of_all_ranges_add_up(tmp_path: Path, two: Engine) -> None:
    files = write(tmp_path, 100)
    lines = (tmp_path / "r").read_text().splitlines()
    (tmp_path / "r").write_text("".join(f"{'' if number % 10 == 0 else line}\n" for number, line in enumerate(lines)))
    with pytest.warns(TrubleuWarning, match=r"empty references? .*: 10$") as told:
        score_files(files, make_metrics, two, rows=30)
    assert len(told) == 1


def test_files_must_fit(tmp_path: Path, two: Engine) -> None:
    files = write(tmp_path, 10)
    (tmp_path / "s").write_text("a\n" * 9)
    with pytest.raises(DataError, match=r"s has 9 lines but .*r has 10; every file"):
        score_files(files, make_metrics, two)


# The command


def run(folder: Path, *more: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = cli.main(["score", "--ref", str(folder / "r"), str(folder / "s"), "--format", "json", *more])
    out, error = capsys.readouterr()
    return code, out, error


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, 100)
    options = ["-m", "bleu-2", "-m", "sbleu-2[variant=nakov]", "--lowercase", "--ci", "--resamples", "50"]
    code, alone, _ = run(tmp_path, *options, capsys=capsys)
    assert (code, alone != "") == (0, True)
    assert run(tmp_path, *options, "--engine", "local:2", capsys=capsys) == (0, alone, "")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--skip-bad"], "--skip-bad goes with --engine"),
        (["--resume", "kept"], "--resume goes with --engine"),
        (["--engine", "cloud"], "there is no engine 'cloud'"),
        (["--engine", "local", "missing.txt"], "missing.txt: there is no such file"),
        (["--engine", "local", "-"], "standard input) cannot be cut into ranges; put it into a file"),
        (["--engine", "local", "n" * 300], "cannot be read: File name too long"),
        (["n" * 300], "cannot be read: File name too long"),
        (["--segments", "--segments-to", "there"], "--segments and --segments-to both ask"),
    ],
)
def test_what_the_command_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    write(tmp_path, 10)
    code, out, error = run(tmp_path, *more, capsys=capsys)
    assert (code, out) == (2, "")
    assert message in error
    assert error.count("\n") == 1
