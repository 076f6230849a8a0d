"""The page about metrics and people, as a browser shows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.judge.example import HOSTILE, make_report
from trubleu.data import Ratings, SegmentScores
from trubleu.judge import judge_ratings
from trubleu.judge.pairs.results import Measure
from trubleu.render.judge_pairs import render_judge_page
from trubleu.render.judge_ratings import render_ratings_page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browser.conftest import Scheme, Visit

    Opener = Callable[..., Visit]


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("judge") / "report.html"
    page = render_judge_page(make_report(), measure=Measure(metric="dbleu-2", condition="all"))
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def shown(page_file: Path) -> int:
    """How many observations the page holds."""
    return page_file.read_text(encoding="utf-8").count("<article ")


def ids(visit: Visit) -> list[str]:
    found: list[str] = visit.page.locator("article:visible").evaluate_all("all => all.map(one => one.dataset.id)")
    return found


def numbers(visit: Visit, name: str) -> list[float]:
    found: list[float] = visit.page.locator("article:visible").evaluate_all(
        "(all, name) => all.map(one => Number(one.dataset[name]))", name
    )
    return found


BROKEN_WORDS = """headings => headings.flatMap(heading => {
  const text = heading.firstChild;
  if (text?.nodeType !== Node.TEXT_NODE) return [];
  return [...text.data.matchAll(/[A-Za-z]{2,12}/g)].filter(word => {
    const range = document.createRange();
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    return new Set([...range.getClientRects()].map(box => box.top)).size > 1;
  }).map(word => word[0]);
})"""


def test_nothing_is_fetched_and_nothing_goes_wrong(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    expect(seen.page.locator("article:visible")).to_have_count(25)
    seen.page.locator("#words").fill("food")
    seen.page.locator("#sort").select_option("id")
    assert seen.requests == [seen.address]
    assert seen.problems == []


def test_words_are_looked_for_in_ids_messages_outputs_and_references(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    words = seen.page.locator("#words")
    words.fill("s17")
    assert set(ids(seen)) == {"s17"}
    words.fill("HER song")
    found = ids(seen)
    assert found
    assert all(int(name[1:]) % 7 == 5 for name in found)
    words.fill("window.flag onerror")  # only in the second segment's texts, as they were written
    assert set(ids(seen)) == {"s2"}
    words.fill("no such words anywhere")
    assert ids(seen) == []
    expect(seen.page.locator("#none")).to_be_visible()
    expect(seen.page.locator("#count")).to_have_text(re.compile(r"^0 shown of 0 that fit, of \d+ on this page$"))
    seen.page.locator("button[type=reset]").click()
    expect(seen.page.locator("article:visible")).to_have_count(25)
    expect(seen.page.locator("#none")).to_be_hidden()


def test_pairs_and_kinds_are_filtered(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    seen.page.locator("#pair").select_option("1")
    assert set(numbers(seen, "pair")) == {1.0}
    named = seen.page.locator("article:visible").first.locator(".system h4 > span:first-child").all_text_contents()
    assert named == ["good", "copy"]
    seen.page.locator("#pair").select_option("")
    seen.page.locator("#kind").select_option("AB")
    kinds = seen.page.locator("article:visible").evaluate_all("all => all.map(one => one.dataset.kind)")
    assert set(kinds) == {"AB"}
    first = seen.page.locator("article:visible").first
    a, b = first.locator(".system h4 > span:first-child").all_text_contents()
    expect(first.locator(".verdict")).to_have_text(f"The metric prefers {a}, people prefer {b}.")


def test_it_sorts(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    seen.page.locator("#kind").select_option("AB BA")
    assert numbers(seen, "rank") == sorted(numbers(seen, "rank"))
    for name in ("metric", "rating"):
        seen.page.locator("#sort").select_option(name)
        values = numbers(seen, name)
        assert len(values) > 3
        assert values == sorted(values, reverse=True)
    seen.page.locator("#sort").select_option("id")
    places = [int(name[1:]) for name in ids(seen)]
    assert places == sorted(places)
    seen.page.locator("#sort").select_option("disagreement")
    assert numbers(seen, "rank") == sorted(numbers(seen, "rank"))


def test_more_are_shown_when_asked_for(visit: Opener, page_file: Path, shown: int) -> None:
    seen = visit(page_file)
    seen.page.locator("#more").click()
    expect(seen.page.locator("article:visible")).to_have_count(50)
    expect(seen.page.locator("#count")).to_have_text(f"50 shown of {shown} that fit, of {shown} on this page")
    assert seen.page.evaluate("document.activeElement === document.querySelectorAll('article:not([hidden])')[25]")
    while seen.page.locator("#more").is_visible():
        seen.page.locator("#more").click()
    expect(seen.page.locator("article:visible")).to_have_count(shown)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_matches_have_the_colour_of_their_weight(visit: Opener, page_file: Path, scheme: Scheme) -> None:
    seen = visit(page_file, scheme=scheme)
    good, bad = (seen.background(f"article .output .run.{sign}") for sign in ("pos", "neg"))
    plain = seen.background("article .system")
    assert len({good, bad, plain}) == 3
    red, _, blue = (int(part) for part in re.findall(r"\d+", good)[:3])
    assert blue > red
    red, _, blue = (int(part) for part in re.findall(r"\d+", bad)[:3])
    assert red > blue
    lines = [
        seen.page.locator(f"article .output .run.{sign}").first.evaluate(
            "one => getComputedStyle(one).textDecorationStyle"
        )
        for sign in ("pos", "neg")
    ]
    assert lines == ["solid", "wavy"]


def test_markup_from_data_is_text(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    seen.page.locator("#words").fill("window.flag")
    first = seen.page.locator("article:visible").first
    first.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    expect(first.get_by_text('<script>window.flag = "run"</script>').first).to_be_visible()
    texts = seen.page.locator("article:visible .text").all_text_contents()
    assert any(text.startswith(HOSTILE) for text in texts)
    assert seen.page.evaluate("window.flag") is None
    assert seen.page.locator("script").count() == 1
    assert seen.page.locator("img").count() == 0
    assert seen.problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(visit: Opener, page_file: Path, scheme: Scheme) -> None:
    seen = visit(page_file, scheme=scheme)
    for selector in (
        "p",
        "h1, h2, h3, h4",
        "td, th",
        ".run",
        ".weight",
        ".note",
        ".about",
        "summary",
        "select, input, button",
        "a",
    ):
        contrasts = seen.contrasts(selector)
        assert contrasts, selector
        assert min(contrasts) >= 4.5, selector
    paper = seen.background("body")
    ink = seen.page.locator(".chart .tick").first.evaluate("one => getComputedStyle(one).fill")
    light = scheme == "light"
    assert (sum(map(int, re.findall(r"\d+", paper)[:3])) > 600) == light
    assert (sum(map(int, re.findall(r"\d+", ink)[:3])) < 400) == light


@pytest.mark.parametrize("width", [360, 768])
def test_it_fits_a_narrow_window(visit: Opener, page_file: Path, width: int) -> None:
    seen = visit(page_file, width=width)
    seen.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert seen.overflow() <= 0
    for box in (
        seen.page.locator(selector).first.bounding_box() for selector in ("#words", "#sort", ".chart svg", "article")
    ):
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert seen.page.locator("thead th").locator("visible=true").evaluate_all(BROKEN_WORDS) == []


def test_labels_of_charts_do_not_touch(visit: Opener, page_file: Path) -> None:
    for width in (360, 1280):
        seen = visit(page_file, width=width)
        charts = seen.page.locator(".chart svg").evaluate_all(
            """all => all.map(chart => [...chart.querySelectorAll("text:not([transform])")].map(text => {
              const box = text.getBoundingClientRect();
              return [box.left, box.top, box.right, box.bottom];
            }))"""
        )
        assert len(charts) >= 13
        # The last label of an axis may stand out of its chart, and must not be cut.
        clipping = "all => all.map(chart => getComputedStyle(chart).overflow)"
        assert {*seen.page.locator(".chart svg").evaluate_all(clipping)} == {"visible"}
        for boxes in charts:
            for number, (left, top, right, bottom) in enumerate(boxes):
                for other in boxes[number + 1 :]:
                    assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


def test_long_numbers_leave_room_for_the_title_of_their_axis(visit: Opener, tmp_path: Path) -> None:
    cells = [(system, str(item)) for system in "ABCDE" for item in range(12)]
    rated = [1 + (place * 7) % 5 for place in range(len(cells))]
    ratings = Ratings([item for _, item in cells], [system for system, _ in cells], ["ann"] * len(cells), rated)
    scales = {"tens": -11.5, "hundreds": -115.0, "tiny": -0.00012, "millions": -1_234_567.0}
    scores = SegmentScores(
        [name for name in scales for _ in cells],
        [system for system, _ in cells] * len(scales),
        [item for _, item in cells] * len(scales),
        [unit * (1 + place % 9 / 10) for unit in scales.values() for place in range(len(cells))],
    )
    page = tmp_path / "page.html"
    page.write_text(render_ratings_page(judge_ratings({}, None, ratings, {}, scores=[scores], resamples=9, trials=9)))
    for width in (360, 1280):
        found = (
            visit(page, width=width)
            .page.locator(".chart svg")
            .evaluate_all(
                """all => all.map(chart => [
              chart.getBoundingClientRect().left,
              chart.querySelector("text[transform]").getBoundingClientRect(),
              [...chart.querySelectorAll(".tick.end")].map(text => text.getBoundingClientRect()),
            ])"""
            )
        )
        assert len(found) == len(scales)
        for left, title, numbers_shown in found:
            assert left <= title["left"]
            assert all(title["right"] <= number["left"] for number in numbers_shown)


def test_it_works_by_keyboard(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    seen.page.keyboard.press("Tab")
    assert seen.focused() == "skip"
    seen.page.locator("#words").focus()
    seen.page.keyboard.type("s1")
    assert all("1" in name for name in ids(seen))
    order = []
    for _ in range(4):
        seen.page.keyboard.press("Tab")
        order.append(seen.focused())
    assert order[:3] == ["pair", "kind", "sort"]
    seen.page.locator("#sort").focus()
    seen.page.keyboard.press("ArrowDown")
    assert seen.page.locator("#sort").input_value() == "metric"
    values = numbers(seen, "metric")
    assert values == sorted(values, reverse=True)


def test_arrow_keys_go_from_word_to_word(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    output = seen.page.locator("article:visible .system .output").filter(has=seen.page.locator(".t + .t")).first
    words = output.locator(".t")
    stops = words.evaluate_all("all => all.filter(one => one.tabIndex === 0).length")
    assert stops == 1
    words.first.focus()
    status = seen.page.locator("#status")
    expect(status).to_be_visible()
    before = status.text_content()
    assert "“" in (before or "")
    seen.page.keyboard.press("ArrowRight")
    assert words.nth(1).evaluate("one => one === document.activeElement")
    assert words.nth(1).evaluate("one => one.classList.contains('lit')")
    seen.page.keyboard.press("ArrowLeft")
    assert words.first.evaluate("one => one === document.activeElement")
    assert status.text_content() == before
    words.first.evaluate("one => one.blur()")
    expect(status).to_be_hidden()


def test_without_scripts_everything_is_listed(visit: Opener, page_file: Path, shown: int) -> None:
    seen = visit(page_file, scripts=False)
    expect(seen.page.locator("article:visible")).to_have_count(shown)
    expect(seen.page.locator("#filter")).to_be_hidden()
    expect(seen.page.locator("#more")).to_be_hidden()
