"""A comparison of systems: tables and texts for people, flat rows for programs."""

from __future__ import annotations

from difflib import SequenceMatcher
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from trubleu.errors import some
from trubleu.explain.difference import BucketRow
from trubleu.metrics.trubleu import TruBleu
from trubleu.render.explanation_text import weight_text, wrapped
from trubleu.render.scores import record_tables, score_notes, score_tables
from trubleu.render.tables import (
    FOR_PROGRAMS,
    Column,
    Estimate,
    Table,
    joined,
    one_line,
    record_table,
    render_tables,
    table_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.explain.difference import NGramDifference, SegmentDifference, SystemComparison

COLUMNS: Final = 80
"""Default width of the terminal."""

LEVEL: Final = 0.05
"""Significance level for p-values."""

_REFERENCES: Final = 3
_WITH_INTERVALS: Final = 3
_DESCRIBED: Final = {
    "output length": "words of the output",
    "reference length": "words of the references, their mean",
    "word frequency": "how often the words of the references occur in all references, their geometric mean",
}


def render_comparison(
    comparison: SystemComparison,
    format: str = "text",  # noqa: A002
    digits: int = 2,
    *,
    columns: int = COLUMNS,
) -> str:
    """Render a comparison in one of the formats of `trubleu.render.render_tables`.

    Parameters
    ----------
    comparison
        What `compare_systems` returns.
    format
        ``text`` shows the texts of segments; ``markdown`` and ``latex`` have tables; ``json`` and ``csv`` have the
        rows of ``scores``, ``tests``, ``segments``, ``buckets`` and ``ngrams`` with everything in them.
    digits
        Decimals for people.
    columns
        How wide texts may be.
    """
    if format in FOR_PROGRAMS:
        tables = [*record_tables(comparison.report, flat=format == "csv"), *_records(comparison)]
        return render_tables(tables, format, digits)
    scores = score_tables(comparison.report)
    # With many systems side by side, intervals are only in the page and in formats for programs.
    few = len(comparison.systems) <= _WITH_INTERVALS
    details = [*bucket_tables(comparison, intervals=few), *ngram_tables(comparison)]
    notes = [*score_notes(comparison.report), *_notes(comparison)]
    if format != "text":
        return render_tables([*scores, *_segment_tables(comparison), *details], format, digits, notes=notes)
    blocks = [wrapped("", verdict(comparison, digits), columns), render_tables(scores, "text", digits).rstrip("\n")]
    blocks += _segment_texts(comparison, digits, columns)
    if details:
        blocks.append(render_tables(details, "text", digits).rstrip("\n"))
    return joined([*blocks, "\n".join(map(one_line, notes))])


def verdict(comparison: SystemComparison, digits: int = 2) -> str:
    """State which system is best by the first metric, and which others are not significantly different."""
    name, report = comparison.metric, comparison.report
    sign = -1 if name in report.lower_is_better else 1
    rows = {row.system: row.score for row in report.scores if row.metric == name}
    best = max(rows, key=lambda system: sign * rows[system])
    shown = f"{rows[best]:.{digits}f}"
    others = [system for system in rows if system != best]
    if tied := [system for system in others if rows[system] == rows[best]]:
        names = f"{best} and {tied[0]}" if len(tied) == 1 else some([best, *tied])
        return f"By {name}, {names} have the same score, {shown}."
    p = {
        (test.b if test.a == best else test.a): test.p_holm
        for test in report.tests
        if test.metric == name and best in (test.a, test.b)
    }
    if len(others) == 1:
        lead = f"By {name}, {best} ({shown}) is better than {others[0]} ({rows[others[0]]:.{digits}f})"
        if not p:
            return f"{lead}; that was not tested."
        how = "significantly" if p[others[0]] < LEVEL else "but not significantly"
        return f"{lead}, {how} (p = {p[others[0]]:.4f})."
    lead = f"By {name}, {best} is the best of {len(rows)} systems ({shown})"
    if not p:
        return f"{lead}; that was not tested."
    level = [system for system in others if p[system] >= LEVEL]
    if not level:
        return f"{lead}, significantly better than all others (p < {LEVEL:g} after Holm's correction)."
    if len(level) == len(others):
        return f"{lead}, but not significantly better than any other (no p below {LEVEL:g} after Holm's correction)."
    return f"{lead}, significantly better than the others except {some(level)} (p < {LEVEL:g} after Holm's correction)."


def _records(comparison: SystemComparison) -> Iterator[Table]:
    pair = [Column("metric", of=lambda _: comparison.metric), Column("a"), Column("b")]
    names = ("score_a", "score_b", "difference", "output_a", "output_b")
    columns = [*pair, Column("id", of=attrgetter("segment")), *map(Column, names)]
    yield table_of(comparison.segments, columns, name="segments")
    yield record_table("buckets", BucketRow, comparison.buckets)
    if comparison.ngrams is not None:
        gram = [Column("order", of=lambda row: len(row.tokens)), Column("ngram", of=lambda row: " ".join(row.tokens))]
        names = ("credit_a", "credit_b", "difference", "count_a", "count_b")
        yield table_of(comparison.ngrams, [*pair, *gram, *map(Column, names)], name="ngrams")


def _segments_by_winner(comparison: SystemComparison) -> Iterator[tuple[str, list[SegmentDifference]]]:
    """Yield the segments on which one system of a pair is better, with a title."""
    lower = comparison.metric in comparison.report.lower_is_better
    for a, b in comparison.pairs:
        for winner, loser, sign in ((a, b, 1), (b, a, -1)):
            rows = [
                row
                for row in comparison.segments
                if (row.a, row.b) == (a, b) and row.difference * sign * (-1 if lower else 1) > 0
            ]
            if rows:
                yield f"Segments where {winner} is better" + f" than {loser}" * (len(comparison.pairs) > 1), rows


def _segment_tables(comparison: SystemComparison) -> Iterator[Table]:
    for title, rows in _segments_by_winner(comparison):
        columns = [
            Column("id", "segment", of=attrgetter("segment")),
            Column("score_a", rows[0].a, "number"),
            Column("score_b", rows[0].b, "number"),
            Column("difference", kind="signed"),
        ]
        yield table_of(rows, columns, title)


def _segment_texts(comparison: SystemComparison, digits: int, columns: int) -> Iterator[str]:
    positions = comparison.references.positions()
    for title, rows in _segments_by_winner(comparison):
        yield one_line(title)
        for row in rows:
            yield "\n".join(_segment_lines(comparison, row, positions[row.segment], digits, columns))


def _segment_lines(
    comparison: SystemComparison, row: SegmentDifference, place: int, digits: int, columns: int
) -> Iterator[str]:
    scores = f"{row.a} {row.score_a:.{digits}f}, {row.b} {row.score_b:.{digits}f} ({row.difference:+.{digits}f})"
    yield wrapped("  ", f"segment {row.segment}: {scores}", columns)
    segment = comparison.references[place]
    ordered = sorted(segment.references, key=lambda reference: -(reference.weight or 0.0))
    weights = ["" if reference.weight is None else weight_text(reference.weight) for reference in ordered]
    said = [("message", segment.message)] if segment.message is not None else []
    said += zip((row.a, row.b), marked_pair(row.output_a, row.output_b), strict=True)
    said += [
        (f"reference {weight}".rstrip(), reference.text)
        for weight, reference in zip(weights[:_REFERENCES], ordered, strict=False)
    ]
    room = min(max(len(label) for label, _ in said), 20) + 2
    for label, text in said:
        short = one_line(label)
        yield wrapped(f"    {short if len(short) <= 20 else short[:19] + '…':{room}}", text, columns)
    if (hidden := len(ordered) - _REFERENCES) > 0:
        yield f"    … and {hidden:,} more reference{'s'[: hidden > 1]}"


def marked_pair(a: str, b: str) -> tuple[str, str]:
    """Return two texts with the words missing from the other one in brackets.

    Examples
    --------
    >>> marked_pair("it was so great", "it was awful")
    ('it was [so great]', 'it was [awful]')
    """
    words = a.split(), b.split()
    marked: tuple[list[str], list[str]] = ([], [])
    for kind, *bounds in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for side, (start, end) in enumerate((bounds[:2], bounds[2:])):
            piece = " ".join(words[side][start:end])
            if piece:
                marked[side].append(piece if kind == "equal" else f"[{piece}]")
    return " ".join(marked[0]), " ".join(marked[1])


def bucket_tables(comparison: SystemComparison, *, intervals: bool = True) -> Iterator[Table]:
    """Yield a table per kind of bucket: buckets by systems."""
    cells = {(row.by, row.bucket, row.system): row for row in comparison.buckets}
    for cut in comparison.cuts:
        rows = []
        for label in cut.labels:
            found = [cells.get((cut.by, label, system)) for system in comparison.systems]
            numbers = [0 if row is None else row.segments for row in found]
            count = str(numbers[0]) if len(set(numbers)) == 1 else " / ".join(map(str, numbers))
            scores = [
                None if row is None else Estimate(row.score, row.low, row.high) if intervals else row.score
                for row in found
            ]
            rows.append((label, count, *scores))
        columns = [Column(f"bucket {cut.by}", cut.by), Column("segments")]
        columns += [Column(f"score {system}", system, "number") for system in comparison.systems]
        yield Table(f"{comparison.metric} by {cut.by}", columns, rows)


def describe_bucket(by: str) -> str:
    """Describe the criterion of a bucket; empty for the number of references or a user's column."""
    return _DESCRIBED.get(by, "")


def ngram_tables(comparison: SystemComparison) -> Iterator[Table]:
    """Yield tables of the n-grams, or words, on which each system of a pair is better."""
    words = isinstance(comparison.metrics[comparison.metric], TruBleu)
    for a, b in comparison.pairs:
        for winner, loser, sign in ((a, b, 1), (b, a, -1)):
            rows = [row for row in comparison.ngrams or () if (row.a, row.b) == (a, b) and row.difference * sign > 0]
            if rows:
                title = f"{'Words' if words else 'N-grams'} that {winner} earns more by"
                yield _ngrams(title + f" than {loser}" * (len(comparison.pairs) > 1), rows, words=words)


def _ngrams(title: str, rows: Sequence[NGramDifference], *, words: bool) -> Table:
    a, b = rows[0].a, rows[0].b
    columns = [
        *([] if words else [Column("order", kind="count", of=lambda row: len(row.tokens))]),
        Column("ngram", "word" if words else "n-gram", of=lambda row: " ".join(row.tokens)),
        Column("credit_a", f"credit {a}", "number"),
        Column("credit_b", f"credit {b}", "number"),
        Column("difference", kind="signed"),
        Column("count_a", f"times {a}", "count"),
        Column("count_b", f"times {b}", "count"),
    ]
    return table_of(rows, columns, title)


def _notes(comparison: SystemComparison) -> Iterator[str]:
    yield f"segments, buckets and n-grams: by {comparison.metric}; brackets mark words that only one system has"
    for cut in comparison.cuts:
        if described := describe_bucket(cut.by):
            yield f"{cut.by}: {described}"
    yield from comparison.notes
    if comparison.ngrams and isinstance(comparison.metrics[comparison.metric], TruBleu):
        yield "words: credit is what they weigh times their similarity to what they met in the best reference, summed"
    yield "trubleu explain --segment ID shows a segment in full; --format html all segments in a page"
