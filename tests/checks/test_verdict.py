"""Verdicts against plain statements of the definitions."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trubleu
from trubleu.checks.verdict import Conditions, average_statistics, detectable_change, judge_scores, verdict_of
from trubleu.data import References
from trubleu.errors import UsageError
from trubleu.explain.difference import compare_systems

if TYPE_CHECKING:
    from collections.abc import Sequence

WORDS = ["we", "open", "at", "nine", "and", "close", "late", "every", "day"]
GOOD = [" ".join(WORDS[at:] + WORDS[:at]) for at in range(len(WORDS))]
REFERENCES = References.from_lists([[text] for text in GOOD])
METRICS = {"sbleu-2": trubleu.metric("sbleu-2"), "chrf": trubleu.metric("chrf")}


def spoiled(text: str, number: int) -> str:
    return " ".join(["never"] * number + text.split()[number:])


def exact_p(new: Sequence[float], old: Sequence[float]) -> float:
    """Return the share of all swaps whose difference of means is at least as large as the one seen."""
    apart = [a - b for a, b in zip(new, old, strict=True) if a != b]
    seen = abs(math.fsum(apart))
    swaps = [
        abs(math.fsum(s * d for s, d in zip(signs, apart, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(apart))
    ]
    return sum(swap >= seen * (1 - 1e-12) for swap in swaps) / len(swaps)


def test_differences_are_those_of_compare() -> None:
    new = [spoiled(text, at % 4) for at, text in enumerate(GOOD)]
    verdicts, scores = judge_scores(
        METRICS, [[t] for t in new], [[t] for t in GOOD], REFERENCES, Conditions(resamples=200)
    )
    compared = compare_systems({"new": new, "old": GOOD}, REFERENCES, METRICS)
    for verdict, test in zip(verdicts, compared.report.tests, strict=True):
        assert verdict.difference == test.difference
        assert (scores[verdict.metric] == compared.scores[verdict.metric]).all()


def test_p_is_exact_and_corrected_over_metrics() -> None:
    new = [spoiled(text, at % 3) for at, text in enumerate(GOOD)]
    verdicts, scores = judge_scores(
        METRICS, [[t] for t in new], [[t] for t in GOOD], REFERENCES, Conditions(resamples=200)
    )
    mean = next(verdict for verdict in verdicts if verdict.metric == "sbleu-2")
    assert mean.p == pytest.approx(exact_p(*scores["sbleu-2"]), abs=1e-12)
    raw = [verdict.p or 0.0 for verdict in verdicts]
    low, high = sorted(raw)
    expected = {low: min(2 * low, 1.0), high: max(min(2 * low, 1.0), high)}
    assert [verdict.p_holm for verdict in verdicts] == [pytest.approx(expected[p]) for p in raw]


@pytest.mark.parametrize(("changed", "metrics", "possible"), [(5, 1, False), (6, 1, True), (6, 2, False), (7, 2, True)])
def test_a_verdict_needs_enough_questions_that_differ(changed: int, metrics: int, possible: bool) -> None:
    assert (metrics * 2 / 2**changed < 0.05) is possible
    new = [spoiled(text, 3) if at < changed else text for at, text in enumerate(GOOD)]
    chosen = dict(list(METRICS.items())[:metrics])
    verdicts, _ = judge_scores(chosen, [[t] for t in new], [[t] for t in GOOD], REFERENCES, Conditions(resamples=200))
    assert {verdict.verdict for verdict in verdicts} == {"worse" if possible else "not enough data"}
    assert {verdict.differing for verdict in verdicts} == {changed}


def test_equal_answers_are_no_change() -> None:
    sides = [[text] for text in GOOD]
    verdicts, _ = judge_scores(METRICS, sides, sides, REFERENCES, Conditions(resamples=200, detect=0.001))
    assert {(verdict.verdict, verdict.p, verdict.difference) for verdict in verdicts} == {
        ("no evidence of a change", 1.0, 0.0)
    }


def test_a_lower_score_of_an_error_rate_is_better() -> None:
    new, old = ([[text] for text in side] for side in (GOOD, [spoiled(text, 4) for text in GOOD]))
    (verdict,), _ = judge_scores(
        {"ter": trubleu.metric("ter")}, new, old, REFERENCES, Conditions(resamples=200, minimum={"ter": 10})
    )
    assert verdict.difference is not None
    assert verdict.difference < 0
    assert (verdict.verdict, verdict.limit, verdict.lower_is_better) == ("better", "above", True)
    (verdict,), _ = judge_scores(
        {"ter": trubleu.metric("ter")}, old, new, REFERENCES, Conditions(resamples=200, minimum={"ter": 10})
    )
    assert (verdict.verdict, verdict.limit) == ("worse", "below")


@given(
    st.floats(-50, 50),
    st.floats(0, 1),
    st.booleans(),
    st.sampled_from([0.01, 0.05, 0.1]),
    st.floats(0, 20),
    st.booleans(),
)
def test_verdicts_follow_the_definition(
    d: float, p: float, possible: bool, alpha: float, tolerance: float, lacking: bool
) -> None:
    verdict = verdict_of(d, p, decidable=possible, alpha=alpha, tolerance=tolerance, lacking=lacking)
    assert (verdict == "worse") == (p < alpha and d < -tolerance)
    assert (verdict == "better") == (p < alpha and d > 0)
    if verdict == "not enough data":
        assert not possible or lacking
    if verdict == "no evidence of a change":
        assert possible
        assert not lacking


@pytest.mark.parametrize("metrics", [1, 3])
def test_the_detectable_change_is_found_as_often_as_it_says(metrics: int) -> None:
    """With a normal difference of that size, a two-sided test at α/k rejects in 80 % of cases."""
    error, alpha = 1.7, 0.05
    change = detectable_change(error, alpha, metrics)
    bound = NormalDist().inv_cdf(1 - alpha / (2 * metrics)) * error
    found = 1 - NormalDist(change, error).cdf(bound) + NormalDist(change, error).cdf(-bound)
    assert found == pytest.approx(0.8, abs=1e-3)


def test_repeats_are_means_within_a_question() -> None:
    metric = METRICS["sbleu-2"]
    outputs = [[text] if at % 2 else [text, spoiled(text, 2), spoiled(text, 5)] for at, text in enumerate(GOOD)]
    rows = average_statistics(metric, outputs, REFERENCES)
    for at, texts in enumerate(outputs):
        single = [metric.statistics([text], REFERENCES.take([at]))[0] for text in texts]
        np.testing.assert_allclose(rows[at], np.mean(single, axis=0), rtol=1e-12)


def test_wrong_conditions() -> None:
    with pytest.raises(UsageError, match="tolerance is -1"):
        Conditions(tolerance=-1)
    with pytest.raises(UsageError, match="detect is nan"):
        Conditions(detect=math.nan)
    with pytest.raises(UsageError, match="a minimum is given for bleu, which is not among the metrics"):
        judge_scores(METRICS, [[text] for text in GOOD], None, REFERENCES, Conditions(minimum={"bleu": 3}))
