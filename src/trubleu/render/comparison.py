"""A comparison of two systems as tables: one per system for people, flat rows for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu.render.scores import record_tables, score_notes, score_tables
from trubleu.render.tables import FOR_PROGRAMS, Column, Table, render_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.explain.difference import NGramDifference, SegmentDifference, SystemComparison


def render_comparison(comparison: SystemComparison, format: str = "text", digits: int = 2) -> str:  # noqa: A002
    """Return a comparison in one of the formats of `trubleu.render.render_tables`.

    Parameters
    ----------
    comparison
        What `compare_systems` returns.
    format
        ``text``, ``markdown`` and ``latex`` name the systems in their titles; ``json`` and ``csv`` have the rows of
        ``scores``, ``tests``, ``segments`` and ``ngrams`` with everything in them.
    digits
        Decimals for people.
    """
    if format in FOR_PROGRAMS:
        tables = [*record_tables(comparison.report, flat=format == "csv"), *_records(comparison)]
        return render_tables(tables, format, digits)
    tables = [*score_tables(comparison.report), *_tables(comparison)]
    return render_tables(tables, format, digits, notes=[*score_notes(comparison.report), *_notes(comparison)])


def _records(comparison: SystemComparison) -> Iterator[Table]:
    pair = (comparison.metric, comparison.a, comparison.b)
    names = ("metric", "a", "b", "id", "score_a", "score_b", "difference", "output_a", "output_b")
    rows = [
        (*pair, row.segment, row.score_a, row.score_b, row.difference, row.output_a, row.output_b)
        for row in comparison.segments
    ]
    yield Table("", [Column(name) for name in names], rows, name="segments")
    if comparison.ngrams is not None:
        fields = ("metric", "a", "b", "order", "ngram", "credit_a", "credit_b", "difference", "count_a", "count_b")
        grams = [
            (
                *(*pair, len(row.tokens), " ".join(row.tokens)),
                *(row.credit_a, row.credit_b, row.difference, row.count_a, row.count_b),
            )
            for row in comparison.ngrams
        ]
        yield Table("", [Column(name) for name in fields], grams, name="ngrams")


def _tables(comparison: SystemComparison) -> Iterator[Table]:
    a, b = comparison.a, comparison.b
    lower = comparison.metric in comparison.report.lower_is_better
    for system, sign in ((a, 1), (b, -1)):
        segments = [row for row in comparison.segments if row.difference * sign * (-1 if lower else 1) > 0]
        if segments:
            yield _segments(f"Segments where {system} is better", segments, a, b)
    for system, sign in ((a, 1), (b, -1)):
        grams = [row for row in comparison.ngrams or () if row.difference * sign > 0]
        if grams:
            yield _ngrams(f"N-grams that {system} earns more by", grams, a, b)


def _segments(title: str, rows: Sequence[SegmentDifference], a: str, b: str) -> Table:
    columns = [
        Column("id", "segment"),
        Column("score_a", a, "number"),
        Column("score_b", b, "number"),
        Column("difference", kind="signed"),
    ]
    return Table(title, columns, [(row.segment, row.score_a, row.score_b, row.difference) for row in rows])


def _ngrams(title: str, rows: Sequence[NGramDifference], a: str, b: str) -> Table:
    columns = [
        Column("order", kind="count"),
        Column("ngram", "n-gram"),
        Column("credit_a", f"credit {a}", "number"),
        Column("credit_b", f"credit {b}", "number"),
        Column("difference", kind="signed"),
        Column("count_a", f"times {a}", "count"),
        Column("count_b", f"times {b}", "count"),
    ]
    return Table(
        title,
        columns,
        [
            (
                *(len(row.tokens), " ".join(row.tokens)),
                *(row.credit_a, row.credit_b, row.difference, row.count_a, row.count_b),
            )
            for row in rows
        ],
    )


def _notes(comparison: SystemComparison) -> Iterator[str]:
    what = "segments" if comparison.ngrams is None else "segments and n-grams"
    yield f"{what}: by {comparison.metric}; trubleu explain --segment ID shows a segment in full"
    if comparison.by_similarity:
        yield (
            f"n-grams: none are listed, as {comparison.metric} aligns similar words of an output and each reference; "
            "trubleu explain shows which"
        )
