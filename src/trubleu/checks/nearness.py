"""Outputs that are closer to a bad reference than to any good one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.checks.marks import Mark, shortened
from trubleu.data import References
from trubleu.metrics.trubleu import TruBleu

if TYPE_CHECKING:
    from trubleu.checks.item import Item


def find_nearness(item: Item) -> list[Mark]:
    """Return the bad reference that the output is closest to, by `trubleu`, if no good one is closer."""
    if not item.bad or not item.good:
        return []
    texts = list(dict.fromkeys([*item.good, *item.bad]))
    parts = TruBleu().parts(item.output, References.from_lists([texts]))
    scores = dict(zip(texts, (each.score for each in parts.references), strict=True))
    nearest = max(item.bad, key=lambda text: scores[text])
    if scores[nearest] <= max(scores[text] for text in item.good):
        return []
    said = f'closer to the bad reference "{shortened(nearest, 60)}" than to any good one'
    return [Mark("closer to a bad reference", " ".join(nearest.lower().split()), said)]
