"""Which segments are worth a look: the worst ones, or those where two systems differ most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trubleu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.metrics.contract import AnyReferences, Metric


def worst(metric: Metric, outputs: Sequence[str], references: AnyReferences, count: int) -> NDArray[np.int64]:
    """Return the places of the segments with the worst scores, worst first; of equal ones, the first.

    Segments that the metric was told to skip have no score and are left out.

    Examples
    --------
    >>> import trubleu
    >>> worst(trubleu.metric("bleu-1"), ["a", "b b", "b"], [["a"], ["b c"], ["c"]], 2).tolist()
    [2, 1]
    """
    _check_count(count)
    scores = metric.segments(outputs, references)
    return _first(scores if metric.higher_is_better else -scores, count)


def most_different(
    metric: Metric, a: Sequence[str], b: Sequence[str], references: AnyReferences, count: int
) -> NDArray[np.int64]:
    """Return the places of the segments where the scores of two systems differ most, whichever is better.

    Segments with equal scores are left out.

    Examples
    --------
    >>> import trubleu
    >>> most_different(trubleu.metric("bleu-1"), ["a", "b c"], ["a", "b b"], [["a"], ["b c"]], 9).tolist()
    [1]
    """
    _check_count(count)
    differences = np.abs(metric.segments(a, references) - metric.segments(b, references))
    differences[differences == 0] = np.nan
    return _first(-differences, count)


def most_different_either_way(differences: NDArray[np.float64], count: int) -> tuple[list[int], list[int]]:
    """Return the places of the largest differences above 0, largest first, and of those below 0, smallest first."""
    above = np.where(differences > 0, -differences, np.nan)
    below = np.where(differences < 0, differences, np.nan)
    return _first(above, count).tolist(), _first(below, count).tolist()


def _check_count(count: int) -> None:
    if count < 1:
        raise UsageError(f"{count} segments cannot be shown; ask for 1 or more")


def _first(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the places of the smallest values that are numbers; a stable sort keeps equal ones in order."""
    order = np.argsort(values, kind="stable")  # NaN comes last
    return order[: min(count, int(np.count_nonzero(~np.isnan(values))))]
