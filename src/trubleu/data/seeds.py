"""Seeds: triples drawn from a corpus, kept if people find them good, and binned into dev and test."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from trubleu.data.triples import BATCH, Triple, TripleSource, warn_of_skipped
from trubleu.errors import CountedWarning, DataError, UsageError, counted, shown, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.data.ratings import Ratings
    from trubleu.progress import Progress

SEED_SYSTEM = "seed"
"""Whose responses seeds are, where ratings do not name a system."""


def sample_triples(
    source: TripleSource, n: int, *, seed: int, size: int = BATCH, progress: Progress | None = None
) -> list[Triple]:
    """Draw triples at random, without replacement, in one pass over a corpus of any size.

    Every set of ``n`` triples is as likely as any other. Rows that are left out, such as those with a blank message,
    are not drawn from. Which triples are drawn depends on the seed and their order alone, not on files or batches.

    Parameters
    ----------
    source
        `TripleFiles` or `TripleList`.
    n
        How many to draw.
    seed
        Of the random numbers, 0 or more.
    size
        How many rows are read at once.
    progress
        As in `TripleFiles.batches`.

    Returns
    -------
    list of Triple
        In the order of the corpus.

    Raises
    ------
    DataError
        If there are fewer triples.
    UsageError
        If ``n`` or the seed is too small.

    Warns
    -----
    CountedWarning
        If rows of the corpus were left out.

    Examples
    --------
    >>> from trubleu.data import TripleList
    >>> corpus = TripleList([Triple(str(number), (), "hi", "hello") for number in range(1000)])
    >>> [triple.id for triple in sample_triples(corpus, 3, seed=1)]
    ['323', '458', '622']
    """
    if n < 1:
        raise UsageError(f"{n} triples cannot be drawn; draw 1 or more")
    # Numbers straight from the generator: one for each triple, however many are taken at once.
    random = _generator(seed).bit_generator.random_raw
    numbers, triples, seen = np.zeros(0, np.uint64), list[Triple](), 0
    most = np.iinfo(np.uint64).max

    def smallest() -> NDArray[np.intp]:
        return np.sort(np.argsort(numbers, kind="stable")[:n])  # equal numbers are ordered by place

    for batch in source.batches(size=size, progress=progress):
        drawn = random(len(batch))
        chosen = np.flatnonzero(drawn <= most)
        numbers = np.concatenate([numbers, drawn[chosen]])
        triples += [
            Triple(batch.ids[row], batch.contexts[row], batch.messages[row], batch.responses[row])
            for row in chosen.tolist()
        ]
        seen += len(batch)
        if len(triples) >= 2 * n + BATCH:
            kept = smallest()
            numbers, triples = numbers[kept], [triples[row] for row in kept.tolist()]
            most = numbers.max()
    if seen < n:
        raise DataError(f"{counted(n, 'triple')} cannot be drawn from a corpus of {seen:,}; draw that many at most")
    warn_of_skipped(source, stacklevel=3)
    return [triples[row] for row in smallest().tolist()]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedSplit:
    """Triples that people find good, in two parts, and how many were left out.

    Attributes
    ----------
    dev, test
        The two parts, each in the order of the corpus.
    unrated
        How many triples nobody has rated.
    few
        How many were rated by fewer people than asked for.
    low
        How many were rated by enough people, but too low on average.
    """

    dev: tuple[Triple, ...]
    test: tuple[Triple, ...]
    unrated: int
    few: int
    low: int

    def counts(self) -> dict[str, int]:
        """Return how many triples there were, and how many of them were unrated, rated, dropped (few, low) and kept."""
        kept, dropped = len(self.dev) + len(self.test), self.few + self.low
        return {
            "triples": kept + dropped + self.unrated,
            "unrated": self.unrated,
            "rated": kept + dropped,
            "few": self.few,
            "low": self.low,
            "dropped": dropped,
            "kept": kept,
            "dev": len(self.dev),
            "test": len(self.test),
        }


def split_seeds(
    triples: Sequence[Triple],
    ratings: Ratings,
    *,
    least: int | str | Fraction = 4,
    raters: int = 3,
    dev: float | str | Fraction = Fraction(1, 2),
    seed: int,
) -> SeedSplit:
    """Keep triples that people rate high on average, and bin them into dev and test at random.

    Parameters
    ----------
    triples
        What was rated.
    ratings
        What people think of the responses; an item is the id of a triple.
    least
        The mean that a triple needs. Means are compared as exact fractions; so is what ``"3.5"`` or ``"11/3"`` says.
    raters
        How many people must have rated a triple.
    dev
        The share of dev, between 0 and 1; what it gives is rounded to whole triples, a half upwards.
    seed
        Of the random numbers, 0 or more.

    Raises
    ------
    DataError
        If two triples have the same id, there are ratings of several systems, no rating is of one of the triples, or
        no triple is rated high enough.
    UsageError
        If an option is out of range.

    Warns
    -----
    CountedWarning
        If triples have no ratings, or too few of them, or items that were rated are not among the triples.

    Examples
    --------
    >>> from trubleu.data import Ratings
    >>> triples = [Triple(str(number), (), "hi", "hello") for number in range(4)]
    >>> rows = [(item, "seed", rater, 4 if item else 1) for item in range(4) for rater in "abc"]
    >>> split = split_seeds(triples, Ratings(*zip(*rows)), dev="2/3", seed=1)
    >>> split.low, [triple.id for triple in split.dev], [triple.id for triple in split.test]
    (1, ['1', '2'], ['3'])
    """
    limit = _fraction(least, "the least mean rating")
    share = _fraction(dev, "the share of dev")
    if not 0 < share < 1:
        raise UsageError(f"the share of dev must be between 0 and 1, not {shown(dev)}; give it like 0.5")
    if raters < 1:
        raise UsageError(f"{raters} raters are too few; ask for 1 or more")
    if ratings.scale is not None and not ratings.scale[0] <= limit <= ratings.scale[1]:
        low, high = ratings.scale
        raise UsageError(f"the least mean rating must be between {low:g} and {high:g}, not {shown(least)}")
    random = _generator(seed)
    means, people = _opinions(triples, ratings)
    kept = [
        triple for triple in triples if triple.id in means and people[triple.id] >= raters and means[triple.id] >= limit
    ]
    unrated = sum(triple.id not in means for triple in triples)
    few = sum(people.get(triple.id, raters) < raters for triple in triples)
    _warn("triples without ratings, left out", unrated)
    _warn(f"triples rated by fewer than {raters}, left out", few)
    if not kept:
        raise DataError(
            f"{ratings.source}: none of {counted(len(triples), 'triple')} is rated {limit} or more on average by "
            f"{raters} people, so there is nothing to split"
        )
    size = int(len(kept) * share + Fraction(1, 2))
    in_dev = set(random.permutation(len(kept))[:size].tolist())
    return SeedSplit(
        dev=tuple(triple for place, triple in enumerate(kept) if place in in_dev),
        test=tuple(triple for place, triple in enumerate(kept) if place not in in_dev),
        unrated=unrated,
        few=few,
        low=len(triples) - unrated - few - len(kept),
    )


def _opinions(triples: Sequence[Triple], ratings: Ratings) -> tuple[dict[str, Fraction], dict[str, int]]:
    """Return the mean rating of each triple that has one, and how many people rated it."""
    known: set[str] = set()
    for triple in triples:
        if triple.id in known:
            raise DataError(f"the id {shown(triple.id)} is used by two triples, so ratings cannot tell them apart")
        known.add(triple.id)
    systems = ratings.systems()
    if len(systems) > 1:
        raise DataError(
            f"{ratings.source} has ratings of {len(systems)} systems ({some(systems)}), but seeds are kept by ratings "
            "of their own responses; leave only those in the file"
        )
    means = {item: mean for (item, _), mean in ratings.item_means().items() if item in known}
    people: dict[str, set[str]] = {}
    for item, rater in zip(ratings.item, ratings.rater, strict=True):
        people.setdefault(item, set()).add(rater)
    unknown = [item for item in people if item not in known]
    if not means:
        hint = f" such as {shown(unknown[0])}" if unknown else ""
        raise DataError(f"{ratings.source}: no rating is of one of the triples; its items{hint} must be ids of triples")
    _warn(f"items of {ratings.source} that are not among the triples", len(unknown))
    return means, {item: len(names) for item, names in people.items() if item in known}


def _warn(what: str, count: int) -> None:
    if count:
        warnings.warn(CountedWarning(what, count), stacklevel=4)


def _generator(seed: Any) -> np.random.Generator:
    if type(seed) is not int or seed < 0:
        raise UsageError(f"a seed must be a whole number of 0 or more, not {shown(seed)}")
    return np.random.default_rng(seed)


def _fraction(value: Any, what: str) -> Fraction:
    try:
        # What a float was written as is meant, not the binary fraction next to it.
        return Fraction(repr(value) if isinstance(value, float) else value)
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise UsageError(f"{what} must be a number such as 0.5 or 7/2, not {shown(value)}") from error
