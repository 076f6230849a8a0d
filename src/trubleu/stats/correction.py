"""Holm's correction for testing several pairs at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trubleu.stats import checks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return Holm's step-down adjusted p-values, in the order given.

    The i-th smallest of m p-values (i from 0) is multiplied by m − i, raised to the adjusted value before it if that is
    larger, and clipped at 1. Comparing the result with a level α keeps the probability of any false rejection in the
    family at α or below, whatever the dependence between the tests.

    Parameters
    ----------
    p_values
        Probabilities, one a test of the family.

    Raises
    ------
    DataError
        If a value is not between 0 and 1.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6,
    65–70.

    Examples
    --------
    >>> holm([0.03, 0.005, 0.2]).tolist()
    [0.06, 0.015, 0.2]
    """
    p = np.asarray(p_values, dtype=np.float64)
    checks.probabilities(p)
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
