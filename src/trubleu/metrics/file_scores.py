"""Scores of segments that other programs computed, as metrics: they are read, not computed."""

from __future__ import annotations

import warnings
from collections import defaultdict
from copy import copy
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from trubleu.data import SegmentScores
from trubleu.errors import DataError, Notice, UsageError, counted, nearest, shown, some
from trubleu.metrics.base import Metric, as_references, whole_references
from trubleu.metrics.matching import mean_score
from trubleu.metrics.registry import is_error_rate
from trubleu.signature import make_signature

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.metrics.base import AnyReferences
    from trubleu.progress import Progress
    from trubleu.signature import Signature


_SMALL: Final = 2.0
_FINE: Final = 2
"""Scores up to about 1, as COMET's, get two more decimals."""


class ScoreColumn(Metric):
    """A metric whose scores of segments come from a file; a system's score is their mean.

    Parameters
    ----------
    name
        What it is called.
    segments
        The ids of the segments.
    scores
        The scores of each system, one for each segment.
    about
        What is known of how they were made; part of the signature.

    Examples
    --------
    >>> column = ScoreColumn("comet", ["1", "2"], {"A": [0.5, 1.0], "B": [0.0, 0.5]})
    >>> column.of_system("A").corpus(["a", "b"], [["a"], ["b"]]).score
    0.75
    """

    uses_weights: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        segments: Sequence[str],
        scores: Mapping[str, Sequence[float] | NDArray[np.float64]],
        about: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._places = {segment: place for place, segment in enumerate(segments)}
        self._scores = {each: np.asarray(values, np.float64) for each, values in scores.items()}
        self._about = dict(about or {})
        self._system: str | None = None
        largest = max((float(np.abs(values).max(initial=0.0)) for values in self._scores.values()), default=0.0)
        self.more_digits = _FINE if largest <= _SMALL else 0

    def of_system(self, system: str) -> ScoreColumn:
        """Return the column of one system."""
        if system not in self._scores:
            raise UsageError(f"there are no scores of {self.name} for {system}; {nearest(system, self._scores)}")
        column = copy(self)
        column._system = system  # noqa: SLF001 - of this class
        return column

    def statistics(
        self,
        outputs: Sequence[str],
        references: AnyReferences,
        *,
        threads: int | None = None,  # noqa: ARG002 - nothing is computed
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return the score of each segment, and 1."""
        if self._system is None:
            raise UsageError(f"the scores of {self.name} are of several systems; choose one with of_system")
        ids = whole_references(as_references(references, outputs)).ids
        values = self._scores[self._system]
        if unknown := [segment for segment in ids if segment not in self._places]:
            raise UsageError(f"there is no score of {self.name} for the segment {unknown[0]}")
        if progress:
            progress(len(ids))
        places = np.fromiter((self._places[segment] for segment in ids), np.int64, len(ids))
        return np.stack([values[places], np.ones(len(ids))], axis=1)

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean score per row of summed statistics."""
        return mean_score(statistics, 2, self.name)

    def signature(self, references: AnyReferences | None = None) -> Signature:  # noqa: ARG002 - they are not known
        """Return what is known of the scores: their number, the SHA-256 of the file and what its sidecar says."""
        return make_signature(self.name, scores="given", **self._about)


class ErrorColumn(ScoreColumn):
    """Scores from a file of which lower ones are better."""

    higher_is_better: ClassVar[bool] = False


def joined_scores(files: Sequence[SegmentScores]) -> list[SegmentScores]:
    """Join files of one metric, each of which has scores of another system."""
    groups: dict[tuple[str, ...], list[SegmentScores]] = defaultdict(list)
    for number, scores in enumerate(files):
        names = scores.metrics()
        groups[names if len(names) == 1 else (*names, str(number))].append(scores)
    return [SegmentScores.join(parts) for parts in groups.values()]


def lower_is_better_of(scores: SegmentScores, metric: str, named: Collection[str]) -> bool:
    """Return whether lower scores of a metric are better: the user, the form of the file or the name says so."""
    return scores.lower_is_better or metric in named or is_error_rate(metric)


def score_columns(
    files: Sequence[SegmentScores],
    systems: Sequence[str],
    segments: Sequence[str],
    *,
    lower_is_better: Collection[str] = (),
    paths: Mapping[str, str] | None = None,
    part: bool = False,
) -> dict[str, ScoreColumn]:
    """Return the metrics of files of scores, by name.

    Parameters
    ----------
    files
        The scores, each metric in one of them (see `joined_scores`).
    systems
        The systems that must be there; others are not used.
    segments
        The ids of all segments.
    lower_is_better
        Error rates that neither the form of a file nor the name shows to be such.
    paths
        The files of the systems' outputs, which may name them in files of scores.
    part
        Whether these are a part of all segments, so files may have more.

    Raises
    ------
    DataError, UsageError
        If scores are missing, of unknown segments, too many, or of two metrics with the same name.

    Examples
    --------
    >>> scores = SegmentScores("comet", ["A", "A"], ["1", "2"], [0.5, 1.0])
    >>> score_columns([scores], ["A"], ["1", "2"])["comet"].of_system("A").corpus(["a", "b"], [["a"], ["b"]]).score
    0.75
    """
    found: dict[str, ScoreColumn] = {}
    for scores in files:
        placed = scores.placed(segments)
        theirs = placed.systems_of(systems, paths)
        _check_names(scores, systems, theirs, None if part else segments, placed)
        for name in scores.metrics():
            if name in found:
                raise UsageError(f"there are two metrics named {name}, one of them from {scores.source}; rename one")
            table = placed.table(name, [theirs[system] for system in systems], segments)
            for system, row in zip(systems, table, strict=True):
                if np.isnan(row).any():
                    missing = [segments[place] for place in np.flatnonzero(np.isnan(row)).tolist()]
                    raise DataError(
                        f"{scores.source} has no score of {name} for {counted(len(missing), 'segment')} of {system}, "
                        f"such as {missing[0]}; give a score for each"
                    )
            kind = ErrorColumn if lower_is_better_of(scores, name, lower_is_better) else ScoreColumn
            about = {"number": str(len(scores.select(metric=name))), **scores.about}
            found[name] = kind(name, segments, dict(zip(systems, table, strict=True)), about)
    if unknown := [name for name in lower_is_better if name not in found]:
        hint = nearest(unknown[0], found) if found else "there are none"
        raise UsageError(f"lower is better for {unknown[0]}, but no file has scores of it; {hint}")
    return found


def _check_names(
    scores: SegmentScores,
    systems: Sequence[str],
    theirs: Mapping[str, str],
    segments: Sequence[str] | None,
    placed: SegmentScores,
) -> None:
    """Raise an error for systems without scores and for scores of unknown segments; tell of unused systems."""
    there = some(scores.systems(), 5)
    if missing := [system for system in systems if system not in theirs]:
        one = "; for a file of one system, write --scores NAME:SYSTEM=FILE" if scores.unnamed else ""
        raise UsageError(
            f"{scores.source} has no scores of the system {some(missing)}, only of {there}; use the same names{one}"
        )
    known = set(segments or ())
    if segments is not None and (strange := [name for name in placed.segments() if name not in known]):
        raise DataError(
            f"{scores.source} has scores of {counted(len(strange), 'segment')} that the references do not have, such "
            f"as {shown(strange[0])}; use the ids of the references"
        )
    used = set(theirs.values())
    if unused := [name for name in scores.systems() if name not in used]:
        what = f"{scores.source} also has scores of {some(unused, 3)}, which have no outputs here"
        warnings.warn(what, Notice, stacklevel=3)
