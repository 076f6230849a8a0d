"""How good made-up raters take the texts of a study to be; what they are like is in `trubleu.simulate.people`."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypeAlias

from trubleu.rating.items import POINTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from trubleu.rating.items import Item

    Quality: TypeAlias = Callable[[str, str], float]

_BY_ORIGIN = {"seed": 4.3, "parrot": 1.5, "random": 1.4}
_MINED_BEST, _MINED_WORST, _RANKS = 3.9, 2.1, 15
_WITHIN = 0.7  # how far texts of one origin lie apart, either way


def true_qualities(item: Item, *, seed: int = 1, quality: Quality | None = None) -> tuple[float, ...]:
    """Return how good the texts of an item are taken to be, from 1 to 5.

    Where the truth is known, ``quality`` tells it, but not for gold and practice items, which have answers of their
    own. Otherwise a number ``quality`` beside the text in the file is taken as it is. Else what is known decides: gold
    and practice items lie in the middle of what is accepted; the real answer of a conversation is good, mined ones are
    the worse the lower their rank, parrots and random ones bad; systems of pairs differ. The rest is drawn.

    Parameters
    ----------
    item
        The item.
    seed
        Of what is drawn.
    quality
        Tells how good a text is, given the message and the text; items without a message have an empty one.

    Examples
    --------
    >>> from trubleu.rating.items import Item
    >>> true_qualities(Item("7#1", ("fine",), extra={"quality": 4.5}))
    (4.5,)
    >>> good, bad = (Item("7", ("fine",), extra={"origin": origin}) for origin in ("seed", "random"))
    >>> true_qualities(good) > true_qualities(bad)
    True
    """
    if quality is not None and item.accepted is None:
        return tuple(quality(item.message or "", text) for text in item.texts)
    given = item.extra.get("quality")
    if isinstance(given, int | float) and 1 <= given <= POINTS:
        return (float(given),) * len(item.texts)
    if item.accepted is not None:
        return tuple((low + high) / 2 for low, high in item.accepted)
    drawn = [2 * _share(seed, item.key, part) - 1 for part in range(len(item.texts))]  # from −1 to 1
    origin, rank = item.extra.get("origin"), item.extra.get("rank")
    if origin in _BY_ORIGIN:
        return tuple(_BY_ORIGIN[origin] + _WITHIN * each for each in drawn)
    if origin == "mined" and isinstance(rank, int) and rank >= 1:
        middle = _MINED_BEST - (_MINED_BEST - _MINED_WORST) * min(rank - 1, _RANKS) / _RANKS
        return tuple(middle + _WITHIN * each for each in drawn)
    if item.systems:
        middles = [2.3 + 1.4 * _share(seed, "system", system) for system in item.systems]
        return tuple(middle + 1.2 * each for middle, each in zip(middles, drawn, strict=True))
    return tuple(3 + 2 * each for each in drawn)


def _share(*what: object) -> float:
    """Return a number from 0 to 1 that follows from what is given, in every process."""
    digest = hashlib.sha256("/".join(map(str, what)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
