"""The page of a check, as a browser shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import trubleu
from trubleu.checks import Case, Cases, Conditions, check_answers
from trubleu.checks.check import compare_cases
from trubleu.checks.history import Run
from trubleu.data.references import Reference
from trubleu.render.check import render_check_page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browser.conftest import Visit

    Opener = Callable[..., Visit]

HOSTILE = "</script><img src=x onerror='window.flag = 2'> 99 days"
METRICS = {"chrf": trubleu.metric("chrf")}


def made(*, baseline: bool) -> str:
    old = [f"Shop {at} opens at nine and closes late." for at in range(8)]
    new = [*old[:6], "Shop 6 opens at nine and closes within 60 days.", HOSTILE]
    cases = Cases(
        items=tuple(
            Case(
                id=f"q{at}",
                question=f"When does shop {at} open?",
                new=(text,),
                old=(old[at],) if baseline else (),
                references=(Reference(f"Shop {at} opens at nine.", 1.0),),
            )
            for at, text in enumerate(new)
        ),
        compared=baseline,
    )
    conditions = Conditions(resamples=50, minimum={"chrf": 1})
    report = check_answers(cases, METRICS, conditions=conditions)
    scores = {"chrf": (50.0, 40.0, 60.0)}
    runs = [Run(time=f"2026-11-1{at}T10:00:00+00:00", commit="abc", outcome="passed", scores=scores) for at in range(3)]
    return render_check_page(report, compare_cases(cases, METRICS, report), runs)


@pytest.mark.parametrize("baseline", [True, False])
def test_findings_are_a_filter_and_failing_ones_come_first(visit: Opener, tmp_path: Path, baseline: bool) -> None:
    path = tmp_path / "check.html"
    path.write_text(made(baseline=baseline), encoding="utf-8")
    seen = visit(path)
    expect(seen.page.locator("#count")).to_have_text("8 of 8 segments")
    assert set(seen.page.locator("#list .row .id").all_text_contents()[:2]) == {"q6", "q7"}
    seen.page.locator("#finding").select_option("=number")
    expect(seen.page.locator("#count")).to_have_text("2 of 8 segments")
    seen.page.locator("#words").fill("shop 6")
    expect(seen.page.locator("#detail .findings")).to_contain_text("60 days")
    expect(seen.page.locator("#detail mark.finding").first).to_have_text("60 days")
    assert seen.page.locator("#b").is_visible() == baseline
    assert seen.page.locator(".chart", has_text="run").count() == 1
    assert seen.problems == []
    assert seen.page.evaluate("window.flag") is None
