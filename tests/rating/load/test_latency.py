"""How long 100 raters at the pace of people wait for an answer to be acknowledged and for the next task.

At full size, 95 % of the answers must be acknowledged within 50 ms; on a machine that is busy otherwise they are not.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import numpy as np

from tests.rating.load.harness import SOAK, new_study, report
from tests.rating.load.rig import Browser, ServerProcess, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import httpx
    import pytest

RATERS, ITEMS, WANTED, SECONDS = (100, 500, 5, 5.0) if SOAK else (6, 20, 3, 0.1)
ARRIVAL = 10.0 if SOAK else 0.0  # seconds in which all come in at the same moment, which are measured apart


def test_how_long_raters_wait(
    new_url: Callable[[], str | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: dict[str, list[tuple[float, float]]] = {"POST /answer": [], "GET /rate": []}
    usual = Browser._request

    def timed(
        browser: Browser, method: str, path: str, fields: Mapping[str, str] | None, wait: object = None
    ) -> httpx.Response:
        began = time.perf_counter()
        response = usual(browser, method, path, fields, wait)
        waited.get(f"{method} {path}", []).append((began, 1000 * (time.perf_counter() - began)))
        return response

    monkeypatch.setattr(Browser, "_request", timed)
    with new_study(tmp_path / "study", new_url(), items=ITEMS, raters=WANTED, lease_minutes=10) as study:
        with ServerProcess(study.folder) as server:
            done = simulate(study, RATERS, urls=[server.url], at_once=RATERS, seconds=SECONDS)
        assert done.missing == 0
        assert len(waited["POST /answer"]) >= ITEMS * WANTED
        first = min(began for times in waited.values() for began, _ in times)
        figures = {
            f"{what}, p{percent}, ms": round(
                float(np.percentile([each for began, each in times if began >= first + ARRIVAL], percent)), 1
            )
            for what, times in waited.items()
            for percent in (50, 95, 99)
        }
        load = round(os.getloadavg()[1], 1)
        report(f"{study.store.dialect}, {RATERS} raters at the pace of people", study, done, **figures, load=load)
        assert not SOAK or figures["POST /answer, p95, ms"] <= 50, f"the load average is {load}"
