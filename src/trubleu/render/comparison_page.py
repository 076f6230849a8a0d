"""A comparison of systems as one self-contained HTML page with a segment browser."""

from __future__ import annotations

import json
import re
import warnings
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import TrubleuWarning, counted
from trubleu.explain.segment import explain, is_explainable
from trubleu.explain.similarity import SimilarityExplanation
from trubleu.metrics.trubleu import TruBleu
from trubleu.progress import Steps, no_steps
from trubleu.render.charts import (
    StripRow,
    StripTable,
    bucket_chart,
    histogram_chart,
    interval_text,
    legend_keys,
    strip_table,
    table_grid,
)
from trubleu.render.comparison import bucket_tables, describe_bucket, ngram_tables, verdict
from trubleu.render.explanation_page import (
    page_asset,
    page_script,
    rendered_page,
    report_style,
)
from trubleu.render.explanation_text import SKIPPED, conclusion, runs, similarity_conclusion
from trubleu.render.scores import score_notes, score_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.explain.difference import SystemComparison
    from trubleu.explain.explanation import Explanation
    from trubleu.explain.similarity import AnyExplanation
    from trubleu.metrics import Metric

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


def render_comparison_page(comparison: SystemComparison, digits: int = 2, *, steps: Steps = no_steps) -> str:
    """Render a comparison as a page.

    Parameters
    ----------
    comparison
        What `compare_systems` returns.
    digits
        Decimals of scores.
    steps
        Told of every stage of work, for a progress bar.

    Returns
    -------
    str
        HTML that can be written to one file.

    Raises
    ------
    MissingExtraError
        If Jinja2 is not installed.
    """
    tests = score_tables(comparison.report)[1:]
    data, held = segments_json(comparison, digits, steps)
    metric = comparison.metrics[comparison.metric]
    text = rendered_page(
        "compare.html.j2",
        report_style() + page_asset("compare.css"),
        page_script() + page_asset("compare.js"),
        title=_title(comparison.systems),
        verdicts=[verdict(comparison, digits)],
        about=_about(comparison),
        warnings=(),
        segments=len(comparison.references),
        held=held,
        systems=comparison.systems,
        metric=comparison.metric,
        metrics=comparison.report.metrics,
        scores=_scores(comparison, digits),
        tests=[table_grid(table, digits, "tests", 3) for table in tests],
        confidence=f"{comparison.report.confidence or 0.0:.0%}",
        histograms=list(_histograms(comparison)),
        buckets=list(_buckets(comparison, digits)),
        notes=comparison.notes,
        legend_keys=legend_keys(comparison.systems),
        ngrams=list(_ngrams(comparison, digits)),
        words=isinstance(metric, TruBleu),
        explained=is_explainable(metric),
        similar=isinstance(metric, TruBleu),
        how=list(score_notes(comparison.report)),
        data=data,
    )
    # A lone surrogate, which JSON allows and UTF-8 does not, becomes \ud83d, which is valid JSON again.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _about(comparison: SystemComparison) -> str:
    """Describe what is compared in one sentence."""
    others = comparison.systems[1:]
    words = "words" if isinstance(comparison.metrics[comparison.metric], TruBleu) else "n-grams"
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


def _scores(comparison: SystemComparison, digits: int) -> StripTable:
    """Return the scores, best first, with a strip for those by the first metric."""
    report = comparison.report
    sign = 1 if comparison.metric in report.lower_is_better else -1
    rows = []
    for system in sorted(comparison.systems, key=lambda name: sign * report.score(name, comparison.metric).score):
        found = [report.score(system, name) for name in report.metrics]
        cells = [interval_text(row.score, row.low, row.high, digits) for row in found]
        rows.append(StripRow([system, *cells], (found[0].score, found[0].low, found[0].high)))
    heads = [column.heading for column in score_tables(report)[0].columns]
    return strip_table("scores", heads, rows, at=2)


def _histograms(comparison: SystemComparison) -> Iterator[Any]:
    scores = comparison.scores[comparison.metric]
    higher = comparison.metric not in comparison.report.lower_is_better
    for other, (a, b) in enumerate(comparison.pairs, 1):
        yield histogram_chart(f"{a} and {b}", scores[0] - scores[other], a, b, higher_is_better=higher)


def _buckets(comparison: SystemComparison, digits: int) -> Iterator[dict[str, Any]]:
    cells = {(row.by, row.bucket, row.system): (row.score, row.low, row.high) for row in comparison.buckets}
    for cut, table in zip(comparison.cuts, bucket_tables(comparison), strict=True):
        rows = {system: [cells.get((cut.by, label, system)) for label in cut.labels] for system in comparison.systems}
        yield {
            "by": cut.by,
            "about": describe_bucket(cut.by),
            "chart": bucket_chart(f"By {cut.by}", cut.labels, rows),
            "grid": table_grid(table, digits, f"scores by {cut.by}", 2),
        }


def _ngrams(comparison: SystemComparison, digits: int) -> Iterator[dict[str, Any]]:
    tables = [*ngram_tables(comparison)]
    for a, b in comparison.pairs:
        heads = {f"credit {a}", f"credit {b}"}
        grids = [
            {
                "title": table.title,
                "grid": table_grid(table, digits, table.title, 2 if table.columns[0].name == "order" else 1),
            }
            for table in tables
            if heads <= {column.heading for column in table.columns}
        ]
        if grids:
            yield {"a": a, "b": b, "tables": grids}


def segments_json(comparison: SystemComparison, digits: int, steps: Steps = no_steps) -> tuple[str, int]:
    """Return the data of the segment browser as JSON that is safe in a script element, and its number of segments.

    A segment is an array: id, message or null, context, references (text, weight or null, place), outputs, scores by
    metric, buckets, and for each output the explanation of its score: where it matched, a sentence and the numbers in
    it. There are few sentences and many numbers, so each sentence is stored once, with placeholders for its numbers.
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
        encoded = _encoded(_segment(comparison, place, rounded[:, :, place], explained))
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
        "similar": isinstance(comparison.metrics[comparison.metric], TruBleu),
        "weighted": explained.weighted,
        "sentences": list(explained.sentences),
    }
    segments = ",\n".join(kept[place] for place in sorted(kept))
    return f'{_encoded(head)[:-1]},"segments":[{segments}]}}', len(kept)


def _encoded(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_IN_SCRIPT)


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
        metric: Metric = comparison.metrics[comparison.metric]
        self.sentences: dict[str, int] = {}
        self.weighted = bool(getattr(metric, "policy", None) is not None and comparison.references.weighted())
        self._able = is_explainable(metric)
        self._metric = metric
        self._learns = metric.learns
        if self._able and metric.learns:
            self._metric = metric.learned(comparison.references)
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
        if explanation.score is None:
            return [[], *self._filled(SKIPPED)]
        if isinstance(explanation, SimilarityExplanation):
            decisive.update(explanation.decisive())
            marks = [explanation.best_from, *_met(explanation)]
            lines = similarity_conclusion(explanation, self._digits)
        else:
            found = [*_matched(explanation)]
            decisive.update(reference for *_, reference in found)
            marks = [number for gap, length, reference in found for number in (gap, length, reference)]
            lines = conclusion(explanation, self._digits)
        return [marks, *self._filled("\n".join(lines))]

    def _filled(self, text: str) -> tuple[int, str]:
        """Return the number of a text's sentence, and the numbers in it."""
        sentence = _NUMBER.sub(_HOLE, text)
        return self.sentences.setdefault(sentence, len(self.sentences)), " ".join(_NUMBER.findall(text))


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
