"""Ratings by ESA and by direct assessment as annotation tools and WMT publish them: Appraise, Pearmut, WMT25."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from trubleu.data.mqm import HUMAN_TRANSLATION, mqm_weight
from trubleu.data.ratings import MEAN
from trubleu.data.raw import OutputTexts, field_of, files_of, finite_number, object_of, put_output, stem, text_files
from trubleu.data.references import Reference, Segment
from trubleu.data.sets import RatingRow, file_name, fitting
from trubleu.data.weights import exact
from trubleu.errors import DataError, UsageError, counted, nearest, shown
from trubleu.files.jsonl import kind_of, parse_json
from trubleu.files.tables import delimited_rows, finite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    Found = tuple[str, dict[str, Any]]

_TYPES: Final = ("TGT", "CHK", "BAD", "REF", "SRC")
_RATED: Final = "TGT"
_LINE: Final = "USER,SYSTEM,SEGMENT,TYPE,SOURCE LANGUAGE,TARGET LANGUAGE,SCORE,DOCUMENT,…"
_MEANS: Final = ["SYS", "SID", "RAW.SCR", "Z.SCR", "N"]
_NO_RATINGS: Final = ("welcome_", "random_", "goodbye_")
"""What the items of Pearmut begin with that are tutorials and checks of attention."""


def read_esa(
    source: Path, *, language_pair: str | None = None, aspect: str = "esa"
) -> Iterator[tuple[str, Sequence[Path], dict[str, Any]]]:
    """Yield a set for each language pair or campaign of Appraise's CSV, Pearmut's JSON or WMT25's JSON lines.

    Parameters
    ----------
    source
        The file, plain, compressed or in a tar archive, or a folder of them.
    language_pair
        The only one to read, as the file names it, such as ``eng-jpn``; None for all.
    aspect
        What the scores of Appraise are.
    """
    known: dict[str, None] = {}
    found = 0
    for path in sorted({*files_of(source, "*.csv*"), *files_of(source, "*.json*")}):
        for name, lines in text_files(path):
            first = next((line for line in lines if line.strip()), "")
            every = chain([first], lines)
            if first.lstrip().startswith(("{", "[")):
                sets = _of_json(name, first, every)
            elif first.split() == _MEANS:
                sets = iter([("means", _of_means(name, lines))])
            else:
                sets = _of_appraise(name, every, aspect)
            for pair, fields in sets:
                known[pair] = None
                if language_pair in (None, pair):
                    found += 1
                    yield f"{stem(name)}.{pair}", [path], fields
    if not found and language_pair is not None and known:
        raise UsageError(f"{source} has no language pair {shown(language_pair)}; {nearest(language_pair, known)}")


def _of_appraise(name: str, lines: Iterable[str], aspect: str) -> Iterator[Found]:
    """Read what Appraise exports: no header, no texts; with error spans for ESA and MQM."""
    scores: dict[str, dict[tuple[str, str, str], int | Fraction]] = defaultdict(dict)
    errors: dict[str, dict[tuple[str, str, str], int | Fraction]] = defaultdict(dict)
    left_out: dict[str, Counter[str]] = defaultdict(Counter)
    for number, row in delimited_rows(lines, name, ","):
        place = f"{name}:{number}"
        kind = next((each for each in (3, 4) if len(row) > each and row[each] in _TYPES), None)
        if kind is None or len(row) < kind + 6:
            raise DataError(f"{place}: expected {_LINE} as Appraise exports it, not {shown(','.join(row))}")
        rater, pair, score = row[0], f"{row[kind + 1]}-{row[kind + 2]}", finite(row[kind + 3])
        # A fourth field before the type: the segment and its document come before the system.
        system, segment = (row[1], row[2]) if kind == 3 else (row[2], row[1])
        document, _, more = row[kind + 4].partition("#") if len(row) > kind + 6 else ("", "", "")
        if score is None:
            raise DataError(f"{place}: expected a score, not {shown(row[kind + 3])}")
        if "tutorial" in row[1] + row[2] + document:
            left_out[pair]["ratings of a tutorial"] += 1
        elif row[kind] != _RATED or "bad" in more:
            left_out[pair]["checks of attention"] += 1
        elif {"dup", "incomplete"} & {*more.split("#")}:
            left_out[pair]["ratings of repeated and incomplete documents"] += 1
        elif len(row) > kind + 6 and row[kind + 5] == "True":
            left_out[pair]["ratings of whole documents"] += 1
        else:
            item = f"{document}:{segment}" if document and kind == 3 else segment
            key = (item, file_name(system), rater)
            left_out[pair]["ratings that the same rater gave again later"] += key in scores[pair]
            scores[pair][key] = exact(score)
            if len(row) > kind + 8 and (penalty := _penalty(row[kind + 6], place)) is not None:
                errors[pair][key] = penalty
    for pair, given in scores.items():
        # MQM by Appraise has errors with categories, and 0 for every score.
        by_errors = bool(errors[pair]) and not any(given.values())
        kept, what = ({**dict.fromkeys(given, 0), **errors[pair]}, "mqm") if by_errors else (given, aspect)
        rows = [RatingRow(item, system, rater, score, what) for (item, system, rater), score in kept.items()]
        counts = {each: count for each, count in left_out[pair].items() if count}
        yield pair, {"segments": [], "outputs": {}, "ratings": rows, "left_out": counts}


def _of_means(name: str, lines: Iterable[str]) -> dict[str, Any]:
    """Read WMT's means of direct assessments by segment, raw and standardised (``ad-seg-scores``), without texts."""
    rows: dict[tuple[str, str, str], RatingRow] = {}
    for number, line in enumerate(lines, 2):
        fields = line.split()
        scores = [finite(each) for each in fields[2:4]]
        if len(fields) != len(_MEANS) or None in scores:
            raise DataError(f"{name}:{number}: expected {' '.join(_MEANS)}, not {shown(line)}")
        for aspect, score in zip(("raw", "z"), scores, strict=True):
            key = fields[1], file_name(fields[0]), aspect
            if key in rows:
                raise DataError(
                    f"{name}:{number}: segment {fields[1]} of {fields[0]} has scores above; expected one row"
                )
            rows[key] = RatingRow(key[0], key[1], MEAN, exact(score or 0), aspect)
    if not rows:
        raise DataError(f"{name} has no scores; expected {' '.join(_MEANS)} per line")
    return {"segments": [], "outputs": {}, "ratings": [*rows.values()], "aspects": ("raw",)}


