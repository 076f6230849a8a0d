"""Mechanical Turk: a table of tasks for its batches, and the table of results that it returns."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import DataError, shown, some
from trubleu.files.jsonl import parse_json
from trubleu.files.lines import open_bytes, split_lines
from trubleu.files.paths import PathLike, name_of
from trubleu.files.tables import check_width, delimited_rows, guarded, unguarded, whole
from trubleu.rating.imports import Imported
from trubleu.rating.items import POINTS
from trubleu.rating.secret import draw

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trubleu.rating.store.queries import StoredItem
    from trubleu.rating.study import Study

ANSWER: Final = "score"
"""Name of an answer in the form; ``score1`` and ``score2`` in a study of pairs."""

_ZONES: Final = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000"}
_MOST_SECONDS: Final = 10**9
_INVALID: Final = re.compile("[\x00-\x08\n-\x1f\x7f-\x9f\ud800-\udfff]")  # in HTML
_REJECTED: Final = re.compile("[\U00010000-\U0010ffff]")  # by Mechanical Turk
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


def task_records(study: Study) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the items that still need ratings as a batch for Mechanical Turk: the titles of columns, and the tasks.

    Gold items are mixed in, as many as the settings say. Only the key, which the form need not show, distinguishes them
    from others.

    The columns are the variables of the form: ``key``, ``missing`` (ratings), ``context``, ``message`` and
    ``response``; in a study of pairs ``order`` (``12``, or ``21`` if the two are swapped), ``response1`` and
    ``response2``. Texts are escaped for HTML, into which Mechanical Turk inserts them as they are.
    """
    pairs = study.config.parts == 2
    names = ("response1", "response2") if pairs else ("response",)
    records = []
    for stored in _tasks(study):
        item = stored.item
        turned = pairs and draw(study.secret, study.config.seed, "mturk", item.key).random() < 0.5
        texts = map(as_html, item.texts[::-1] if turned else item.texts)
        records.append(
            {
                "key": item.key,
                "missing": stored.wanted - stored.counted if stored.role == "item" else study.config.raters,
                **({"order": "21" if turned else "12"} if pairs else {}),
                "context": "<br>".join(map(as_html, item.context)),
                "message": as_html(item.message or ""),
                **dict(zip(names, texts, strict=True)),
            }
        )
    return ["key", "missing", *(["order"] if pairs else []), "context", "message", *names], records


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
    return _REJECTED.sub(lambda found: f"&#{ord(found[0])};", _INVALID.sub("\ufffd", safe))


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
        given = tuple(score for score in scores if score is not None)
        if not given:
            blank += 1
            continue
        if len(given) != parts:
            missing = names[scores.index(None)]
            raise DataError(f"{place}, answer {missing}: this is empty, but the other text has a score")
        order = row["Input.order"].strip() if parts == 2 else "12"
        if order not in ("12", "21"):
            raise DataError(f"{place}, column Input.order: this must be 12 or 21, as in the tasks, not {shown(order)}")
        turned = order == "21"
        times = _moment(row.get("SubmitTime", "")), _milliseconds(row.get("WorkTimeInSeconds", ""))
        key, worker = unguarded(row["Input.key"]), row["WorkerId"].strip()
        answers.append(Imported(key, worker, given[::-1] if turned else given, *times, place, turned))
    return MturkResults(tuple(answers), rejected, blank)


def _rows(path: PathLike, also: Sequence[str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    name = name_of(path)
    with open_bytes(path) as stream:
        rows = delimited_rows(chain.from_iterable(split_lines(stream, name, keep_ends=True)), name, ",")
        line, header = next(rows, (1, []))
        header = [title.strip() for title in header]
        for required in ("WorkerId", "Input.key", *also):
            if header.count(required) != 1:
                there = some(header) or "none"
                raise DataError(f"{name}:{line}: there must be one column {required}; columns found: {there}")
        if not any(title.startswith("Answer.") for title in header):
            raise DataError(f"{name}:{line}: there is no column of answers, such as Answer.{ANSWER}")
        for number, row in rows:
            if len(row) > len(header):
                check_width(row, header, f"{name}:{number}")
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
        raise DataError(f"{place}, column Answer.{_JSON}: this must be one JSON object, not {shown(given)}")
    for name, value in given.items():
        inner = {f"{name}.{choice}": taken for choice, taken in value.items()} if isinstance(value, dict) else {}
        fields |= inner or {name: value}
    return fields


def _score(fields: Mapping[str, Any], name: str, place: str) -> int | None:
    """Return the score in an answer, None if it is empty."""
    given = fields.get(name)
    if name not in fields:  # radio buttons: NAME.4, possibly with a suffix
        button = re.compile(rf"{re.escape(name)}\.([0-9]{{1,9}})(?:\..*)?", re.DOTALL)
        choices = [(found[1], value) for field, value in fields.items() if (found := button.fullmatch(field))]
        if not choices:
            raise DataError(f"{place}: this is not there; answers found: {some(fields)}")
        ticked = sorted({int(choice) for choice, value in choices if _is_ticked(value, place)})
        if len(ticked) > 1:
            raise DataError(f"{place}: the scores {some(ticked)} are all chosen; only one may be")
        given = ticked[0] if ticked else None
    score = whole(given) if isinstance(given, str) else given
    if score is None or (isinstance(score, str) and not score.strip()):
        return None
    if type(score) is not int or not 1 <= score <= POINTS:
        raise DataError(f"{place}: a score must be a whole number from 1 to {POINTS}, not {shown(given)}")
    return score


def _is_ticked(value: object, place: str) -> bool:
    said = str(value or "").strip().lower()
    if said not in ("true", "1", "on", "false", "0", "off", ""):
        raise DataError(f"{place}: {shown(value)} does not say whether a choice was taken; true or false is expected")
    return said in ("true", "1", "on")


def _milliseconds(text: str) -> int | None:
    seconds = whole(text)
    return seconds * 1000 if isinstance(seconds, int) and 0 <= seconds <= _MOST_SECONDS else None


def _moment(text: str) -> int | None:
    """Parse a time such as ``Wed Dec 18 10:15:33 PST 2019`` to milliseconds since 1970; None if it is invalid."""
    words = " ".join(_ZONES.get(word, word) for word in text.split())
    try:
        moment = round(datetime.strptime(words, "%a %b %d %H:%M:%S %z %Y").timestamp() * 1000)
    except ValueError:
        return None
    return moment if moment >= 0 else None
