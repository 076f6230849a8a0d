"""How units of segments are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trubleu.errors import UsageError, nearest
from trubleu.stats import UnitDraws
from trubleu.stats.checks import at_least_one, confidence_level, seed_range

if TYPE_CHECKING:
    from trubleu.judge.pairs.results import SweepName

SWEEPS: Final[tuple[SweepName, ...]] = ("threshold", "unit", "order")


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How units are drawn and what is made of them.

    Attributes
    ----------
    unit
        Segments a unit.
    draws
        Random assignments of segments to units, over which coefficients are averaged.
    resamples
        Bootstrap replicates behind intervals and comparisons.
    sweeps
        Which sweeps to make.
    sweep_draws, sweep_resamples
        Of every point of a sweep.
    confidence
        Of all intervals.
    seed
        Of all draws.
    partial
        Keep the last unit of a pair although it is smaller.
    """

    unit: int = 100
    draws: int = 1000
    resamples: int = 1000
    sweeps: tuple[SweepName, ...] = SWEEPS
    sweep_draws: int = 1000
    sweep_resamples: int = 200
    confidence: float = 0.95
    seed: int = 12345
    partial: bool = False

    def __post_init__(self) -> None:
        for sweep in self.sweeps:
            if sweep not in SWEEPS:
                raise UsageError(f"there is no sweep {sweep!r}; {nearest(sweep, SWEEPS)}")
        for name in ("unit", "draws", "resamples", "sweep_draws", "sweep_resamples"):
            at_least_one(getattr(self, name), name)
        confidence_level(self.confidence)
        seed_range(self.seed)

    def shuffles(self, unit: int | None = None, draws: int | None = None) -> UnitDraws:
        """Return the draws that coefficients are averaged over."""
        unit = self.unit if unit is None else unit
        # Units of one segment are the same however they are drawn.
        count = 1 if unit == 1 else self.draws if draws is None else draws
        return UnitDraws(kind="shuffle", unit=unit, draws=count, seed=self.seed, partial=self.partial)

    def replicates(self, unit: int | None = None, resamples: int | None = None) -> UnitDraws:
        """Return the bootstrap replicates."""
        return UnitDraws(
            kind="bootstrap",
            unit=self.unit if unit is None else unit,
            draws=self.resamples if resamples is None else resamples,
            seed=self.seed,
            partial=self.partial,
        )
