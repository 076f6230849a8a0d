"""What is judged: conditions, pairs with enough segments, and the segments that every metric can score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import DataError, UsageError, nearest, some
from trubleu.judge.pairs.conditions import ALL, GIVEN, Condition
from trubleu.judge.pairs.scoring import GivenScores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References, SegmentScores
    from trubleu.judge.notes import Notes
    from trubleu.judge.pairs.library import Library
    from trubleu.judge.pairs.opinions import Opinions, Pair
    from trubleu.judge.pairs.protocol import Protocol
    from trubleu.metrics import Metric

CONDITIONS: Final = ("single", "w>=0.6", "all")
FEW_UNITS: Final = 5


def parse_conditions(written: Sequence[str], *, pool_outputs: bool) -> list[Condition]:
    """Read conditions; refuse none, and one twice."""
    conditions = [Condition.parse(text) for text in written]
    if not conditions:
        raise UsageError(f"judging needs a condition: which references count? {some(CONDITIONS)}")
    for place, condition in enumerate(conditions):
        if condition in conditions[:place]:
            raise UsageError(f"the condition {condition} is given twice; give it once")
    if Condition(GIVEN) in conditions and not pool_outputs:
        raise UsageError(f"without pooled outputs the condition {GIVEN} is {ALL}; write {ALL}, or pool outputs")
    return conditions


def systems_named(names: Sequence[str], systems: Sequence[str]) -> frozenset[int]:
    """Return places of systems by their names, or of all."""
    if list(names) == ["all"]:
        return frozenset(range(len(systems)))
    for name in names:
        if name not in systems:
            raise UsageError(f"there is no system {name!r} whose equals could be dropped; {nearest(name, systems)}")
    return frozenset(systems.index(name) for name in names)


def given_scores(
    files: Sequence[SegmentScores], systems: Sequence[str], references: References, metrics: Mapping[str, Metric]
) -> list[GivenScores]:
    """Return the scores from files as tables; refuse a metric that another one's name has, or that lacks a system."""
    given: list[GivenScores] = []
    for scores in files:
        for name in scores.metrics():
            if name in metrics or any(name == other.name for other in given):
                raise UsageError(f"there are two metrics named {name}, one of them from {scores.source}; rename one")
            missing = [system for system in systems if system not in scores.systems(name)]
            if missing:
                raise DataError(
                    f"{scores.source} has no scores of {name} for {some(missing)}; "
                    f"it has {some(scores.systems(name))}; add them, or leave the systems out"
                )
            given.append(GivenScores(name, scores.table(name, systems, references.ids)))
    return given


def usable_segments(
    library: Library,
    pairs: Sequence[tuple[int, int]],
    conditions: Sequence[Condition],
    given: Sequence[GivenScores],
    opinions: Opinions,
    dropping: frozenset[int],
    pooled: bool,
    notes: Notes,
) -> list[NDArray[np.bool_]]:
    """Return for each pair the segments that every metric can score under every condition."""
    count = len(library.references)
    unrated, unscored, worthless = (np.zeros(count, dtype=bool) for _ in range(3))
    fallbacks: dict[Condition, NDArray[np.bool_]] = {}
    masks = []
    for a, b in pairs:
        means_a, means_b = opinions.of_pair(a, b)
        rated = np.zeros(count, dtype=bool)
        rated[list(means_a.keys() & means_b.keys())] = True
        unrated |= ~rated
        scored = np.ones(count, dtype=bool)
        for scores in given:
            scored &= np.isfinite(scores.table[a]) & np.isfinite(scores.table[b])
        unscored |= rated & ~scored
        positive = np.ones(count, dtype=bool)
        for system in (a, b):
            available = library.available((a, b) if pooled else (), system if system in dropping else None)
            for condition in conditions:
                positive &= library.positive(condition, available)
                below = library.shelf.any_of(condition.fallbacks(library.shelf, available))
                fallbacks[condition] = fallbacks.get(condition, np.zeros(count, dtype=bool)) | (below & rated & scored)
        worthless |= rated & scored & ~positive
        masks.append(scored & positive)
    total = np.count_nonzero
    if total(unrated):
        notes.add(
            f"{total(unrated):,} of {count:,} segments lack a rating for a system of some pair and are left out there"
        )
    if total(unscored):
        notes.warn(
            f"{total(unscored):,} segments have no score from {some(scores.name for scores in given)} "
            "for a system of some pair, and are left out there for every metric"
        )
    if total(worthless):
        notes.warn(
            f"{total(worthless):,} segments have no reference of positive weight under some condition, "
            "and are left out of every metric and condition"
        )
    for condition, below in fallbacks.items():
        if total(below):
            notes.add(f"{condition}: {total(below):,} segments have no such reference and keep their best-weighted one")
    if pooled:
        notes.add(
            "ratings are shared: the rated outputs of other systems serve as references, weighted by the same "
            "collection of ratings that metrics are judged by",
        )
        if library.references.weights is not None and np.all(library.shelf.weights[~library.shelf.pooled] == 1):
            notes.add("the given references all weigh 1")
    if dropping:
        notes.add(
            "references that equal the output being scored are left out for "
            + some(opinions.systems[place] for place in sorted(dropping))
        )
    return masks


def large_enough(pairs: Sequence[Pair], protocol: Protocol, names: Sequence[str], notes: Notes) -> list[Pair]:
    """Return the pairs that have at least one unit, and say which have none."""
    most = max(len(pair.segments) for pair in pairs)
    if most == 0:
        raise DataError(
            "no pair of systems has a segment that both were rated on and every metric can score; "
            "check the ratings, or name other pairs"
        )
    if most < protocol.unit:
        raise UsageError(
            f"a unit of {protocol.unit} segments is larger than the data: no pair has more than {most} "
            f"judged segments; use a smaller --unit"
        )
    small = [pair for pair in pairs if len(pair.segments) < protocol.unit]
    if small:
        listed = some(f"{names[pair.a]}:{names[pair.b]}" for pair in small)
        notes.warn(f"pairs with fewer than {protocol.unit} judged segments are left out: {listed}")
    kept = [pair for pair in pairs if len(pair.segments) >= protocol.unit]
    units = sum(protocol.shuffles().units(len(pair.segments)) for pair in kept)
    if units < FEW_UNITS:
        notes.warn(
            f"there are only {units} units; coefficients of so few observations say little: use a smaller --unit"
        )
    return kept
