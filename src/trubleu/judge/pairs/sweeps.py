"""The three sweeps: which references count, how large units are, how long n-grams are.

Where every point is scored anew, points are shared out, scoring and draws together; where only units change, draws are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from trubleu.execution import engine
from trubleu.judge.pairs.conditions import Condition
from trubleu.judge.pairs.inference import Replicates, sweep_row
from trubleu.judge.pairs.observations import Observer
from trubleu.judge.pairs.results import SweepRow
from trubleu.judge.parallel import Where, shared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.execution.progress import Steps
    from trubleu.judge.pairs.observations import Column
    from trubleu.judge.pairs.results import Protocol, SweepName
    from trubleu.judge.pairs.scoring import Scoring
    from trubleu.judge.replicates import Notes
    from trubleu.metrics import Metric

THRESHOLDS: Final = tuple(round(1 - 0.2 * step, 1) for step in range(11))
UNITS: Final = (1, 10, 20, 50, 100)
ORDERS: Final = (1, 2, 3, 4)


class _Point(NamedTuple):
    """A point of a sweep at which everything is scored anew."""

    sweep: SweepName
    value: float

    def __str__(self) -> str:
        return f"the sweep over {self.sweep}s at {self.value:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    """Scores and draws at a point; what is mapped.

    Attributes
    ----------
    metrics, condition, protocol
        As for `Sweeps`.
    scoring
        Afresh.
    """

    metrics: Mapping[str, Metric]
    condition: Condition
    protocol: Protocol
    scoring: Scoring

    def __call__(self, point: _Point, _state: None, threads: int | None) -> list[SweepRow]:
        metrics, condition = self.metrics, self.condition
        if point.sweep == "threshold":
            condition = Condition("threshold", point.value)
        else:
            ordered = {name: metric.with_order(int(point.value)) for name, metric in metrics.items()}
            metrics = {name: metric for name, metric in ordered.items() if metric is not None}
        scoring = self.scoring.with_threads(threads)
        columns = [scoring.column(name, metric, condition) for name, metric in metrics.items()]
        with engine(threads=threads) as here:
            observer = Observer(pairs=scoring.pairs, where=Where(here))
            return rows_at(point.sweep, point.value, columns, self.protocol.unit, self.protocol, observer)


def rows_at(
    sweep: SweepName, value: float, columns: Sequence[Column], unit: int, protocol: Protocol, observer: Observer
) -> list[SweepRow]:
    """Return the rows of one point, one for each column."""
    if not columns:
        return []
    if unit == 1:
        columns = [column.settled() for column in columns]
    shuffles = protocol.shuffles(unit, protocol.sweep_draws)
    drawn, _ = observer.coefficients(columns, shuffles)
    replicates, _ = observer.coefficients(columns, protocol.replicates(unit, protocol.sweep_resamples))
    units = len(observer.units(shuffles))
    return [
        sweep_row(
            sweep,
            value,
            Replicates(measure=column.measure, drawn=drawn[place], over_segments=replicates[place]),
            unit,
            units,
            protocol.confidence,
        )
        for place, column in enumerate(columns)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweeps:
    """Makes the points of sweeps.

    Attributes
    ----------
    metrics
        What is judged.
    condition
        Which references count where something else is varied.
    columns
        All measures under that condition, scored already, and scores from files.
    protocol, scoring, observer, steps, notes
        As for the rest of the report.
    """

    metrics: Mapping[str, Metric]
    condition: Condition
    columns: Sequence[Column]
    protocol: Protocol
    scoring: Scoring
    observer: Observer
    steps: Steps
    notes: Notes

    def rows(self) -> list[SweepRow]:
        """Make the sweeps that the protocol asks for."""
        rows: list[SweepRow] = []
        for sweep in self.protocol.sweeps:
            match sweep:
                case "threshold":
                    rows += self._threshold_sweep()
                case "unit":
                    rows += self._unit_sweep()
                case "order":
                    rows += self._order_sweep()
        return rows

    def _scored(self, what: str, points: Sequence[_Point]) -> list[SweepRow]:
        """Return the rows of points that are scored anew, wherever that is to be."""
        advance = self.steps(what, len(points))
        function = _Scored(
            metrics=self.metrics,
            condition=self.condition,
            # Without what points do not depend on, so that they are found again if only that changes.
            protocol=replace(self.protocol, draws=1, resamples=1, sweeps=()),
            scoring=self.scoring.afresh(),
        )
        found = shared(
            self.observer.where,
            function,
            points,
            metrics=self.metrics,
            records=(SweepRow,),
            progress=lambda _point: advance(1),
        )
        return [row for rows in found for row in rows]

    def _threshold_sweep(self) -> list[SweepRow]:
        if self.scoring.library.references.weights is None:
            self.notes.add("no sweep over thresholds: the references have no weights")
            return []
        return self._scored("sweep over thresholds", [_Point("threshold", value) for value in THRESHOLDS])

    def _unit_sweep(self) -> list[SweepRow]:
        fewest = min(len(pair.segments) for pair in self.observer.pairs)
        sizes = [unit for unit in UNITS if unit <= fewest]
        if len(sizes) < len(UNITS):
            self.notes.add(
                f"the sweep over unit sizes ends at {sizes[-1]}, as a pair has {fewest} judged segments only"
            )
        advance = self.steps("sweep over unit sizes", len(sizes))
        rows: list[SweepRow] = []
        for unit in sizes:
            rows += rows_at("unit", unit, self.columns, unit, self.protocol, self.observer)
            advance(1)
        return rows

    def _order_sweep(self) -> list[SweepRow]:
        return self._scored("sweep over orders", [_Point("order", value) for value in ORDERS])
