"""Variance components of ratings, against sums over pairs written out, and on ratings whose components are known."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.stats import rating_variance

Rating = tuple[int, int, int]


def stated(ratings: list[Rating]) -> tuple[Fraction, Fraction] | None:
    """Write the estimate as its definition: products of a rater's deviations on two different texts."""
    of_text: dict[int, dict[int, int]] = defaultdict(dict)
    for text, rater, value in ratings:
        of_text[text][rater] = value
    of_text = {text: rows for text, rows in of_text.items() if len(rows) > 1}
    if not of_text:
        return None
    means = {text: Fraction(sum(rows.values()), len(rows)) for text, rows in of_text.items()}
    squares = sum((value - means[text]) ** 2 for text, rows in of_text.items() for value in rows.values())
    pooled = Fraction(squares) / sum(len(rows) - 1 for rows in of_text.values())
    products = expected = Fraction(0)
    for one, other in permutations(of_text, 2):
        for rater in of_text[one].keys() & of_text[other].keys():
            products += (of_text[one][rater] - means[one]) * (of_text[other][rater] - means[other])
            # A deviation is the rater's own level less the mean level of those who rated the text.
            n, m = len(of_text[one]), len(of_text[other])
            for level in of_text[one].keys() & of_text[other].keys():
                expected += (Fraction(level == rater) - Fraction(1, n)) * (Fraction(level == rater) - Fraction(1, m))
    between = products / expected if expected else Fraction(0)
    between = min(max(between, Fraction(0)), pooled)
    return between, pooled - between


tables = st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 4)), st.integers(1, 5), max_size=25).map(
    lambda cells: [(text, rater, value) for (text, rater), value in cells.items()]
)


@given(tables)
def test_against_the_sums_written_out(ratings: list[Rating]) -> None:
    found = rating_variance(*([row[i] for row in ratings] for i in range(3)))
    wanted = stated(ratings)
    if wanted is None:
        assert found.raters == 0
        assert np.isnan(found.rest)
    else:
        assert (found.raters, found.rest) == pytest.approx([float(each) for each in wanted], abs=1e-9)


@given(tables, st.integers(-3, 3))
def test_levels_of_texts_and_names_play_no_part(ratings: list[Rating], shift: int) -> None:
    text, rater, value = ([row[i] for row in ratings] for i in range(3))
    found = rating_variance(text, rater, value)
    moved = rating_variance(
        [9 - each for each in text],
        [7 * each for each in rater],
        [each + shift * t for each, t in zip(value, text, strict=True)],
    )
    assert (moved.raters, moved.rest) == pytest.approx((found.raters, found.rest), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize(("raters", "each"), [(6, 3), (40, 4), (60, 2)])
def test_known_components_are_found(raters: int, each: int) -> None:
    draws = np.random.default_rng(raters)
    found = []
    for _ in range(40):
        levels = 0.4 * draws.standard_normal(raters)
        who = np.concatenate([draws.choice(raters, each, replace=False) for _ in range(300)])
        text = np.repeat(np.arange(300), each)
        value = draws.standard_normal(300)[text] + levels[who] + 0.7 * draws.standard_normal(len(text))
        one = rating_variance(text, who, value)
        found.append((one.raters, one.rest))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(mean - [0.16, 0.49]) < 4 * error)
