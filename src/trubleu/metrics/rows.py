"""What metrics share that make the row of a segment from its texts, one segment at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trubleu.errors import DataError
from trubleu.metrics.contract import AnyReferences, Progress, as_references, whole_references
from trubleu.metrics.matching import check_texts, warn_of_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray


def row_by_row(
    make_row: Callable[[str, Sequence[str]], ArrayLike],
    outputs: Sequence[str],
    references: AnyReferences,
    columns: int,
    progress: Progress | None,
) -> NDArray[np.float64]:
    """Return a row of statistics for each segment, each made from an output and its references.

    Parameters
    ----------
    make_row
        From an output and the references of its segment to the row.
    outputs, references, progress
        As for `Metric.statistics`; progress is told after every segment, as one may take long.
    columns
        How wide a row is.
    """
    segments = whole_references(as_references(references, outputs))
    warn_of_empty(segments)
    outputs = tuple(outputs)
    check_texts(outputs)
    rows = np.zeros((len(outputs), columns))
    bounds = segments.offsets.tolist()
    for segment, output in enumerate(outputs):
        rows[segment] = make_row(output, segments.texts[bounds[segment] : bounds[segment + 1]])
        if progress:
            progress(1)
    return rows


def check_width(statistics: NDArray[np.float64], columns: int, name: str) -> None:
    """Refuse statistics that are not those of a metric."""
    if statistics.ndim == 0 or statistics.shape[-1] != columns:
        raise DataError(f"an array of shape {statistics.shape} holds no statistics of {name}")
