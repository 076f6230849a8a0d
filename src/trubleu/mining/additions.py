"""Rows of a corpus in random order, for random responses beside the mined ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

MOST_MISSES: Final = 65_536
"""So many rows in a row without a new response, and no more are drawn: then nearly all responses are equal."""


def random_rows(rows: int, generator: np.random.Generator) -> Iterator[int]:
    """Yield all rows, each once, in an order as likely as any other; memory grows with how many are taken.

    Examples
    --------
    >>> import numpy as np
    >>> sorted(random_rows(5, np.random.default_rng(1)))
    [0, 1, 2, 3, 4]
    """
    moved: dict[int, int] = {}  # a list of all rows is shuffled, of which only what has changed is there
    for place in range(rows):
        other = int(generator.integers(place, rows))
        row = moved.get(other, other)
        moved[other] = moved.pop(place, place)
        yield row
