"""The page of explanations, as a browser shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import trubleu
from tests.judge.example import HOSTILE
from trubleu.data import References
from trubleu.explain import explain
from trubleu.render import render_explanation_page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browser.conftest import Scheme, Visit

    Opener = Callable[..., Visit]


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    references = References(
        ["it was great , really", "it was so awful", HOSTILE, "w" * 300],
        [0, 4],
        [1.0, -0.5, 0.3, 0.1],
        ids=["m1"],
        messages=["how was it ?"],
        contexts=[("hello", "hi")],
    )
    metric = trubleu.metric("dbleu-2")
    found = {
        name: [explain(metric, text, references)] for name, text in (("A", "it was so awful , really"), ("B", HOSTILE))
    }
    path = tmp_path_factory.mktemp("explain") / "page.html"
    path.write_text(render_explanation_page(found), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_the_window_and_fetches_nothing(visit: Opener, page_file: Path, width: int) -> None:
    seen = visit(page_file, width=width)
    seen.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert seen.overflow() <= 0
    assert seen.requests == [seen.address]
    assert seen.problems == []
    assert seen.page.evaluate("window.flag") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_tell_weights_apart_and_text_stands_out(visit: Opener, page_file: Path, scheme: Scheme) -> None:
    seen = visit(page_file, scheme=scheme)
    assert seen.background(".output .run.pos") != seen.background(".output .run.neg")
    for selector in ("p", "h1, h2, h3, h4", "td, th", ".run", ".weight", ".note", "summary"):
        assert min(seen.contrasts(selector)) >= 4.5, selector


def test_arrow_keys_go_from_word_to_word(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    section = seen.page.locator("section.system").first
    words, status = section.locator(".output .t"), section.locator(".status")
    idle = status.text_content() or ""
    words.first.focus()
    expect(status).to_contain_text("“it”")
    seen.page.keyboard.press("ArrowRight")
    assert words.nth(1).evaluate("one => one === document.activeElement")
    expect(status).to_contain_text("“was”")
    seen.page.keyboard.press("Tab")
    expect(status).to_have_text(idle)
