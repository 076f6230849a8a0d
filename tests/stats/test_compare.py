"""Families of tests."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.stats.pairs import paired_bootstrap, paired_randomisation
from trubleu.stats import Comparison, TestName, bootstrap, compare, holm, smallest_p

if TYPE_CHECKING:
    from numpy.typing import NDArray


def ratio(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(100.0 * np.sqrt(sums[..., 0] / sums[..., 1]))


def counted(rate: float, seed: int, segments: int = 80) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    totals = rng.integers(1, 30, segments)
    # Tenths of a match, so that sums round.
    return np.stack([rng.binomial(totals, rate) * 0.1, totals], axis=1)


SYSTEMS = {"one": counted(0.50, 1), "two": counted(0.46, 2), "three": counted(0.47, 3), "four": counted(0.50, 1)}


def names(rows: tuple[Comparison, ...]) -> list[tuple[str, str]]:
    return [(row.a, row.b) for row in rows]


def test_all_pairs_in_order() -> None:
    rows = compare(SYSTEMS, ratio, resamples=50)
    assert names(rows) == [
        ("one", "two"),
        ("one", "three"),
        ("one", "four"),
        ("two", "three"),
        ("two", "four"),
        ("three", "four"),
    ]


def test_every_other_system_against_the_baseline() -> None:
    rows = compare(SYSTEMS, ratio, baseline="two", resamples=50)
    assert names(rows) == [("one", "two"), ("three", "two"), ("four", "two")]
    assert rows[0].difference > 0.0
    assert rows[0].p == rows[2].p


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
@pytest.mark.parametrize("baseline", [None, "three"])
def test_a_pair_gets_the_numbers_it_would_get_alone(test: TestName, baseline: str | None) -> None:
    rows = compare(SYSTEMS, ratio, baseline=baseline, test=test, resamples=203, seed=6, confidence=0.8)
    for row in rows:
        a, b = SYSTEMS[row.a], SYSTEMS[row.b]
        if test == "bootstrap":
            alone = paired_bootstrap(a, b, ratio, resamples=203, seed=6, confidence=0.8)
        else:
            alone = paired_randomisation(a, b, ratio, resamples=203, seed=6, confidence=0.8)
        assert row.smallest_p == smallest_p(row.differing, len(rows))
        assert dataclasses.replace(row, a="a", b="b", p_holm=row.p, smallest_p=alone.smallest_p) == alone
    assert [row.p_holm for row in rows] == holm([row.p for row in rows]).tolist()


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
def test_memory_bound_changes_nothing(test: TestName, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = compare(SYSTEMS, ratio, test=test, resamples=100)
    # Room for three systems (or pairs) of 80 + 100 rows with two columns: the rest comes in further groups.
    monkeypatch.setattr(bootstrap, "GROUP_BYTES", 3 * 180 * 2 * 8)
    monkeypatch.setattr(bootstrap, "SLICE_WORK", 1)
    steps: list[int] = []
    assert compare(SYSTEMS, ratio, test=test, resamples=100, progress=steps.append) == expected
    assert sum(steps) == (100 if test == "bootstrap" else 200)
    assert min(steps) >= 0


def test_results_are_frozen_and_plain() -> None:
    row = compare(SYSTEMS, ratio, resamples=20)[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.p = 0.0  # type: ignore[misc]
    assert json.loads(json.dumps(dataclasses.asdict(row)))["a"] == "one"
