"""Ratings by MQM as they are published: errors one by one, or averages of segments."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from trubleu.data.ratings import MEAN
from trubleu.data.raw import (
    OutputTexts,
    Rows,
    files_of,
    finite_number,
    put_output,
    rows_of,
    stem,
    text_files,
    unquoted,
)
from trubleu.data.references import Reference, Segment
from trubleu.data.sets import RatingRow, file_name, fitting
from trubleu.data.weights import exact
from trubleu.errors import DataError, UsageError, counted, shown, some
from trubleu.files.jsonl import parse_json
from trubleu.files.lines import read_text_lines
from trubleu.files.tables import finite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

HUMAN_TRANSLATION: Final = re.compile(r"ref([-_.]?[A-Z0-9])?|Human-[A-Z](\.\d+)?")
"""How MQM files call the people among the systems."""

ATTENTION_CHECK: Final = "hotw-test"
"""The severity of errors that were put in to test whether raters pay attention ("hands on the wheel")."""

_SPAN: Final = re.compile("</?v>")
_ERRORS: Final = ("system", "doc", "rater", "source", "target", "category", "severity")
_AVERAGES: Final = ("system", "mqm_avg_score", "seg_id")
_SCORED: Final = ("system", "doc", "seg_id", "rater", "source", "target", "score")
_TEXTS: Final = ("sys", "hyp", "doc", "source", "ref", "score", "seg_id")
_BESIDE: Final = "_with_"


def read_mqm(source: Path, *, reference: str | None = None) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    """Yield a set for each file of errors or scores of raters, or for one file of averages.

    Parameters
    ----------
    source
        A TSV, plain, compressed, or in a tar archive, or a folder of them.
    reference
        A file with reference translations, one per line: line N for segment N.
    """
    given = None if reference is None else read_text_lines(reference)
    for path in files_of(source, "*.tsv*"):
        for name, lines in text_files(path):
            first = next(lines, "")
            header = first.split("\t")
            if {"category", "severity"} <= {*header}:
                number = "globalSegId" if "globalSegId" in header else "seg_id"
                rows = rows_of(name, first, lines, (*_ERRORS, number))
                fields = _of_raters(name, rows, number, "mqm", given, reference)
            elif {*_SCORED} <= {*header}:
                rows = rows_of(name, first, lines, _SCORED)
                fields = _of_raters(name, rows, "seg_id", "sqm", given, reference)
            elif source.is_dir():
                continue  # such as averages, which are published beside the errors
            elif {*_TEXTS} <= {*header}:
                fields = _of_texts(name, rows_of(name, first, lines, _TEXTS))
            elif tuple(first.split()) == _AVERAGES:
                fields = _of_averages(name, lines, given, reference)
            else:
                raise DataError(
                    f"{name}:1: expected the columns {', '.join(_ERRORS)} and globalSegId or seg_id, one error per "
                    f"line, or averages ({' '.join(_AVERAGES)}), not {some(header)}"
                )
            yield stem(name), [path], fields


def _of_raters(
    name: str, rows: Rows, number: str, aspect: str, given: Sequence[str] | None, reference: str | None
) -> dict[str, Any]:
    """Read what raters gave: errors one by one, or a score (SQM)."""
    outputs: OutputTexts = defaultdict(dict)
    sources: dict[str, str] = {}
    numbers: dict[str, str] = {}
    sums: dict[tuple[str, str, str, str], int | Fraction] = defaultdict(int)
    checks = 0
    table = unquoted(rows)
    systems = {row["system"] for _, row in table}
    known = systems | {system.partition(_BESIDE)[0] for system in systems}
    for place, row in table:
        if row.get("severity", "").lower() == ATTENTION_CHECK:
            checks += 1
            continue
        item = f"{row['doc']}:{row[number]}"
        numbers.setdefault(item, row[number])
        sources.setdefault(item, _SPAN.sub("", row["source"]))
        system, beside, other = row["system"].partition(_BESIDE)
        if beside and other in known:
            system, other = file_name(system), file_name(other)
        else:
            system, other = row["system"], ""
        text = _SPAN.sub("", row["target"])
        before = outputs[system].get(item, text)
        if before.split() == text.split():  # blanks beside the marks of a span are not part of the output
            outputs[system][item] = min(before, text, key=len)
        put_output(outputs, system, item, outputs[system][item] if before.split() == text.split() else text, place)
        key = item, system, row["rater"], f"{system}:{other}" if other else ""
        if "category" not in row:
            sums[key] = _score(row["score"], place)
        elif "misc" in row:  # by Unbabel: a score for the whole text in each of its rows
            sums[key] = _score_within(row["misc"], place)
        else:
            sums[key] -= _weight(row, place)
    people = [each for each in outputs if HUMAN_TRANSLATION.fullmatch(each)]
    if not people and given is None:
        raise DataError(
            f"{name} has no human translation among its systems, which would be called ref, refA, … or Human-A; "
            f"they are {some(outputs)}; give references with --ref FILE"
        )
    translations = {each: outputs.pop(each) for each in people}
    if given is not None:
        translations = {"ref": _lines_of(numbers, given, reference, name), **translations}
    segments = [
        Segment(
            item,
            tuple(Reference(each[item], origin=origin) for origin, each in translations.items() if item in each),
            message,
        )
        for item, message in sources.items()
    ]
    rated = {key: score for key, score in sums.items() if key[1] in outputs}
    ratings = [
        RatingRow(item, system, rater, score, aspect, pair) for (item, system, rater, pair), score in rated.items()
    ]
    fields = fitting(segments, outputs, ratings, name)
    left_out = {"checks of attention": checks, "ratings of human translations": len(sums) - len(rated)}
    return {**fields, "left_out": {**{what: n for what, n in left_out.items() if n}, **fields["left_out"]}}


def _of_texts(name: str, rows: Rows) -> dict[str, Any]:
    """Read averages with texts, as for WMT22: a human translation beside each output."""
    outputs: OutputTexts = defaultdict(dict)
    segments: dict[str, Segment] = {}
    ratings: dict[tuple[str, str], RatingRow] = {}
    left_out = Counter[str]()
    for place, row in unquoted(rows):
        if row["score"] in ("", "None", "nan"):
            left_out["outputs that nobody rated"] += 1
            continue
        item, system = f"{row['doc']}:{row['seg_id']}", row["sys"]
        put_output(outputs, system, item, row["hyp"], place)
        segments.setdefault(item, Segment(item, (Reference(row["ref"], origin="ref"),), row["source"]))
        ratings[item, system] = RatingRow(item, system, MEAN, _score(row["score"], place), "mqm")
    for each in [each for each in outputs if HUMAN_TRANSLATION.fullmatch(each)]:
        left_out[f"outputs of {each}, a human translation"] += len(outputs.pop(each))
    rated = [row for row in ratings.values() if row.system in outputs]
    fields = fitting(segments.values(), outputs, rated, name)
    return {**fields, "left_out": {**left_out, **fields["left_out"]}}


def _of_averages(name: str, lines: Iterable[str], given: Sequence[str] | None, reference: str | None) -> dict[str, Any]:
    """Read averages of segments, which come without texts: ratings only."""
    ratings: dict[tuple[str, str], RatingRow] = {}
    left_out = Counter[str]()
    for number, line in enumerate(lines, 2):
        place = f"{name}:{number}"
        if not line.strip():
            continue
        fields = line.split()
        if len(fields) != len(_AVERAGES):
            raise DataError(f"{place}: expected SYSTEM SCORE SEGMENT, not {shown(line)}")
        system, score, item = fields
        if (item, system) in ratings:
            raise DataError(f"{place}: segment {item} of {system} has a score above; expected one per segment")
        if score == "None":
            left_out["outputs that nobody rated"] += 1
            continue
        ratings[item, system] = RatingRow(item, file_name(system), MEAN, _score(score, place), "mqm")
    if not ratings:
        raise DataError(f"{name} has no scores; expected SYSTEM SCORE SEGMENT per line")
    items = {row.item: row.item for row in ratings.values()}
    texts = {} if given is None else _lines_of(items, given, reference, name)
    segments = [Segment(item, (Reference(text, origin="ref"),)) for item, text in texts.items()]
    return {"segments": segments, "outputs": {}, "ratings": [*ratings.values()], "left_out": left_out}


def _weight(row: Mapping[str, str], place: str) -> int | Fraction:
    try:
        return mqm_weight(row["category"], row["severity"])
    except KeyError:
        raise DataError(
            f"{place}: the severity {shown(row['severity'])} is not known; expected Critical, Major, Minor, Neutral, "
            "No-error or HOTW-test"
        ) from None


def _score_within(text: str, place: str) -> int | Fraction:
    try:
        return exact(finite_number(parse_json(text)["mqm"], "mqm", place))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f'{place}: expected JSON such as {{"mqm": 95}} in misc, not {shown(text)}') from error


def _score(text: str, place: str) -> int | Fraction:
    if (score := finite(text)) is None:
        raise DataError(f"{place}: expected a score, not {shown(text)}")
    return exact(score)


def _lines_of(numbers: Mapping[str, str], lines: Sequence[str], path: str | None, name: str) -> dict[str, str]:
    """Return the line of each item, whose number is the one of its segment in the test set."""
    found = {}
    for item, number in numbers.items():
        if not number.isdecimal() or not 1 <= int(number) <= len(lines):
            raise UsageError(
                f"{path} has {counted(len(lines), 'line')}, but {name} rates segment {shown(number)}; give the "
                "references of the whole test set, line N for segment N"
            )
        found[item] = lines[int(number) - 1]
    return found


def mqm_weight(category: str, severity: str) -> int | Fraction:
    """Return what an error counts, as Freitag and others (2021) have it, exactly.

    As in WMT's own scores, a critical error is a major one, and source issues and creative reinterpretations, which
    raters mark since 2023, count nothing; source errors of earlier years count.

    Raises
    ------
    KeyError
        If the severity is not known.

    Examples
    --------
    >>> mqm_weight("Fluency/Punctuation", "Minor"), mqm_weight("Accuracy/Omission", "Major")
    (Fraction(1, 10), 5)
    >>> mqm_weight("Source issue", "Major"), mqm_weight("Non-translation!", "Major")
    (0, 25)
    """
    category, severity = category.lower(), severity.lower()
    weight = {"no-error": 0, "": 0, "neutral": 0, "minor": 1, "major": 5, "critical": 5}[severity]
    if category.startswith("source issue") or "reinterpretation" in category or not weight:
        return 0
    if category.startswith("non-translation"):
        return 25
    if category == "fluency/punctuation" and severity == "minor":
        return Fraction(1, 10)
    return weight
