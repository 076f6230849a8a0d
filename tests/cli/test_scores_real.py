"""Published scores of learned metrics: the systems' scores are those that their authors published."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main

if TYPE_CHECKING:
    from pathlib import Path

SYSTEMS = ("GPT4-5shot", "ONLINE-W", "AIRC")


@pytest.mark.parametrize("metric", ["COMET-refA", "MetricX-23-refA", "BERTscore-refA", "CometKiwi-src"])
def test_means_of_systems(real_data: Path, capsys: pytest.CaptureFixture[str], metric: str) -> None:
    folder = real_data / "mtme" / "wmt23"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    outputs = [str(folder / "system-outputs" / "en-de" / f"{system}.txt") for system in SYSTEMS]
    scores = folder / "metric-scores" / "en-de" / f"{metric}.seg.score"
    references = str(folder / "references" / "en-de.refA.txt")
    call = ["score", "--ref", references, *outputs, "--scores", str(scores), "-m", "bleu-1", "-f", "json", "--quiet"]
    assert main(call) == 0
    found = {row["system"]: row for row in json.loads(capsys.readouterr().out)["scores"] if row["metric"] == metric}
    lines = scores.with_name(f"{metric}.sys.score").read_text().splitlines()
    published = dict(line.split("\t") for line in lines)
    for system in SYSTEMS:
        assert found[system]["score"] == pytest.approx(float(published[system]), abs=1e-9)
