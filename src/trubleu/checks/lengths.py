"""Outputs that are much longer or shorter than before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.checks.marks import Mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.checks.item import Item
    from trubleu.checks.vectors import TextVectors


def find_length(item: Item, vectors: TextVectors, longer: float, shorter: float, words: int) -> list[Mark]:
    """Return whether an output is longer or shorter than all earlier outputs, or all references without one.

    Parameters
    ----------
    item
        The output and its references.
    vectors
        The words of all texts.
    longer, shorter
        How many times as long, or what share as long, it may be.
    words
        Smaller differences are ignored.
    """
    own = len(vectors.words(item.output).words)
    texts: Sequence[str] = item.old or item.good
    lengths = [len(vectors.words(text).words) for text in texts]
    if not lengths:
        return []
    what = "the earlier output" if item.old else "the good references"
    if own > longer * max(lengths) and own - max(lengths) >= words:
        return [Mark("longer", "", f"{own} words, where {what} had at most {max(lengths)}")]
    if own < shorter * min(lengths) and min(lengths) - own >= words:
        return [Mark("shorter", "", f"{own} words, where {what} had at least {min(lengths)}")]
    return []
