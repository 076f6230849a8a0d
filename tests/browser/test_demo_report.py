"""The demo's report, as a browser shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.demo.example import results
from trubleu.demo.page import render_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browser.conftest import Scheme, Visit

    Opener = Callable[..., Visit]


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "report.html"
    path.write_text(render_report(results()), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_the_window_and_fetches_nothing(visit: Opener, report: Path, width: int) -> None:
    seen = visit(report, width=width)
    seen.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert seen.overflow() <= 0
    assert seen.requests == [seen.address]
    assert seen.problems == []
    assert seen.page.evaluate("window.flag") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(visit: Opener, report: Path, scheme: Scheme) -> None:
    seen = visit(report, scheme=scheme)
    for selector in ("p", "h1, h2, h3", "td, th", ".ranking li span", ".run", ".weight", ".took", "pre", "dd", "a"):
        assert min(seen.contrasts(selector)) >= 4.5, selector
    assert seen.background(".ranking li.over") != seen.background(".ranking li:not(.over)")


def test_the_parts_of_the_page_are_reached_and_words_light_up(visit: Opener, report: Path) -> None:
    seen = visit(report)
    for link in seen.page.locator("nav a").all():
        assert seen.page.locator(link.get_attribute("href") or "").count() == 1
    word = seen.page.locator("section.system .output .t").first
    word.hover()
    assert seen.page.locator(".lit").count() >= 1
    assert "earns" in (seen.page.locator("#status").text_content() or "")
