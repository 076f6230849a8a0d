"""WMT23 English-German in mt-metrics-eval's layout: imported, judged, and held against mt-metrics-eval itself."""

from __future__ import annotations

import csv
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pytest

from trubleu.cli import main

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

Values = dict[str, dict[str, float]]
"""By measure, and then by metric."""


def blocks(path: Path) -> dict[str, list[float | None]]:
    """Read the scores of each system."""
    found: dict[str, list[float | None]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        system, score = line.split("\t")
        found.setdefault(system, []).append(None if score == "None" else float(score))
    return found


@pytest.fixture(scope="module")
def judged(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Values:
    """Import the set and judge its metrics; return the values."""
    folder = tmp_path_factory.mktemp("wmt23")
    main(["import", "mtme", str(real_data / "mtme"), "--language-pair", "en-de", "--out", str(folder / "set")])
    command = ["judge", "ratings", str(folder / "set"), "-m", "chrf", "--resamples", "20", "--trials", "20", "--quiet"]
    main([*command, "--format", "csv", "--digits", "17", "--out", str(folder / "report.csv")])
    found: Values = defaultdict(dict)
    with (folder / "report.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["table"] == "measures":
                found[f"{row['level']} {row['measure']}"][row["metric"]] = float(row["value"])
    return found


@pytest.mark.filterwarnings("ignore:An input array is constant")
def test_all_measures_are_those_of_mt_metrics_eval(
    judged: Values, real_data: Path, mt_metrics_eval: ModuleType
) -> None:
    wmt23 = real_data / "mtme" / "wmt23"
    people = blocks(wmt23 / "human-scores" / "en-de.mqm.seg.score")
    del people["refA"]
    # The file holds sums of tenths with errors of rounding, such as -25.200000000000003.
    gold = [None if score is None else round(10 * score) / 10 for scores in people.values() for score in scores]
    rated = np.array([score is not None for score in gold]).reshape(len(people), -1)
    means = np.array([score or 0.0 for score in gold]).reshape(rated.shape).sum(axis=1) / rated.sum(axis=1)
    paths = sorted((wmt23 / "metric-scores" / "en-de").glob("*.seg.score"))
    assert len(paths) == 13
    for path in paths:
        name, scores = path.name.rpartition("-")[0], blocks(path)
        own = [score for system in people for score in scores[system]]
        peer = mt_metrics_eval.Correlation(len(people), gold, own)
        table = np.array(own, float).reshape(rated.shape)
        systems = (means.tolist(), np.where(rated, table, 0.0).sum(axis=1) / rated.sum(axis=1))
        of_systems = mt_metrics_eval.Correlation(len(people), systems[0], systems[1].tolist())
        agreed, pairs = mt_metrics_eval.Agreement(*systems)
        wanted = {
            "segment acc-eq": peer.KendallVariants("item", "acc23")[0],
            "segment acc-eq-calibrated": peer.KendallWithTiesOpt("item", "acc23", 1.0)[0],
            "system pearson": of_systems.Pearson()[0],
            "system spearman": of_systems.Spearman()[0],
            "system kendall": of_systems.Kendall()[0],
            "system pairwise-accuracy": agreed / pairs,
        }
        for grouping, average in {"pooled": "none", "item": "item", "system": "sys"}.items():
            wanted |= {
                f"segment pearson-{grouping}": peer.Pearson(average)[0],
                f"segment spearman-{grouping}": peer.Spearman(average)[0],
                f"segment kendall-{grouping}": peer.Kendall(average)[0],
                f"segment kendall-c-{grouping}": peer.Kendall(average, "c")[0],
            }
        assert {measure: judged[measure][name] for measure in wanted} == pytest.approx(wanted, abs=1e-9)
        soft = judged["system soft-pairwise-accuracy"][name]
        assert soft == pytest.approx(peer.PairwiseConfidenceError()[0], abs=0.003)
