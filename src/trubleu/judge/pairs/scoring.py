"""From a metric and a condition to rows of statistics for every pair of systems."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from trubleu.judge.given_scores import mean_score
from trubleu.judge.pairs.observations import Column
from trubleu.judge.pairs.results import Measure
from trubleu.metrics.matching import Matching
from trubleu.native import WORTH_THREADS, resolve_threads
from trubleu.scoring.systems import prepare_for
from trubleu.stats import total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.judge.given_scores import GivenScores
    from trubleu.judge.pairs.human_scores import Pair
    from trubleu.judge.pairs.reference_pool import Condition, Library
    from trubleu.metrics import Metric
    from trubleu.metrics.base import Compared
    from trubleu.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """Scores outputs against the references that they may be held against.

    Attributes
    ----------
    library
        All references.
    outputs
        Of each system.
    pairs
        Of systems, with their segments.
    threads
        How many threads to use.
    """

    library: Library
    outputs: Sequence[Sequence[str]]
    pairs: Sequence[Pair]
    threads: int | None = None
    _kept: dict[tuple[Condition, object], References] = field(default_factory=dict)
    _rows: dict[tuple[tuple[Condition, object], Metric, int], NDArray[np.float64]] = field(default_factory=dict)
    _lessons: dict[object, References] = field(default_factory=dict)  # the last one only

    @property
    def systems(self) -> list[int]:
        """The systems that are judged in any pair."""
        return sorted({system for pair in self.pairs for system in pair.systems})

    def segments_of(self, system: int) -> NDArray[np.int64]:
        """Return the segments on which a system is judged in any pair."""
        mine = [pair.segments for pair in self.pairs if system in pair.systems]
        return np.unique(np.concatenate(mine)) if mine else np.zeros(0, dtype=np.int64)

    def judged(self, pair: Pair, system: int) -> NDArray[np.int64]:
        """Return the segments to score for a side of a pair; unless outputs are pooled, those of all its pairs once."""
        return pair.segments if self.library.pooled else self.segments_of(system)

    def column(self, name: str, metric: Metric, condition: Condition, progress: Progress | None = None) -> Column:
        """Score all pairs by a metric under a condition."""
        # One condition at a time: a sweep would otherwise keep as many copies of the references as it has points.
        if any(other[0] != condition for other, *_ in self._rows):
            self._kept.clear()
            self._rows.clear()
        matching = getattr(metric, "matching", None)
        if isinstance(matching, Matching):
            # Split into tokens once; parts of the references then come with theirs.
            self.library.references.kernel_texts(matching.tokenizer, matching.lowercase)

        def side(pair: Pair, system: int) -> NDArray[np.float64]:
            segments = self.judged(pair, system)
            rows = self._score(metric, condition, frozenset(pair.systems), system, segments, progress)
            return rows[np.searchsorted(segments, pair.segments)]

        # Metrics that score every pair anew have threads of their own.
        alone = not self.library.pooled or None in [self._compared(metric, each) for each in self.systems]
        with ThreadPoolExecutor(1 if alone else resolve_threads(self.threads, WORTH_THREADS)) as pool:
            rows = list(pool.map(lambda pair: np.hstack([side(pair, pair.a), side(pair, pair.b)]), self.pairs))
        sign = 1.0 if metric.higher_is_better else -1.0
        return Column.of(Measure(metric=name, condition=str(condition)), metric.score, rows, sign)

    def given_column(self, scores: GivenScores) -> Column:
        """Return scores from elsewhere as a column."""
        rows = []
        for pair in self.pairs:
            first, second = scores.table[list(pair.systems)][:, pair.segments]
            rows.append(np.stack([first, np.ones(len(first)), second, np.ones(len(second))], axis=1))
        return Column.of(Measure(metric=scores.name, condition=None), mean_score, rows, scores.sign)

    def corpus_scores(self, metric: Metric, condition: Condition) -> dict[int, float]:
        """Return the score of each system over the segments on which it is judged, its own outputs no references."""
        scores = {}
        for system in range(len(self.outputs)):
            segments = self.segments_of(system)
            if len(segments):
                rows = self._score(metric, condition, frozenset({system}), system, segments, None)
                scores[system] = float(metric.score(total(rows)))
        return scores

    def _score(
        self,
        metric: Metric,
        condition: Condition,
        without: frozenset[int],
        system: int,
        segments: NDArray[np.int64],
        progress: Progress | None,
    ) -> NDArray[np.float64]:
        # Pairs whose outputs may be held against the same references share them, and a system its rows.
        chosen = condition.choose(self.library.shelf, self.library.available(without, system))
        key = condition, (hashlib.blake2b(chosen.tobytes()).digest(), segments.tobytes())
        mine = key, metric, system
        if mine not in self._rows:
            compared = self._compared(metric, system) if self.library.pooled else None
            if compared is not None:
                self._rows[mine] = compared.rows(chosen)[segments]
            else:
                if key not in self._kept:
                    self._kept[key] = self.library.references.take(segments, chosen)
                references = self._kept[key]
                if not self.library.pooled:
                    prepare_for(references, [metric], len(self.outputs))
                elif metric.learns:  # what it counted would stay with them, for every pair
                    references = references.take(np.arange(len(references)))
                texts = [self.outputs[system][segment] for segment in segments.tolist()]
                learned = self._learned(metric, condition, chosen)
                self._rows[mine] = learned.statistics(texts, references, threads=self.threads, progress=progress)
                return self._rows[mine]
        if progress is not None:
            progress(len(segments))
        return self._rows[mine]

    def _compared(self, metric: Metric, system: int) -> Compared | None:
        """Return a system's outputs compared with all references; kept with these, for all pairs and conditions."""
        owner = next(each for each in type(metric).__mro__ if {"statistics", "by_reference"} & vars(each).keys())
        if "by_reference" not in vars(owner):  # a metric of somebody's own that counts otherwise
            return None
        kept: dict[object, Compared | None] = self.library.references.remembered("compared", dict)
        key = str(metric.signature()), system
        if key not in kept:
            kept[key] = metric.by_reference(self.outputs[system], self.library.references, self.threads)
        return kept[key]

    def _learned(self, metric: Metric, condition: Condition, chosen: NDArray[np.bool_]) -> Metric:
        """Return a metric that has learned from all segments, whichever of them are judged."""
        if not metric.learns:
            return metric
        key = condition, chosen.tobytes()
        if key not in self._lessons:
            segments = np.flatnonzero(self.library.shelf.any_of(chosen))
            self._lessons.clear()
            self._lessons[key] = self.library.references.take(segments, chosen)
        return metric.learned(self._lessons[key])
