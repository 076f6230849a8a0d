"""Which references a metric sees (one, the good ones, all), and which pairs and segments are judged."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from trubleu.errors import DataError, UsageError, counted, nearest, some
from trubleu.signature import number_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from trubleu.judge.given_scores import GivenScores
    from trubleu.judge.pairs.human_scores import Opinions, Pair
    from trubleu.judge.pairs.reference_pool import Library
    from trubleu.judge.pairs.results import Protocol
    from trubleu.judge.report import Notes


SINGLE: Final = "single"
ALL: Final = "all"
GIVEN: Final = "given"
SEED_ORIGIN: Final = "seed"

_NAMES: Final = (SINGLE, "w>=0.6", ALL, GIVEN)
_THRESHOLD: Final = re.compile(r"\s*w\s*(?:>=|≥)\s*(\S+)\s*")

Kind: TypeAlias = Literal["single", "threshold", "all", "given"]


@dataclass(frozen=True, slots=True)
class Shelf:
    """References of some segments as a condition looks at them: flat, with offsets.

    Attributes
    ----------
    offsets
        Where each segment begins, and the end of the last; every segment has at least one.
    weights
        1 for all where references have no weights.
    seeds
        Whether a reference is the response that the segment was made from.
    pooled
        Whether it is the output of another system.
    """

    offsets: NDArray[np.int64]
    weights: NDArray[np.float64]
    seeds: NDArray[np.bool_]
    pooled: NDArray[np.bool_]

    def any_of(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each segment whether one of its references is kept."""
        found: NDArray[np.bool_] = np.logical_or.reduceat(kept, self.offsets[:-1])
        return found

    def best(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the largest weight of each segment among those kept, −inf without one."""
        largest: NDArray[np.float64] = np.maximum.reduceat(np.where(kept, self.weights, -np.inf), self.offsets[:-1])
        return largest

    def first(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the first reference kept of each segment."""
        places = np.flatnonzero(kept)
        _, leading = np.unique(np.searchsorted(self.offsets, places, side="right"), return_index=True)
        chosen = np.zeros(len(kept), dtype=bool)
        chosen[places[leading]] = True
        return chosen

    def first_seed_or(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each segment the first seed among those kept, else the first of them."""
        seeds = kept & self.seeds
        return self.first(np.where(self.spread(self.any_of(seeds)), seeds, kept))

    def spread(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a segment's value for each of its references."""
        return np.repeat(values, np.diff(self.offsets))


@dataclass(frozen=True, slots=True)
class Condition:
    """Which references of a segment count; read from what people write with `parse`.

    Attributes
    ----------
    kind
        ``single``: the one with the origin ``seed``, else the first. ``threshold``: those with a weight of at least
        ``threshold``; a segment without any keeps its best-weighted one (of equals a seed, else the first). ``all``.
        ``given``: all but the outputs of other systems, where those have joined.
    threshold
        For ``threshold`` only.
    """

    kind: Kind
    threshold: float | None = None

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read ``single``, ``all``, ``given`` or ``w>=0.6``.

        Examples
        --------
        >>> Condition.parse("w >= .6"), str(Condition.parse("w>=0.60"))
        (Condition(kind='threshold', threshold=0.6), 'w>=0.6')
        """
        match text:
            case "single" | "all" | "given":
                return cls(text)
        if written := _THRESHOLD.fullmatch(text):
            try:
                threshold = float(written[1])
            except ValueError:
                threshold = math.nan
            if -1 <= threshold <= 1:
                return cls("threshold", threshold)
            raise UsageError(f"the threshold in {text!r} must be a number from -1 to 1, as weights are")
        raise UsageError(
            f"there is no condition {text!r}; write single, all, given or a threshold such as 'w>=0.6'; "
            f"{nearest(text, _NAMES)}"
        )

    def __str__(self) -> str:
        return self.kind if self.threshold is None else f"w>={number_text(self.threshold)}"

    def choose(self, shelf: Shelf, available: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of the available references count."""
        if self.threshold is not None:
            return (available & (shelf.weights >= self.threshold)) | self.fallbacks(shelf, available)
        if self.kind == "single":
            return shelf.first_seed_or(available)
        return available & ~shelf.pooled if self.kind == "given" else available

    def fallbacks(self, shelf: Shelf, available: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the references that count although they are below the threshold, as their segment has none above."""
        if self.threshold is None:
            return np.zeros(len(available), dtype=bool)
        without = ~shelf.any_of(available & (shelf.weights >= self.threshold))
        best = available & (shelf.weights == np.repeat(shelf.best(available), np.diff(shelf.offsets)))
        return shelf.first_seed_or(best & shelf.spread(without))


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


def check_given(given: Sequence[GivenScores], systems: Sequence[str], judged: Iterable[int]) -> None:
    """Raise an error for scores from a file that lack a system that is judged."""
    for scores in given:
        known = np.logical_or.reduce(np.isfinite(scores.table), axis=1)
        if missing := [systems[place] for place in sorted(judged) if not known[place]]:
            raise DataError(
                f"{scores.source} has no scores of {scores.name} for {some(missing)}; "
                "add them, or leave the systems out"
            )


def usable_segments(
    library: Library,
    pairs: Sequence[tuple[int, int]],
    conditions: Sequence[Condition],
    given: Sequence[GivenScores],
    opinions: Opinions,
    notes: Notes,
) -> list[NDArray[np.bool_]]:
    """Return for each pair the segments that every metric can score under every condition."""
    count = len(library.references)
    unrated, unscored, worthless = np.zeros((3, count), dtype=bool)
    masks = []
    for a, b in pairs:
        means_a, means_b = opinions.of_pair(a, b)
        rated, scored, positive = np.zeros(count, dtype=bool), *np.ones((2, count), dtype=bool)
        rated[list(means_a.keys() & means_b.keys())] = True
        for scores in given:
            scored &= np.isfinite(scores.table[[a, b]]).all(axis=0)
        for system, condition in product((a, b), conditions):
            positive &= library.positive(condition, library.available((a, b), system))
        if rated.any():  # a pair that nobody rated is left out as a whole
            unrated |= ~rated
        unscored |= rated & ~scored
        worthless |= rated & scored & ~positive
        masks.append(scored & positive)
    if unrated.any():
        notes.add(
            f"{int(unrated.sum()):,} of {counted(count, 'segment')} lack a rating for a system of some pair "
            "and are left out there"
        )
    if unscored.any():
        notes.warn(
            f"{counted(int(unscored.sum()), 'segment')} without a score from {some(scores.name for scores in given)} "
            "for a system of some pair, left out there for every metric"
        )
    if worthless.any():
        notes.warn(
            f"{counted(int(worthless.sum()), 'segment')} without a reference of positive weight under some condition, "
            "left out of every metric and condition"
        )
    return masks


def tell_of_references(
    library: Library,
    pairs: Sequence[Pair],
    conditions: Sequence[Condition],
    systems: Sequence[str],
    notes: Notes,
) -> None:
    """Say what a reader must know of the references that outputs are held against."""
    shelf = library.shelf
    for condition in conditions:
        below = np.zeros(len(library.references), dtype=bool)
        for pair in pairs:
            for system in pair.systems:
                available = library.available(pair.systems, system)
                below[pair.segments] |= shelf.any_of(condition.fallbacks(shelf, available))[pair.segments]
        if below.any():
            many = counted(int(np.count_nonzero(below)), "segment")
            notes.add(f"{condition}: {many} without such a reference keep their best-weighted one")
    if library.references.weights is None and any(condition.threshold is not None for condition in conditions):
        notes.add("the references have no weights, so all of them reach every threshold")
    if library.pooled:
        notes.add(
            "ratings are shared: the rated outputs of other systems serve as references, weighted by the same "
            "collection of ratings that metrics are judged by"
        )
        notes.add("in the table of systems, a system's scores are against the outputs of all others")
        if np.all(shelf.weights[~shelf.pooled] == 1):
            notes.add("the given references all weigh 1")
        if len(systems) == 2:
            notes.warn("there are only two systems, so there are no other outputs to add to the references")
    if library.drop_equal:
        notes.add(
            "references that equal the output being scored are left out for "
            + some(systems[place] for place in sorted(library.drop_equal))
        )


def large_enough(pairs: Sequence[Pair], protocol: Protocol, names: Sequence[str], notes: Notes) -> list[Pair]:
    """Return the pairs that have at least one unit, and say which have none."""
    most = max(len(pair.segments) for pair in pairs)
    if most == 0:
        raise DataError(
            "no pair of systems has a segment that both were rated on and every metric can score; "
            "check the ids and names in the ratings and in files of scores, or name other pairs"
        )
    if most < protocol.unit:
        raise UsageError(
            f"a unit of {counted(protocol.unit, 'segment')} is larger than the data: no pair has more than {most} "
            f"judged; use a smaller --unit"
        )
    small = [pair for pair in pairs if len(pair.segments) < protocol.unit]
    if small:
        listed = some(f"{names[pair.a]}:{names[pair.b]}" for pair in small)
        notes.warn(f"pairs with fewer than {protocol.unit} judged segments are left out: {listed}")
    kept = [pair for pair in pairs if len(pair.segments) >= protocol.unit]
    if not any(pair.opinion.any() for pair in kept):
        raise DataError(
            "people rate both systems of every pair alike on every segment, so no metric can agree or disagree; "
            "judge by another aspect or rate more outputs"
        )
    units = sum(protocol.shuffles().units(len(pair.segments)) for pair in kept)
    if units < FEW_UNITS:
        notes.warn(
            f"there are only {counted(units, 'unit')}; coefficients of so few observations say little: "
            "use a smaller --unit"
        )
    return kept
