"""The page that compares systems, as a browser shows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import expect

import trubleu
from trubleu.data import References
from trubleu.explain import compare_systems
from trubleu.render import render_comparison_page
from trubleu.scoring import Sampling

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browser.conftest import Scheme, Visit

    Opener = Callable[..., Visit]

SEGMENTS: Final = 400
HOSTILE: Final = (
    "</script><script>window.flag = 1</script><img src=x onerror='window.flag = 2'> \" ' & <!-- \u2028 ${x}"
)
HEBREW: Final = "שלום \u202eעולם"
FEW: Final = Sampling(interval=True, test=True, resamples=20)


def texts() -> tuple[dict[str, list[str]], list[list[str]], list[str]]:
    places = range(SEGMENTS)
    references = [[f"the {place} cats sat on a mat", f"there were {place} cats"] for place in places]
    outputs = {
        "good": [f"the {place} cats sat on a {'mat' if place % 3 else 'hat'}" for place in places],
        "bad": [f"no {place} dogs" if place % 7 else f"the {place} cats sat on a mat" for place in places],
        "third": ["" if place % 50 == 0 else "a mat" for place in places],
    }
    outputs["good"][5] = HOSTILE
    outputs["bad"][5] = f"well {HOSTILE}"
    references[5] = [HOSTILE]
    outputs["good"][6], references[6] = [f"{HEBREW} a \ud83d b 😀 {HEBREW}", [f"{HEBREW} a \ud83d c 😀 {HEBREW}"]]
    return outputs, references, [f"m{place}" for place in places]


def made(metric: str) -> str:
    outputs, references, ids = texts()
    held = References(
        [text for row in references for text in row],
        [0, *[sum(map(len, references[: place + 1])) for place in range(SEGMENTS)]],
        ids=ids,
        messages=[f"message {place}" for place in range(SEGMENTS)],
    )
    metrics = {name: trubleu.metric(name) for name in (metric, "chrf")}
    columns = {"topic": [("food", "music")[place % 2] for place in range(SEGMENTS)]}
    return render_comparison_page(compare_systems(outputs, held, metrics, sampling=FEW, columns=columns))


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compare") / "page.html"
    path.write_text(made("bleu-2"), encoding="utf-8")
    return path


def rows(seen: Visit) -> list[str]:
    """Return the ids of the rows that are there."""
    found: list[str] = seen.page.locator("#list .row .id").all_text_contents()
    return found


def gaps(seen: Visit) -> list[float]:
    return [
        float(text.replace("−", "-"))
        for text in seen.page.locator("#list .row .gap").all_text_contents()
        if text != "–"
    ]


def shown(seen: Visit) -> str:
    """Return the id of the segment that is shown in full."""
    return seen.page.locator("#detail h3 bdi").inner_text()


def test_nothing_is_fetched_and_nothing_goes_wrong(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    expect(seen.page.locator("#count")).to_have_text(f"{SEGMENTS} of {SEGMENTS} segments")
    for name, value in (("show", "a"), ("sort", "order"), ("metric", "1"), ("b", "2"), ("bucket", "4 1")):
        seen.page.locator(f"#{name}").select_option(value)
    assert seen.requests == [seen.address]
    assert seen.problems == []


def test_only_rows_that_are_seen_exist(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    assert 5 < len(rows(seen)) < 40
    seen.page.locator("#sort").select_option("order")
    assert rows(seen)[:3] == ["m0", "m1", "m2"]
    seen.page.locator("#list").evaluate("list => { list.scrollTop = 250 * 60; }")
    expect(seen.page.locator("#row-252 .id")).to_have_text("m252")
    assert len(rows(seen)) < 40
    assert "m0" not in rows(seen)
    box, outer = seen.page.locator("#row-252").bounding_box(), seen.page.locator("#list").bounding_box()
    assert box is not None
    assert outer is not None
    assert outer["y"] <= box["y"] < outer["y"] + outer["height"]


def test_it_works_by_keyboard(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    seen.page.locator("#sort").select_option("order")
    seen.page.locator("#list").focus()
    for key, expected in (("ArrowDown", "m1"), ("j", "m2"), ("k", "m1"), ("End", "m399"), ("ArrowDown", "m399")):
        seen.page.keyboard.press(key)
        assert shown(seen) == expected
        chosen = seen.page.locator("#list").get_attribute("aria-activedescendant")
        expect(seen.page.locator(f"#{chosen} .id")).to_have_text(expected)
        expect(seen.page.locator(f"#{chosen}")).to_have_attribute("aria-selected", "true")
    seen.page.keyboard.press("Home")
    seen.page.keyboard.press("PageDown")
    assert shown(seen) not in ("m0", "m1")
    seen.page.keyboard.press("/")
    assert seen.focused() == "words"
    seen.page.keyboard.type("m31j")  # a letter here is a letter
    expect(seen.page.locator("#count")).to_contain_text("nothing fits")
    expect(seen.page.locator("#detail")).to_be_empty()
    seen.page.keyboard.press("Backspace")
    expect(seen.page.locator("#count")).to_have_text(f"11 of {SEGMENTS} segments")
    seen.page.keyboard.press("Escape")
    assert seen.focused() == "list"
    seen.page.keyboard.press("m")
    expect(seen.page.locator(".bar-buttons [aria-pressed=true]")).to_have_text("what matched")
    assert seen.focused() == "list"


def test_it_searches_filters_and_sorts(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    words, count = seen.page.locator("#words"), seen.page.locator("#count")
    assert gaps(seen) == sorted(gaps(seen), key=abs, reverse=True)
    words.fill("MESSAGE 123 cats")
    assert rows(seen) == ["m123"]
    words.fill("there were 321")  # only in a reference
    assert rows(seen) == ["m321"]
    words.fill("")
    seen.page.locator("#sort").select_option("b")
    assert gaps(seen)[0] < 0
    assert gaps(seen) == sorted(gaps(seen))
    seen.page.locator("#show").select_option("b")
    assert all(gap < 0 for gap in gaps(seen))
    expect(count).to_have_text("20 of 400 segments")  # each third, where the first is wrong, that is a seventh
    seen.page.locator("#bucket").select_option(label="music")
    assert all(int(name[1:]) % 2 for name in rows(seen))
    seen.page.locator("button[type=reset]").click()
    expect(count).to_have_text(f"{SEGMENTS} of {SEGMENTS} segments")
    seen.page.locator("#show").select_option("differ")
    assert "m7" not in rows(seen)
    seen.page.locator("#a").select_option("2")
    expect(seen.page.locator("#detail section.system h4 > span").first).to_have_text("third")


def test_differences_are_marked_in_outputs_and_references(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    seen.page.locator("#words").fill("m8 m8")
    seen.page.locator("#sort").select_option("order")
    assert shown(seen) == "m8"
    cards = seen.page.locator("#detail section.system")
    expect(cards.nth(0).locator("mark.a")).to_have_text(["the", "cats sat on a mat"])
    expect(cards.nth(1).locator("mark.b")).to_have_text(["no", "dogs"])
    expect(cards.nth(0).locator(".output")).to_have_text("the 8 cats sat on a mat")
    first = seen.page.locator("#detail .references li").first
    expect(first.locator("mark.a")).to_have_text(["the", "cats sat on a mat"])
    expect(first.locator("mark.both")).to_have_text(["8"])
    other = seen.page.locator("#detail .others li")
    expect(other.locator(".text")).to_have_text("a mat")
    other.get_by_role("button", name="third").click()
    expect(cards.nth(1).locator("h4 > span").first).to_have_text("third")
    assert shown(seen) == "m8"


def test_why_each_got_its_score(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    seen.page.locator("#words").fill("m8 m8")
    seen.page.locator("#sort").select_option("order")
    first = seen.page.locator("#detail section.system").first
    first.locator(".why summary").click()
    expect(first.locator(".why p").last).to_have_text("bleu-2 = 1.000 × (100.00 × 100.00)^(1/2) = 100.00")
    seen.page.get_by_role("button", name="what matched").click()
    expect(first.locator(".output .run")).to_have_text("the 8 cats sat on a mat")
    expect(first.locator(".output .label")).to_have_text("#1")
    seen.page.locator("#list").focus()
    seen.page.keyboard.press("j")
    expect(first.locator(".why")).to_have_attribute("open", "")  # as the reader left it
    seen.page.locator("#metric").select_option("1")  # chrF does not explain itself
    expect(seen.page.locator(".why")).to_have_count(0)
    expect(seen.page.get_by_role("button", name="what matched")).to_have_count(0)


def test_words_that_met_light_up_in_the_reference(visit: Opener, tmp_path: Path) -> None:
    path = tmp_path / "similar.html"
    systems = {"a": ["it was really good 😀 fun", ""], "b": ["no idea", "yes"]}
    metrics = {"trubleu": trubleu.metric("trubleu")}
    compared = compare_systems(systems, [["It was very nice 😀 fun!"], ["yes"]], metrics, sampling=FEW)
    path.write_text(render_comparison_page(compared), encoding="utf-8")
    seen = visit(path)
    seen.page.locator("#sort").select_option("order")
    seen.page.keyboard.press("m")
    marks = seen.page.locator("#detail section.system").first.locator(".run")
    expect(marks).to_have_text(["it was", "really", "good", "😀 fun"])
    marks.nth(2).hover()
    expect(seen.page.locator("#detail .references mark.found")).to_have_text("nice")
    marks.nth(3).focus()
    expect(seen.page.locator("#detail .references mark.found")).to_have_text("😀 fun")
    marks.nth(3).blur()
    seen.page.mouse.move(0, 0)
    expect(seen.page.locator("#detail .references .text")).to_have_text("It was very nice 😀 fun!")


def test_markup_from_data_is_text(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    seen.page.locator("#words").fill("window.flag")
    assert shown(seen) == "m5"
    expect(seen.page.locator("#detail .output").first).to_have_text(HOSTILE, use_inner_text=False)
    seen.page.keyboard.press("Escape")
    seen.page.keyboard.press("m")
    output = seen.page.locator("#detail .output").first
    assert (
        output.evaluate(
            "one => [...one.childNodes].map(node => node.matches?.('small') ? '' : node.textContent).join('')"
        )
        == HOSTILE
    )
    assert seen.page.evaluate("window.flag") is None
    assert seen.page.locator("script").count() == 1  # the data is gone from the page, this script is there
    assert seen.page.locator("img").count() == 0
    assert seen.problems == []


def test_texts_from_right_to_left_and_halves_of_characters(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file)
    seen.page.locator("#words").fill("message m6 שלום")
    assert shown(seen) == "m6"
    output = seen.page.locator("#detail .output").first
    assert output.evaluate("one => getComputedStyle(one).direction") == "rtl"
    expected = [ord(each) for each in f"{HEBREW} a \ud83d b 😀 {HEBREW}"]
    assert output.evaluate("one => Array.from(one.textContent).map(each => each.codePointAt(0))") == expected
    seen.page.keyboard.press("Escape")
    seen.page.keyboard.press("m")
    joined = (
        "one => [...one.childNodes].filter(node => !node.matches?.('small')).map(node => node.textContent).join('')"
    )
    assert [
        ord(each)
        for each in output.evaluate(joined).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    ] == expected


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(visit: Opener, page_file: Path, scheme: Scheme) -> None:
    seen = visit(page_file, scheme=scheme)
    seen.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    for selector in (
        "p",
        "h1, h2, h3, h4",
        "td, th",
        "mark",
        ".row span",
        "summary",
        "select, input, button",
        "a",
        "kbd",
    ):
        contrasts = seen.contrasts(selector)
        assert contrasts, selector
        assert min(contrasts) >= 4.5, selector
    seen.page.get_by_role("button", name="what matched").click()
    assert min(seen.contrasts("#detail .run")) >= 4.5
    light = sum(map(int, re.findall(r"\d+", seen.background("body"))[:3])) > 600
    assert light == (scheme == "light")


@pytest.mark.parametrize("width", [390, 768])
def test_it_fits_a_narrow_window(visit: Opener, page_file: Path, width: int) -> None:
    seen = visit(page_file, width=width)
    seen.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    assert seen.overflow() <= 0
    for selector in ("#words", "#sort", "#list", "#detail", ".chart svg"):
        box = seen.page.locator(selector).first.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_without_scripts_tables_and_figures_are_there(visit: Opener, page_file: Path) -> None:
    seen = visit(page_file, scripts=False)
    expect(seen.page.locator("#browser")).to_be_hidden()
    expect(seen.page.locator("noscript p")).to_contain_text("this page needs JavaScript")
    expect(seen.page.locator("#scores tbody tr")).to_have_count(3 + 6)
    expect(seen.page.locator("#differences svg")).to_have_count(2)
    expect(seen.page.locator("#buckets svg[role=img]")).to_have_count(5)
    expect(seen.page.locator("#ngrams td").first).to_be_visible()
