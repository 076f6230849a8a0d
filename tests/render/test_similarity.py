"""Explanations of trubleu as text, JSON and a page."""

from __future__ import annotations

import json
import re
import warnings
from typing import Any

import pytest
from hypothesis import given, settings

import trubleu
from tests.explain.test_similarity import VECTORS
from tests.oracles import corpora
from tests.render.test_explanations import HOSTILE, Page
from trubleu.data import References
from trubleu.errors import TrubleuWarning
from trubleu.explain import SimilarityExplanation, explain
from trubleu.metrics.trubleu import TruBleu
from trubleu.render import render_explanation_json, render_explanation_page, render_explanation_text
from trubleu.render.tables import width


def example(output: str = "it was so awful", **options: Any) -> SimilarityExplanation:
    references = References(
        ["it was great", "it was good", "it was awful"],
        [0, 3],
        [1.0, 0.8, -0.9],
        ids=["m1"],
        origins=["seed", None, "parrot"],
        messages=["how was it ?"],
        contexts=[("hello", "hi")],
    )
    return explain(TruBleu(vectors=VECTORS, **options), output, references)


def hostile() -> SimilarityExplanation:
    references = References(
        [HOSTILE, HOSTILE + " more"], [0, 2], [1.0, -1.0], ids=[HOSTILE], messages=[HOSTILE], contexts=[(HOSTILE,)],
        origins=[HOSTILE, None],
    )  # fmt: skip
    return explain(TruBleu(vectors=VECTORS, tokenize="none", lowercase=False), HOSTILE + " less", references)


EXPECTED = """\
segment m1
context   hello
context   hi
message   how was it ?

A: trubleu = 18.88

output    it was so awful
references
  #1    +1  it was great  (seed)
  #2  +0.8  it was good  (best good one)
  #3  -0.9  it was awful  (parrot; cuts)

word   weighs  in #1     in #2      in #3
-----  ------  --------  ---------  ----------
it       0.32  =    it   =    it    =    it
was      0.32  =    was  =    was   =    was
so       0.71  –         –          –
awful    1.50  –         0.53 good  =    awful
not met in #1: great 2.00

reference  weight  F words  F bigrams  F trigrams  F characters  similarity
---------  ------  -------  ---------  ----------  ------------  ----------
#1          +1.00    0.236      0.231       0.144         0.298       0.220
#2          +0.80    0.608      0.472       0.352         0.328       0.426
#3          -0.90    0.938      0.722       0.612         0.563       0.695

similarity to #2: (0.608 × 0.472 × 0.352 × 0.328)^(1/4) = 0.426
best of the good references: 0.341 = 0.426 × 0.8 / 1 (#2)
mean of the good references, weighted: 0.312
earned: (0.341 + 0.312) / 2 = 0.326
cut by #3 (-0.9), more similar than the good #2: 0.9 × (0.695 - 0.426) / (1 - 0.426) = 0.422
trubleu = 100 × 0.326 × (1 - 0.422) = 18.88
"""


def test_text_from_the_output_to_the_score() -> None:
    assert render_explanation_text({"A": [example()]}).rpartition("\n\n")[0] == EXPECTED.rstrip("\n")


def test_text_of_one_reference_without_weights() -> None:
    found = explain(TruBleu(2, vectors=VECTORS), "it was good", [["it was great !"]])
    text = render_explanation_text({"A": [found]})
    assert "best" not in text
    assert "weight " not in text
    assert re.search(r"^earned: 0\.\d{3}, the similarity to the only good reference$", text, re.MULTILINE)
    assert re.search(r"^trubleu-2 = 100 × 0\.\d{3} = \d\d\.\d\d$", text, re.MULTILINE)
    assert re.search(r"^not met in #1: ! \d\.\d\d$", text, re.MULTILINE)
    page = render_explanation_page({"A": [found]})
    assert "trubleu-2 = 100" in page  # a hyphen is no minus


