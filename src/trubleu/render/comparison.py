"""A comparison of systems: tables and texts for people, flat rows for programs, and a page with a segment browser."""

# ruff: noqa: A002 - the option is called format everywhere
from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from dataclasses import replace
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np

from trubleu.checks.findings import KINDS
from trubleu.errors import TrubleuWarning, counted, some
from trubleu.explain.difference import BucketRow
from trubleu.explain.explanation import Explanation
from trubleu.explain.segment import explain, is_explainable
from trubleu.metrics.dbleu import WeightedMetric
from trubleu.metrics.trubleu import TruBleu
from trubleu.metrics.trubleu_ctx import TruBleuCtx
from trubleu.progress import Steps, no_steps
from trubleu.render.charts import (
    bucket_chart,
    histogram_chart,
    interval_chart,
    legend_keys,
    significance_chart,
    system_chart,
    table_grid,
    with_strips,
)
from trubleu.render.explanations import conclusion, runs, weight_text, wrapped
from trubleu.render.pages import report_page
from trubleu.render.scores import record_tables, score_notes, score_tables, sure_p
from trubleu.render.tables import (
    Cell,
    Column,
    Estimate,
    Table,
    joined,
    one_line,
    record_table,
    render_report,
    render_tables,
    table_of,
    truncated,
)
from trubleu.stats.bootstrap import FEW_SEGMENTS
from trubleu.stats.paired import LEVEL
from trubleu.text.differences import marked_pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.checks.findings import Finding
    from trubleu.data.references import Segment
    from trubleu.explain.difference import NGramDifference, SegmentDifference, SystemComparison
    from trubleu.explain.similarity import AnyExplanation, SimilarityExplanation
    from trubleu.render.charts import Chart, Grid


Findings: TypeAlias = "Sequence[Sequence[Sequence[Finding]]]"
"""For each system, for each segment: the findings of the output."""

Difference = TypeVar("Difference", "SegmentDifference", "NGramDifference")

COLUMNS: Final = 80
"""Default width of the terminal."""

_REFERENCES: Final = 3
_WITH_INTERVALS: Final = 3
_DESCRIBED: Final = {
    "output length": "words of the output",
    "reference length": "words of the references, their mean",
    "word frequency": "how often the words of the references occur in all references, their geometric mean",
}