def _penalty(spans: str, place: str) -> int | Fraction | None:
    """Return the negative sum of errors, None if there is none with a category."""
    try:
        found = parse_json(spans)
        types = [each.get("error_type") for each in found]
        if not any(types):
            return None
        texts = ["/".join(each) if isinstance(each, list) else str(each or "") for each in types]
        return -sum(mqm_weight(text, str(each["severity"])) for text, each in zip(texts, found, strict=True))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{place}: expected error spans as JSON, not {shown(spans)}") from error


def _of_json(name: str, first: str, lines: Iterable[str]) -> Iterator[Found]:
    """Tell Pearmut's log or download and WMT25's JSON lines apart by what they hold."""
    try:
        record = parse_json(first)
    except (ValueError, RecursionError):
        record = None
    if isinstance(record, dict) and not {"annotation", "tgt_text"}.isdisjoint(record):
        records = [(f"{name}:{number}", line) for number, line in enumerate(lines, 1) if line.strip()]
        entries = [(place, _parsed(line, place)) for place, line in records]
        if "tgt_text" in record:
            yield from _of_wmt25(entries)
        else:
            yield stem(name), _of_pearmut(name, entries)
        return
    campaigns = _parsed("\n".join(lines), name)
    for campaign, log in campaigns.items():
        if not isinstance(log, list):
            raise DataError(f"{name}: expected the annotations of the campaign {shown(campaign)}, not {kind_of(log)}")
        entries = [(f"{name}, {campaign}, entry {number}", entry) for number, entry in enumerate(log, 1)]
        if entries:
            yield file_name(campaign), _of_pearmut(name, entries)


def _parsed(text: str, place: str) -> dict[str, Any]:
    try:
        found = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: this is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise DataError(f"{place}: expected an object, not {kind_of(found)}")
    return found