def test_text_of_a_product_with_orders_that_are_left_out() -> None:
    short = render_explanation_text({"A": [explain(TruBleu(vectors=VECTORS), "it was", [["it was great"]])]})
    assert re.search(r"similarity to #1: 0\.\d{3}\^\(1/4\) × \(0\.\d{3} × 0\.\d{3}\)\^\(3/8\) = 0\.\d{3}", short)
    assert re.search(r"#1 +0\.\d{3} +0\.\d{3} +– +0\.\d{3} +0\.\d{3}", short)
    metric = TruBleu(1, vectors=VECTORS, characters=False)
    assert re.search(
        r"similarity to #1: 0\.\d{3}\n", render_explanation_text({"A": [explain(metric, "it", [["it was"]])]})
    )
    assert "characters" not in render_explanation_text({"A": [explain(metric, "it", [["it was"]])]})
    empty = render_explanation_text({"A": [explain(metric, "", [["it was"]])]})
    assert "similarity to #1: 0, as the output has no words" in empty
    assert "output    (empty)" in empty
    empty = render_explanation_text({"A": [explain(metric, "it", [[""]])]})
    assert "similarity to #1: 0, as this reference has no words" in empty


def test_text_and_page_of_a_skipped_segment() -> None:
    references = References.from_lists([["it was awful"]], [[-1.0]])
    found = explain(TruBleu(vectors=VECTORS, no_positive="skip"), "it was good", references)
    assert "trubleu = left out" in render_explanation_text({"A": [found]})
    for show in (render_explanation_text, render_explanation_page):
        assert "told to skip such segments" in show({"A": [found]})


def test_text_of_a_reference_that_repeats_another() -> None:
    references = References.from_lists([["it was great", "it was great"]], [[0.5, 1.0]])
    found = explain(TruBleu(vectors=VECTORS), "it was good", references)
    text = render_explanation_text({"A": [found]})
    assert re.search(r"#2 +\+1  it was great  \(repeats #1\)", text)
    assert "in #2" not in text
    assert "repeats #1" in render_explanation_page({"A": [found]})


def test_text_fits_the_terminal() -> None:
    long = " ".join(["it was great and awful"] * 8)
    texts = [f"{'w' * 40} {long} {number}" for number in range(30)]
    texts += ["中文" * 30 + f" {number}" for number in range(3)]
    found = explain(TruBleu(vectors=VECTORS), f"{'x' * 60} 中 {long}", [texts])
    text = render_explanation_text({"A": [found]})
    lines = text.split("\n\ntrubleu|")[0].splitlines()
    tables = [line for line in lines if not line.startswith("  #")]  # a reference may have a word as long as a line
    assert max(map(width, tables)) <= 100
    assert "… and 21 more, which the output is less similar to; --format json has them" in text
    assert "x" * 19 + "…" in text
    page = Page(render_explanation_page({"A": [found]}))
    assert "9 more, which the output is less similar to" in page.text
    assert "21 that are only listed" in page.text


