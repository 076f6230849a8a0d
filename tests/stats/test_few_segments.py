"""Tests and intervals of few segments: exact swaps, verdicts that are possible, and false alarms by simulation."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from tests.stats.pairs import paired_bootstrap, paired_randomisation
from trubleu.stats import compare, few_segments, smallest_p

if TYPE_CHECKING:
    from collections.abc import Callable

Statistics = NDArray[np.float64]


def mean(sums: Statistics) -> Statistics:
    return np.asarray(sums[..., 0] / sums[..., 1])


def ratio(sums: Statistics) -> Statistics:
    return np.asarray(100.0 * np.sqrt(sums[..., 0] / sums[..., 1]))


def share_of_swaps(a: Statistics, b: Statistics, score: Callable[[Statistics], Statistics]) -> float:
    """Return the share of all swaps of all segments whose difference is as large as the one seen."""
    seen = abs(float(score(a.sum(axis=0)) - score(b.sum(axis=0))))
    extreme = 0
    for swaps in product([False, True], repeat=len(a)):
        first = sum((y if swap else x) for x, y, swap in zip(a, b, swaps, strict=True))
        other = sum((x if swap else y) for x, y, swap in zip(a, b, swaps, strict=True))
        extreme += abs(float(score(np.asarray(first)) - score(np.asarray(other)))) >= seen - 1e-9
    return float(extreme / 2 ** len(a))


MATCHES = st.integers(1, 9).flatmap(lambda size: st.lists(st.tuples(*[st.integers(0, 4)] * 2), min_size=size))


@given(MATCHES.map(lambda rows: rows[:9]))
def test_the_test_is_exact_over_all_swaps(rows: list[tuple[int, int]]) -> None:
    a, b = (np.array([[row[side] * 0.1, 4.0] for row in rows]) for side in (0, 1))
    for score in (mean, ratio):
        test = paired_randomisation(a, b, score, resamples=10)
        differing = sum(one != other for one, other in rows)
        assert (test.differing, test.exact, test.n) == (differing, True, 2**differing)
        assert test.p == share_of_swaps(a, b, score)
        assert test.p >= test.smallest_p == smallest_p(differing)


@pytest.mark.parametrize("differing", [0, 1, 5, 16, 17])
def test_p_is_smallest_where_all_segments_agree(differing: int) -> None:
    # 30 segments, of which some differ, all in favour of A.
    b = np.stack([np.arange(30.0), np.ones(30)], axis=1)
    a = b + np.outer(np.arange(30) < differing, [0.1, 0.0])
    test = paired_randomisation(a, b, mean, resamples=5000)
    assert (test.differing, test.exact) == (differing, differing <= 16)
    if test.exact:
        assert test.p == smallest_p(differing) == min(1.0, 2.0 / 2**differing)
    else:
        assert test.p >= 1 / 5001
        assert test.n == 5000


def test_sixteen_and_seventeen_differing_segments_agree() -> None:
    # One more segment that differs by next to nothing makes the test a sampled one, and hardly moves p.
    rng = np.random.default_rng(3)
    a = np.stack([rng.normal(0.5, 1.0, 17), np.ones(17)], axis=1)
    a[16, 0] = 1e-6
    b = a * [0.0, 1.0]
    exact = paired_randomisation(a[:16], b[:16], mean)
    sampled = paired_randomisation(a, b, mean, resamples=40_000)
    assert (exact.exact, sampled.exact) == (True, False)
    assert sampled.p == pytest.approx(exact.p, abs=4 * (0.25 / 40_000) ** 0.5)


def test_additions_in_another_order_are_no_difference() -> None:
    a = np.array([[0.1 + 0.2 + 0.3, 1.0], [2.0, 1.0], [3.0, 1.0]])
    b = np.array([[0.3 + 0.2 + 0.1, 1.0], [1.0, 1.0], [3.0, 1.0]])
    assert a[0, 0] != b[0, 0]
    assert paired_randomisation(a, b, mean).differing == 1


def test_the_family_makes_the_smallest_p_larger() -> None:
    b = np.stack([np.zeros(7), np.ones(7)], axis=1)
    better = b + np.array([1.0, 0.0])
    two = compare({"a": better, "b": b}, mean)
    assert [(row.smallest_p, row.decidable, row.significant) for row in two] == [(2 / 128, True, True)]
    four = compare({"a": better, "b": b, "c": better * [2.0, 1.0], "d": better * [3.0, 1.0]}, mean)
    assert {(row.smallest_p, row.decidable) for row in four} == {(6 * 2 / 128, False)}
    assert not any(row.significant for row in four)


def test_the_bootstrap_decides_no_more_than_the_data() -> None:
    b = np.stack([np.zeros(5), np.ones(5)], axis=1)
    test = paired_bootstrap(b + np.array([1.0, 0.0]), b, mean)
    assert test.p < 0.001
    assert (test.smallest_p, test.significant) == (2 / 32, False)


def test_effects_of_raters_take_the_bootstrap() -> None:
    rng = np.random.default_rng(1)
    systems = {name: np.stack([rng.random(30), np.ones(30)], axis=1) for name in "ab"}
    assert compare(systems, mean, resamples=50)[0].test == "randomisation"
    assert compare(systems, mean, resamples=50, effects={"a": [0.1], "b": [0.0]})[0].test == "bootstrap"


@pytest.mark.parametrize("sizes", [[40, 3], [3, 40], [3, 4], [40, 50]])
def test_progress_adds_up_whether_tests_are_exact_or_sampled(sizes: list[int]) -> None:
    base = np.stack([np.zeros(50), np.ones(50)], axis=1)
    others = {
        str(number): base + np.outer(np.arange(50) < size, [1.0, 0.0]) for number, size in enumerate(sizes, start=1)
    }
    steps: list[int] = []
    rows = compare({"0": base, **others}, mean, baseline="0", resamples=100, progress=steps.append)
    assert [row.exact for row in rows] == [size <= 16 for size in sizes]
    assert sum(steps) == 200


@pytest.mark.parametrize(("segments", "note"), [(19, "these are from 19"), (20, None)])
def test_intervals_of_few_segments_say_so(segments: int, note: str | None) -> None:
    assert (few_segments(segments) or "None").endswith(str(note))


SIZES = (2, 3, 5, 8, 20, 100)
STUDIES = 2_000


def false_alarms(segments: int) -> list[float]:
    """Return the false alarms of both tests and the coverage of the interval of the difference, in percent.

    Both systems match the words of a segment with the same probability, so they do not differ in truth.
    """
    rng = np.random.default_rng(segments)
    counts = np.zeros(3)
    for study in range(STUDIES):
        words, rate = rng.integers(5, 30, segments), rng.beta(2, 3, segments)
        a, b = (np.stack([rng.binomial(words, rate) + 0.1, words], axis=1) for _ in "ab")
        swaps, drawn = (
            test(a, b, ratio, resamples=399, seed=study, threads=1) for test in (paired_randomisation, paired_bootstrap)
        )
        counts += [swaps.p < 0.05, drawn.p < 0.05, drawn.low <= 0.0 <= drawn.high]
    return [*map(float, 100 * counts / STUDIES)]


def test_false_alarms_are_as_rare_as_promised_and_as_documented() -> None:
    found = {segments: false_alarms(segments) for segments in SIZES}
    for segments, (alarms, *_) in found.items():
        studies = round(alarms * STUDIES / 100)
        assert scipy_stats.binomtest(studies, STUDIES, 0.05, alternative="greater").pvalue > 0.001
        if smallest_p(segments) >= 0.05:
            assert studies == 0
    text = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
    assert f"| segments | {' | '.join(map(str, SIZES))} |\n" in text
    for column, title in enumerate(("randomisation (default)", "bootstrap", "95 % intervals that contain 0")):
        assert f"| {title} | {' | '.join(f'{each[column]:.1f} %' for each in found.values())} |\n" in text
