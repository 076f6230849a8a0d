"""Explanations as text, JSON and a page."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import sys
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings

import trubleu
from tests.oracles import corpora
from trubleu.data import References
from trubleu.errors import MissingExtraError
from trubleu.explain import Explanation, explain
from trubleu.render import render_explanation_json, render_explanation_page, render_explanation_text
from trubleu.render.explanations import STEPS, runs
from trubleu.render.pages import load_page_templates, page_style

HOSTILE = "<script>alert(1)</script> \"quoted\" 'single' & <img src=x onerror=alert(2)> </style>"


def example(output: str = "it was so awful , really", name: str = "dbleu-2") -> Explanation:
    references = References(
        ["it was great , really", "it was so awful", "other words"],
        [0, 3],
        [1.0, -0.5, 0.0],
        ids=["m1"],
        origins=["seed", None, "random"],
        messages=["how was it ?"],
        contexts=[("hello", "hi")],
    )
    return explain(trubleu.metric(name), output, references)


def hostile() -> Explanation:
    references = References(
        [HOSTILE, HOSTILE + " more"], [0, 2], [1.0, -1.0], ids=[HOSTILE], messages=[HOSTILE], contexts=[(HOSTILE,)],
        origins=[HOSTILE, None],
    )  # fmt: skip
    return explain(trubleu.metric("dbleu-2[tokenize=none]"), HOSTILE, references)


def test_text_from_the_output_to_the_score() -> None:
    text = render_explanation_text({"A": [example()]})
    assert "segment m1\ncontext   hello\ncontext   hi\nmessage   how was it ?\n" in text
    assert "output    [it was]+1 [so awful]-0.5 [, really]+1" in text
    assert re.search(r"#1 +\+1  it was great , really  \(seed", text)
    assert re.search(r"1 +awful +1 +#2 +1 +-0.50 +1 +-0.50 +1.00", text)
    assert "dbleu-2 = 1.000 × (50.00 × 20.00)^(1/2) = 31.62" in text
    assert "in no reference: 1 bigram\n" in text
    assert text.endswith(f"|version:trubleu-{trubleu.__version__}\n")


def test_text_without_weights_names_the_references() -> None:
    text = render_explanation_text({"A": [example(name="bleu-2")]})
    assert "output    [it was]#1 [so awful]#2 [, really]#1" in text


def test_text_of_an_order_that_is_left_out_or_missing() -> None:
    short = explain(trubleu.metric("sbleu-3"), "a b", [["a b"]])
    assert re.search(r"3 +0.00 +0.00 +left out", render_explanation_text({"A": [short]}))
    nothing = explain(trubleu.metric("bleu-2"), "x", [["a b"]])
    assert "bleu-2 = 0.00, as no order has matches that are worth anything" in render_explanation_text({"A": [nothing]})
    short = explain(trubleu.metric("bleu-3"), "a b", [["a b"]])
    assert "the output is too short for a trigram; with --effective-order" in render_explanation_text({"A": [short]})
    average = explain(trubleu.metric("bleu-1", reference_length="average"), "a", [["a b", "a b c"]])
    assert "1 tokens against 2.5 (the average)" in render_explanation_text({"A": [average]})


def test_text_and_page_of_a_skipped_segment() -> None:
    references = References.from_lists([["bad"]], [[-1.0]])
    found = explain(trubleu.metric("dbleu-1", no_positive="skip"), "bad", references)
    assert "dbleu-1 = left out" in render_explanation_text({"A": [found]})
    assert "told to skip such segments" in render_explanation_text({"A": [found]})
    assert "told to skip such segments" in render_explanation_page({"A": [found]})


def test_of_many_references_those_that_decide_are_printed() -> None:
    texts = [f"word{number} filler" for number in range(50)] + ["hello there"]
    text = render_explanation_text({"A": [explain(trubleu.metric("bleu-1"), "hello", [texts])]})
    assert "  #51     hello there" in text
    assert "word17" not in text
    assert "… and 49 more, which neither earn anything here nor set the length" in text


@given(corpora.corpora(corpora.odd_texts(), corpora.any_weights, segments=1))
@settings(max_examples=50)
def test_any_text_can_be_shown(corpus: corpora.Corpus) -> None:
    found = explain(
        trubleu.metric("dbleu-3"), corpus.outputs[0], References.from_lists(corpus.references, corpus.weights)
    )
    shown = runs(found)
    assert [place for run in shown for place in range(run.start, run.end)] == list(range(len(found.tokens)))
    assert all(one.end == other.start for one, other in pairwise(shown))
    for show in (render_explanation_text, render_explanation_json, render_explanation_page):
        assert show({"A": [found], "B": [found]})


class Page(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_hostile_texts_are_shown_as_text() -> None:
    page = render_explanation_page({HOSTILE: [hostile()]})
    seen = Page(page)
    assert [tag for tag, _ in seen.tags].count("script") == 1
    assert not [tag for tag, _ in seen.tags if tag == "img"]
    for _, attributes in seen.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")]
    assert seen.text.count("<script>alert(1)</script>") >= 5
    assert html.escape("<script>alert(1)</script>") in page


def test_the_page_needs_nothing_else_and_runs_only_its_own_script() -> None:
    page = render_explanation_page({"A": [example()], "B": [example("great , really")]})
    assert not re.findall(r"https?://|@import|url\(|<link|<iframe", page)
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])  # type: ignore[index]
    assert policy.startswith("default-src 'none'; ")
    for tag in ("script", "style"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]  # type: ignore[index]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_the_page_marks_matches_by_more_than_colour() -> None:
    seen = Page(render_explanation_page({"A": [example()]}))
    words = [attributes for tag, attributes in seen.tags if tag == "span" and "tabindex" in attributes]
    assert len(words) == 6
    assert "“awful” earns −0.5 = −0.5 × 1 by #2" in (words[3]["title"] or "")
    classes = [(attributes.get("class") or "").split() for _, attributes in seen.tags]
    assert ["run", "w5", "neg"] in classes
    assert ["run", "w20", "pos"] in classes
    assert "−0.5" in seen.text
    assert "1 without a match" in seen.text
    # What a word belongs to is found again in the references.
    grams = {gram for word in words for gram in (word["data-g"] or "").split()}
    elsewhere = [a for tag, a in seen.tags if "data-g" in a and "tabindex" not in a and tag == "span"]
    assert {gram for attributes in elsewhere for gram in (attributes["data-g"] or "").split()} == grams


def test_a_page_of_several_segments_has_an_overview() -> None:
    found = example()
    seen = Page(render_explanation_page({"A": [found, found], "B": [found, found]}))
    links = [attributes["href"] for tag, attributes in seen.tags if tag == "a"]
    assert links == ["#s1", "#s2"]
    identities = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert identities == ["s1", "s2"]


def test_without_jinja_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    load_page_templates.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'trubleu\[report\]'"):
        render_explanation_page({"A": [example()]})


def luminance(value: str) -> float:
    parts = [int(value[start : start + 2], 16) / 255 for start in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_text_can_be_read_on_every_colour() -> None:
    """WCAG 2's contrast of 4.5 for text of ordinary size, in light and in dark."""
    style = page_style()
    inks = re.findall(r"--on-w:#(\w{6})", style)
    colours = re.findall(r"\.w(\d+){--w:#(\w{6})}", style)
    assert [int(number) for number, _ in colours] == [*range(STEPS + 1)] * len(inks)
    for place, (number, colour) in enumerate(colours):
        light, dark = sorted((luminance(colour), luminance(inks[place // (STEPS + 1)])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, number
