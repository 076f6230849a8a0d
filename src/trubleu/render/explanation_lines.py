"""Lines that explanations of every kind share: labels, references with their weights, names of orders."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from trubleu.render.tables import one_line, width

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trubleu.explain.explanation import ReferenceText

WIDTH: Final = 100
"""Columns of a terminal that explanations fit into."""

ALL_REFERENCES: Final = 12
"""Up to this many references are all printed; of more, those that the score depends on."""

SKIPPED: Final = "No reference has a weight above 0, and the metric was told to skip such segments."

_INDENT: Final = 10
_NAMES: Final = {1: "unigram", 2: "bigram", 3: "trigram"}


def order_name(order: int) -> str:
    """Return what n-grams of an order are called.

    Examples
    --------
    >>> order_name(2), order_name(4)
    ('bigram', '4-gram')
    """
    return _NAMES.get(order, f"{order}-gram")


def labelled(label: str, text: str) -> str:
    """Return a text with a label before it, and under each other if it is long."""
    return wrapped(f"{label:{_INDENT}}", text)


def wrapped(head: str, text: str, columns: int = WIDTH) -> str:
    """Return a text behind a head; what does not fit into the line stands below its beginning.

    Lines are as wide as a terminal shows them; a word is broken only if no line holds it.

    Examples
    --------
    >>> print(wrapped("- ", "three blind mice", 8))
    - three
      blind
      mice
    >>> print(wrapped("", "中文中文中", 4))
    中文
    中文
    中
    """
    room = max(columns - width(head), 2)
    lines = [""]
    for gap, word in re.findall(r"(\s*)(\S+)", one_line(text).strip() or "(empty)"):
        rest = word
        if lines[-1] and width(lines[-1] + gap + rest) <= room:
            lines[-1] += gap + rest
            continue
        while rest:
            taken = _fitting(rest, room)
            lines.append(rest[:taken])
            rest = rest[taken:]
    return f"\n{' ' * width(head)}".join([head + lines[1], *lines[2:]])


def _fitting(word: str, room: int) -> int:
    """Return how many characters of a word fit, one at least."""
    if width(word) <= room:
        return len(word)
    return max((end for end in range(1, room + 1) if width(word[:end]) <= room), default=1)


def weight_text(weight: float) -> str:
    """Return a weight with its sign and no more decimals than it needs.

    Examples
    --------
    >>> weight_text(0.8), weight_text(-1.0), weight_text(0.0), weight_text(1 / 3)
    ('+0.8', '-1', '0', '+0.333')
    """
    rounded = round(weight, 3)
    return f"{rounded:+.3g}" if rounded else "0"


def reference_lines(
    references: Sequence[ReferenceText], chosen: Sequence[int], notes: Mapping[int, Sequence[str]], *, weighted: bool
) -> Iterator[str]:
    """Return references with their numbers and weights, and what is to be noted behind them.

    Parameters
    ----------
    references
        All of the segment's.
    chosen
        The places of those that are shown.
    notes
        By place.
    weighted
        Whether the weights that the metric takes are shown; otherwise those that the references have.
    """
    shown = [reference.weight if weighted else reference.rated for reference in references]
    weights = ["" if weight is None else weight_text(weight) for weight in shown]
    numbers = len(str(len(shown))) + 1
    room = max(len(weights[place]) for place in chosen)
    for place in chosen:
        reference = references[place]
        said = [*([] if reference.origin is None else [reference.origin]), *notes.get(place, ())]
        head = f"  {f'#{place + 1}':<{numbers}}" + f"  {weights[place]:>{room}}" * bool(room)
        text = (reference.text.strip() or "(empty)") + (f"  ({'; '.join(said)})" if said else "")
        yield wrapped(f"{head}  ".ljust(_INDENT), text)
