"""DSTC7's ratings: an unweighted pool wrecks BLEU, weights repair it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import trubleu
from benchmarks.real import files
from trubleu.data import Ratings, read_outputs
from trubleu.data.sets import find_set
from trubleu.judge import Protocol, judge_pairs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.filterwarnings("ignore::trubleu.TrubleuWarning")
def test_weights_repair_what_an_unweighted_pool_wrecks(real_data: Path, tmp_path: Path) -> None:
    paths = find_set(str(files.dstc7(real_data / "dstc7", tmp_path)))
    assert paths is not None
    references = trubleu.References.read(paths.references or "")
    systems = {each.name: each.texts for each in read_outputs([*paths.outputs.values()], references)}
    ratings = Ratings.read(paths.ratings, repeats="keep")
    report = judge_pairs(
        systems,
        references,
        ratings,
        {name: trubleu.metric(name, tokenize="words", lowercase=True) for name in ("bleu-2", "dbleu-2")},
        conditions=["given", "all"],
        protocol=Protocol(draws=50, resamples=50, sweeps=()),
        pool_outputs=True,
        drop_equal=["Human"],
    )
    found = {(row.metric, row.condition): row.spearman for row in report.correlations}
    assert found["bleu-2", "given"] == pytest.approx(0.70, abs=0.02)
    assert found["bleu-2", "all"] == pytest.approx(0.19, abs=0.02)
    assert found["dbleu-2", "all"] == pytest.approx(0.70, abs=0.02)
    (difference,) = [
        row
        for row in report.comparisons
        if (row.metric_x, row.metric_y, row.condition_x) == ("bleu-2", "dbleu-2", "all")
    ]
    assert difference.spearman_difference_high is not None
    assert difference.spearman_difference_high < -0.4
    (human,) = [row for row in report.systems if row.system == "Human"]
    assert human.rated == 954
    assert human.equal_share > 0.85
