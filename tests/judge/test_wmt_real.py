"""The numbers of WMT15 and its direct assessments, where the data is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from trubleu.data import (
    Rankings,
    Ratings,
    References,
    read_assessments,
    read_official_scores,
    read_outputs,
)
from trubleu.judge import judge_ratings
from trubleu.metrics import metric

if TYPE_CHECKING:
    from pathlib import Path

    from trubleu.judge import RatingsReport

SENTENCE = "sbleu-4[variant=sacrebleu]"
PAIRS = {"de-en": ("deen-ref.en", "deu-eng"), "en-ru": ("enru-ref.ru", "eng-rus")}


def wmt15(folder: Path, pair: str, *metrics: str, **options: Any) -> RatingsReport:
    data = folder / "wmt15"
    reference, name = PAIRS[pair]
    references = References.read(data / "references" / f"newstest2015-{reference}")
    systems = read_outputs([str(path) for path in sorted((data / "system-outputs" / pair).iterdir())], references)
    return judge_ratings(
        {system.name: system.texts for system in systems},
        references,
        Rankings.read(data / "judgements" / f"wmt15.{name}.csv.gz"),
        {each: metric(each) for each in metrics},
        human=read_official_scores(data / "official_scores" / f"wmt15.{name}.txt"),
        **{"resamples": 20, "trials": 20, "segment_measure": "tau-wmt14", **options},
    )


@pytest.mark.parametrize(("pair", "r", "tau", "n"), [("de-en", 0.862, 0.327, 40_535), ("en-ru", 0.831, 0.345, 49_302)])
def test_wmt15(real_data: Path, pair: str, r: float, tau: float, n: int) -> None:
    report = wmt15(real_data, pair, "bleu-4", SENTENCE)
    assert report.measure("system", "pearson", "bleu-4").value == pytest.approx(r, abs=0.001)
    assert report.setting.official == {"de-en": 13, "en-ru": 10}[pair]
    assert report.measure("segment", "tau-wmt14", SENTENCE).value == pytest.approx(tau, abs=0.0005)
    assert report.setting.ratings == n


def test_intervals_that_draw_segments_and_systems(real_data: Path) -> None:
    row = wmt15(real_data, "de-en", "bleu-4", resample="both", resamples=1000).measure("system", "pearson", "bleu-4")
    assert [row.low, row.high] == pytest.approx([0.734, 0.966], abs=0.02)


def test_collapsing_identical_outputs_lowers_tau(real_data: Path) -> None:
    report = wmt15(real_data, "de-en", SENTENCE, identical="collapsed")
    assert report.measure("segment", "tau-wmt14", SENTENCE).value == pytest.approx(0.2708, abs=0.0005)
    assert report.setting.ratings == 21_089


@pytest.mark.filterwarnings("ignore:.*on no fixed scale")
@pytest.mark.parametrize(
    ("pair", "r"), [("cs-en", 0.493), ("de-en", 0.529), ("fi-en", 0.525), ("ru-en", 0.535), ("en-ru", 0.515)]
)
def test_direct_assessments(real_data: Path, pair: str, r: float) -> None:
    start = str(real_data / "daseg2015" / "DAseg.newstest2015")
    references = References.read(f"{start}.reference.{pair}")
    [system] = read_outputs([f"mt={start}.mt-system.{pair}"], references)
    scores = read_assessments(f"{start}.human.{pair}")
    ratings = Ratings(references.ids, ["mt"] * 500, ["mean"] * 500, scores)
    report = judge_ratings({"mt": system.texts}, references, ratings, {SENTENCE: metric(SENTENCE)}, resamples=50)
    row = report.measure("segment", "pearson-pooled", SENTENCE)
    assert report.setting.outputs == 500
    assert row.value == pytest.approx(r, abs=0.0005)
    assert [row.low, row.high] == pytest.approx([r, r], abs=0.1)
