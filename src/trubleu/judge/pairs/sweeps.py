"""The three sweeps: which references count, how large units are, how long n-grams are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trubleu.judge.pairs.conditions import Condition
from trubleu.judge.pairs.inference import Replicates, sweep_row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.judge.notes import Notes
    from trubleu.judge.pairs.observations import Column, Observer
    from trubleu.judge.pairs.protocol import Protocol
    from trubleu.judge.pairs.results import SweepName, SweepRow
    from trubleu.judge.pairs.scoring import Scoring
    from trubleu.metrics import Metric
    from trubleu.report.scores import Steps

THRESHOLDS: Final = tuple(round(1 - 0.2 * step, 1) for step in range(11))
UNITS: Final = (1, 10, 20, 50, 100)
ORDERS: Final = (1, 2, 3, 4)


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

    def _point(self, sweep: SweepName, columns: Sequence[Column], values: Sequence[float], unit: int) -> list[SweepRow]:
        if unit == 1:
            columns = [column.settled() for column in columns]
        protocol = self.protocol
        shuffles = protocol.shuffles(unit, protocol.sweep_draws)
        drawn, _ = self.observer.coefficients(columns, shuffles)
        replicates, _ = self.observer.coefficients(columns, protocol.replicates(unit, protocol.sweep_resamples))
        units = len(self.observer.units(shuffles))
        return [
            sweep_row(
                sweep,
                value,
                Replicates(measure=column.measure, drawn=drawn[place], over_segments=replicates[place]),
                unit,
                units,
                protocol.confidence,
            )
            for place, (column, value) in enumerate(zip(columns, values, strict=True))
        ]

    def _threshold_sweep(self) -> list[SweepRow]:
        if self.scoring.library.references.weights is None:
            self.notes.add("no sweep over thresholds: the references have no weights")
            return []
        advance = self.steps("sweep over thresholds", len(THRESHOLDS))
        rows: list[SweepRow] = []
        for threshold in THRESHOLDS:
            condition = Condition("threshold", threshold)
            columns = [self.scoring.column(name, metric, condition) for name, metric in self.metrics.items()]
            rows += self._point("threshold", columns, [threshold] * len(columns), self.protocol.unit)
            advance(1)
        return rows

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
            rows += self._point("unit", self.columns, [unit] * len(self.columns), unit)
            advance(1)
        return rows

    def _order_sweep(self) -> list[SweepRow]:
        condition = self.condition
        ordered = {
            (name, order): other
            for order in ORDERS
            for name, metric in self.metrics.items()
            if (other := metric.with_order(order)) is not None
        }
        advance = self.steps("sweep over orders", len(ORDERS))
        rows: list[SweepRow] = []
        for order in ORDERS:
            metrics = {name: metric for (name, each), metric in ordered.items() if each == order}
            columns = [self.scoring.column(name, metric, condition) for name, metric in metrics.items()]
            rows += self._point("order", columns, [order] * len(columns), self.protocol.unit) if columns else []
            advance(1)
        return rows
