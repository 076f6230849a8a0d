"""Figures that no reference has, that the output lacks, and that stand in the place of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.checks.exchanged import exchanged
from trubleu.checks.figures import STRICT_UNITS, Figure, figures
from trubleu.checks.links import code, links
from trubleu.checks.marks import Mark, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.checks.item import Item
    from trubleu.checks.vectors import TextVectors


def find_numbers(item: Item, vectors: TextVectors) -> list[Mark]:
    """Return figures that no known text has, and figures that stand where a reference has another one."""
    own = [figure for figure in figures(item.output) if not figure.weak]
    quoted = [(part.start, part.end) for part in (*links(item.output), *code(item.output))]
    own = [figure for figure in own if not any(start <= figure.start < end for start, end in quoted)]
    known = [figure for text in item.known for figure in figures(text)]
    where = "no good reference and not in the question" if item.question else "no good reference"
    found: dict[str, tuple[str, list[Figure]]] = {}
    supported = []
    for figure in own:
        if _supported(figure, known, own):
            supported.append(figure)
            continue
        said = f'"{_said(figure, item.output)}" is in {where}'
        found.setdefault(figure.content, (said, []))[1].append(figure)
    for figure, other, text in exchanged(supported, item, vectors):
        said = f'"{_said(figure, item.output)}" stands where a good reference has "{_said(other, text)}"'
        found.setdefault(f"{figure.content} for {other.content}", (said, []))[1].append(figure)
    return [
        Mark("number", content, said, tuple((figure.start, figure.end) for figure in same))
        for content, (said, same) in found.items()
    ]


def _said(figure: Figure, text: str) -> str:
    return shortened(text[figure.start : figure.end])


def _supported(figure: Figure, known: Sequence[Figure], own: Sequence[Figure]) -> bool:
    """Return whether a known figure equals this one, and is not another figure of the output."""
    equal = [other for other in known if figure.equals(other)]
    if not equal:
        few = figure.word and figure.unit not in STRICT_UNITS and _few(figure)
        return few and not any(other.unit == figure.unit for other in known)
    if figure.unit in STRICT_UNITS or not figure.unit or any(other.unit in ("", figure.unit) for other in equal):
        return True
    if not any(other.unit == figure.unit for other in known):
        return True
    return not all(any(each.equals(other) and each.unit == other.unit for each in own) for other in equal)


def _few(figure: Figure) -> bool:
    return figure.values[0] in ("2", "3")


def find_missing_numbers(item: Item) -> list[Mark]:
    """Return figures that all good references have and the output lacks."""
    good = [figures(text) for text in item.good]
    if not good:
        return []
    own = figures(item.output)
    found: dict[str, str] = {}
    for figure in good[0]:
        shared = not figure.weak and all(any(figure.equals(other) for other in others) for others in good[1:])
        if shared and not any(figure.equals(other) for other in own):
            found.setdefault(figure.content, item.good[0][figure.start : figure.end])
    number = "the good reference has" if len(good) == 1 else "all good references have"
    return [
        Mark("missing number", content, f'{number} "{shortened(text)}", which is missing')
        for content, text in found.items()
    ]