def render_comparison(
    comparison: SystemComparison,
    format: str = "text",
    digits: int = 2,
    *,
    columns: int = COLUMNS,
    findings: Findings = (),
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
    findings
        For each system, for each segment: what checks found in the output; counted by kind, and listed for programs.
    """
    scores = score_tables(comparison.report)
    # With many systems side by side, intervals are only in the page and in formats for programs.
    few = len(comparison.systems) <= _WITH_INTERVALS
    details = [*bucket_tables(comparison, intervals=few), *(table for _, table in ngram_tables(comparison))]
    if findings:
        details.insert(0, findings_table(comparison, findings))
    notes = [*score_notes(comparison.report), *_notes(comparison)]
    if format != "text":
        found = [_finding_records(comparison, findings)] if findings else []
        records = chain(record_tables(comparison.report, flat=format == "csv"), _records(comparison), found)
        tables = [*scores, *_segment_tables(comparison), *details]
        return render_report(format, digits, records, tables, notes, [verdict(comparison, digits)])
    blocks = [wrapped("", verdict(comparison, digits), columns), render_tables(scores, "text", digits).rstrip("\n")]
    blocks += _segment_texts(comparison, digits, columns)
    if details:
        blocks.append(render_tables(details, "text", digits).rstrip("\n"))
    return joined([*blocks, "\n".join(map(one_line, notes))])


def verdict(comparison: SystemComparison, digits: int = 2) -> str:
    """State which system is best by the first metric, and what the tests say about that."""
    name, report = comparison.metric, comparison.report
    digits += _more_digits(comparison)
    sign = -1 if name in report.lower_is_better else 1
    rows = {row.system: row.score for row in report.scores if row.metric == name}
    best = max(rows, key=lambda system: sign * rows[system])
    shown = f"{rows[best]:.{digits}f}"
    others = [system for system in rows if system != best]
    if tied := [system for system in others if rows[system] == rows[best]]:
        names = f"{best} and {tied[0]}" if len(tied) == 1 else some([best, *tied])
        return f"By {name}, {names} have the same score, {shown}."
    tests = {
        (test.b if test.a == best else test.a): test
        for test in report.tests
        if test.metric == name and best in (test.a, test.b)
    }
    if len(others) == 1:
        lead = f"By {name}, {best} ({shown}) is better than {others[0]} ({rows[others[0]]:.{digits}f})"
    else:
        lead = f"By {name}, {best} is the best of {len(rows)} systems ({shown})"
    if not tests:
        return f"{lead}; that was not tested."
    few = [system for system in others if tests[system].verdict == "too few segments differ"]
    level = [system for system in others if tests[system].verdict == "not significant"]
    if len(few) == len(others):
        least = min(test.smallest_p for test in tests.values())
        return f"{lead}, but too few segments differ for a verdict (p cannot be below {least:.2g})."
    if len(others) == 1:
        how = "but not significantly" if level else "significantly"
        return f"{lead}, {how} (p = {tests[others[0]].p_holm:.4f})."
    unsure = f"; too few segments differ for a verdict on {some(few)}" if few else ""
    if not level and not few:
        return f"{lead}, significantly better than all others (p < {LEVEL:g} after Holm's correction)."
    if len(level) + len(few) == len(others):
        none = f"no p below {LEVEL:g} after Holm's correction"
        return f"{lead}, but not significantly better than any other ({none}){unsure}."
    but = [system for system in others if system in {*level, *few}]
    return (
        f"{lead}, significantly better than the others except {some(but)} (p < {LEVEL:g} after Holm's correction)"
        f"{unsure}."
    )


def _more_digits(comparison: SystemComparison) -> int:
    """Return how many decimals scores by the first metric have beside those asked for."""
    return comparison.report.more_digits.get(comparison.metric, 0)


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


def findings_table(comparison: SystemComparison, findings: Findings) -> Table:
    """Return how many outputs of each system have a finding of each kind."""
    counts = [Counter(kind for found in system for kind in {each.kind for each in found}) for system in findings]
    columns = [Column("kind", "outputs with"), *(Column(name, kind="count") for name in comparison.systems)]
    kinds = [kind for kind in KINDS if any(count[kind] for count in counts)]
    rows: list[Sequence[Cell]] = [(kind, *(count[kind] for count in counts)) for kind in kinds]
    return Table("Findings", columns, rows, notes=[] if rows else ["No findings."])


def _finding_records(comparison: SystemComparison, findings: Findings) -> Table:
    names = ("system", "id", "kind", "level", "message")
    rows: list[Sequence[Cell]] = [
        (name, segment.id, each.kind, each.level, each.message)
        for name, system in zip(comparison.systems, findings, strict=True)
        for segment, found in zip(comparison.references, system, strict=True)
        for each in found
    ]
    return Table("", [Column(name) for name in names], rows, name="findings")


def _by_words(comparison: SystemComparison) -> bool:
    """Return whether differences go by words, and not by n-grams."""
    return isinstance(comparison.metrics[comparison.metric], TruBleu | TruBleuCtx)


def _by_winner(
    comparison: SystemComparison, rows: Sequence[Difference], sign: int
) -> Iterator[tuple[str, str, list[Difference]]]:
    """Yield the system of a pair that is better, "than" which other if there are several, and the rows where it is."""
    for a, b in comparison.pairs:
        for winner, loser, side in ((a, b, sign), (b, a, -sign)):
            if found := [row for row in rows if (row.a, row.b) == (a, b) and row.difference * side > 0]:
                yield winner, f" than {loser}" * (len(comparison.pairs) > 1), found


def _segments(comparison: SystemComparison) -> Iterator[tuple[str, list[SegmentDifference]]]:
    """Yield the segments on which one system of a pair is better, with a title."""
    sign = -1 if comparison.metric in comparison.report.lower_is_better else 1
    for winner, than, rows in _by_winner(comparison, comparison.segments, sign):
        yield f"Segments where {winner} is better{than}", rows


def _segment_tables(comparison: SystemComparison) -> Iterator[Table]:
    more = _more_digits(comparison)
    for title, rows in _segments(comparison):
        columns = [
            Column("id", "segment", of=attrgetter("segment")),
            Column("score_a", rows[0].a, "number", of=lambda row: Estimate(row.score_a, more=more)),
            Column("score_b", rows[0].b, "number", of=lambda row: Estimate(row.score_b, more=more)),
            Column("difference", kind="signed", of=lambda row: Estimate(row.difference, more=more)),
        ]
        yield table_of(rows, columns, title)


def _segment_texts(comparison: SystemComparison, digits: int, columns: int) -> Iterator[str]:
    positions = comparison.references.positions()
    digits += _more_digits(comparison)
    for title, rows in _segments(comparison):
        yield one_line(title)
        for row in rows:
            segment = comparison.references[positions[row.segment]]
            yield "\n".join(_segment_lines(segment, row, digits, columns))


def _segment_lines(segment: Segment, row: SegmentDifference, digits: int, columns: int) -> Iterator[str]:
    scores = f"{row.a} {row.score_a:.{digits}f}, {row.b} {row.score_b:.{digits}f} ({row.difference:+.{digits}f})"
    yield wrapped("  ", f"segment {row.segment}: {scores}", columns)
    ordered = sorted(segment.references, key=lambda reference: -(reference.weight or 0.0))
    said = [] if segment.message is None else [("message", segment.message)]
    said += zip((row.a, row.b), marked_pair(row.output_a, row.output_b), strict=True)
    for reference in ordered[:_REFERENCES]:
        weight = "" if reference.weight is None else f" {weight_text(reference.weight)}"
        said.append((f"reference{weight}", reference.text))
    labels = [truncated(one_line(label), 20) for label, _ in said]
    room = max(map(len, labels)) + 2
    for label, (_, text) in zip(labels, said, strict=True):
        yield wrapped(f"    {label:{room}}", text, columns)
    if (hidden := len(ordered) - _REFERENCES) > 0:
        yield f"    … and {hidden:,} more reference{'s'[: hidden > 1]}"


def bucket_tables(comparison: SystemComparison, *, intervals: bool = True) -> Iterator[Table]:
    """Yield a table per kind of bucket: buckets by systems."""
    cells = {(row.by, row.bucket, row.system): row for row in comparison.buckets}
    more = _more_digits(comparison)
    for cut in comparison.cuts:
        rows = []
        for label in cut.labels:
            found = [cells.get((cut.by, label, system)) for system in comparison.systems]
            numbers = [0 if row is None else row.segments for row in found]
            count = str(numbers[0]) if len(set(numbers)) == 1 else " / ".join(map(str, numbers))
            scores = [
                None
                if row is None
                else Estimate(row.score, *((row.low, row.high) if intervals else (None, None)), more=more)
                for row in found
            ]
            rows.append((label, count, *scores))
        columns = [Column(f"bucket {cut.by}", cut.by), Column("segments")]
        columns += [Column(f"score {system}", system, "number") for system in comparison.systems]
        yield Table(f"{comparison.metric} by {cut.by}", columns, rows)


def ngram_tables(comparison: SystemComparison) -> Iterator[tuple[tuple[str, str], Table]]:
    """Yield pairs, and tables of the n-grams, or words, on which each of the two is better."""
    words = _by_words(comparison)
    for winner, than, rows in _by_winner(comparison, comparison.ngrams or (), 1):
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
        yield (a, b), table_of(rows, columns, f"{'Words' if words else 'N-grams'} that {winner} earns more by{than}")


def _notes(comparison: SystemComparison) -> Iterator[str]:
    yield f"segments, buckets and n-grams: by {comparison.metric}; brackets mark words that only one system has"
    for cut in comparison.cuts:
        if cut.by in _DESCRIBED:
            yield f"{cut.by}: {_DESCRIBED[cut.by]}"
    yield from comparison.notes
    if any(row.segments < FEW_SEGMENTS for row in comparison.buckets if row.low is not None):
        yield f"intervals of buckets of fewer than {FEW_SEGMENTS} segments are too narrow"
    if comparison.ngrams and _by_words(comparison):
        times = "" if isinstance(comparison.metrics[comparison.metric], TruBleuCtx) else "what they weigh times "
        yield f"words: credit is {times}their similarity to what they met in the best reference, summed"
    yield "trubleu explain --segment ID shows a segment in full; --format html all segments in a page"


MOST_BYTES: Final = 24_000_000
"""Size limit of all segments on a page; beyond it, those that differ most are kept."""

MOST_REFERENCES: Final = 40
"""Maximum references shown per segment besides the decisive ones; there can be a thousand."""

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_HOLE: Final = "\x01"

# Prevents a text from closing its script element or opening a comment in it.
_IN_SCRIPT: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def render_comparison_page(
    comparison: SystemComparison, digits: int = 2, *, steps: Steps = no_steps, findings: Findings = ()
) -> str:
    """Render a comparison as a page.

    Parameters
    ----------
    comparison
        What `compare_systems` returns.
    digits
        Decimals of scores.
    steps
        Told of every stage of work, for a progress bar.
    findings
        For each system, for each segment: what checks found in the output.

    Returns
    -------
    str
        HTML that can be written to one file.

    Raises
    ------
    MissingExtraError
        If Jinja2 is not installed.
    """
    return report_page(
        "compare.html.j2", "compare.css", "compare.js", **page_values(comparison, digits, steps, findings)
    )


def page_values(
    comparison: SystemComparison, digits: int = 2, steps: Steps = no_steps, findings: Findings = ()
) -> dict[str, Any]:
    """Return what the page's template shows, with the findings of each system's outputs."""
    tests = score_tables(comparison.report)[1:]
    data, held = segments_json(comparison, digits + _more_digits(comparison), steps, findings)
    counts = Counter(kind for system in findings for found in system for kind in {each.kind for each in found})
    return {
        "title": _title(comparison.systems),
        "verdicts": [verdict(comparison, digits)],
        "about": _about(comparison),
        "comparison": comparison,
        "held": held,
        "scores": _scores(comparison, digits),
        "tests": [table_grid(table, digits, "tests") for table in tests],
        "confidence": f"{comparison.report.confidence or 0.0:.0%}",
        "histograms": list(_histograms(comparison)),
        "buckets": list(_buckets(comparison, digits)),
        "legend_keys": legend_keys(comparison.systems),
        "ngrams": list(_ngrams(comparison, digits)),
        "words": _by_words(comparison),
        "how": list(score_notes(comparison.report)),
        "data": data,
        "findings": counts,
    }


def comparison_charts(comparison: SystemComparison) -> Iterator[tuple[str, Chart]]:
    """Yield the charts of a comparison for files, with their kinds.

    They are the scores of each metric with intervals; systems by the first metric and each other one, and which system
    is significantly better than which, from three systems on; and the scores by length.
    """
    report, systems = comparison.report, comparison.systems
    rows = {metric: {row.system: row for row in report.scores if row.metric == metric} for metric in report.metrics}
    for metric, found in rows.items():
        sign = 1 if metric in report.lower_is_better else -1
        ordered = sorted(found.values(), key=lambda row: sign * row.score)
        estimates = {row.system: Estimate(row.score, row.low, row.high) for row in ordered}
        yield "scores", interval_chart(_directed(comparison, metric), estimates, metric)
    first, *others = ({system: found[system].score for system in systems} for found in rows.values())
    if len(systems) > 2:
        names = [*rows]
        for name, scores in zip(names[1:], others, strict=True):
            chart = system_chart(f"{names[0]} and {name}", first, scores, names=(names[0], name), told=True)
            yield "systems", chart
        for metric in report.metrics:
            sign = -1 if metric in report.lower_is_better else 1
            ranked = sorted(systems, key=lambda system: -sign * rows[metric][system].score)
            p = {
                (test.a, test.b) if sign * test.difference > 0 else (test.b, test.a): sure_p(test)
                for test in report.tests
                if test.metric == metric
            }
            if p:
                yield "significance", significance_chart(f"Significant differences by {metric}", ranked, p)
    for each in _buckets(comparison, 2):
        if each["by"].endswith("length"):
            chart = each["chart"]
            title = f"{comparison.metric} by {each['by']}"
            x = chart.x._replace(title=_DESCRIBED[each["by"]])
            yield "length", replace(chart, title=title, x=x, keys=legend_keys(systems))


def _directed(comparison: SystemComparison, metric: str) -> str:
    lower = metric in comparison.report.lower_is_better
    return f"{metric}, {comparison.report.confidence or 0.0:.0%} intervals" + (", lower is better" if lower else "")


def _about(comparison: SystemComparison) -> str:
    """Describe what is compared in one sentence."""
    others = comparison.systems[1:]
    if not others:
        return f"{counted(len(comparison.references), 'segment')}, by {comparison.metric}"
    words = "words" if _by_words(comparison) else "n-grams"
    return (
        f"{counted(len(comparison.references), 'segment')}, {counted(len(comparison.systems), 'system')}. "
        f"{comparison.systems[0]} is compared with {'each of the others' if len(others) > 1 else others[0]}; segments, "
        f"buckets and {words} go by {comparison.metric}"
    )


def _title(systems: Sequence[str]) -> str:
    """Return the title of the page.

    Examples
    --------
    >>> _title(["A", "B"]), _title(list("ABCD"))
    ('A and B compared', '4 systems compared')
    """
    named = f"{', '.join(systems[:-1])} and {systems[-1]}" if len(systems) < 4 else f"{len(systems)} systems"
    return f"{named} compared"


def _scores(comparison: SystemComparison, digits: int) -> Grid:
    """Return the scores, best first, with a strip for those by the first metric."""
    report = comparison.report
    sign = 1 if comparison.metric in report.lower_is_better else -1
    first = [row for row in report.scores if row.metric == comparison.metric]
    first.sort(key=lambda row: sign * row.score)
    table = score_tables(report)[0]
    rows = {row[0]: row for row in table.rows}
    grid = table_grid(replace(table, rows=[rows[row.system] for row in first]), digits, "scores")
    return with_strips(grid, [Estimate(row.score, row.low, row.high) for row in first], at=2)


def _histograms(comparison: SystemComparison) -> Iterator[Any]:
    scores = comparison.scores[comparison.metric]
    higher = comparison.metric not in comparison.report.lower_is_better
    for other, (a, b) in enumerate(comparison.pairs, 1):
        yield histogram_chart(f"{a} and {b}", scores[0] - scores[other], a, b, higher_is_better=higher)


def _buckets(comparison: SystemComparison, digits: int) -> Iterator[dict[str, Any]]:
    cells = {(row.by, row.bucket, row.system): Estimate(row.score, row.low, row.high) for row in comparison.buckets}
    for cut, table in zip(comparison.cuts, bucket_tables(comparison), strict=True):
        rows = {system: [cells.get((cut.by, label, system)) for label in cut.labels] for system in comparison.systems}
        yield {
            "by": cut.by,
            "about": _DESCRIBED.get(cut.by, ""),
            "chart": bucket_chart(f"By {cut.by}", cut.labels, rows),
            "grid": table_grid(table, digits, f"scores by {cut.by}"),
        }


def _ngrams(comparison: SystemComparison, digits: int) -> Iterator[dict[str, Any]]:
    for (a, b), found in groupby(ngram_tables(comparison), key=itemgetter(0)):
        grids = [
            {"title": table.title, "grid": table_grid(table, digits, table.title, len(table.columns) - 5)}
            for _, table in found
        ]
        yield {"a": a, "b": b, "tables": grids}


def segments_json(
    comparison: SystemComparison, digits: int, steps: Steps = no_steps, findings: Findings = ()
) -> tuple[str, int]:
    """Return the data of the segment browser as JSON that is safe in a script element, and its number of segments.

    A segment is an array: id, message or null, context, references (text, weight or null, place), outputs, scores by
    metric, buckets, and for each output the explanation of its score: where it matched, a sentence and the numbers in
    it; how many references are hidden, and for each output its findings. There are few sentences and many numbers, so
    each sentence is stored once, with placeholders for its numbers.
    """
    count = len(comparison.references)
    scores = np.stack([comparison.scores[name] for name in comparison.report.metrics])
    first = scores[0]
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # segments without a score
        spread = np.nanmax(first, axis=0) - np.nanmin(first, axis=0)
    order = np.argsort(-np.nan_to_num(spread, nan=-1.0), kind="stable").tolist()
    explained = Explainer(comparison, digits)
    advance = steps("page", count)
    kept: dict[int, str] = {}
    room = MOST_BYTES
    rounded = np.round(scores, digits + 2)
    for place in order:
        found = [
            [_finding(each, texts[place]) for each in system[place]]
            for system, texts in zip(findings, comparison.outputs.values(), strict=False)
        ]
        encoded = _encoded([*_segment(comparison, place, rounded[:, :, place], explained), found])
        room -= len(encoded.encode("utf-8", "surrogatepass")) + 1
        if room < 0:
            break
        kept[place] = encoded
        advance(1)
    head = {
        "systems": comparison.systems,
        "metrics": comparison.report.metrics,
        "lower": [name in comparison.report.lower_is_better for name in comparison.report.metrics],
        "digits": digits,
        "cuts": [{"by": cut.by, "labels": cut.labels, "shared": cut.shared} for cut in comparison.cuts],
        "similar": _by_words(comparison),
        "weighted": explained.weighted,
        "sentences": list(explained.sentences),
    }
    segments = ",\n".join(kept[place] for place in sorted(kept))
    return f'{_encoded(head)[:-1]},"segments":[{segments}]}}', len(kept)


def _encoded(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_IN_SCRIPT)


def _finding(finding: Finding, output: str) -> list[Any]:
    """Return a finding's kind, level and message, and what it marks in an output."""
    return [finding.kind, finding.level, finding.message, [output[start:end] for start, end in finding.spans]]


def _segment(comparison: SystemComparison, place: int, scores: Any, explained: Explainer) -> list[Any]:
    segment = comparison.references[place]
    outputs = [texts[place] for texts in comparison.outputs.values()]
    why, decisive = explained.of(place, outputs)
    by_weight = sorted(range(len(segment.references)), key=lambda at: -(segment.references[at].weight or 0.0))
    chosen = [at for number, at in enumerate(by_weight) if number < MOST_REFERENCES or at in decisive]
    return [
        segment.id,
        segment.message,
        segment.context or [],
        [[segment.references[at].text, segment.references[at].weight, at + 1] for at in chosen],
        outputs,
        [[None if number != number else number for number in row] for row in scores.tolist()],
        [cut.places[0, place].item() if cut.shared else cut.places[:, place].tolist() for cut in comparison.cuts],
        why,
        len(by_weight) - len(chosen),
    ]


class Explainer:
    """Produces compact explanations by the first metric; empty if it cannot be explained."""

    def __init__(self, comparison: SystemComparison, digits: int) -> None:
        metric = comparison.metrics[comparison.metric]
        self.sentences: dict[str, int] = {}
        self.weighted = bool(isinstance(metric, WeightedMetric) and comparison.references.weighted())
        self._able = is_explainable(metric)
        self._metric = metric.learned(comparison.references) if self._able and metric.learns else metric
        self._references = comparison.references
        self._digits = digits

    def of(self, place: int, outputs: Sequence[str]) -> tuple[list[Any], set[int]]:
        """Return the explanation of each output's score, and the decisive references."""
        if not self._able:
            return [], set()
        decisive: set[int] = set()
        known: dict[str, Any] = {}
        part = self._references.take([place])
        for output in outputs:
            if output not in known:
                with warnings.catch_warnings(action="ignore", category=TrubleuWarning):
                    known[output] = self._small(explain(self._metric, output, part), decisive)
        return [known[output] for output in outputs], decisive

    def _small(self, explanation: AnyExplanation, decisive: set[int]) -> list[Any]:
        marks: list[int | None] = []
        decisive.update(explanation.decisive())
        if isinstance(explanation, Explanation):
            marks += chain.from_iterable(_matched(explanation))
        elif not explanation.skipped:
            marks += [explanation.best_from, *_met(explanation)]
        # A sentence and the numbers in it.
        text = "\n".join(conclusion(explanation, self._digits))
        sentence = _NUMBER.sub(_HOLE, text)
        number = self.sentences.setdefault(sentence, len(self.sentences))
        return [marks, number, " ".join(_NUMBER.findall(text))]


def _matched(explanation: Explanation) -> Iterator[tuple[int, int, int]]:
    """Yield the matches of an output: characters since the last match, its length, and the reference's index."""
    places = spans(explanation.output, explanation.tokens)
    end = 0
    for run in runs(explanation) if places else ():
        if run.reference is not None:
            start, stop = places[run.start][0], places[run.end - 1][1]
            yield start - end, stop - start, run.reference
            end = stop


def _met(explanation: SimilarityExplanation) -> Iterator[int]:
    """Yield five numbers per run of words aligned with the best reference.

    They are the characters since the last run, its length, the start of the aligned words in the reference, their
    length, and the similarity in percent. Adjacent equal words aligned with adjacent words form one run.
    """
    if explanation.best_from is None:
        return
    reference = explanation.references[explanation.best_from]
    places, others = spans(explanation.output, explanation.tokens), spans(reference.text, reference.tokens)
    if not places or not others:
        return
    stretches: list[list[int]] = []
    last = (-2, -2)
    for position, pair in explanation.met(explanation.best_from).items():
        begin, other = places[position], others[pair.reference_position]
        percent = 100 if pair.exact else min(round(100 * pair.similarity), 99)
        if percent == 100 and last == (position - 1, pair.reference_position - 1):
            stretches[-1][1], stretches[-1][3] = begin[1], other[1]
        else:
            stretches.append([*begin, *other, percent])
        last = (position, pair.reference_position) if percent == 100 else (-2, -2)
    end = 0
    for start, stop, from_, to, percent in stretches:
        yield from (start - end, stop - start, from_, to - from_, percent)
        end = stop


def spans(text: str, tokens: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of tokens in a text, ignoring case; empty if some are not found.

    Examples
    --------
    >>> spans("Well, OK", ["well", ",", "ok"])
    [(0, 4), (4, 5), (6, 8)]
    >>> spans("a &amp; b", ["a", "x", "b"])
    []
    """
    small = _small_letters(text)
    found = []
    at = 0
    for token in tokens:
        start = small.find(_small_letters(token), at)
        if start < 0:
            return []
        at = start + len(token)
        found.append((start, at))
    return found


def _small_letters(text: str) -> str:
    """Return a text in lower case, with the same length."""
    small = text.lower()
    return (
        small if len(small) == len(text) else "".join(low if len(low := each.lower()) == 1 else each for each in text)
    )
