"""Judging on a real cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import trubleu
from tests.judge.world import make_world
from trubleu.execution import Engine, engine
from trubleu.judge import Protocol, judge_pairs
from trubleu.judge.pairs import observations

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("default:::ray")


@pytest.mark.usefixtures("connected")
def test_agreement_is_that_of_one_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(observations, "SLICE_AIM", 0)  # slices of 32
    world = make_world(segments=24)

    def judged(place: Engine | None, keep: Path | None) -> dict[str, object]:
        return judge_pairs(
            *(world.systems, world.references, world.ratings, {"dbleu-2": trubleu.metric("dbleu-2")}),
            conditions=["all"],
            protocol=Protocol(unit=4, draws=70, resamples=70, sweeps=("order",), sweep_draws=3, sweep_resamples=3),
            engine=place,
            keep=keep,
        ).to_dict()

    with engine("ray") as there:
        assert judged(there, tmp_path) == judged(None, None)
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 3 + 3 + 4
    judged(None, tmp_path)
    assert sorted(tmp_path.iterdir()) == kept  # all of it is found here
