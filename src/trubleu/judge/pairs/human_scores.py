"""Human ratings laid beside the segments: mean ratings as exact numbers; which pairs and segments are judged."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.data.ratings import MEAN
from trubleu.data.weights import weight_on_scale
from trubleu.errors import DataError, UsageError, counted, nearest, some
from trubleu.judge.report import nothing_fits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import Ratings, References
    from trubleu.judge.pairs.reference_pool import Condition, Library
    from trubleu.judge.pairs.results import Protocol
    from trubleu.judge.report import GivenScores, Notes

_EXACT: Final = 2**53
"""Up to here sums of whole numbers are exact in floating point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinions:
    """Mean ratings by system and segment.

    Attributes
    ----------
    systems
        The names of the systems.
    means
        For a pair's name (None where ratings do not depend on the pair) and a system's place, means by segment.
    counts
        How many ratings each system's outputs got.
    """

    systems: tuple[str, ...]
    means: Mapping[str | None, Sequence[Mapping[int, Fraction]]]
    counts: Sequence[int]

    @classmethod
    def of(cls, ratings: Ratings, systems: Sequence[str], references: References, notes: Notes) -> Opinions:
        """Sort ratings by system and segment; those of unknown ones are counted, named and left out.

        Where some ratings were given side by side, in a pair, those that were not are left out as well.

        Raises
        ------
        DataError
            If no rating is of a system and a segment that are known.
        """
        if not len(ratings):
            raise DataError(f"{ratings.source} has no ratings; give one per row")
        names = {name: place for place, name in enumerate(systems)}
        positions = references.positions()

        def sort(means: Mapping[tuple[str, str], Fraction]) -> list[dict[int, Fraction]]:
            sorted_means: list[dict[int, Fraction]] = [{} for _ in systems]
            for (item, system), mean in means.items():
                if system in names and item in positions:
                    sorted_means[names[system]][positions[item]] = mean
            return sorted_means

        means: dict[str | None, list[dict[int, Fraction]]] = {None: sort(ratings.item_means())}
        for pair in dict.fromkeys(ratings.pair or ()):
            if pair is not None:
                means[pair] = sort(ratings.item_means(pair=pair))
        if not any(means[None]):
            theirs = ratings.systems(), ratings.items()
            raise nothing_fits("rating", ratings.source, theirs, (systems, references.ids))
        notes.unknown(f"{ratings.source} rates", "system", ratings.system, names)
        notes.unknown(f"{ratings.source} rates", "item", ratings.item, positions)
        known = Counter(system for item, system in zip(ratings.item, ratings.system, strict=True) if item in positions)
        _tell_of_raters(ratings, notes)
        return cls(systems=tuple(systems), means=means, counts=[known[name] for name in systems])

    def of_pair(self, a: int, b: int) -> tuple[Mapping[int, Fraction], Mapping[int, Fraction]]:
        """Return both systems' means by segment: as rated side by side where ratings say so, else all."""
        first, second = self.systems[a], self.systems[b]
        for name in (f"{first}:{second}", f"{second}:{first}"):
            if name in self.means:
                return self.means[name][a], self.means[name][b]
        if len(self.means) > 1:
            return {}, {}  # rated in pairs, though not in this one
        return self.means[None][a], self.means[None][b]

    def weights(self, scale: tuple[float, float]) -> dict[tuple[int, int], float]:
        """Return the weight of each rated output as a reference: its mean rating moved from the scale onto −1 to 1."""
        return {
            (system, segment): weight_on_scale([mean], scale)
            for system, means in enumerate(self.means[None])
            for segment, mean in means.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two systems and the segments on which both were rated.

    Attributes
    ----------
    a, b
        Places of the systems.
    segments
        Places of the segments, rising.
    opinion
        Rating of A less rating of B, times a number that makes all of them whole.
    rating_a, rating_b
        Mean ratings.
    """

    a: int
    b: int
    segments: NDArray[np.int64]
    opinion: NDArray[np.float64]
    rating_a: NDArray[np.float64]
    rating_b: NDArray[np.float64]

    @property
    def systems(self) -> tuple[int, int]:
        """Both systems."""
        return self.a, self.b


def lay_out_pairs(
    opinions: Opinions, pairs: Sequence[tuple[int, int]], usable: Sequence[NDArray[np.bool_]]
) -> tuple[list[Pair], int]:
    """Return the pairs with their segments, and the number that differences of opinions were multiplied by.

    Parameters
    ----------
    opinions
        What people think.
    pairs
        Places of systems.
    usable
        For each pair, which segments may be used at all.
    """
    rated = []
    for (a, b), may in zip(pairs, usable, strict=True):
        means_a, means_b = opinions.of_pair(a, b)
        segments = [segment for segment in sorted(means_a.keys() & means_b.keys()) if may[segment]]
        rated.append((segments, [means_a[each] for each in segments], [means_b[each] for each in segments]))
    exact = math.lcm(*{mean.denominator for _, first, second in rated for mean in (*first, *second)})
    # Whole numbers: ten systems make 45 pairs, and fractions take their time.
    whole = [
        [
            x.numerator * (exact // x.denominator) - y.numerator * (exact // y.denominator)
            for x, y in zip(first, second, strict=True)
        ]
        for _, first, second in rated
    ]
    # A replicate may put one segment into a unit again and again.
    most = max(map(len, whole), default=0) * max((abs(each) for row in whole for each in row), default=0)
    common = exact
    if most >= _EXACT:
        # Scores with many digits, or many different numbers of raters: sums cannot be exact, only as fine as can be.
        common = 2 ** max(0, _EXACT.bit_length() - 1 - (-(-most // exact)).bit_length())
        whole = [[round(Fraction(each * common, exact)) for each in row] for row in whole]
    laid_out = [
        Pair(
            a=a,
            b=b,
            segments=np.array(segments, dtype=np.int64),
            opinion=np.array(differences, dtype=np.float64),
            rating_a=np.array(first, dtype=np.float64),
            rating_b=np.array(second, dtype=np.float64),
        )
        for (a, b), (segments, first, second), differences in zip(pairs, rated, whole, strict=True)
    ]
    return laid_out, common


def parse_pairs(written: str | Iterable[tuple[str, str]] | None, systems: Sequence[str]) -> list[tuple[int, int]]:
    """Return places of systems from ``all``, ``A:B,A:C`` or pairs of names.

    Examples
    --------
    >>> parse_pairs("all", ["A", "B", "C"]), parse_pairs("C:A", ["A", "B", "C"])
    ([(0, 1), (0, 2), (1, 2)], [(2, 0)])
    """
    if len(systems) < 2:
        raise UsageError(f"judging needs at least two systems to compare, not {len(systems)}; name another one")
    if written is None or written == "all":
        return [(a, b) for a in range(len(systems)) for b in range(a + 1, len(systems))]
    names = {name: place for place, name in enumerate(systems)}
    given = [_split_pair(part.strip(), names) for part in written.split(",")] if isinstance(written, str) else written
    pairs: list[tuple[int, int]] = []
    for first, second in given:
        for name in (first, second):
            if name not in names:
                raise UsageError(f"the pair {first}:{second} names no system {name!r}; {nearest(name, names)}")
        if first == second:
            raise UsageError(f"the pair {first}:{second} is one system twice; write two different ones")
        pair = names[first], names[second]
        if pair in pairs or pair[::-1] in pairs:
            raise UsageError(f"the pair {first}:{second} is given twice; give it once")
        pairs.append(pair)
    return pairs


def _split_pair(text: str, names: Mapping[str, int]) -> tuple[str, str]:
    # Names may hold a colon themselves.
    places = [place for place, character in enumerate(text) if character == ":"]
    ways = [(text[:place], text[place + 1 :]) for place in places]
    if not ways:
        raise UsageError(f"{text!r} is not a pair; write A:B, and several as A:B,A:C")
    return next((way for way in ways if way[0] in names and way[1] in names), ways[0])


def _tell_of_raters(ratings: Ratings, notes: Notes) -> None:
    alone = sum(pair is None for pair in ratings.pair or ())
    if alone:
        notes.warn(
            f"{counted(alone, 'rating')} in {ratings.source} name no pair while others do, and are left out; "
            "give each a pair, or none"
        )
    if set(ratings.rater) not in ({MEAN},) and ratings.raters() == 1:
        notes.warn(f"all ratings in {ratings.source} come from one rater, so nothing balances that rater's errors")
    counts = ratings.counts().values()
    if min(counts) != max(counts):
        notes.add(f"outputs have from {min(counts)} to {counted(max(counts), 'rating')} each")


def systems_named(names: Sequence[str], systems: Sequence[str]) -> frozenset[int]:
    """Return places of systems by their names, or of all."""
    if list(names) == ["all"]:
        return frozenset(range(len(systems)))
    for name in names:
        if name not in systems:
            raise UsageError(f"there is no system {name!r} whose equals could be dropped; {nearest(name, systems)}")
    return frozenset(systems.index(name) for name in names)


FEW_UNITS: Final = 5


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
    kept = [pair for pair in pairs if len(pair.segments) >= protocol.unit]
    if small := [f"{names[pair.a]}:{names[pair.b]}" for pair in pairs if len(pair.segments) < protocol.unit]:
        notes.warn(f"pairs with fewer than {protocol.unit} judged segments are left out: {some(small)}")
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
