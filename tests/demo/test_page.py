"""The report as text: what it says follows from the numbers, and texts stay texts."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

from tests.demo.example import FOOLED, HOSTILE, MESSAGE, RIGHT, results
from trubleu.data import References
from trubleu.demo.page import render_report
from trubleu.demo.results import find
from trubleu.demo.steps import SYSTEMS

# Of letters in DejaVu Sans, a wide font, as shares of its size.
WIDTHS = {
    "a": 0.613, "d": 0.635, "e": 0.615, "f": 0.352, "g": 0.635, "i": 0.278, "k": 0.579, "l": 0.278, "m": 0.974,
    "n": 0.634, "o": 0.612, "p": 0.635, "r": 0.411, "s": 0.521, "t": 0.392, "u": 0.634, "v": 0.592, "w": 0.818,
}  # fmt: skip


class Elements(HTMLParser):
    """Counts elements, and checks that they are closed in the order in which they were opened."""

    VOID = frozenset({"meta", "br", "wbr", "path", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.links += [value or "" for name, value in attributes if name in ("href", "src")]
        if tag not in self.VOID or (tag == "path" and not self.get_starttag_text().endswith("/>")):  # type: ignore[union-attr]
            self.open.append(tag)

    def handle_startendtag(self, tag: str, _attributes: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_sound_and_texts_are_shown_not_run() -> None:
    page = render_report(results())
    page.encode("utf-8")
    parser = Elements()
    parser.feed(page)
    assert parser.open == []
    assert parser.count["script"] == 1
    assert "img" not in parser.count
    assert "window.flag=1</script>" not in page
    assert HOSTILE.replace("\ud800", "\\ud800") in unescape(page)
    assert "trubleu simulate world 'a&b/<i>'" in unescape(page)
    assert all(link.startswith("#") or re.fullmatch(r"[\w./-]+", link) for link in parser.links)
    assert {link for link in parser.links if not link.startswith("#")} >= {"judge.html", "explain.html", "world/"}


def test_it_opens_with_the_finding() -> None:
    made = results()
    text = unescape(render_report(made))
    found = find(made)
    places = [text.index(sentence) for sentence in (found.headline, *found.sentences)]
    assert places == sorted(places)
    assert text.index("True quality against each metric") > places[-1]
    assert "parrot ▲" in text
    assert "strong ▲" not in text


def test_nothing_is_said_that_the_numbers_do_not_show() -> None:
    text = unescape(
        render_report(results({"bleu-2": RIGHT, "bleu2vec-2": RIGHT}, good={"bleu-2": RIGHT, "dbleu-2": RIGHT}))
    )
    assert "neither BLEU nor ΔBLEU is fooled." in text
    assert "▲ stands significantly above" in text
    assert "parrot ▲" not in text
    assert "all significantly" not in text


def test_figures_mark_what_is_overrated() -> None:
    page = render_report(results())
    panels = re.findall(r'<figure class="chart">.*?</figure>', page, re.DOTALL)
    assert len(panels) == 5  # four metrics, and weights against the truth
    assert [panel.count('class="mark over"') for panel in panels[:4]] == [2, 0, 0, 0]
    assert [panel.count('class="mark right"') for panel in panels[:4]] == [5, 7, 7, 7]
    assert "9 of 21 pairs in the wrong order, 9 significantly" in panels[0]
    assert "no wrong pair among 21" in panels[2]
    for panel in panels[:4]:
        assert re.findall(r'<text class="word[^"]*"[^>]*>(\w+)<', panel) == list(find(results()).true_order)


def test_names_in_figures_do_not_cover_each_other() -> None:
    crowded = (20.0, 20.1, 20.2, 20.3, 20.4, 20.5, 20.6)
    truth = dict.fromkeys(SYSTEMS, 3.0)
    page = render_report(results({"bleu-2": crowded}, truth={**truth, "strong": 3.4, "random": 2.6}))
    panel = re.findall(r'<figure class="chart">.*?</figure>', page, re.DOTALL)[0]
    boxes = []
    for anchor, x, y, word in re.findall(r'class="word (\w*) \w+" x="([\d.]+)" y="([\d.]+)">(\w+)<', panel):
        width = 12 * sum(WIDTHS[letter] for letter in word)
        left = float(x) - {"": 0.0, "end": width, "mid": width / 2}[anchor]
        boxes.append((left, float(y) - 9, left + width, float(y)))
    assert len(boxes) == 7
    for place, one in enumerate(boxes):
        for other in boxes[:place]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def test_the_segment_that_is_worked_out() -> None:
    text = unescape(re.sub(r"<[^>]+>", "", render_report(results())))
    assert "What parrot says is worth 1.5 in truth, what strong says 4.3. BLEU gives them 100.0 and" in text
    # Of the message's 8 words and 7 pairs of words, "i" and the like are in no other reference; "the" is.
    assert re.search(
        r"Of 15 different n-grams of parrot that are found in references, \d+ are found in bad ones only", text
    )
    assert MESSAGE in text


@pytest.mark.parametrize(
    ("difference", "p", "said"),
    [
        (0.9, 0.0004, "ΔBLEU agrees better with people than BLEU, by 0.90 (p < 0.001)."),
        (-0.3, 0.02, "ΔBLEU agrees worse with people than BLEU, by 0.30 (p = 0.020)."),
        (0.1, 0.4, "ΔBLEU’s ρ differs from BLEU’s by 0.10 (p = 0.400), which is not significant."),
        (None, None, "Whether ΔBLEU agrees better with people than BLEU cannot be told here."),
    ],
)
def test_whether_one_agrees_better(difference: float | None, p: float | None, said: str) -> None:
    beats = {} if difference is None else {("dbleu-2", "bleu-2"): (difference, p)}
    assert said in unescape(render_report(replace(results(), beats=beats)))


def test_how_good_weights_are() -> None:
    text = unescape(render_report(results()))
    # |weight − (quality − 3) / 2| of the five references: 0.05, 0.1, 0.05, 0, 0.1
    assert "weights are off by 0.06 on average" in text
    assert "100% stand on the right side of 0; Spearman’s ρ is 1.00." in text
    assert "Krippendorff’s α = 0.61" in text


def test_decisions_count_every_pair_once() -> None:
    page = render_report(results({"bleu-2": FOOLED}))
    table = re.search(r'aria-label="decisions about pairs of systems".*?</table>', page, re.DOTALL)
    assert table is not None
    rows = re.findall(r"<tr>(.*?)</tr>", table[0], re.DOTALL)[1:]
    for row in rows:
        assert sum(map(int, re.findall(r'<td class="n">(\d+)</td>', row))) == 21


def test_orders_with_good_references_stand_beside_the_others() -> None:
    page = unescape(render_report(results()))
    found = re.findall(r'<section class="ranking" aria-label="order by ([^"]+)">(.*?)</section>', page, re.DOTALL)
    assert [name for name, _ in found] == [
        "Truth, known in a made world",
        "BLEU, all references",
        "ΔBLEU, all references",
        "BLEU, good references only",
        "ΔBLEU, good references only",
        "dbleu2vec, all references",
        "trubleu, all references",
    ]
    assert [body.count("▲") for _, body in found] == [0, 2, 0, 2, 2, 0, 0]
    assert "9 of 21 wrong, 9 surely" in found[3][1]


def test_few_segments_are_called_neither_sure_nor_significant() -> None:
    page = unescape(render_report(results(segments=8)))
    assert "▲</span>" not in page
    assert "parrot △" in page
    assert "9 of 21 wrong</p>" in page
    assert "9 of 21 pairs in the wrong order</p>" in page
    table = re.search(r'aria-label="decisions about pairs of systems".*?</table>', page, re.DOTALL)
    assert table is not None
    sure = [re.findall(r'<td class="n">(\d+)</td>', row)[::3] for row in table[0].split("<tr>")[2:]]
    assert sure == [["0", "0"]] * 4


def test_what_commands_warned_of_is_repeated() -> None:
    text = unescape(render_report(results()))
    assert "trubleu judge notes: 100 % of the outputs of parrot equal a reference; so beware." in text
    assert "trubleu score leaves none out of ΔBLEU." in text
    made = results()
    texts = list(made.references.texts[:5])
    worse = References.from_lists([texts] * 20, [[-0.5] * 5, *([[0.5] * 5] * 19)], ids=made.references.ids)
    text = unescape(render_report(replace(made, references=worse)))
    assert "trubleu score leaves 1 segment without a good reference out of ΔBLEU." in text


def test_raters_are_counted_and_an_interruption_is_said() -> None:
    assert "interrupted" not in unescape(render_report(results()))
    made = results()
    begun = {"rate study": 2, "rate pairs": 3, "world": 2}
    text = unescape(render_report(replace(made, raters=6, output_raters=8, journal=replace(made.journal, begun=begun))))
    assert "6 simulated raters with moods" in text
    assert "The people are 8 simulated ones" in text
    assert "The rating of references and of outputs was interrupted, and other raters went on with it" in text
    assert "each was to have 3 ratings." in text
    assert "100 references with 300 ratings" in text


def test_it_says_how_the_segment_was_chosen() -> None:
    assert (
        "Chosen because of all segments it is the one in which BLEU and ΔBLEU differ most about parrot and strong"
        in (unescape(render_report(results())))
    )
