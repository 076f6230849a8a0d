"""Whether a study of pairs has enough ratings: an interval of the difference that holds however often one looks."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import TYPE_CHECKING

from trubleu.errors import counted
from trubleu.stats.confidence_sequence import FIRST_LOOK, anytime_interval, values_needed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trubleu.rating.store.queries import RatingRow, StoredItem

CONFIDENCE = 0.95
_HOPELESS = 100  # times the study; so many ratings more are no plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a study of pairs says of two systems.

    Attributes
    ----------
    system, other
        The two systems.
    segments, planned
        Segments that have all their ratings, and those of the whole study.
    difference
        The mean rating of the first less that of the second; None without a complete segment.
    low, high
        Its anytime-valid interval; None before 30 segments.
    enough
        Whether the interval leaves out 0.
    more
        About how many ratings more that takes, None if that is not known.
    confidence
        The level of the interval: over all pairs of the study, 95 %.
    """

    system: str
    other: str
    segments: int
    planned: int
    difference: float | None
    low: float | None
    high: float | None
    enough: bool
    more: int | None
    confidence: float

    @property
    def verdict(self) -> str:
        """Say whether there are enough ratings, and what they say."""
        if self.low is None or self.difference is None:
            return f"too early: {self.segments} of {FIRST_LOOK} segments are complete"
        if self.enough:
            better, worse = (self.system, self.other) if self.difference > 0 else (self.other, self.system)
            return f"enough: {better} is better than {worse}"
        if self.more is None:
            return "no difference so far; this study will not show one"
        return f"not yet: about {counted(self.more, 'rating')} more"


def decisions(items: Sequence[StoredItem], rows: Iterable[RatingRow], question: int) -> tuple[Decision, ...]:
    """Return what is known of each pair of systems, from people's counted ratings.

    Parameters
    ----------
    items
        The items of a study.
    rows
        Ratings of these by people that count.
    question
        The question that they answer, counted from 0.
    """
    planned: dict[tuple[str, str], int] = defaultdict(int)
    for item in items:
        if len(item.item.systems) == 2:
            planned[item.item.systems[0], item.item.systems[1]] += 1
    scores: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for row in rows:
        if row.question == question and row.score is not None and row.part < 2:
            scores[row.item.id][row.part].append(row.score)
    confidence = 1 - (1 - CONFIDENCE) / max(len(planned), 1)  # false alarms over all pairs together
    found = []
    for (system, other), number in planned.items():
        complete = [item for item in items if item.item.systems == (system, other) and 0 < item.wanted <= item.counted]
        values = [fmean(scores[item.id][0]) - fmean(scores[item.id][1]) for item in complete if all(scores[item.id])]
        found.append(_decision(system, other, values, number, fmean([item.wanted for item in items]), confidence))
    return tuple(found)


def _decision(
    system: str, other: str, values: list[float], planned: int, ratings: float, confidence: float
) -> Decision:
    low = high = None
    enough, more = False, None
    if len(values) >= FIRST_LOOK:
        low, high = anytime_interval(values, planned, confidence=confidence)
        enough = low > 0 or high < 0
        wanted = values_needed(len(values), fmean(values), pstdev(values), planned, confidence=confidence)
        if not enough and wanted <= _HOPELESS * planned:
            more = math.ceil((wanted - len(values)) * ratings)
    return Decision(
        system=system,
        other=other,
        segments=len(values),
        planned=planned,
        difference=fmean(values) if values else None,
        low=low,
        high=high,
        enough=enough,
        more=more,
        confidence=confidence,
    )
