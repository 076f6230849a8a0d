"""Segment scores of metrics from elsewhere, laid beside the systems and segments that are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from trubleu.data.outputs import match_systems
from trubleu.errors import UsageError, counted, nearest, some
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
        theirs = {system: name for name, system in match_systems(scores.systems(), systems).items()}
        if notes is not None:
            _note_unknown(scores, "system", scores.systems(), theirs.values(), notes)
            _note_unknown(scores, "segment", scores.segments(), set(segments), notes)
        for name in scores.metrics():
            if name in ours or name in given:
                raise UsageError(f"there are two metrics named {name}, one of them from {scores.source}; rename one")
            table = scores.table(name, [theirs.get(system, system) for system in systems], segments)
            given[name] = GivenScores(name, table, sign_of(name, lower_is_better), scores.source)
    check_lower_is_better(lower_is_better, given)
    return [*given.values()]


def _note_unknown(scores: SegmentScores, what: str, names: Sequence[str], known: Container[str], notes: Notes) -> None:
    if unknown := [name for name in names if name not in known]:
        notes.warn(
            f"{scores.source} has scores of {counted(len(unknown), what)} unknown here, left out: {some(unknown)}"
        )


def check_lower_is_better(names: Collection[str], given: Collection[str]) -> None:
    """Raise an error for an error rate of which no file has scores."""
    for name in names:
        if name not in given:
            hint = nearest(name, sorted(given)) if given else "there are none"
            raise UsageError(f"lower is better for {name}, but no file has scores of it; {hint}")


def sign_of(name: str, lower_is_better: Container[str]) -> int:
    """Return −1 for an error rate, which may have the name of one of ours, such as ter; else 1."""
    return -1 if name in lower_is_better or is_error_rate(name) else 1
