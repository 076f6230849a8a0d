"""All references that any output may be compared with, and which of them it is compared with.

References, and where it is asked for the rated outputs of all systems, lie in one table. What differs from pair to
pair and from condition (one reference, the good ones, all) to condition is only which of its rows count.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from trubleu.data import References
from trubleu.errors import UsageError, counted, nearest, some
from trubleu.signature import number_text
from trubleu.text import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.judge.pairs.human_scores import Pair
    from trubleu.judge.report import Notes


SEED_ORIGIN: Final = "seed"

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
            f"{nearest(text, (*CONDITIONS, 'given'))}"
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


def parse_conditions(written: Sequence[str], *, pool_outputs: bool) -> list[Condition]:
    """Read conditions; refuse none, and one twice."""
    conditions = [Condition.parse(text) for text in written]
    if not conditions:
        raise UsageError(f"judging needs a condition: which references count? {some(CONDITIONS)}")
    for place, condition in enumerate(conditions):
        if condition in conditions[:place]:
            raise UsageError(f"the condition {condition} is given twice; give it once")
    if Condition("given") in conditions and not pool_outputs:
        raise UsageError("without pooled outputs the condition given is all; write all, or pool outputs")
    return conditions


NOBODY = -1


def sameness(text: str) -> tuple[str, ...]:
    """Return what two texts must share to be equal: their words and punctuation, whatever the case and the spaces.

    Examples
    --------
    >>> sameness("Hello , you!") == sameness("hello, you !")
    True
    """
    return tuple(words.split(text.lower()))


@dataclass(frozen=True, slots=True)
class Library:
    """The table of references, and what each row is.

    Attributes
    ----------
    references
        All of them; outputs of systems, if they joined, behind the given ones of their segment.
    owner
        For each reference the place of the system that wrote it; −1 for given ones.
    equal
        ``bool[systems, references]``: whether a reference says what the system does.
    shelf
        The columns that conditions look at.
    pooled
        Whether outputs have joined, so that references differ from pair to pair.
    drop_equal
        The systems for which references equal to their output are left out.
    """

    references: References
    owner: NDArray[np.int64]
    equal: NDArray[np.bool_]
    shelf: Shelf
    pooled: bool
    drop_equal: frozenset[int]

    @classmethod
    def build(
        cls,
        references: References,
        systems: Mapping[str, Sequence[str]],
        weights: Mapping[tuple[int, int], float] | None = None,
        drop_equal: frozenset[int] = frozenset(),
    ) -> Library:
        """Lay out the table.

        Parameters
        ----------
        references
            The given ones; without weights they weigh 1.
        systems
            The outputs of each system.
        weights
            By system and segment, the weights of outputs that join the references.
        drop_equal
            Systems for which references equal to their output are left out.
        """
        owner = np.full(references.count, NOBODY)
        if weights is not None:
            references, owner = _with_outputs(references, systems, weights)
        numbers: dict[tuple[str, ...], int] = {}

        def numbered(texts: Iterable[str]) -> NDArray[np.int64]:
            """Give equal texts the same number, and others another one."""
            return np.fromiter((numbers.setdefault(sameness(text), len(numbers)) for text in texts), np.int64)

        said = numbered(references.texts)
        segments = np.repeat(np.arange(len(references)), references.reference_counts())
        equal = np.zeros((len(systems), references.count), dtype=bool)
        for system, texts in enumerate(systems.values()):
            equal[system] = said == numbered(texts)[segments]
        origins = references.origins or (None,) * references.count
        shelf = Shelf(
            references.offsets,
            np.ones(references.count) if references.weights is None else references.weights,
            np.fromiter((origin == SEED_ORIGIN for origin in origins), bool, references.count),
            owner != NOBODY,
        )
        return cls(references, owner, equal, shelf, weights is not None, drop_equal)

    def share_equal(self, system: int, segments: NDArray[np.int64]) -> tuple[int, float]:
        """Return how many of a system's outputs equal a given reference of their segment, and their share."""
        equal = self.shelf.any_of(self.equal[system] & ~self.shelf.pooled)[segments]
        return int(equal.sum()), float(equal.mean()) if len(equal) else 0.0

    def available(self, without: Iterable[int], system: int) -> NDArray[np.bool_]:
        """Return which references the outputs of a system may be held against.

        Parameters
        ----------
        without
            The systems whose outputs are no references.
        system
            The one that is scored; where that is asked for, references equal to its output are left out.
        """
        kept = ~np.isin(self.owner, list(without))
        return kept & ~self.equal[system] if system in self.drop_equal else kept

    def positive(self, condition: Condition, available: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the segments that have a reference of positive weight under a condition."""
        return self.shelf.best(condition.choose(self.shelf, available)) > 0

    def chosen(self, condition: Condition, available: NDArray[np.bool_], segments: NDArray[np.int64]) -> References:
        """Return the references of some segments that count under a condition."""
        return self.references.take(segments, condition.choose(self.shelf, available))


def _with_outputs(
    references: References, systems: Mapping[str, Sequence[str]], weights: Mapping[tuple[int, int], float]
) -> tuple[References, NDArray[np.int64]]:
    """Return references with outputs behind the given ones of their segment, and whose output each is."""
    added = sorted((segment, system) for system, segment in weights)
    names, outputs = list(systems), list(systems.values())
    given = np.ones(references.count) if references.weights is None else references.weights
    segments = [
        *np.repeat(np.arange(len(references)), references.reference_counts()).tolist(),
        *(segment for segment, _ in added),
    ]
    order = np.argsort(segments, kind="stable")
    texts = [*references.texts, *(outputs[system][segment] for segment, system in added)]
    origins = [
        *(references.origins or (None,) * references.count),
        *(f"system:{names[system]}" for _, system in added),
    ]
    whole = References(
        [texts[place] for place in order.tolist()],
        np.concatenate(([0], np.cumsum(np.bincount(segments, minlength=len(references))))),
        np.concatenate((given, [weights[system, segment] for segment, system in added]))[order],
        ids=references.ids,
        origins=[origins[place] for place in order.tolist()],
        messages=references.messages,
        contexts=references.contexts,
        source=references.source,
    )
    owner = np.array([NOBODY] * references.count + [system for _, system in added], dtype=np.int64)
    return whole, owner[order]


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
