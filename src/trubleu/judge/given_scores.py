"""Segment scores of metrics from elsewhere, laid beside the systems and segments that are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from trubleu.data.outputs import match_systems
from trubleu.errors import UsageError, nearest
from trubleu.metrics.registry import is_error_rate

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from trubleu.data import SegmentScores
    from trubleu.judge.report import Notes


class GivenScores(NamedTuple):
    """A metric's scores from a file: ``float64[systems, segments]``, NaN where there is none.

    The sign is −1 for error rates.
    """

    name: str
    table: NDArray[np.float64]
    sign: int
    source: str


def given_scores(
    files: Sequence[SegmentScores],
    systems: Sequence[str],
    segments: Sequence[str],
    *,
    ours: Container[str],
    lower_is_better: Collection[str],
    notes: Notes | None = None,
) -> list[GivenScores]:
    """Return scores from files as tables.

    Parameters
    ----------
    files
        Scores of metrics from elsewhere.
    systems, segments
        Those that are judged; files may name systems as `match_systems` knows them.
    ours
        The names of our own metrics, which are taken.
    lower_is_better
        Names of error rates; those of our own are known.
    notes
        Told of systems and segments that are not known here.

    Raises
    ------
    UsageError
        If two metrics have one name, or there are no scores of an error rate.
    """
    given: dict[str, GivenScores] = {}
    for scores in files:
        theirs = _matched(scores, systems)
        if notes is not None:
            notes.unknown(f"{scores.source} scores", "system", scores.systems(), theirs.values())
            notes.unknown(f"{scores.source} scores", "segment", scores.segments(), set(segments))
        for name in scores.metrics():
            if name in ours or name in given:
                raise UsageError(f"there are two metrics named {name}, one of them from {scores.source}; rename one")
            sign = -1 if name in lower_is_better or is_error_rate(name) else 1
            table = scores.table(name, [theirs.get(system, system) for system in systems], segments)
            given[name] = GivenScores(name, table, sign, scores.source)
    for name in lower_is_better:
        if name not in given:
            hint = nearest(name, sorted(given)) if given else "there are none"
            raise UsageError(f"lower is better for {name}, but no file has scores of it; {hint}")
    return [*given.values()]


def _matched(scores: SegmentScores, systems: Sequence[str]) -> dict[str, str]:
    """Return what a file calls each system that it has; WMT's files leave the test set out of the names."""
    names = scores.systems()
    found = {system: name for name, system in match_systems(names, systems).items()}
    for testset in filter(None, scores.testsets()):
        longer = {f"{testset}.{name}": name for name in names if name not in found.values()}
        free = [system for system in systems if system not in found]
        found |= {system: longer[name] for name, system in match_systems(longer, free).items()}
    return found


def mean_score(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the score of a system from sums of (score of a segment, 1)."""
    mean: NDArray[np.float64] = sums[..., 0] / sums[..., 1]
    return mean
