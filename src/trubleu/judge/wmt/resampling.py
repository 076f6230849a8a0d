"""The resamples of one language pair, a slice at a time: a resample depends on its number only, whoever makes it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

import numpy as np

from trubleu.judge.sharing import shared, slices_of
from trubleu.judge.wmt.draws import draw_counts
from trubleu.judge.wmt.statistics import resampled_scores, resampled_segment_coefficients, system_coefficients
from trubleu.stats.resample import DRAW_WORK, LANES, SLICE_WORK, Resampling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.judge.sharing import Slice, Where
    from trubleu.stats import ScoreFunction

FEWEST_AT_ONCE: Final = 16 * LANES
"""Resamples in a slice, however large the data, so that threads have something to share."""

RANK_WORK: Final = 120
"""What ranking an output costs, in multiplications."""

Key = TypeVar("Key")


class Replicator(Protocol[Key]):
    """What can be resampled: all that is needed for it, as it is sent to workers."""

    @property
    @abstractmethod
    def work(self) -> int:
        """What a resample costs, in multiplications."""

    @abstractmethod
    def replicates(self, draws: Resampling) -> Mapping[Key, NDArray[np.float64]]:
        """Return some resamples of each statistic, one a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resample(Generic[Key]):
    """Makes a slice of resamples; what is mapped."""

    replicator: Replicator[Key]
    seed: int

    def __call__(self, part: Slice, _state: None, threads: int | None) -> Mapping[Key, NDArray[np.float64]]:
        return self.replicator.replicates(
            Resampling(
                test="bootstrap",
                count=part.count,
                seed=self.seed,
                threads=threads,
                progress=None,
                first=part.first,
            )
        )


def resample(
    replicator: Replicator[Key], *, count: int, seed: int, where: Where, progress: Callable[[int], object]
) -> dict[Key, NDArray[np.float64]]:
    """Return all resamples of each statistic, made wherever that is to be."""
    # As many as the data allows, not as there are workers: a score function may round by the shape of what it gets.
    at_once = max(FEWEST_AT_ONCE, SLICE_WORK // max(1, replicator.work) // LANES * LANES)
    function = _Resample(replicator=replicator, seed=seed)
    parts = list(shared(where, function, slices_of(count, at_once), progress=lambda part: progress(part.count)))
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemReplicator:
    """Scores of systems, held against people's.

    Attributes
    ----------
    people
        ``float64[systems]``.
    known
        Metrics of which only scores of whole systems are resampled, ``float64[systems]``.
    counted
        Metrics whose scores are made anew from resampled segments: statistics of each system, and how they are scored.
    seed
        Of the draws of systems; None if systems are not drawn.
    """

    people: NDArray[np.float64]
    known: Mapping[str, NDArray[np.float64]]
    counted: Mapping[str, tuple[Sequence[NDArray[np.float64]], ScoreFunction]]
    seed: int | None

    @property
    def work(self) -> int:
        """What a resample costs, in multiplications."""
        sizes = [(rows[0].shape, len(rows)) for rows, _ in self.counted.values()]
        return sum(segments * (width * systems + DRAW_WORK) for (segments, width), systems in sizes)

    def replicates(self, draws: Resampling) -> dict[tuple[str, str], NDArray[np.float64]]:
        """Return some resamples of each metric's coefficients."""
        drawn = None
        if self.seed is not None:
            drawn = draw_counts(len(self.people), draws.count, self.seed, first=draws.first)
        found: dict[tuple[str, str], NDArray[np.float64]] = {}
        for name, scores in self.known.items():
            repeated = np.broadcast_to(scores, (draws.count, len(scores)))
            found |= {(name, key): each for key, each in system_coefficients(self.people, repeated, drawn).items()}
        for name, (statistics, score) in self.counted.items():
            replicated = resampled_scores(statistics, score, draws)
            found |= {(name, key): each for key, each in system_coefficients(self.people, replicated, drawn).items()}
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingReplicator:
    """Counts of ranked pairs, ``float64[segments, 9]`` by metric."""

    tables: Mapping[str, NDArray[np.float64]]

    @property
    def work(self) -> int:
        """What a resample costs, in multiplications."""
        return sum(table.size + DRAW_WORK * len(table) for table in self.tables.values())

    def replicates(self, draws: Resampling) -> dict[str, NDArray[np.float64]]:
        """Return the sums of some resamples."""
        tables = list(self.tables.values())
        rows, width = tables[0].shape
        return dict(zip(self.tables, draws.sums_of_each(tables, len(tables), (rows, width)), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessmentReplicator:
    """Scores of outputs, held against people's; as for `resampled_segment_coefficients`."""

    human: NDArray[np.float64]
    scores: Mapping[str, NDArray[np.float64]]
    segment: NDArray[np.int64]

    @property
    def work(self) -> int:
        """What a resample costs, in multiplications."""
        return len(self.human) * (DRAW_WORK + RANK_WORK * len(self.scores))

    def replicates(self, draws: Resampling) -> dict[tuple[str, str], NDArray[np.float64]]:
        """Return some resamples of each metric's coefficients."""
        return resampled_segment_coefficients(self.human, self.scores, self.segment, draws)