@given(corpora.corpora(corpora.odd_texts(), corpora.any_weights, segments=1))
@settings(max_examples=50, deadline=None)
def test_any_text_can_be_shown(corpus: corpora.Corpus) -> None:
    references = References.from_lists(corpus.references, corpus.weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        found = explain(TruBleu(vectors=VECTORS), corpus.outputs[0], references)
    for show in (render_explanation_text, render_explanation_json, render_explanation_page):
        assert show({"A": [found], "B": [found]})


FIELDS = """schema system segment metric signature message context output tokens score token_weights best
    best_from mean earned most_similar cut cut_from references"""
REFERENCE_FIELDS = """reference text tokens weight rated origin token_weights repeats similarity characters share cut
    orders"""


def test_json_has_everything() -> None:
    found = example()
    whole = json.loads(render_explanation_json({"A": [found]}))
    assert whole["schema"] == 1
    row = whole["explanations"][0]
    assert row.keys() == {*FIELDS.split()}
    assert (row["segment"], row["context"], row["best_from"], row["cut_from"]) == ("m1", ["hello", "hi"], 2, 3)
    assert row["score"] == found.score == 100 * row["earned"] * (1 - row["cut"])
    assert row["tokens"] == ["it", "was", "so", "awful"]
    assert len(row["token_weights"]) == 4
    for number, (written, reference) in enumerate(zip(row["references"], found.references, strict=True), 1):
        assert written.keys() == {*REFERENCE_FIELDS.split()}
        assert written["reference"] == number
        assert written["similarity"] == reference.similarity
        assert [order["f"] for order in written["orders"]] == [order.f for order in reference.orders]
        for order in written["orders"]:
            assert list(order) == ["order", "precision", "recall", "f", "pairs"]
            assert order["pairs"]
            for pair in order["pairs"]:
                assert len(pair["tokens"]) == len(pair["reference_tokens"]) == order["order"]
                assert (pair["tokens"] == pair["reference_tokens"]) == pair["exact"] == (pair["similarity"] == 1)
    assert row["references"][1]["orders"][0]["pairs"][2] == {
        "position": 3,
        "tokens": ["awful"],
        "reference_position": 2,
        "reference_tokens": ["good"],
        "exact": False,
        "similarity": pytest.approx((0.6 - 0.15) / 0.85),
    }


def test_json_has_no_nan() -> None:
    references = References.from_lists([["it", "it was great", "it"]], [[0.5, 1.0, 1.0]])
    found = explain(TruBleu(vectors=VECTORS), "it was", references)
    text = render_explanation_json({"A": [found]})
    assert "NaN" not in text
    rows = json.loads(text)["explanations"][0]["references"]
    assert [(row["repeats"], row["similarity"] is None) for row in rows] == [(None, False), (None, False), (1, True)]
    assert [order["f"] is None for order in rows[0]["orders"]] == [False, True, True]


def test_hostile_texts_are_shown_as_text() -> None:
    page = render_explanation_page({HOSTILE: [hostile()]})
    seen = Page(page)
    assert [tag for tag, _ in seen.tags].count("script") == 1
    assert not [tag for tag, _ in seen.tags if tag == "img"]
    for _, attributes in seen.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")]
    assert seen.text.count("<script>alert(1)</script>") >= 5


def test_the_page_marks_words_by_more_than_colour() -> None:
    seen = Page(render_explanation_page({"A": [example()]}))
    words = [attributes for tag, attributes in seen.tags if tag == "span" and "tabindex" in attributes]
    assert len(words) == 3 * (4 + 3)  # beside each of three references
    titles = [word["title"] or "" for word in words]
    assert titles[0] == "“it”, which weighs 0.32, is in #2"
    assert titles[3] == "“awful”, which weighs 1.50, met “good” in #2, which weighs 2.00: similarity 0.53"
    assert titles[2].endswith("met no word of #2")
    assert titles[6] == "“good” of #2, which weighs 2.00, was met by “awful”: similarity 0.53"
    classes = [(attributes.get("class") or "").split() for _, attributes in seen.tags]
    for marked in (["run", "w20", "pos"], ["run", "w0", "neg"], ["run", "w15", "pos", "near"], ["run", "unmet"]):
        assert marked in classes
    # Words that met are known by the same number, in each block.
    partners = [word["data-g"] for word in words[:7]]
    assert partners[:2] == partners[4:6]
    assert partners[3] == partners[6]
    assert len(set(partners)) == 4
    assert "trubleu = 100 × " in seen.text
    assert "cut by #3 (−0.9), more similar than the good #2: 0.9 × (" in seen.text


def test_the_page_lists_the_pairs_for_who_has_no_script() -> None:
    page = render_explanation_page({"A": [example()]})
    row = '<tr><td>awful</td><td class="n">1.50</td><td>good</td><td class="n">2.00</td><td class="n">0.529</td></tr>'
    assert row in page
    assert '<td>it</td><td class="n">0.32</td><td>it</td><td class="n">0.32</td><td class="n">equal</td>' in page


def test_kinds_of_explanations_beside_each_other() -> None:
    plain = explain(trubleu.metric("dbleu-1"), "it was", References.from_lists([["it was great"]], [[1.0]], ids=["m1"]))
    page = render_explanation_page({"A": [example()], "B": [plain]})
    assert "which word met which" in page
    assert "2 n-grams that matched" in page


def test_a_notebook_shows_the_text() -> None:
    assert "trubleu = " in example()._repr_html_()
