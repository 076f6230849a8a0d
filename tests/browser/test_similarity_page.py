"""The page of explanations of trubleu, as a browser shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.explain.test_similarity import VECTORS
from tests.judge.example import HOSTILE
from trubleu.data import References
from trubleu.explain import explain
from trubleu.metrics.trubleu import TruBleu
from trubleu.render import render_explanation_page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browser.conftest import Scheme, Visit

    Opener = Callable[..., Visit]

HEBREW = "זה היה טוב"


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    references = References(
        ["it was great !", "it was awful", HOSTILE, "w" * 300, f"{HEBREW} מאוד"],
        [0, 5],
        [1.0, -0.5, 0.3, 0.1, 0.2],
        ids=["m1"],
        messages=["how was it ?"],
        contexts=[("hello", HEBREW)],
        origins=["seed", None, None, None, None],
    )
    metric = TruBleu(vectors=VECTORS)
    outputs = {"A": "it was so good", "B": HOSTILE, "C": HEBREW, "D": "v" * 300, "E": "it was awful"}
    found = {name: [explain(metric, text, references)] for name, text in outputs.items()}
    path = tmp_path_factory.mktemp("similarity") / "page.html"
    path.write_text(render_explanation_page(found), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [320, 360, 900, 1280])
def test_it_fits_the_window_and_fetches_nothing(visit: Opener, page_file: Path, width: int) -> None:
    seen = visit(page_file, width=width)
    seen.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert seen.overflow() <= 0
    hidden = "all => all.filter(one => one.clientHeight + 1 < one.scrollHeight).map(one => one.textContent)"
    assert seen.page.locator(".compared .status").evaluate_all(hidden) == []
    assert seen.requests == [seen.address]
    assert seen.problems == []
    assert seen.page.evaluate("window.flag") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_tell_good_from_bad_and_text_stands_out(visit: Opener, page_file: Path, scheme: Scheme) -> None:
    seen = visit(page_file, scheme=scheme)
    assert seen.background(".words .run.w20.pos") != seen.background(".words .run.w0.neg")
    assert seen.background(".words .run.w20.pos") != seen.background(".words .run.near")
    for selector in ("p", "h1, h2, h3, h4", "td, th, dt", ".run", ".weight", ".note", ".label", "summary"):
        assert min(seen.contrasts(selector)) >= 4.5, selector


def test_a_word_and_its_partner_light_up(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    block = seen.page.locator(".compared").first
    output, reference = block.locator(".words").first, block.locator(".words").last
    status = block.locator(".status")
    idle = status.text_content() or ""
    assert idle.startswith("F values: words 0.")
    output.get_by_text("good", exact=True).hover()
    expect(status).to_have_text("“good”, which weighs 2.00, met “great” in #1, which weighs 2.00: similarity 0.76")
    expect(reference.locator(".lit")).to_have_text(["great"])
    reference.get_by_text("!", exact=True).hover()
    expect(status).to_contain_text("was met by no word of the output")
    expect(block.locator(".lit")).to_have_text(["!"])
    # What was clicked or tapped stays until Escape.
    output.get_by_text("so", exact=True).click()
    seen.page.mouse.move(0, 0)
    expect(status).to_contain_text("met no word of #1")
    seen.page.keyboard.press("Escape")
    expect(status).to_have_text(idle)


def test_arrow_keys_go_from_word_to_word(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    blocks = seen.page.locator("section.system").first.locator(".compared")
    words, status = blocks.first.locator(".t"), blocks.first.locator(".status")
    words.first.focus()
    expect(status).to_contain_text("“it”")
    seen.page.keyboard.press("ArrowRight")
    assert words.nth(1).evaluate("one => one === document.activeElement")
    expect(status).to_contain_text("“was”")
    for _ in range(3):  # on to the reference
        seen.page.keyboard.press("ArrowRight")
    expect(status).to_contain_text("“it” of #1")
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Tab")
    assert blocks.nth(1).locator(".t").first.evaluate("one => one === document.activeElement")


def test_texts_from_right_to_left(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    system = seen.page.locator("section.system").nth(2)
    for text in (system.locator(".output"), system.locator(".compared .words").first):
        assert text.evaluate("one => getComputedStyle(one).direction") == "rtl"
    words = system.locator(".compared").first.locator(".t")
    first, second = words.first.bounding_box(), words.nth(1).bounding_box()
    assert first is not None
    assert second is not None
    assert first["x"] > second["x"]
    words.first.focus()
    seen.page.keyboard.press("ArrowLeft")
    assert words.nth(1).evaluate("one => one === document.activeElement")


def test_without_scripts_pairs_are_listed(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file, scripts=False)
    block = seen.page.locator(".compared").first
    row = block.locator("tbody tr").nth(3)
    expect(row).to_be_hidden()
    block.locator("summary").click()
    expect(row).to_be_visible()
    expect(row.locator("td")).to_have_text(["good", "2.00", "great", "2.00", "0.765"])
