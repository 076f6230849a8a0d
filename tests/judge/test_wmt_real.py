"""The numbers of WMT15 and its direct assessments, where the data is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from trubleu.judge.wmt.judge import judge_wmt
from trubleu.judge.wmt.task import TaskFiles
from trubleu.metrics import metric

if TYPE_CHECKING:
    from pathlib import Path

    from trubleu.judge.wmt.task import WmtTask

SENTENCE = "sbleu-4[variant=sacrebleu]"
PAIRS = {"de-en": ("deen-ref.en", "deu-eng"), "en-ru": ("enru-ref.ru", "eng-rus")}


def wmt15(folder: Path, pair: str) -> WmtTask:
    data = folder / "wmt15"
    reference, name = PAIRS[pair]
    return TaskFiles(
        references=str(data / "references" / f"newstest2015-{reference}"),
        outputs=tuple(str(path) for path in sorted((data / "system-outputs" / pair).iterdir())),
        human=str(data / "official_scores" / f"wmt15.{name}.txt"),
        rankings=str(data / "judgements" / f"wmt15.{name}.csv.gz"),
    ).read(pair)


@pytest.mark.parametrize(("pair", "r", "tau", "n"), [("de-en", 0.862, 0.327, 40_535), ("en-ru", 0.831, 0.345, 49_302)])
def test_wmt15(real_data: Path, pair: str, r: float, tau: float, n: int) -> None:
    metrics = {name: metric(name) for name in ("bleu-4", SENTENCE)}
    report = judge_wmt([wmt15(real_data, pair)], metrics, resamples=20)
    system = report.agreement("system", pair, "bleu-4", "pearson")
    assert system.value == pytest.approx(r, abs=0.001)
    assert system.n == {"de-en": 13, "en-ru": 10}[pair]
    assert report.agreement("rankings", pair, SENTENCE, "wmt14").value == pytest.approx(tau, abs=0.0005)
    assert report.agreement("rankings", pair, SENTENCE, "hties").n == n
    assert report.notes[0] == "bleu-4: made for whole corpora; for single segments there is sbleu-4[variant=sacrebleu]"
    assert all("with 20 resamples" in note for note in report.notes[1:])


def test_collapsing_identical_outputs_lowers_tau(real_data: Path) -> None:
    report = judge_wmt([wmt15(real_data, "de-en")], {SENTENCE: metric(SENTENCE)}, identical="collapsed", resamples=0)
    row = report.agreement("rankings", "de-en", SENTENCE, "wmt14")
    assert row.value == pytest.approx(0.2708, abs=0.0005)
    assert report.agreement("rankings", "de-en", SENTENCE, "hties").n == 21_089
    assert report.notes == ()


@pytest.mark.parametrize(
    ("pair", "r"), [("cs-en", 0.493), ("de-en", 0.529), ("fi-en", 0.525), ("ru-en", 0.535), ("en-ru", 0.515)]
)
def test_direct_assessments(real_data: Path, pair: str, r: float) -> None:
    start = str(real_data / "daseg2015" / "DAseg.newstest2015")
    task = TaskFiles(
        references=f"{start}.reference.{pair}",
        outputs=(f"mt={start}.mt-system.{pair}",),
        assessments=(f"{start}.human.{pair}",),
    ).read(pair)
    report = judge_wmt([task], {SENTENCE: metric(SENTENCE)}, resamples=50)
    row = report.agreement("assessments", pair, SENTENCE, "pearson")
    assert row.value == pytest.approx(r, abs=0.0005)
    assert row.n == 500
    assert row.low is not None
    assert row.high is not None
    assert np.array([row.low, row.high]) == pytest.approx([r, r], abs=0.1)
