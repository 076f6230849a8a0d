"""Mechanical Turk: a table of tasks for its batches, and the table of results that it returns."""

from __future__ import annotations

import csv
import html
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import DataError, counted, shown, some
from trubleu.files.jsonl import parse_json
from trubleu.files.lines import open_bytes, split_lines
from trubleu.files.paths import PathLike, name_of
from trubleu.files.tables import delimited_rows, guarded, unguarded, whole
from trubleu.files.writer import atomic_writer
from trubleu.rating.imports import Imported
from trubleu.rating.items import POINTS
from trubleu.rating.secret import draw

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trubleu.rating.store.queries import StoredItem
    from trubleu.rating.study import Study

ANSWER: Final = "score"
"""Name of an answer in the form; ``score1`` and ``score2`` in a study of pairs."""

_ZONES: Final = {"PST": -8, "PDT": -7, "UTC": 0, "GMT": 0}
_MOST_SECONDS: Final = 10**9
_JSON: Final = "taskAnswers"


@dataclass(frozen=True, slots=True)
class MturkResults:
    """The content of a results file.

    Attributes
    ----------
    answers
        The answers, in the order of the file.
    rejected
        Assignments that were rejected; they are left out.
    blank
        Assignments without an answer; they are left out.
    """

    answers: tuple[Imported, ...]
    rejected: int
    blank: int


def write_tasks(study: Study, path: PathLike) -> int:
    """Write the items that still need ratings as a batch file for Mechanical Turk; return the number of tasks.

    Gold items are mixed in, as many as the settings say. Only the key, which the form need not show, distinguishes them
    from others.

    The columns are the variables of the form: ``key``, ``missing`` (ratings), ``context``, ``message`` and
    ``response``; in a study of pairs ``order`` (``12``, or ``21`` if the two are swapped), ``response1`` and
    ``response2``. Texts are escaped for HTML, into which Mechanical Turk inserts them as they are.
    """
    parts = study.config.parts
    names = ("response",) if parts == 1 else ("response1", "response2")
    header = ["key", "missing", *(("order",) if parts == 2 else ()), "context", "message", *names]
    tasks = _tasks(study)
    with atomic_writer(path) as stream:
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(header)
        for stored in tasks:
            item = stored.item
            turned = parts == 2 and draw(study.secret, study.config.seed, "mturk", item.key).random() < 0.5
            order = [("21" if turned else "12")] if parts == 2 else []
            texts = item.texts[::-1] if turned else item.texts
            missing = stored.wanted - stored.counted if stored.role == "item" else study.config.raters
            start = [guarded(item.key), missing, *order]
            writer.writerow(
                [*start, "<br>".join(map(as_html, item.context)), as_html(item.message or ""), *map(as_html, texts)]
            )
    return len(tasks)


def _tasks(study: Study) -> list[StoredItem]:
    stored = study.items()
    tasks = [each for each in stored if each.role == "item" and each.counted < each.wanted]
    gold = [each for each in stored if each.role == "gold"]
    # Seeded by the secret: reproducible, but unpredictable for outsiders.
    random = draw(study.secret, study.config.seed, "mturk")
    for each in random.sample(gold, min(len(gold), round(study.config.gold.beside(len(tasks))))):
        tasks.insert(random.randrange(len(tasks) + 1), each)
    return tasks


def as_html(text: str) -> str:
    r"""Escape a text for HTML, so neither a browser nor a spreadsheet runs any of it.

    Examples
    --------
    >>> as_html("<b>1</b>\n2"), as_html("=1+1"), as_html("\U0001f600")
    ('&lt;b&gt;1&lt;/b&gt;<br>2', '&#61;1+1', '&#128512;')
    """
    safe = html.escape(text).replace("\r\n", "\n").replace("\r", "\n").replace("\n", "<br>")
    if guarded(safe) != safe:
        safe = f"&#{ord(safe[0])};{safe[1:]}"
    # Mechanical Turk rejects characters beyond the basic plane; others are invalid in HTML.
    return "".join(_character(character) for character in safe)


def _character(character: str) -> str:
    code = ord(character)
    if code > 0xFFFF:
        return f"&#{code};"
    if 0xD800 <= code <= 0xDFFF or (code < 0x20 and character != "\t") or 0x7F <= code < 0xA0:
        return "\ufffd"
    return character


def read_results(path: PathLike, *, parts: int = 1) -> MturkResults:
    """Read the results of a batch from Mechanical Turk's CSV.

    Required columns are ``WorkerId``, ``Input.key`` (and ``Input.order`` for pairs), and the answers in one of the
    forms that Mechanical Turk uses: ``Answer.score``, a column ``Answer.score.1`` to ``Answer.score.5`` for each choice
    with ``true`` in one of them (a suffix is allowed: ``Answer.score.4.good``), or ``Answer.taskAnswers`` with JSON:
    ``{"score": "4"}``, ``{"score": {"4": true}}`` or ``{"score.4": {"good": true}}``.

    Parameters
    ----------
    path
        The file.
    parts
        How many texts an item has; for pairs, answers are called ``score1`` and ``score2``.

    Raises
    ------
    DataError
        If the file cannot be read or used, with the line and the column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "results.csv"
    >>> _ = path.write_text("WorkerId,AssignmentStatus,Input.key,Answer.score\\nA1,Approved,7,4\\nA2,Rejected,7,1\\n")
    >>> found = read_results(path)
    >>> [(each.key, each.rater, each.scores) for each in found.answers], found.rejected
    ([('7', 'A1', (4,))], 1)
    """
    names = [ANSWER] if parts == 1 else [f"{ANSWER}{part}" for part in range(1, parts + 1)]
    answers: list[Imported] = []
    rejected = blank = 0
    for place, row in _rows(path, ["Input.order"] if parts == 2 else []):
        if row.get("AssignmentStatus", "").strip().lower() == "rejected":
            rejected += 1
            continue
        for column in ("WorkerId", "Input.key"):
            if not row[column].strip():
                raise DataError(f"{place}, column {column}: this is empty; every answer needs it")
        fields = _fields(row, place)
        scores = [_score(fields, name, f"{place}, answer {name}") if fields else None for name in names]
        if all(score is None for score in scores):
            blank += 1
            continue
        given = tuple(score for score in scores if score is not None)
        if len(given) != parts:
            missing = names[scores.index(None)]
            raise DataError(f"{place}, answer {missing}: this is empty, but the other text has a score")
        turned = parts == 2 and _order(row["Input.order"], place) == "21"
        answers.append(
            Imported(
                unguarded(row["Input.key"]),
                row["WorkerId"].strip(),
                given[::-1] if turned else given,
                answered_at=_moment(row.get("SubmitTime", "")),
                milliseconds=_milliseconds(row.get("WorkTimeInSeconds", "")),
                place=place,
                flipped=turned,
            )
        )
    return MturkResults(tuple(answers), rejected, blank)


