"""The three sweeps: which references count, how large units are, how long n-grams are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trubleu.judge.pairs.conditions import Condition
from trubleu.judge.pairs.inference import Replicates, sweep_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trubleu.execution.progress import Steps
    from trubleu.judge.pairs.observations import Column, Observer
    from trubleu.judge.pairs.results import Protocol, SweepName, SweepRow
    from trubleu.judge.pairs.scoring import Scoring
    from trubleu.judge.replicates import Notes
    from trubleu.metrics import Metric

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

    def rows(self) -> Iterator[SweepRow]:
        """Make the sweeps that the protocol asks for."""
        made = {"threshold": self._threshold_sweep, "unit": self._unit_sweep, "order": self._order_sweep}
        for sweep in self.protocol.sweeps:
            yield from made[sweep]()

    def _threshold_sweep(self) -> Iterator[SweepRow]:
        if self.scoring.library.references.weights is None:
            self.notes.add("no sweep over thresholds: the references have no weights")
            return
        advance = self.steps("sweep over thresholds", len(THRESHOLDS))
        for value in THRESHOLDS:
            yield from self._scored("threshold", value, self.metrics, Condition("threshold", value))
            advance(1)

    def _unit_sweep(self) -> Iterator[SweepRow]:
        fewest = min(len(pair.segments) for pair in self.observer.pairs)
        sizes = [unit for unit in UNITS if unit <= fewest]
        if len(sizes) < len(UNITS):
            self.notes.add(
                f"the sweep over unit sizes ends at {sizes[-1]}, as a pair has {fewest} judged segments only"
            )
        advance = self.steps("sweep over unit sizes", len(sizes))
        for unit in sizes:
            yield from self._rows("unit", unit, self.columns, unit)
            advance(1)

    def _order_sweep(self) -> Iterator[SweepRow]:
        advance = self.steps("sweep over orders", len(ORDERS))
        for order in ORDERS:
            ordered = {name: metric.with_order(order) for name, metric in self.metrics.items()}
            metrics = {name: metric for name, metric in ordered.items() if metric is not None}
            yield from self._scored("order", order, metrics, self.condition)
            advance(1)

    def _scored(
        self, sweep: SweepName, value: float, metrics: Mapping[str, Metric], condition: Condition
    ) -> Iterator[SweepRow]:
        """Yield the rows of a point at which everything is scored anew."""
        columns = [self.scoring.column(name, metric, condition) for name, metric in metrics.items()]
        return self._rows(sweep, value, columns, self.protocol.unit)

    def _rows(self, sweep: SweepName, value: float, columns: Sequence[Column], unit: int) -> Iterator[SweepRow]:
        """Yield the rows of one point, one for each column."""
        if not columns:
            return
        if unit == 1:
            columns = [column.settled() for column in columns]
        protocol = self.protocol
        shuffles = protocol.shuffles(unit, protocol.sweep_draws)
        drawn, _ = self.observer.coefficients(columns, shuffles)
        resampled, _ = self.observer.coefficients(columns, protocol.replicates(unit, protocol.sweep_resamples))
        units = self.observer.units(shuffles)
        for column, *found in zip(columns, drawn, resampled, strict=True):
            replicates = Replicates(measure=column.measure, drawn=found[0], over_segments=found[1])
            yield sweep_row(sweep, value, replicates, unit, units, protocol.confidence)
