"""Do metrics rank systems in their true order?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from trubleu.errors import UsageError
from trubleu.progress import no_steps
from trubleu.render.studies import ERROR, HOW, percent, scored_with, with_error
from trubleu.render.tables import FOR_PROGRAMS, Column, Table, record_table, render_tables, table_of
from trubleu.simulate.studies import Row, on_test_sets
from trubleu.stats import rank_correlations, total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.progress import Steps
    from trubleu.render.tables import Cell
    from trubleu.simulate.studies import Draw, Draws, Pool, Scored


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRow(Row):
    """How well one way of scoring orders systems; see `Row` for how it was made.

    Attributes
    ----------
    sets
        How many test sets there were.
    kendall, kendall_error, spearman, spearman_error
        The mean correlation of systems' scores with their true qualities, and its standard error (None for a single
        test set). Where all scores are equal, which says nothing, it counts as 0.
    exact
        The share of test sets on which all systems come in their true order.
    """

    sets: int
    kendall: float
    kendall_error: float | None
    spearman: float
    spearman_error: float | None
    exact: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemRow:
    """A system's true quality, and its scores by metrics.

    Attributes
    ----------
    system
        Its name.
    quality
        How good it truly is, from 1 to 5.
    equal
        The share of its outputs that equal a candidate.
    metric, references, raters
        How it was scored.
    score
        Its score on the whole pool.
    """

    system: str
    quality: float
    equal: float
    metric: str
    references: int
    raters: int | None
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderStudy:
    """How well metrics order systems.

    Attributes
    ----------
    pool
        How many segments test sets were drawn from.
    draws
        The test sets.
    rows
        One for each condition and number of segments.
    systems
        One for each system, the best first, and condition.
    """

    pool: int
    draws: Draws
    rows: tuple[OrderRow, ...]
    systems: tuple[SystemRow, ...]


def order_study(pool: Pool, scored: Sequence[Scored], draws: Draws, *, steps: Steps = no_steps) -> OrderStudy:
    """Score many test sets and compare the order of the systems with the true one.

    Parameters
    ----------
    pool
        Segments with two systems or more.
    scored
        Their statistics under each condition.
    draws
        The test sets, the same ones under all conditions.
    steps
        Told of how far it is.

    Raises
    ------
    UsageError
        If there are fewer than two systems, or all are equally good.
    """
    names = sorted(pool.systems, key=pool.quality, reverse=True)
    truth = np.array([pool.quality(name) for name in names])
    if len(names) < 2 or truth[0] == truth[-1]:
        raise UsageError("an order needs at least two systems that are not all equally good; give --system again")
    told = steps("ordering systems", len(scored) * len(draws.segments) * draws.number)

    def scores(each: Scored, draw: Draw, seed: int) -> Sequence[float]:  # noqa: ARG001
        found: list[float] = each.score(np.stack([total(each.rows[name][draw.rows]) for name in names])).tolist()
        return found

    values = on_test_sets(pool, scored, draws, told, scores)
    rows = tuple(
        _order_row(each, size, values[row, column], truth)
        for row, each in enumerate(scored)
        for column, size in enumerate(draws.segments)
    )
    systems = tuple(
        SystemRow(
            system=name,
            quality=pool.quality(name),
            equal=equal_share(pool, name),
            **each.how,
            score=float(each.condition.metric.score(total(each.rows[name]))),
        )
        for name in names
        for each in scored
    )
    return OrderStudy(pool=len(pool), draws=draws, rows=rows, systems=systems)


def _order_row(scored: Scored, size: int, scores: NDArray[np.float64], truth: NDArray[np.float64]) -> OrderRow:
    found = rank_correlations(scores, truth)
    kendall, kendall_error = mean_with_error(np.nan_to_num(found.kendall))
    spearman, spearman_error = mean_with_error(np.nan_to_num(found.spearman))
    return OrderRow(
        **scored.how,
        segments=size,
        sets=len(scores),
        kendall=kendall,
        kendall_error=kendall_error,
        spearman=spearman,
        spearman_error=spearman_error,
        exact=float(in_order(scores, truth).mean()),
    )


def in_order(scores: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return per row of scores whether all pairs of truly different systems are in the right order.

    Examples
    --------
    >>> in_order(np.array([[9.0, 5.0, 4.0], [9.0, 4.0, 5.0]]), np.array([4.1, 3.2, 2.0])).tolist()
    [True, False]
    """
    right = np.ones(len(scores), dtype=bool)
    for one, two in combinations(range(len(truth)), 2):
        if truth[one] != truth[two]:
            right &= (scores[:, one] > scores[:, two]) == (truth[one] > truth[two])
            right &= scores[:, one] != scores[:, two]
    return right


def mean_with_error(values: NDArray[np.float64]) -> tuple[float, float | None]:
    """Return the mean of independent trials and its standard error; unknown for a single trial.

    Examples
    --------
    >>> mean_with_error(np.array([1.0, 3.0]))
    (2.0, 1.0)
    """
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return float(values.mean()), error


def equal_share(pool: Pool, system: str) -> float:
    """Return the share of a system's outputs that equal a candidate, which inflates its score."""
    starts = pool.candidates.offsets.tolist()
    texts = pool.candidates.texts
    equal = sum(
        output in texts[start:end] for output, start, end in zip(pool.outputs[system], starts, starts[1:], strict=False)
    )
    return equal / len(pool)


def render_order(study: OrderStudy, format: str = "text", digits: int = 2) -> str:  # noqa: A002
    """Render a study of system orders in one of the formats of `trubleu.render.render_tables`.

    Parameters
    ----------
    study
        What `order_study` returns.
    format
        ``text``, ``markdown``, ``latex``, ``json`` or ``csv``.
    digits
        Decimals for people.
    """
    if format in FOR_PROGRAMS:
        tables = [record_table("order", OrderRow, study.rows), record_table("systems", SystemRow, study.systems)]
        return render_tables(tables, format)
    columns = [
        *HOW,
        Column("segments", kind="count"),
        Column("kendall", "Kendall's τ", "number", of=lambda row: with_error(row.kendall, row.kendall_error, 3)),
        Column("spearman", "Spearman's ρ", "number", of=lambda row: with_error(row.spearman, row.spearman_error, 3)),
        Column("exact", "all in order, %", "number", of=lambda row: percent(row.exact, row.sets, 1)),
    ]
    made = f"{study.draws.number:,} test sets per row, each of segments drawn from {study.pool:,}"
    notes = [
        f"{made}; seed {study.draws.seed}.",
        ERROR,
    ]
    return render_tables([table_of(study.rows, columns), _systems(study)], format, digits, notes=notes)


def _systems(study: OrderStudy) -> Table:
    names = list(dict.fromkeys(row.system for row in study.systems))
    groups = {name: [row for row in study.systems if row.system == name] for name in names}
    ways = [f"{row.metric}, {scored_with(row.references, row.raters)}" for row in groups[names[0]]]
    columns = [
        Column("system"),
        Column("quality", "true quality", "number", 2),
        Column("equal", "equal to a candidate, %", "number", 1),
        *(Column(f"score_{place}", way, "number") for place, way in enumerate(ways)),
    ]
    rows: list[list[Cell]] = [
        [name, group[0].quality, 100 * group[0].equal, *(row.score for row in group)] for name, group in groups.items()
    ]
    return Table("The systems on the whole pool", columns, rows)
