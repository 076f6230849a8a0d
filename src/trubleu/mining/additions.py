"""Rows of a corpus in random order, for random responses beside the mined ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

_SMALL: Final = 4096
"""Up to so many rows a whole permutation is drawn; beyond it rows are drawn one by one."""

_DRAWS: Final = 65_536
"""Rows that are drawn from a large corpus before giving up: then nearly all of its responses are equal."""


def random_rows(rows: int, generator: np.random.Generator) -> Iterator[int]:
    """Yield rows uniformly at random, until there are no more or the reader has enough of them.

    Of a large corpus, a row may come again.

    Examples
    --------
    >>> import numpy as np
    >>> sorted(random_rows(5, np.random.default_rng(1)))
    [0, 1, 2, 3, 4]
    """
    if rows <= _SMALL:
        yield from generator.permutation(rows).tolist()
        return
    for _ in range(_DRAWS):
        yield int(generator.integers(rows))
