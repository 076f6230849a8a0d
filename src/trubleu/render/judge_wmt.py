"""A report of the WMT protocol as tables: one column per language pair for people, flat rows for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trubleu.judge.report import Rival, brief_interval, data_needed, standard_error, verdict
from trubleu.judge.wmt.results import (
    AVERAGE,
    LEVELS,
    AgreementRow,
    DifferenceRow,
)
from trubleu.judge.wmt.statistics import SEGMENT_STATISTICS, SYSTEM_STATISTICS
from trubleu.judge.wmt.tau import VARIANTS
from trubleu.render.charts import bucket_chart, legend_keys, table_grid
from trubleu.render.explanation_page import page_script, rendered_page, report_style
from trubleu.render.tables import (
    Bounds,
    Column,
    Estimate,
    Table,
    render_report,
    starred,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.judge.wmt.results import Level, WmtReport
    from trubleu.render.charts import Chart

TITLES: Final[dict[Level, str]] = {
    "system": "System level",
    "rankings": "Segment level, ranked pairs",
    "assessments": "Segment level, direct assessments",
}

STATISTICS: Final[dict[Level, tuple[str, ...]]] = {
    "system": SYSTEM_STATISTICS,
    "rankings": VARIANTS,
    "assessments": SEGMENT_STATISTICS,
}

_NAMES: Final[dict[str, str]] = {
    "pearson": "Pearson r",
    "spearman": "Spearman ρ",
    "kendall": "Kendall τ-b",
    "accuracy": "pairwise accuracy",
    **{variant: f"τ {variant}" for variant in VARIANTS},
}

_SIGNIFICANT: Final = 0.05

_TESTS: Final = {
    "williams": "Williams' test",
    "permutation": "permutation of standardised scores",
    "bootstrap": "paired bootstrap",
}


def render_wmt(report: WmtReport, format: str = "text", digits: int = 3) -> str:  # noqa: A002
    """Render a report in one of the formats of `trubleu.render.tables.render_tables`.

    Parameters
    ----------
    report
        What `judge_wmt` returns.
    format
        ``text``, ``markdown`` and ``latex`` have the verdict, a table per level with metrics as rows and language
        pairs as columns, then the other statistics, differences between metrics, and how the numbers were made.
        ``json`` and ``csv`` have flat rows with everything in them, as `WmtReport.to_dict`.
    digits
        Decimals for people.
    """
    return render_report(report, format, digits, wmt_verdict(report), wmt_tables(report), wmt_notes(report))


def render_wmt_page(report: WmtReport, digits: int = 3) -> str:
    """Render a report as one self-contained HTML page.

    Raises
    ------
    MissingExtraError
        If Jinja2 is not installed.
    """
    return rendered_page(
        "wmt.html.j2",
        report_style(),
        page_script(),
        title="How well metrics agree with people",
        verdicts=[*wmt_verdict(report)],
        about=", ".join(pair for pair in _pairs(report.agreements) if pair != AVERAGE),
        warnings=report.notes,
        charts=[*_charts(report)],
        legend=legend_keys(_metrics(report)),
        tables=[
            {
                "title": table.title,
                "grid": table_grid(table, digits, table.title),
                "differences": table.key == "differences",
            }
            for table in wmt_tables(report)
        ],
        how=[*wmt_notes(report)],
    )


def _metrics(report: WmtReport) -> list[str]:
    return [*dict.fromkeys(row.metric for row in report.agreements)]


def _charts(report: WmtReport) -> Iterator[Chart]:
    """Yield a chart per level: metrics side by side in every language pair, with intervals."""
    for level in LEVELS:
        rows = [row for row in report.agreements if row.level == level and row.statistic == _headline(report, level)]
        pairs = _pairs(rows)
        cells = {(row.metric, row.language_pair): row for row in rows if row.value is not None}
        if cells:
            lines = {
                metric: [
                    None if (row := cells.get((metric, pair))) is None else (row.value or 0.0, row.low, row.high)
                    for pair in pairs
                ]
                for metric in _metrics(report)
            }
            title = f"{TITLES[level]}: {_NAMES[_headline(report, level)]}"
            yield bucket_chart(title, pairs, lines, "agreement")


def _headline(report: WmtReport, level: Level) -> str:
    return report.setting.tau if level == "rankings" else "pearson"


def wmt_verdict(report: WmtReport) -> Iterator[str]:
    """State for each level which metric agrees best, on average over several language pairs."""
    for level in LEVELS:
        main = _headline(report, level)
        rows = [row for row in report.agreements if row.level == level and row.statistic == main]
        pairs = _pairs(rows)
        if not rows:
            continue
        judged = [row for row in rows if row.language_pair == pairs[-1] and row.value is not None]
        if not judged:
            yield f"{TITLES[level]}: {_NAMES[main]} is undefined for every metric."
            continue
        best = max(judged, key=lambda row: row.value or 0.0)
        shown = brief_interval(best.value or 0.0, best.low, best.high)
        # Of several tests the least certain counts.
        rivals = {
            row.metric: Rival(row.metric, (best.value or 0.0) - (row.value or 0.0), None)
            for row in judged
            if row is not best
        }
        for row in report.differences:
            if (row.level, row.language_pair, row.statistic) == (level, pairs[-1], main) and row.p_holm is not None:
                other = row.metric_y if row.metric_x == best.metric else row.metric_x
                if best.metric in (row.metric_x, row.metric_y) and row.p_holm >= (rivals[other].p or 0.0):
                    rivals[other] = Rival(other, abs(row.difference), row.p_holm, _times(report, row))
        head = f"{TITLES[level]}: {best.metric} agrees best with people, {_NAMES[main]} {shown}"
        what = f"times as many {'systems' if level == 'system' else level}"
        yield verdict(head, [*rivals.values()], _SIGNIFICANT, 1, what)


def _times(report: WmtReport, row: DifferenceRow) -> float | None:
    """Return how many times as much data would settle a difference, if its interval is known."""
    if row.low is None or row.high is None:
        return None
    return data_needed(1, row.difference, standard_error(row.low, row.high, report.setting.confidence))


def wmt_tables(report: WmtReport) -> list[Table]:
    """Return tables for people: two per level, and differences between metrics if there are any."""
    tables: list[Table] = []
    for level in LEVELS:
        rows = [row for row in report.agreements if row.level == level]
        if rows:
            main = _headline(report, level)
            tables += [_main(level, main, rows), _others(level, main, rows)]
    if report.differences:
        tables.append(_differences(report.differences))
    return tables


def wmt_notes(report: WmtReport) -> Iterator[str]:
    """Yield notes on how the numbers were computed and what was left out."""
    setting = report.setting
    drawn: dict[Level, dict[str, None]] = {}
    for row in report.agreements:
        if row.resampled is not None and row.language_pair != AVERAGE:
            drawn.setdefault(row.level, {})[row.resampled] = None
    if drawn:
        share = f"{100 * setting.confidence:g} %"
        what = "; ".join(f"{TITLES[level]}: {' or '.join(resampled)}" for level, resampled in drawn.items())
        draws = f"{setting.resamples:,} resamples, seed {setting.seed}"
        yield f"intervals: {share}, percentile bootstrap ({what}), {draws}, each language pair with draws of its own"
    if any(row.level == "rankings" for row in report.agreements):
        kept = "kept as they are" if setting.identical == "expanded" else "merged"
        yield f"ranked pairs: systems that wrote the same text are {kept} (identical: {setting.identical})"
    if report.differences:
        made = dict.fromkeys(row.test for row in report.differences)
        tests = ", ".join(text for test, text in _TESTS.items() if test in made)
        yield (
            f"differences: {tests}; two-sided p-values, corrected by Holm for all pairs of metrics in one level, "
            "language pair and test; * p < 0.05, ** p < 0.01, *** p < 0.001"
        )
    yield from dict.fromkeys(f"{row.metric}: {row.signature}" for row in report.agreements if row.signature is not None)
    yield from report.notes


def _pairs(rows: Sequence[AgreementRow]) -> list[str]:
    pairs = dict.fromkeys(row.language_pair for row in rows)
    return [pair for pair in pairs if pair != AVERAGE] + [AVERAGE] * (AVERAGE in pairs)


def _main(level: Level, statistic: str, rows: Sequence[AgreementRow]) -> Table:
    cells = {
        (row.metric, row.language_pair): Estimate(row.value, row.low, row.high)
        for row in rows
        if row.statistic == statistic
    }
    pairs = _pairs(rows)
    return Table(
        f"{TITLES[level]}: {_NAMES[statistic]}",
        [Column("metric"), *(Column(f"pair {pair}", pair, "number") for pair in pairs)],
        [
            (metric, *(cells.get((metric, pair)) for pair in pairs))
            for metric in dict.fromkeys(row.metric for row in rows)
        ],
        name=level,
    )


def _others(level: Level, main: str, rows: Sequence[AgreementRow]) -> Table:
    others = [statistic for statistic in STATISTICS[level] if statistic != main]
    cells = {(row.language_pair, row.metric, row.statistic): row for row in rows}
    shown = [
        (pair, metric, None if pair == AVERAGE else first.n, *(cells[pair, metric, other].value for other in others))
        for pair in _pairs(rows)
        for metric in dict.fromkeys(row.metric for row in rows)
        if (first := cells.get((pair, metric, main))) is not None
    ]
    what = {"system": "systems", "rankings": "pairs", "assessments": "outputs"}[level]
    return Table(
        f"{TITLES[level]}: other statistics",
        [
            Column("language_pair", "language pair"),
            Column("metric"),
            Column("n", what, "count"),
            *(Column(other, _NAMES[other], "number") for other in others),
        ],
        shown,
        name=f"{level}_others",
    )


def _differences(rows: Sequence[DifferenceRow]) -> Table:
    tests = [test for test in _TESTS if any(row.test == test for row in rows)]
    found: dict[tuple[str, str, str, str], dict[str, DifferenceRow]] = {}
    for row in rows:
        found.setdefault((row.level, row.language_pair, row.metric_x, row.metric_y), {})[row.test] = row
    shown: list[tuple[Any, ...]] = []
    for (level, pair, x, y), by_test in found.items():
        first = next(iter(by_test.values()))
        ends = None if first.low is None or first.high is None else Bounds(first.low, first.high)
        marked = [starred(by_test[test].p_holm) if test in by_test else None for test in tests]
        shown.append((level, pair, x, y, first.statistic, first.difference, ends, *marked))
    return Table(
        "Differences between metrics",
        [
            Column("level"),
            Column("language_pair", "language pair"),
            Column("x"),
            Column("y"),
            Column("statistic"),
            Column("difference", "x − y", "signed"),
            Column("interval", kind="signed"),
            *(Column(test, f"p ({test})", "p") for test in tests),
        ],
        shown,
        name="differences",
    )