def _of_pearmut(name: str, entries: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Read Pearmut's log: what each user gave each model for the items of a document, the last time they did."""
    answers: dict[tuple[str, str], list[tuple[str, dict[str, Any], dict[str, Any]]]] = {}
    left_out = Counter[str]()
    for place, entry in entries:
        user, number = field_of(entry, "user_id", str, place), field_of(entry, "item_i", str, place)
        given = entry.get("annotation")
        again = answers.pop((user, number), [])
        left_out["ratings that the same rater gave again later"] += sum(len(each) for _, _, each in again)
        if isinstance(given, str):  # a reset
            continue
        items = field_of(entry, "item", list, place)
        if not isinstance(given, list) or len(given) != len(items):
            raise DataError(f"{place}: expected an annotation for each of {counted(len(items), 'item')}")
        pairs = [
            (f"{number}:{index}", object_of(item), object_of(each))
            for index, (item, each) in enumerate(zip(items, given, strict=True), 1)
        ]
        checked = number.startswith(_NO_RATINGS)
        left_out["checks of attention"] += sum(
            len(each) for _, item, each in pairs if checked or item.get("validation")
        )
        answers[user, number] = [
            (field_of(item, "item_id", str, place) if "item_id" in item else key, {**item, "": place}, each)
            for key, item, each in pairs
            if not checked and not item.get("validation")
        ]
    outputs: OutputTexts = defaultdict(dict)
    segments: dict[str, Segment] = {}
    rows: dict[tuple[str, str, str, str], int | Fraction] = {}
    for (user, _), found in answers.items():
        for item, record, scores in found:
            place = record[""]
            reference, message = record.get("ref"), record.get("src")
            texts = (Reference(reference, origin="ref"),) if isinstance(reference, str) else ()
            segments.setdefault(item, Segment(item, texts, message if isinstance(message, str) else None))
            targets = object_of(record.get("tgt"))
            for model, answer in scores.items():
                if not isinstance(targets.get(model), str):
                    raise DataError(f"{place}: expected the text of {shown(model)} in tgt")
                put_output(outputs, model, item, targets[model], place)
                score = object_of(answer).get("score")
                by_aspect = score if isinstance(score, dict) else {"esa": score}
                for aspect, value in by_aspect.items():
                    if value is not None:
                        rows[item, model, user, aspect] = exact(finite_number(value, "score", place))
                spans = object_of(answer).get("error_spans") or []
                if any(object_of(each).get("category") for each in spans):
                    rows[item, model, user, "mqm"] = _sum_of(spans, place)
    ratings = [RatingRow(item, system, rater, score, aspect) for (item, system, rater, aspect), score in rows.items()]
    aspects = dict.fromkeys(row.aspect for row in ratings)
    fields = _with_or_without_references(segments.values(), outputs, ratings, name)
    counts = {what: count for what, count in left_out.items() if count}
    return {**fields, "aspects": ("esa",) if "esa" in aspects else (), "left_out": {**counts, **fields["left_out"]}}


def _sum_of(spans: Iterable[Any], place: str) -> int | Fraction:
    try:
        return -sum((mqm_weight(str(each["category"] or ""), str(each["severity"])) for each in spans), Fraction())
    except (KeyError, TypeError) as error:
        raise DataError(f"{place}: expected error spans with a category and a known severity") from error


def _of_wmt25(entries: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[Found]:
    """Read WMT25's JSON lines: a segment with its source, all outputs, and the scores of some."""
    parts: dict[str, list[tuple[str, str, dict[str, Any]]]] = defaultdict(list)
    for place, record in entries:
        item = field_of(record, "doc_id", str, place)
        parts[item.partition("_#_")[0]].append((place, item, record))
    for pair, records in parts.items():
        outputs: OutputTexts = defaultdict(dict)
        segments, ratings, left_out = [], dict[tuple[str, str, str], RatingRow](), Counter[str]()
        for place, item, record in records:
            texts = {name: text for name, text in field_of(record, "tgt_text", dict, place).items() if text is not None}
            people = [name for name in texts if HUMAN_TRANSLATION.fullmatch(name)]
            references = tuple(Reference(str(texts.pop(name)), origin=name) for name in people)
            segments.append(Segment(item, references, field_of(record, "src_text", str, place)))
            for system, text in texts.items():
                put_output(outputs, system, item, str(text), place)
            for system, given in field_of(record, "scores", dict, place).items():
                for number, (rater, score) in enumerate(_scores_of(given), 1):
                    if system in people:
                        left_out["ratings of human translations"] += 1
                    elif score is None:
                        left_out["ratings without a score"] += 1
                    else:
                        key = (item, system, rater or f"rater{number}")
                        left_out["ratings that the same rater gave again later"] += key in ratings
                        ratings[key] = RatingRow(*key, exact(finite_number(score, "score", place)), "esa")
        if not ratings:
            continue
        fields = _with_or_without_references(segments, outputs, [*ratings.values()], records[0][0].rpartition(":")[0])
        counts = {what: count for what, count in left_out.items() if count}
        yield pair, {**fields, "left_out": {**counts, **fields["left_out"]}}


def _scores_of(given: Any) -> list[tuple[str | None, Any]]:
    """Return raters and their scores, in the forms that WMT25 published: one after the other."""
    if isinstance(given, list):
        return [(object_of(each).get("annotator"), object_of(each).get("score")) for each in given]
    record = object_of(given)
    waves = [key.removeprefix("human") for key in record if key.startswith("human")]
    return [(record.get(f"annotator{wave}"), record[f"human{wave}"]) for wave in waves]


def _with_or_without_references(
    segments: Iterable[Segment], outputs: Mapping[str, Mapping[str, str]], ratings: Sequence[RatingRow], name: str
) -> dict[str, Any]:
    """Return what fits together; outputs alone where no item has a reference."""
    items = list(segments)
    if any(segment.references for segment in items):
        return fitting(items, outputs, ratings, name)
    bare = [Segment(segment.id, (Reference(""),), segment.message) for segment in items]
    return {**fitting(bare, outputs, ratings, name), "segments": []}
