"""All references that any output may be compared with, and which of them it is compared with.

References, and where it is asked for the rated outputs of all systems, lie in one table. What differs from pair to
pair and from condition to condition is only which of its rows count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trubleu.data import References
from trubleu.judge.pairs.conditions import SEED_ORIGIN, Shelf
from trubleu.text import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.judge.pairs.conditions import Condition

NOBODY = -1


def sameness(text: str) -> tuple[str, ...]:
    """Return what two texts must share to be equal: their words and punctuation, whatever the case and the spaces.

    Examples
    --------
    >>> sameness("Hello , you!") == sameness("hello, you !")
    True
    """
    return tuple(words.split(text.lower()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The table of references, and what each row is.

    Attributes
    ----------
    references
        All of them; outputs of systems, if they joined, behind the given ones of their segment.
    owner
        For each reference the place of the system that wrote it; −1 for given ones.
    kind_of_text
        A number for each reference, equal where texts are.
    output_kinds
        The same numbers for what systems wrote: ``int64[systems, segments]``; −1 for a text that is no reference.
    shelf
        The columns that conditions look at.
    pooled
        Whether outputs have joined, so that references differ from pair to pair.
    drop_equal
        The systems for which references equal to their output are left out.
    """

    references: References
    owner: NDArray[np.int64]
    kind_of_text: NDArray[np.int64]
    output_kinds: NDArray[np.int64]
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
        kinds: dict[tuple[str, ...], int] = {}
        kind_of_text = np.fromiter(
            (kinds.setdefault(sameness(text), len(kinds)) for text in references.texts), np.int64, references.count
        )
        output_kinds = np.array(
            [[kinds.get(sameness(text), NOBODY) for text in texts] for texts in systems.values()], dtype=np.int64
        ).reshape(len(systems), len(references))
        origins = references.origins or (None,) * references.count
        shelf = Shelf(
            references.offsets,
            np.ones(references.count) if references.weights is None else references.weights,
            np.fromiter((origin == SEED_ORIGIN for origin in origins), bool, references.count),
            owner != NOBODY,
        )
        return cls(
            references=references,
            owner=owner,
            kind_of_text=kind_of_text,
            output_kinds=output_kinds,
            shelf=shelf,
            pooled=weights is not None,
            drop_equal=drop_equal,
        )

    def equal_to_output(self, system: int) -> NDArray[np.bool_]:
        """Return for each reference whether it says what the system does."""
        said = np.repeat(self.output_kinds[system], self.references.reference_counts())
        equal: NDArray[np.bool_] = self.kind_of_text == said
        return equal

    def share_equal(self, system: int, segments: NDArray[np.int64]) -> tuple[int, float]:
        """Return how many of a system's outputs equal a given reference of their segment, and their share."""
        equal = self.shelf.any_of(self.equal_to_output(system) & ~self.shelf.pooled)[segments]
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
        return kept & ~self.equal_to_output(system) if system in self.drop_equal else kept

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
