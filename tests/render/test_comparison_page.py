"""What the page that compares systems holds, and what is said first."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import trubleu
from trubleu.data import References
from trubleu.explain import compare_systems, explain
from trubleu.render import comparison as rendering
from trubleu.render import render_comparison_page
from trubleu.render.charts import bucket_chart, histogram_chart
from trubleu.render.comparison import render_comparison, segments_json, spans, verdict
from trubleu.render.explanations import conclusion
from trubleu.render.tables import Estimate, truncated
from trubleu.scoring import Sampling
from trubleu.text.differences import marked_pair

if TYPE_CHECKING:
    from trubleu.explain import SystemComparison

FEW = Sampling(interval=True, test=True, resamples=50)
REFERENCES = [["it was great", "so so"], ["no idea"], ["we will be back soon"], ["</script>\ud83d\u2028"]]
A = ["it was great", "no idea", "we will", "<!-- </script> -->"]
B = ["it was awful", "no idea", "we will be back", "\u2029 & <b>"]


def compared(systems: dict[str, list[str]] | None = None, name: str = "bleu-2") -> SystemComparison:
    return compare_systems(systems or {"A": A, "B": B}, REFERENCES, {name: trubleu.metric(name)}, sampling=FEW)


def data_of(comparison: SystemComparison) -> dict[str, Any]:
    page = render_comparison_page(comparison)
    assert page.encode()  # lone surrogates and all
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert not re.search(r"[<>&\u2028\u2029]", found[1])
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_data_is_what_was_compared_whatever_it_holds() -> None:
    comparison = compared()
    data = data_of(comparison)
    segments = data["segments"]
    assert [segment[4] for segment in segments] == [list(pair) for pair in zip(A, B, strict=True)]
    assert [[text for text, _, _ in segment[3]] for segment in segments] == REFERENCES
    scores = comparison.scores["bleu-2"]
    assert np.allclose([segment[5][0] for segment in segments], scores.T, atol=1e-4)
    assert data["systems"] == ["A", "B"]


def test_names_of_systems_and_columns_are_text() -> None:
    nasty = "</script><b title='x\">"
    columns = {nasty: [nasty, "x", "x", "y"]}
    metrics = {"bleu-1": trubleu.metric("bleu-1")}
    found = compare_systems({nasty: A, "B": B}, REFERENCES, metrics, sampling=FEW, columns=columns)
    page = render_comparison_page(found)
    assert "<b title" not in page
    assert page.count("</script>") == 2
    assert data_of(found)["systems"] == [nasty, "B"]
    assert data_of(found)["cuts"][-1]["labels"] == ["x", nasty, "y"]


def test_sentences_with_their_numbers_are_those_of_explain() -> None:
    data = data_of(compared())
    for place, segment in enumerate(data["segments"]):
        for output, (_, sentence, numbers) in zip(segment[4], segment[7], strict=True):
            values = iter(numbers.split(" "))
            said = re.sub("\x01", lambda _, values=values: next(values), data["sentences"][sentence])  # type: ignore[misc]
            expected = conclusion(explain(trubleu.metric("bleu-2"), output, REFERENCES, place), 2)
            assert said.split("\n") == list(expected)


@pytest.mark.parametrize("name", ["bleu-2", "trubleu"])
def test_marks_are_places_in_the_texts(name: str) -> None:
    data = data_of(compared(name=name))
    (marks, _, _) = data["segments"][2][7][1]  # "we will be back"
    assert (marks == [0, 0, 15, 0, 15, 100]) if name == "trubleu" else (marks == [0, 15, 0])


def test_a_metric_that_does_not_explain_itself() -> None:
    assert all(segment[7] == [] for segment in data_of(compared(name="chrf"))["segments"])


def test_what_is_too_large_keeps_the_segments_that_differ_most(monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = compared()
    whole = len(segments_json(comparison, 2)[0])
    monkeypatch.setattr(rendering, "MOST_BYTES", whole // 2)
    text, held = segments_json(comparison, 2)
    assert 0 < held < 4
    kept = [segment[0] for segment in json.loads(text)["segments"]]
    apart = np.abs(comparison.scores["bleu-2"][0] - comparison.scores["bleu-2"][1])
    assert sorted(kept) == sorted(
        comparison.references.ids[place] for place in np.argsort(-apart, kind="stable")[:held]
    )
    assert f"This page holds the {held} segments that differ most, of 4." in render_comparison_page(comparison)


def test_segments_that_a_metric_skips_have_no_score() -> None:
    references = References.from_lists([["a"], ["b"]], [[-1.0], [1.0]])
    metric = trubleu.metric("dbleu-1", no_positive="skip")
    with pytest.warns(trubleu.TrubleuWarning, match="left out"):
        found = compare_systems({"A": ["a", "b"], "B": ["x", "c"]}, references, {"dbleu-1": metric}, sampling=FEW)
    segment = data_of(found)["segments"][0]
    assert segment[5] == [[None, None]]


def test_tokens_are_found_in_their_text() -> None:
    assert spans("İSTANBUL is", ["istanbul", "is"]) == []
    assert spans("AÄ a", ["aä", "a"]) == [(0, 2), (3, 4)]
    assert spans("", []) == []


def test_the_verdict() -> None:
    assert verdict(compared({"A": A, "B": A})) == "By bleu-2, A and B have the same score, 63.33."
    few = r"too few segments differ for a verdict \(p cannot be below 0\.25\)"
    assert re.fullmatch(rf"By bleu-2, A \(\S+\) is better than B \(\S+\), but {few}\.", verdict(compared()))
    good, bad = ["it was great and fine"] * 60, ["something else that was"] * 60
    metric = {"bleu-1": trubleu.metric("bleu-1")}
    sampling = Sampling(interval=True, test=True, resamples=1000)
    references = [["it was great and fine"]] * 60
    three = compare_systems({"x": bad, "y": good, "z": [*good[1:], bad[0]]}, references, metric, sampling=sampling)
    assert verdict(three).startswith(
        "By bleu-1, y is the best of 3 systems (100.00), significantly better than the others"
    )
    w, v = [*good[:8], *bad[8:]], [*good[:57], *bad[57:]]
    some = compare_systems({"y": good, "v": v, "w": w}, references, metric, sampling=sampling)
    assert verdict(some) == (
        "By bleu-1, y is the best of 3 systems (100.00), significantly better than the others except v (p < 0.05 after "
        "Holm's correction); too few segments differ for a verdict on v."
    )
    none = compare_systems({"y": good, "v": v, "u": [*good[:58], *bad[58:]]}, references, metric, sampling=sampling)
    assert verdict(none).endswith("but too few segments differ for a verdict (p cannot be below 0.75).")
    untested = compare_systems({"x": bad, "y": good}, references, metric, sampling=Sampling())
    assert verdict(untested) == "By bleu-1, y (100.00) is better than x (19.47); that was not tested."
    lower = compare_systems({"x": bad, "y": good}, references, {"ter": trubleu.metric("ter")}, sampling=Sampling())
    assert verdict(lower).startswith("By ter, y (0.00) is better than x")


def test_systems_that_say_the_same_have_an_empty_histogram() -> None:
    page = render_comparison_page(compared({"A": A, "B": A}))
    assert "A is better in 0, B in 0; 4 equal" in page
    chart = histogram_chart("t", np.array([0.5, -3.0, 0.0, 7.0, np.nan]), "A", "B", higher_is_better=False)
    assert chart.note == "A is better in 1, B in 2; 1 equal"
    assert [mark.title for mark in chart.marks] == ["−3 to −2: 1", "0 to 1: 1", "7 to 8: 1"]
    assert [mark.classes for mark in chart.marks] == ["bar side-a", "bar side-b", "bar side-b"]


def test_texts_fit_the_terminal() -> None:
    outputs = {"A": ["中文" * 60], "a system with a rather long name": ["word " * 50 + "x" * 200]}
    found = compare_systems(
        outputs, [["word " * 30]], {"bleu-1": trubleu.metric("bleu-1", tokenize="words")}, sampling=FEW
    )
    text = render_comparison(found, columns=60).partition("Segments where")[2].partition("\n\nbleu-1 by")[0]
    lines = text.splitlines()[2:]
    assert max(sum(2 if ord(each) > 0x2E80 else 1 for each in line) for line in lines) <= 60
    assert "".join(text.split()).count("中文") == 60
    assert "a system with a rat…" in text


def test_what_only_one_says_is_in_brackets() -> None:
    assert marked_pair("", "a") == ("", "[a]")
    assert marked_pair("a b c", "a x c") == ("a [b] c", "a [x] c")


@pytest.mark.parametrize(
    ("names", "slanted"),
    [(["1", "2", "3"], False), ([f"a long bucket {n}" for n in range(9)], True), (["x" * 80, "y" * 40, "z"], True)],
)
def test_every_named_column_is_named(names: list[str], *, slanted: bool) -> None:
    chart = bucket_chart("t", names, {"A": [Estimate(1.0, 0.5, 1.5)] * len(names)})
    assert [tick.text for tick in chart.x.ticks] == [truncated(name, 32) for name in names]
    assert (chart.x.drop > 0) == slanted
    if slanted:
        assert all(tick.at - 4.9 * len(tick.text) >= chart.x.left for tick in chart.x.ticks)
