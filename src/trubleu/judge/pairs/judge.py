"""The ΔBLEU protocol: does a metric's preference between two systems agree with people's?"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import some
from trubleu.execution.captured_warnings import HeldWarnings
from trubleu.judge.pairs import human_scores, observations
from trubleu.judge.pairs.reference_pool import CONDITIONS, Condition, Library, parse_conditions, tell_of_references
from trubleu.judge.pairs.results import PairRow, PairsReport, Protocol, Setting, SweepRow, SystemRow, SystemScoreRow
from trubleu.judge.report import Notes, given_scores
from trubleu.progress import no_steps
from trubleu.signature import make_signature
from trubleu.stats.paired import holm_limit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.data import Ratings, References, SegmentScores
    from trubleu.judge.pairs.observations import Column, Replicates
    from trubleu.judge.pairs.results import Measure, SweepName
    from trubleu.judge.report import GivenScores
    from trubleu.metrics import Metric
    from trubleu.progress import Steps
    from trubleu.stats import UnitDraws

SWEPT: Final[Mapping[SweepName, tuple[str, Sequence[float]]]] = {
    "threshold": ("thresholds", [round(1 - 0.2 * step, 1) for step in range(11)]),
    "unit": ("unit sizes", [1, 10, 20, 50, 100]),
    "order": ("orders", [1, 2, 3, 4]),
}
"""What sweeps are over, and the values of each."""

MANY_EQUAL: Final = 0.05
"""The share of outputs equal to a reference from which on it is warned of."""


def judge_pairs(
    systems: Mapping[str, Sequence[str]],
    references: References,
    ratings: Ratings,
    metrics: Mapping[str, Metric],
    *,
    pairs: str | Iterable[tuple[str, str]] | None = None,
    conditions: Sequence[str] = CONDITIONS,
    protocol: Protocol | None = None,
    pool_outputs: bool = False,
    drop_equal: Sequence[str] = (),
    scores: Sequence[SegmentScores] = (),
    lower_is_better: Sequence[str] = (),
    threads: int | None = None,
    steps: Steps = no_steps,
) -> PairsReport:
    """Measure how well metrics agree with people, by the protocol of the ΔBLEU paper.

    Segments of a pair of systems are put into units at random. A unit is one observation: the difference of the two
    systems' scores on it, and the difference of their mean ratings. Both coefficients are averaged over many draws;
    intervals come from the bootstrap over segments. Every unit enters with both signs, so that it does not matter
    which system is called A.

    Parameters
    ----------
    systems
        The outputs of each system, one for each segment of the references.
    references
        With weights, unless no metric uses them; none unrated.
    ratings
        Of outputs; their items are ids of segments.
    metrics
        By the name they have in the report.
    pairs
        ``"all"``, ``"A:B,A:C"`` or pairs of names.
    conditions
        Which references count: ``single``, ``w>=0.6``, ``all``, ``given``. Sweeps over unit sizes and orders run under
        the last one.
    protocol
        Units, draws, seed.
    pool_outputs
        Let rated outputs of the other systems join the references, weighted by their ratings. For a pair neither its
        own outputs do.
    drop_equal
        Systems for which references that equal the output being scored are left out; ``["all"]`` for all.
    scores
        Segment scores of metrics from elsewhere.
    lower_is_better
        Those of them that are error rates; ones with the name of ours, such as ``ter``, are known.
    threads
        How many threads to use; None for all cores. It never changes a number.
    steps
        Told of every stage of work, for a progress bar.

    Raises
    ------
    DataError, UsageError
        If there is nothing to judge, or an option cannot be used.

    Examples
    --------
    >>> import trubleu
    >>> from trubleu.data import Ratings
    >>> words = ["red", "blue", "green", "grey", "pink", "black", "white", "gold"]
    >>> references = trubleu.References.from_lists([[word] for word in words])
    >>> systems = {"good": [f"{word} !" for word in words], "bad": ["grey", *words[:7]]}
    >>> marks = {"good": [5, 5, 4, 5, 4, 4, 5, 5], "bad": [5, 1, 2, 1, 1, 2, 2, 1]}
    >>> rows = [(str(i + 1), name, who, mark) for name in marks for i, mark in enumerate(marks[name]) for who in "xy"]
    >>> report = judge_pairs(
    ...     systems, references, Ratings(*zip(*rows)), {"bleu-1": trubleu.metric("bleu-1")},
    ...     conditions=["all"], protocol=Protocol(unit=1, draws=1, resamples=100, sweeps=()))
    >>> round(report.correlations[0].spearman, 2)
    0.86
    """
    protocol = protocol or Protocol()
    names = list(systems)
    chosen = parse_conditions(conditions, pool_outputs=pool_outputs)
    wanted = human_scores.parse_pairs(pairs, names)
    dropping = human_scores.systems_named(drop_equal, names)
    held = HeldWarnings()
    try:
        with held.of_part():
            notes = Notes()
            opinions = human_scores.Opinions.of(ratings, names, references, notes)
            judged = frozenset(place for pair in wanted for place in pair)
            given = given_scores(
                scores, names, references.ids, ours=metrics, lower_is_better=lower_is_better, notes=notes
            )
            human_scores.check_given(given, names, judged)
            weights = opinions.weights(ratings.ends()) if pool_outputs else None
            library = Library.build(references, systems, weights, dropping)
            usable = human_scores.usable_segments(library, wanted, chosen, given, opinions, notes)
            laid_out, common = human_scores.lay_out_pairs(opinions, wanted, usable)
            kept = human_scores.large_enough(laid_out, protocol, names, notes)
            tell_of_references(library, kept, chosen, names, notes)
            scoring = observations.Scoring(library=library, outputs=list(systems.values()), pairs=kept, threads=threads)
            study = _Study(names, metrics, chosen, protocol, scoring, given, steps, notes, common)
            return study.report(opinions)
    finally:
        held.tell()


@dataclass(frozen=True, slots=True)
class _Study:
    """All that is settled before numbers are made."""

    names: Sequence[str]
    metrics: Mapping[str, Metric]
    conditions: Sequence[Condition]
    protocol: Protocol
    scoring: observations.Scoring
    given: Sequence[GivenScores]
    steps: Steps
    notes: Notes
    common: int

    def report(self, opinions: human_scores.Opinions) -> PairsReport:
        columns, system_scores = self._scored()
        protocol = self.protocol
        shuffles, replicates = protocol.shuffles(), protocol.replicates()
        tables, threads = partial(observations.Tables, self.scoring.pairs, columns), self.scoring.threads
        advance = self.steps("draws", shuffles.draws * len(columns))
        drawn = tables(shuffles).coefficients(threads, advance)
        advance = self.steps("bootstrap", replicates.draws * len(columns))
        resampled = tables(replicates, self._pair_counts(replicates.draws)).coefficients(threads, advance)
        over_segments, over_systems = resampled[: len(columns)], resampled[len(columns) :]
        measures = [column.measure for column in columns]
        tried = [observations.Replicates(*each) for each in zip_longest(measures, drawn, over_segments, over_systems)]
        units = self._units(shuffles)
        rows = [
            each.correlation_row(protocol.unit, units, protocol.confidence, self._signature(each.measure))
            for each in tried
        ]
        self._tell_undefined(tried)
        comparisons = tuple(observations.compare_measures(tried, protocol.confidence))
        for each in ([row.spearman_p for row in comparisons], [row.kendall_p for row in comparisons]):
            if limit := holm_limit([p for p in each if p is not None], protocol.resamples):
                self.notes.add(limit)
        return PairsReport(
            correlations=tuple(rows),
            comparisons=comparisons,
            sweeps=tuple(self._sweeps(columns)),
            systems=tuple(self._systems(opinions)),
            system_scores=tuple(system_scores),
            pairs=tuple(
                PairRow(
                    a=self.names[pair.a],
                    b=self.names[pair.b],
                    segments=len(pair.segments),
                    units=shuffles.units(len(pair.segments)),
                )
                for pair in self.scoring.pairs
            ),
            setting=Setting(
                **{each.name: getattr(protocol, each.name) for each in fields(protocol) if each.name != "sweeps"},
                pool_outputs=self.scoring.library.pooled,
                drop_equal=self._dropping(),
            ),
            notes=self.notes.all(),
            metrics=self.metrics,
            cloud=observations.cloud_of(self.scoring, columns, protocol.shuffles(draws=1), self.common),
            evidence=tuple(observations.evidence_of(self.scoring, columns, self.conditions)),
        )

    def _units(self, draws: UnitDraws) -> int:
        return sum(draws.units(len(pair.segments)) for pair in self.scoring.pairs)

    def _scored(self) -> tuple[list[Column], list[SystemScoreRow]]:
        """Score every metric under every condition; metrics come first in the order of the columns."""
        advance = self.steps("score", self.scoring.outputs_scored * len(self.metrics) * len(self.conditions))
        columns = []
        scores: dict[Measure, Mapping[int, float]] = {}
        for condition in self.conditions:
            for name, metric in self.metrics.items():
                columns.append(self.scoring.column(name, metric, condition, advance))
                scores[columns[-1].measure] = self.scoring.corpus_scores(metric, condition)
        columns.sort(key=lambda column: list(self.metrics).index(column.measure.metric))
        for given in self.given:
            columns.append(self.scoring.given_column(given))
            judged = [given.table[system, self.scoring.segments_of(system)] for system in range(len(self.names))]
            means = {system: float(values.mean()) for system, values in enumerate(judged) if len(values)}
            scores[columns[-1].measure] = means
        return columns, [
            SystemScoreRow(system=name, metric=measure.metric, condition=measure.condition, score=found.get(system))
            for measure, found in scores.items()
            for system, name in enumerate(self.names)
        ]

    def _pair_counts(self, replicates: int) -> NDArray[np.int64] | None:
        """Return how often each pair enters where systems are drawn with replacement, too; None for two systems."""
        systems = self.scoring.systems
        if len(systems) < 3:
            return None
        generator = np.random.default_rng([self.protocol.seed, len(systems)])
        drawn = generator.multinomial(len(systems), np.full(len(systems), 1 / len(systems)), size=replicates)
        sides = [[systems.index(system) for system in pair.systems] for pair in self.scoring.pairs]
        counts: NDArray[np.int64] = drawn[:, sides].prod(axis=2)
        return counts

    def _signature(self, measure: Measure) -> str:
        protocol, name = self.protocol, measure.metric
        signature = self.metrics[name].signature() if name in self.metrics else make_signature(name, scores="given")
        settings = {
            "refs": measure.condition,
            "unit": protocol.unit,
            "draws": protocol.draws,
            "pool": self.scoring.library.pooled or None,
            "dropequal": self._dropping() or None,
            "partial": protocol.partial or None,
        }
        bootstrap = {"ci": protocol.confidence, "bs": protocol.resamples, "seed": protocol.seed}
        return str(signature.extended(**settings, **bootstrap))

    def _dropping(self) -> str:
        return ",".join(self.names[place] for place in sorted(self.scoring.library.drop_equal))

    def _sweeps(self, columns: Sequence[Column]) -> Iterator[SweepRow]:
        """Make the sweeps that the protocol asks for, under the last condition unless that is what is varied."""
        for sweep in self.protocol.sweeps:
            if sweep == "threshold" and self.scoring.library.references.weights is None:
                self.notes.add("no sweep over thresholds: the references have no weights")
                continue
            title, values = SWEPT[sweep]
            if sweep == "unit":
                fewest = min(len(pair.segments) for pair in self.scoring.pairs)
                if fewest < values[-1]:
                    values = [unit for unit in values if unit <= fewest]
                    self.notes.add(
                        f"the sweep over unit sizes ends at {values[-1]}, as a pair has {fewest} judged segments only"
                    )
            advance = self.steps(f"sweep over {title}", len(values))
            for value in values:
                yield from self._point(sweep, value, columns)
                advance(1)

    def _point(self, sweep: SweepName, value: float, columns: Sequence[Column]) -> Iterator[SweepRow]:
        """Yield the rows of one point of a sweep, one for each column: those scored before, or scored anew."""
        protocol, unit, condition = self.protocol, self.protocol.unit, self.conditions[-1]
        metrics: Mapping[str, Metric | None] = self.metrics
        if sweep == "unit":
            unit = int(value)
            columns = [each for each in columns if each.measure.condition in (str(condition), None)]
        else:
            if sweep == "threshold":
                condition = Condition("threshold", value)
            else:
                metrics = {name: metric.with_order(int(value)) for name, metric in self.metrics.items()}
            columns = [
                self.scoring.column(name, metric, condition) for name, metric in metrics.items() if metric is not None
            ]
        if not columns:
            return
        if unit == 1:
            columns = [column.settled() for column in columns]
        shuffles = protocol.shuffles(unit, protocol.sweep_draws)
        tables = partial(observations.Tables, self.scoring.pairs, columns)
        drawn, resampled = (
            tables(draws).coefficients(self.scoring.threads)
            for draws in (shuffles, protocol.replicates(unit, protocol.sweep_resamples))
        )
        units = self._units(shuffles)
        for column, *found in zip(columns, drawn, resampled, strict=True):
            values = observations.Replicates(column.measure, *found).coefficients(unit, units, protocol.confidence)
            if sweep == "threshold":
                values["condition"] = None
            yield SweepRow(sweep=sweep, value=value, **values)

    def _systems(self, opinions: human_scores.Opinions) -> list[SystemRow]:
        rows = []
        for place, name in enumerate(self.names):
            segments = self.scoring.segments_of(place)
            means = opinions.means[None][place]
            rated = [means[segment] for segment in segments.tolist() if segment in means]
            equal, share = self.scoring.library.share_equal(place, segments)
            if share >= MANY_EQUAL:
                say = self.notes.add if place in self.scoring.library.drop_equal else self.notes.warn
                say(
                    f"{100 * share:.0f} % of the outputs of {name} equal a reference; metrics overrate a system "
                    "whose outputs come from the same source as the references"
                )
            rows.append(
                SystemRow(
                    system=name,
                    rated=len(segments),
                    ratings=opinions.counts[place],
                    mean_rating=float(sum(rated) / len(rated)) if rated else None,
                    equal=equal,
                    equal_share=share,
                )
            )
        return rows

    def _tell_undefined(self, tried: Sequence[Replicates]) -> None:
        draws = self.protocol.shuffles().draws
        if never := [str(each.measure) for each in tried if each.undefined == draws]:
            self.notes.warn(
                f"no correlation for {some(never)}: every pair of systems gets the same score from it, "
                "or the same rating from people, in every unit"
            )
        able = [each for each in tried if each.undefined < draws]
        for each in able:
            if each.undefined:
                self.notes.warn(
                    f"the correlation of {each.measure} is undefined in {each.undefined} of {draws} "
                    "draws, which are left out of its mean"
                )
        for each in able:
            if lost := int(np.isnan(each.over_segments.spearman).sum()):
                self.notes.add(
                    f"the correlation of {each.measure} is undefined in {lost} of {self.protocol.resamples} "
                    "bootstrap replicates, which its interval leaves out"
                )
        turned = [name for name, metric in self.metrics.items() if not metric.higher_is_better]
        turned += [scores.name for scores in self.given if scores.sign < 0]
        self.notes.turned(turned)
