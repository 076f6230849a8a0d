"""Every report on narrow screens, where what is wide scrolls in its box, and under axe-core."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import trubleu
from tests.browser import test_compare_page
from tests.browser.conftest import violations
from tests.judge import test_ratings, wmt_world
from tests.judge.example import make_report
from trubleu.explain import explain
from trubleu.judge import judge_sets
from trubleu.render import (
    render_explanation_page,
    render_judge_page,
    render_ratings_page,
    render_sets_page,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browser.conftest import Scheme, Visit

HINTS = """boxes => boxes.filter(box => box.checkVisibility()).map(box => ({
  wide: box.scrollWidth > box.clientWidth + 1,
  hint: getComputedStyle(box, "::before").content.includes("scroll sideways"),
  shadow: getComputedStyle(box).backgroundImage !== "none",
  reached: (() => { box.scrollLeft = 99999; return box.scrollLeft > 0; })(),
}))"""
ALL_TOLD = """() => [...document.querySelectorAll(".scroll")].filter(box => box.checkVisibility())
  .every(box => box.scrollWidth > box.clientWidth + 1 === "wide" in box.dataset)"""


def explanations(name: str) -> str:
    """Return a page of two systems and two segments."""
    references = trubleu.References.from_lists(
        [["the food was great and we will be back", "so so"]] * 2, [[1.0, -0.5]] * 2
    )
    outputs = {"a long name of a system": "the food was great and we will come back soon", "b": "so so food"}
    metric = trubleu.metric(name)
    return render_explanation_page(
        {system: [explain(metric, text, references, place) for place in (0, 1)] for system, text in outputs.items()}
    )


def of_sets() -> str:
    """Return a page of ten metrics with long names on one set."""
    ratings, scores, _, _ = test_ratings.world()
    names = [f"a metric with a long name {number}" for number in range(10)]
    report = test_ratings.judged(ratings, test_ratings.renamed(scores, names))
    return render_sets_page(judge_sets({"one": report}))


PAGES: dict[str, Callable[[], str]] = {
    "compare": lambda: test_compare_page.made("bleu-2"),
    # Few segments: axe-core is slow on large pages.
    "judge": lambda: render_judge_page(make_report(12, metrics=["dbleu-2"]), browse=3),
    "judge ratings": lambda: render_ratings_page(test_ratings.judged(*test_ratings.world()[:2])),
    "judge sets": of_sets,
    "judge ratings, official scores": lambda: render_ratings_page(wmt_world.judged(wmt_world.make_task())),
    "explain": lambda: explanations("dbleu-4"),
    "explain, similarity": lambda: explanations("trubleu"),
}


@pytest.fixture(scope="session", params=PAGES)
def any_page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("narrow") / "page.html"
    path.write_text(PAGES[request.param](), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_wide_tables_scroll_in_their_box_and_say_so(
    visit: Callable[..., Visit], any_page: Path, scheme: Scheme
) -> None:
    seen = visit(any_page, width=390, scheme=scheme)
    seen.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert seen.overflow() <= 0
    seen.page.wait_for_function(ALL_TOLD)  # the page looks at a box when its size has changed
    found = seen.page.locator(".scroll").evaluate_all(HINTS)
    assert any(box["wide"] for box in found)
    for box in found:
        assert box["hint"] == box["wide"] == box["reached"]
        assert box["shadow"]
    assert seen.problems == []


def test_there_is_no_hint_where_everything_fits(visit: Callable[..., Visit], any_page: Path) -> None:
    seen = visit(any_page, width=1600)
    assert not any(box["hint"] for box in seen.page.locator(".scroll").evaluate_all(HINTS) if not box["wide"])
    assert not all(box["hint"] for box in seen.page.locator(".scroll").evaluate_all(HINTS))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_axe_finds_nothing(visit: Callable[..., Visit], any_page: Path, width: int, scheme: Scheme) -> None:
    seen = visit(any_page, width=width, scheme=scheme)
    assert violations(seen.page) == []
    seen.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert violations(seen.page) == []
