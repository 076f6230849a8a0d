"""Scores of metrics, computed here or read from files, for the outputs and systems that people judged."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trubleu.errors import DataError, UsageError, counted, some
from trubleu.judge.given_scores import mean_score
from trubleu.scoring.systems import prepare_for
from trubleu.stats import total
from trubleu.stats.correlation import grain_of, settled
from trubleu.stats.metric_tests import CorpusEvaluation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import References
    from trubleu.judge.given_scores import GivenScores
    from trubleu.judge.ratings.opinions import OfficialScores, Opinions, Outputs
    from trubleu.judge.ratings.results import Level
    from trubleu.judge.report import Notes
    from trubleu.metrics import Metric
    from trubleu.progress import Steps
    from trubleu.stats import ScoreFunction
    from trubleu.stats.metric_tests import MetaEvaluation


class Scored(NamedTuple):
    """A metric's scores.

    Attributes
    ----------
    name, signature
        Its name, and how its scores were made if that was here.
    sign
        −1 for an error rate, whose scores are negated, else 1.
    scores
        ``float64[systems, items]``, NaN where nobody rated.
    statistics, score
        What scores of corpora are made of, ``float64[segments, k]`` for each system with an official score, and how.
    """

    name: str
    scores: NDArray[np.float64]
    signature: str | None
    sign: float
    statistics: Sequence[NDArray[np.float64]] = ()
    score: ScoreFunction | None = None

    def signed_score(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores of corpora from sums of statistics, higher for better ones."""
        return self.sign * np.asarray(self.score(sums)) if self.score is not None else sums

    def corpora(self) -> NDArray[np.float64]:
        """Return the score of each system with an official score, ``float64[systems]``."""
        return _settled(np.array([float(self.signed_score(total(rows))) for rows in self.statistics]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Outputs of systems, with what people think of them.

    Attributes
    ----------
    outputs, references
        As `judge_ratings` takes them.
    opinions, official
        On outputs, and on whole systems.
    threads
        How many threads count.
    """

    outputs: Outputs
    references: References | None
    opinions: Opinions
    official: OfficialScores | None
    threads: int | None

    def evaluations(self, scored: Sequence[Scored], seed: int) -> dict[Level, MetaEvaluation]:
        """Return what each level is judged by."""
        found: dict[Level, MetaEvaluation] = {}
        if self.opinions.count:
            scores = np.stack([each.scores for each in scored])
            found["segment"] = found["system"] = self.opinions.evaluation(scores, seed)
        if self.official is not None:
            found["system"] = CorpusEvaluation(
                self.official.people[:, np.newaxis],
                np.stack([each.corpora() for each in scored])[:, :, np.newaxis],
                seed=seed,
                statistics=tuple((each.statistics, each.signed_score) for each in scored),
                threads=self.threads,
            )
        return found

    def computed(self, metrics: Mapping[str, Metric], steps: Steps) -> list[Scored]:
        """Score the outputs that somebody rated, and whole corpora of systems with an official score."""
        references, opinions, official = self.references, self.opinions, self.official
        if not metrics:
            return []
        if references is None:
            raise UsageError(f"{some(metrics)} cannot be computed without references; give --refs FILE")
        columns = references.positions()
        places = np.array([columns[item] for item in opinions.items], dtype=np.int64)
        whole = np.arange(len(references))
        rated = dict(zip(opinions.systems, (places[row] for row in opinions.rated), strict=True))
        scored = {**rated, **dict.fromkeys(official.systems if official is not None else (), whole)}
        advance = steps("score", len(metrics) * sum(map(len, scored.values())))
        parts = {}
        for system, own in scored.items():
            texts = self.outputs[system]
            if lacking := [references.ids[place] for place in own.tolist() if texts[place] is None]:
                why, instead = (
                    ("somebody rated", "rating") if own is not whole else ("is part of the corpus", "official score")
                )
                raise DataError(
                    f"{system} has no output for {some(lacking, 3)}, which {why}; add the output, "
                    f"or leave out the {instead}"
                )
            # The whole corpus needs no copy, and what is prepared for it serves all systems.
            part = references if len(own) == len(references) else references.take(own)
            parts[system] = part, [texts[place] or "" for place in own.tolist()]
        prepare_for(references, metrics.values(), sum(part is references for part, _ in parts.values()))
        found = []
        for name, metric in metrics.items():
            learned = metric.learned(references) if metric.learns else metric
            table = np.full(opinions.rated.shape, np.nan)
            statistics = {}
            for system, (part, texts) in parts.items():
                rows = learned.statistics(texts, part, threads=self.threads)
                if system in rated:
                    own = rated[system] if part is references else slice(None)
                    row = opinions.systems.index(system)
                    table[row, opinions.rated[row]] = learned.segment_scores(rows, part)[own]
                if official is not None and system in official.systems:
                    statistics[system] = rows
                advance(len(texts))
            if (skipped := int((opinions.rated & np.isnan(table)).sum())) > 0:
                raise DataError(
                    f"{name} skips {counted(skipped, 'rated output')}, so it cannot be compared with other metrics; "
                    "leave the metric or those segments out"
                )
            sign = 1.0 if metric.higher_is_better else -1.0
            corpora = [statistics[system] for system in official.systems] if official is not None else ()
            signature = str(metric.signature(references))
            found.append(Scored(name, _settled(sign * table), signature, sign, corpora, learned.score))
        return found

    def read(self, scores: Sequence[GivenScores], notes: Notes) -> Iterator[Scored]:
        """Yield scores from files, which all rated outputs must have; the score of a system is their mean."""
        opinions, official = self.opinions, self.official
        for each in scores:
            table = each.table[np.ix_(opinions.rows, opinions.columns)]
            gaps = opinions.rated & np.isnan(table)
            if gaps.any():
                whole = gaps == opinions.rated
                systems, items = (
                    [*compress(names, np.logical_and.reduce(whole, axis=axis).tolist())]
                    for names, axis in ((opinions.systems, 1), (opinions.items, 0))
                )
                lacking = counted(int(gaps.sum()), "rated output")
                if systems or items:
                    lacking = some(systems, 3) if systems else f"{counted(len(items), 'rated item')} ({some(items, 3)})"
                raise DataError(
                    f"{each.source}: {each.name} has no scores of {lacking}; give scores of all rated outputs"
                )
            rated = _settled(each.sign * np.where(opinions.rated, table, np.nan))
            statistics: list[NDArray[np.float64]] = []
            if official is not None:
                of_systems = each.table[official.rows]
                shared = np.isfinite(of_systems).all(axis=0)
                if not shared.any():
                    raise DataError(
                        f"{each.source}: {each.name} has no item with scores of all systems; add what is missing"
                    )
                over = "" if shared.all() else f" over the {int(shared.sum()):,} items that all systems have"
                notes.add(f"{each.name}: the score of a system is the mean of its segment scores{over}")
                statistics = [np.stack([row, np.ones(len(row))], axis=1) for row in of_systems[:, shared]]
            yield Scored(each.name, rated, None, each.sign, statistics, mean_score)


def _settled(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores of which those are equal that are so but for rounding."""
    return settled(table, grain_of(float(np.nanmax(np.abs(table), initial=0.0))))