def _rows(path: PathLike, also: Sequence[str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    name = name_of(path)
    with open_bytes(path) as stream:
        rows = delimited_rows(chain.from_iterable(split_lines(stream, name, keep_ends=True)), name, ",")
        line, header = next(rows, (1, []))
        header = [title.strip() for title in header]
        for required in ("WorkerId", "Input.key", *also):
            if header.count(required) != 1:
                often = "twice" if required in header else "missing"
                raise DataError(
                    f"{name}:{line}: the column {required} is {often}; columns found: {some(header) or 'none'}"
                )
        if not any(title.startswith("Answer.") for title in header):
            raise DataError(f"{name}:{line}: there is no column of answers, such as Answer.{ANSWER}")
        for number, row in rows:
            if len(row) > len(header):
                raise DataError(
                    f"{name}:{number}: this line has {counted(len(row), 'field')} but the first has {len(header)}"
                )
            # Mechanical Turk omits the last columns (Approve, Reject) if they are empty.
            yield f"{name}:{number}", dict(zip(header, [*row, *[""] * (len(header) - len(row))], strict=True))


def _fields(row: Mapping[str, str], place: str) -> dict[str, Any]:
    """Return the fields of the form: its columns, and what is in JSON, where choices are objects in objects."""
    fields: dict[str, Any] = {
        column.removeprefix("Answer."): value for column, value in row.items() if column.startswith("Answer.")
    }
    text = fields.pop(_JSON, "")
    if not text.strip():
        return fields
    try:
        given = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}, column Answer.{_JSON}: this is not JSON: {error}") from error
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    if not isinstance(given, dict) or not given:
        raise DataError(
            f"{place}, column Answer.{_JSON}: this must be one JSON object with the answers, not {shown(given)}"
        )
    for name, value in given.items():
        inner = {f"{name}.{choice}": taken for choice, taken in value.items()} if isinstance(value, dict) else {}
        fields |= inner or {name: value}
    return fields


def _score(fields: Mapping[str, Any], name: str, place: str) -> int | None:
    """Return the score in an answer, None if it is empty."""
    if name in fields:
        value = fields[name]
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        return _checked(whole(value) if isinstance(value, str) else value, value, place)
    # Radio buttons: NAME.4, possibly with a suffix.
    button = re.compile(rf"{re.escape(name)}\.([0-9]{{1,9}})(?:\..*)?", re.DOTALL)
    choices = [(found[1], value) for field, value in fields.items() if (found := button.fullmatch(field))]
    if not choices:
        raise DataError(f"{place}: this is not there; answers found: {some(fields)}")
    ticked = sorted({int(choice) for choice, value in choices if _is_ticked(value, place)})
    if len(ticked) > 1:
        raise DataError(f"{place}: the scores {some(ticked)} are all chosen; only one may be")
    return _checked(ticked[0], ticked[0], place) if ticked else None


def _checked(score: object, given: object, place: str) -> int:
    if type(score) is not int or not 1 <= score <= POINTS:
        raise DataError(f"{place}: a score must be a whole number from 1 to {POINTS}, not {shown(given)}")
    return score


def _is_ticked(value: object, place: str) -> bool:
    said = str(value or "").strip().lower()
    if said not in ("true", "1", "on", "false", "0", "off", ""):
        raise DataError(f"{place}: {shown(value)} does not say whether a choice was taken; true or false is expected")
    return said in ("true", "1", "on")


def _order(text: str, place: str) -> str:
    order = text.strip()
    if order not in ("12", "21"):
        raise DataError(
            f"{place}, column Input.order: this must be 12 or 21, as in the table of tasks, not {shown(text)}"
        )
    return order


def _milliseconds(text: str) -> int | None:
    seconds = whole(text)
    return seconds * 1000 if isinstance(seconds, int) and 0 <= seconds <= _MOST_SECONDS else None


def _moment(text: str) -> int | None:
    """Parse a time such as ``Wed Dec 18 10:15:33 PST 2019`` to milliseconds since 1970; None if it is invalid."""
    words = text.split()
    if len(words) != 6 or words[4] not in _ZONES:
        return None
    try:
        local = datetime.strptime(" ".join([*words[1:4], words[5]]), "%b %d %H:%M:%S %Y")
    except ValueError:
        return None
    at = local.replace(tzinfo=timezone(timedelta(hours=_ZONES[words[4]])))
    moment = round((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
    return moment if moment >= 0 else None
