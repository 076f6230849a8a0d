"""Do intervals contain the true score as often as they promise?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trubleu.progress import no_steps
from trubleu.render.studies import ERROR, HOW, percent
from trubleu.render.tables import FOR_PROGRAMS, Column, record_table, render_tables, table_of
from trubleu.simulate.studies import Row, on_test_sets
from trubleu.stats import bootstrap_interval, total

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from trubleu.progress import Steps
    from trubleu.simulate.studies import Draw, Draws, Pool, Scored


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageRow(Row):
    """Coverage of one kind of interval; see `Row` for how it was made.

    Attributes
    ----------
    system
        Whose score it is.
    sets
        How many test sets there were.
    truth
        The score of the whole pool, which all test sets are drawn from.
    covered
        The share of intervals that held the truth.
    below, above
        The shares of intervals that lay below and above it.
    width
        The mean width.
    bias
        The mean score of the test sets less the truth.
    """

    system: str
    sets: int
    truth: float
    covered: float
    below: float
    above: float
    width: float
    bias: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageStudy:
    """Coverage of bootstrap intervals.

    Attributes
    ----------
    confidence
        What they promise.
    pool
        How many segments test sets were drawn from.
    draws
        The test sets.
    rows
        One for each system, condition and number of segments.
    """

    confidence: float
    pool: int
    draws: Draws
    rows: tuple[CoverageRow, ...]


def coverage_study(
    pool: Pool, scored: Sequence[Scored], draws: Draws, *, confidence: float = 0.95, steps: Steps = no_steps
) -> CoverageStudy:
    """Compute intervals on many test sets and count those that contain the true score.

    A test set is drawn from the pool with replacement, so it is an independent sample of a distribution whose score is
    known without error: that of the whole pool.

    Parameters
    ----------
    pool
        The segments.
    scored
        The statistics of its systems under each condition.
    draws
        The test sets, and the resamples of an interval.
    confidence
        Of the intervals.
    steps
        Told of how far it is.
    """
    settings: dict[str, Any] = {"resamples": draws.resamples, "confidence": confidence, "threads": draws.threads}
    told = steps("making intervals", len(scored) * len(draws.segments) * draws.number)

    def intervals(each: Scored, draw: Draw, seed: int) -> list[tuple[float, float, float]]:
        samples = (each.rows[system][draw.rows] for system in pool.systems)
        found = [bootstrap_interval(rows, each.score, seed=seed, **settings) for rows in samples]
        return [(interval.low, interval.high, interval.score) for interval in found]

    values = on_test_sets(pool, scored, draws, told, intervals)
    rows = [
        _coverage_row(system, each, size, values[row, column, :, place])
        for place, system in enumerate(pool.systems)
        for row, each in enumerate(scored)
        for column, size in enumerate(draws.segments)
    ]
    return CoverageStudy(confidence=confidence, pool=len(pool), draws=draws, rows=tuple(rows))


def _coverage_row(system: str, scored: Scored, size: int, intervals: NDArray[np.float64]) -> CoverageRow:
    truth = float(scored.score(total(scored.rows[system])))
    low, high, scores = intervals.T
    sign = 1.0 if scored.condition.metric.higher_is_better else -1.0
    under, over = float((high < truth).mean()), float((low > truth).mean())
    return CoverageRow(
        system=system,
        **scored.how,
        segments=size,
        sets=len(intervals),
        truth=sign * truth,
        covered=float(((low <= truth) & (truth <= high)).mean()),
        below=under if sign > 0 else over,
        above=over if sign > 0 else under,
        width=float((high - low).mean()),
        bias=sign * (float(scores.mean()) - truth),
    )


def render_coverage(study: CoverageStudy, format: str = "text", digits: int = 2) -> str:  # noqa: A002
    """Render a coverage study in one of the formats of `trubleu.render.render_tables`.

    Parameters
    ----------
    study
        What `coverage_study` returns.
    format
        ``text``, ``markdown``, ``latex``, ``json`` or ``csv``.
    digits
        Decimals for people.
    """
    if format in FOR_PROGRAMS:
        return render_tables([record_table("coverage", CoverageRow, study.rows)], format)
    columns = [
        Column("system"),
        *HOW,
        Column("segments", kind="count"),
        Column("covered", "covered, %", "number", of=lambda row: percent(row.covered, row.sets, 1)),
        Column("below", "too low, %", "number", 1, lambda row: 100 * row.below),
        Column("above", "too high, %", "number", 1, lambda row: 100 * row.above),
        Column("truth", kind="number"),
        Column("width", kind="number"),
        Column("bias", kind="signed"),
    ]
    made = f"{study.draws.number:,} test sets per row, each of segments drawn from {study.pool:,}"
    notes = [
        f"{made}, whose score is the truth; seed {study.draws.seed}.",
        f"Intervals of {100 * study.confidence:g} % from {study.draws.resamples:,} resamples.",
        f"{ERROR} Bias is the mean score of the test sets less the truth.",
    ]
    return render_tables([table_of(study.rows, columns)], format, digits, notes=notes)
