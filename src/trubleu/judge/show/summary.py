"""What a report says, in a few sentences for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trubleu.judge.pairs.results import Measure
from trubleu.judge.show.charts import bounds_text, number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.judge.pairs.results import ComparisonRow, CorrelationRow, PairsReport

LEVEL: Final = 0.05
"""Below this, a difference is called significant."""

_NAMED: Final = 4


def best_row(report: PairsReport) -> CorrelationRow | None:
    """Return the row with the largest ρ; None if none is defined."""
    defined = [row for row in report.correlations if row.spearman is not None]
    return max(defined, key=lambda row: row.spearman or 0.0, default=None)


def measure_of(row: CorrelationRow) -> Measure:
    """Return what a row is about."""
    return Measure(metric=row.metric, condition=row.condition)


def headline(report: PairsReport) -> str:
    """Say which measure agrees best with people, and how well."""
    row = best_row(report)
    if row is None:
        return "No correlation is defined: the scores or the ratings do not vary."
    interval = "" if row.spearman_low is None else f" {bounds_text(row.spearman_low, row.spearman_high)}"
    return f"{measure_of(row)} agrees best with people: Spearman’s ρ = {number_text(row.spearman)}{interval}"


def sentences(report: PairsReport) -> Iterator[str]:
    """Say how sure that is, whom the best measure beats, and what it rests on."""
    setting = report.setting
    row = best_row(report)
    if row is not None:
        yield _basis(report, row)
        yield from _doubt(row)
        yield from _beaten(report, measure_of(row))
    yield (
        f"Segments were put into units at random {setting.draws:,} times and coefficients averaged; intervals of "
        f"{setting.confidence:.0%} are from {setting.resamples:,} resamples of the segments; seed {setting.seed}."
    )


def _basis(report: PairsReport, row: CorrelationRow) -> str:
    tau = "" if row.kendall is None else f"Kendall’s τ is {number_text(row.kendall)}"
    if tau and row.kendall_low is not None:
        tau += f" {bounds_text(row.kendall_low, row.kendall_high)}"
    pairs = len(report.pairs)
    units = f"{row.units:,} unit{'s' if row.units != 1 else ''} of {row.unit:,} segment{'s' if row.unit != 1 else ''}"
    of = f"{pairs:,} pair{'s' if pairs != 1 else ''} of {len(report.systems):,} systems"
    return f"{tau + '; it' if tau else 'It'} rests on {units} from {of}."


def _doubt(row: CorrelationRow) -> Iterator[str]:
    if row.spearman_low is not None and row.spearman_high is not None and row.spearman_low <= 0 <= row.spearman_high:
        yield "The interval holds 0: these data do not show that it agrees with people at all."


def _beaten(report: PairsReport, best: Measure) -> Iterator[str]:
    """Say which measures the best one is significantly better than, and from which it cannot be told apart."""
    beaten: list[str] = []
    level: list[str] = []
    for row in report.comparisons:
        other = _other(row, best)
        if other is None:
            continue
        p = row.spearman_p if row.spearman_p_holm is None else row.spearman_p_holm
        if p is not None:
            (beaten if p < LEVEL else level).append(str(other))
    if beaten and level:
        yield (
            f"It is significantly better than {some(beaten)} (p < {LEVEL:g} after Holm’s correction), but not than "
            f"{some(level)}."
        )
    elif beaten:
        everyone = f"all {len(beaten)} that it was compared with" if len(beaten) > 1 else beaten[0]
        yield f"It is significantly better than {everyone} (p < {LEVEL:g} after Holm’s correction)."
    elif level:
        anyone = f"any of the {len(level)} that it was compared with" if len(level) > 1 else level[0]
        yield f"It is not significantly better than {anyone} (no p below {LEVEL:g} after Holm’s correction)."
    elif len(report.correlations) > 1:
        yield "Whether it is significantly better than the others was not tested."


def _other(row: ComparisonRow, best: Measure) -> Measure | None:
    x = Measure(metric=row.metric_x, condition=row.condition_x)
    y = Measure(metric=row.metric_y, condition=row.condition_y)
    return y if x == best else x if y == best else None


def some(names: Sequence[str]) -> str:
    """Return names as a list in a sentence, the first few of many.

    Examples
    --------
    >>> some(["a"]), some(["a", "b"]), some(list("abcdefg"))
    ('a', 'a and b', 'a, b, c, d and 3 others')
    """
    shown = list(names[:_NAMED])
    if len(names) > _NAMED + 1:
        return f"{', '.join(shown)} and {len(names) - _NAMED} others"
    shown = list(names)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
