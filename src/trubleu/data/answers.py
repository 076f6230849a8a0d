"""Files of answers as people have them: wide and long tables, JSON lines, chats, and results of evaluation tools."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from trubleu.data.references import Reference
from trubleu.data.titles import ANSWER_TITLES
from trubleu.data.tool_results import is_chat, last_turns, tool_items
from trubleu.data.weights import (
    LABEL_WEIGHTS,
    guess_scale,
    ratings_problem,
    weight_from_ratings,
    weight_on_scale,
    weight_problem,
)
from trubleu.errors import DataError, UsageError, counted, nearest, shown, some
from trubleu.files.formats import open_rows
from trubleu.files.jsonl import is_json_name, kind_of, parse_json, parse_object
from trubleu.files.lines import read_text_lines
from trubleu.files.paths import format_of, name_of
from trubleu.files.tables import check_no_table, comma_hint, finite, plain_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trubleu.files.paths import PathLike


Role: TypeAlias = Literal["new", "baseline", "references"]
"""What a file is read for."""

_FIELDS: Final = (
    "id",
    "question",
    "answer",
    "baseline",
    "good",
    "bad",
    "label",
    "repeat",
    "contains",
    "excludes",
    "regex",
)
_OLD: Final = ("old", "baseline", "before", "previous")
_NEW: Final = ("new", "candidate", "after")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerItem:
    """One question with answers, as a file has it.

    Attributes
    ----------
    id
        Its name, None if the file has none.
    question
        What is asked, None if the file does not say.
    answers
        The output, or several of the same system (repeats).
    baseline
        Those of the baseline, where the same file has both.
    references
        Good and bad answers with their weights, from -1 to 1.
    contains, excludes, regex
        What an answer to this question must contain, must not contain, and must match.
    place
        Where it is in the file, for messages.
    """

    id: str | None = None
    question: str | None = None
    answers: tuple[str, ...] = ()
    baseline: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    contains: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    regex: tuple[str, ...] = ()
    place: str = ""

    @property
    def name(self) -> str:
        """The id, or the question, or the place."""
        return self.id or self.question or self.place


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFile:
    """A file of answers.

    Attributes
    ----------
    source
        Its name.
    form
        What it was read as, such as ``promptfoo results``.
    fields
        Which columns were taken for what.
    items
        The questions in their order, each once.
    """

    source: str
    form: str
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    items: tuple[AnswerItem, ...] = ()

    def summary(self) -> str:
        """Say in one line what was read as what."""
        counts = {
            "answer": sum(len(item.answers) for item in self.items),
            "answer of the baseline": sum(len(item.baseline) for item in self.items),
            "good answer": sum((each.weight or 0) > 0 for item in self.items for each in item.references),
            "bad answer": sum((each.weight or 0) < 0 for item in self.items for each in item.references),
        }
        numbers = ", ".join(
            counted(count, what).replace("answer of the baselines", "answers of the baseline")
            for what, count in counts.items()
            if count
        )
        renamed = {name: titles for name, titles in self.fields.items() if titles != (name,)}
        told = "".join(f"; {name} ← {' + '.join(titles)}" for name, titles in renamed.items())
        return f"{self.source}: {self.form}, {counted(len(self.items), 'question')}, {numbers}{told}"


def read_answers(path: PathLike, role: Role, *, columns: Mapping[str, str] | None = None) -> AnswerFile:
    """Read a file of answers, or of good and bad ones.

    Parameters
    ----------
    path
        JSON lines, JSON, a table, one answer a line, or what promptfoo, lm-evaluation-harness or inspect wrote.
    role
        What it is read for: a column ``answer`` holds outputs in files of answers, and good answers in others.
    columns
        The titles of fields whose columns cannot be told; several with ``+`` between them. A path into nested objects
        has dots: ``answer=output.text``.

    Raises
    ------
    DataError
        If it cannot be read, an id is there twice, or an answer is missing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = path.write_text("question,answer\\nOpen on Sunday?,No.\\n")
    >>> read_answers(path, "new").items[0].answers
    ('No.',)
    """
    name = name_of(path)
    form, records = _records(path, name)
    if found := tool_items(records, name, form):
        form, listed = found
        items = [AnswerItem(**each) for each in listed]
        if role == "references":
            items = [item for item in items if item.references]
            if not items:
                raise DataError(f"{name} ({form}) has no good answers; give a file that has them with --refs")
        return AnswerFile(source=name, form=form, items=tuple(_merged(items)))
    if form == "text":
        texts = [record["text"] for _, record in records]
        lines = [
            AnswerItem(
                place=place, **({"references": (Reference(text),)} if role == "references" else {"answers": (text,)})
            )
            for (place, _), text in zip(records, texts, strict=True)
        ]
        return AnswerFile(source=name, form="one answer a line", items=tuple(lines))
    if not records:
        raise DataError(f"{name} has no answers; check the program that wrote it")
    titles = list(dict.fromkeys(title for _, record in records for title in record))
    fields = _find(titles, records, role, columns or {}, name)
    long = role == "references" and not ("good" in fields or "bad" in fields)
    items = _long(records, fields, name) if long else [_wide(place, record, fields, role) for place, record in records]
    if not long:
        items = _merged(items, repeats="repeat" in fields)
    elif "label" not in fields and "weight" not in fields and "rating" not in fields:
        fields = {("good" if name == "answer" else name): titles for name, titles in fields.items()}
    if role == "new" and not any(item.answers for item in items):
        raise DataError(f"{name} has no answers; name their column with --columns answer=TITLE")
    kind = "long" if long else "wide" if "good" in fields or "bad" in fields else "one row an answer"
    return AnswerFile(source=name, form=f"{form}, {kind}", fields=fields, items=tuple(items))


Records: TypeAlias = "list[tuple[str, Any]]"


def _records(path: PathLike, name: str) -> tuple[str, Records]:
    """Return the form of a file, and its records with their places; nested objects also by their path."""
    if name.endswith(".eval"):
        raise DataError(f"{name} is a packed log of inspect; convert it with: inspect log convert --to json")
    if is_json_name(name):
        return _json(read_text_lines(path), name)
    with open_rows(path, None, lambda _line: False) as (form, content):
        if form in ("table", "parquet"):
            if content.names and content.names[0].startswith(("{", "[")):
                raise DataError(f"{name} holds JSON, not a table; rename it to end in .jsonl")
            return (format_of(name) or form).upper(), list(content.rows())
        lines = list(content)
    if lines and lines[0].lstrip().startswith(("{", "[")):
        return _json(lines, name)
    check_no_table(name, lines, {*ANSWER_TITLES, *chain.from_iterable(ANSWER_TITLES.values())})
    return "text", [(f"{name}:{number}", {"text": line}) for number, line in enumerate(lines, 1)]


def _json(lines: Sequence[str], name: str) -> tuple[str, Records]:
    filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not filled:
        raise DataError(f"{name} is empty; check the program that wrote it")
    try:
        whole = parse_json("\n".join(lines).strip())
    except (ValueError, RecursionError) as error:
        if not filled[0][1].lstrip().startswith("{"):
            raise DataError(
                f"{name} is not JSON, though its name says so: {error}; give it the right suffix"
            ) from error
        if len(filled) == 1 or filled[0][1].strip() == "{":
            raise DataError(f"{name} is not JSON: {error}; write it again") from error
        return "JSON lines", [(f"{name}:{at}", _flat(parse_object(line, f"{name}:{at}"))) for at, line in filled]
    if isinstance(whole, dict):
        return ("JSON lines" if len(filled) == 1 else "JSON"), [(f"{name}:1", _flat(whole))]
    if not isinstance(whole, list) or not all(isinstance(record, dict) for record in whole):
        raise DataError(f"{name} must hold JSON objects, one a line or in an array, not {kind_of(whole)}")
    return "JSON", [(f"{name}, object {number}", _flat(record)) for number, record in enumerate(whole, 1)]


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with the fields of nested objects beside them, by their path."""
    flat = dict(record)
    for key, value in record.items():
        if isinstance(value, dict):
            flat.update({f"{key}.{inner}": each for inner, each in _flat(value).items()})
    return flat


def _find(
    titles: Sequence[str], records: Records, role: Role, columns: Mapping[str, str], name: str
) -> dict[str, tuple[str, ...]]:
    """Return the titles of each field."""
    found: dict[str, tuple[str, ...]] = {}
    for wanted, text in columns.items():
        if wanted not in ANSWER_TITLES:
            raise UsageError(f"--columns: there is no field {shown(wanted)}; {nearest(wanted, ANSWER_TITLES)}")
        if all(title in titles for title in text.split("+")):
            found[wanted] = tuple(text.split("+"))
    taken = set(chain.from_iterable(found.values()))
    by_stem: dict[str, dict[str, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for title in titles:
        if title in taken or all(record.get(title) is None for _, record in records):
            continue
        for wanted, stem, rest in _meanings(title):
            by_stem[wanted][stem].append((rest, title))
    chats = [title for title in titles if title not in taken and _has_chats(title, records)]
    if chats and "answer" not in found and "answer" not in by_stem:
        found["answer"] = (chats[0],)
    elif chats and "question" not in found and "question" not in by_stem:
        found["question"] = (chats[0],)
    for wanted, stems in by_stem.items():
        if wanted in found:
            continue
        if wanted not in ("answer", "baseline", "good", "bad"):
            stems = {stem: [(rest, title)] for stem, each in stems.items() for rest, title in each if not rest} or stems
        if wanted in ("good", "bad"):  # all of them
            found[wanted] = tuple(title for each in stems.values() for _, title in each)
            continue
        if own := stems.get(wanted):
            stems = {wanted: own}
        if len(stems) > 1:
            names = [title for each in stems.values() for _, title in each]
            raise DataError(
                f"{name}: the columns {' and '.join(names)} could both be the {wanted}; "
                f"say which it is, such as --columns {wanted}={names[0]}"
            )
        ((_, each),) = stems.items()
        found.update(_versions(wanted, each, found, name, role))
    if role == "references" and "references" in titles and "good" not in columns:
        found["good"] = ("references",)
    if role != "new":
        found.pop("baseline", None)
    needed = "answer" if role != "references" else "good"
    if needed not in found and not (role == "references" and ("answer" in found or "bad" in found)):
        raise DataError(
            f"{name}: no column is recognised as the {'answers' if needed == 'answer' else 'good answers'}; "
            f"name it with --columns {needed}=TITLE; columns found: {some(titles)}"
        )
    return found


def _versions(
    wanted: str, columns: list[tuple[str, str]], found: Mapping[str, Any], name: str, role: Role
) -> dict[str, tuple[str, ...]]:
    """Return what columns of one stem are: one answer, several outputs, or those of an old and a new system."""
    rests = dict(columns)
    if len(columns) == 1 or all(rest.isdigit() for rest in rests):
        return {wanted: tuple(rests.values())}
    old = [title for rest, title in columns if rest in _OLD]
    new = [title for rest, title in columns if rest in _NEW or not rest]
    if len(old) == len(new) == 1 and len(columns) == 2:
        return {"answer": (new[0] if role == "new" else old[0],), **({"baseline": (old[0],)} if role == "new" else {})}
    titles = [title for _, title in columns]
    more = f",baseline={titles[0]}" if role == "new" and "baseline" not in found else ""
    raise DataError(
        f"{name} has {len(titles)} columns of answers ({some(titles)}); "
        f"say which to read, such as --columns answer={titles[-1]}{more}"
    )


def _meanings(title: str) -> Iterator[tuple[str, str, str]]:
    """Yield the fields that a title may name, each with its stem and what follows that."""
    plain = plain_title(title)
    for wanted, names in ANSWER_TITLES.items():
        for stem in (wanted, *names):
            rest = plain[len(stem) :].removeprefix("s") if plain.startswith(stem) else None
            if rest is not None and (not rest or (wanted in ("answer", "good", "bad") and _ends(rest))):
                yield wanted, stem, rest
                return


def _ends(rest: str) -> bool:
    return rest.isdigit() or rest in (*_OLD, *_NEW) or re.fullmatch(r"[a-d]|v\d+", rest) is not None


def _has_chats(title: str, records: Records) -> bool:
    return plain_title(title) in ("messages", "conversation", "conversations", "chat") and any(
        is_chat(_decoded(record.get(title))) for _, record in records
    )


def _decoded(value: Any) -> Any:
    """Return a JSON array or object that a table holds as a text; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _wide(place: str, record: Mapping[str, Any], fields: Mapping[str, tuple[str, ...]], role: Role) -> AnswerItem:
    question = _text(_of(record, fields, "question"), place, "question")
    answers: list[str] = []
    for title in fields.get("answer", ()) if role != "references" else ():
        value = record.get(title)
        if is_chat(decoded := _decoded(value)):
            asked, answer = last_turns(decoded, place)
            question = asked if question is None else question
            answers.append(answer)
        else:
            answers += _texts(value, place, title)
    if role != "references" and not answers:
        raise DataError(f"{place}: the answer is missing; run this question again, or remove its line")
    weights = {"good": 1.0, "bad": -1.0}
    references = tuple(
        _reference(each, weight, place, title)
        for name, weight in weights.items()
        for title in fields.get(name, ())
        for each in _values(record.get(title), split=plain_title(title).endswith("s"))
    )
    if role == "references" and not any((each.weight or 0) > 0 for each in references):
        raise DataError(
            f"{place}: {shown(_identity(record, fields) or question or place)} has no good answer; "
            "add one, or remove it"
        )
    return AnswerItem(
        id=_identity(record, fields),
        question=question,
        answers=tuple(answers),
        baseline=tuple(chain.from_iterable(_texts(record.get(t), place, t) for t in fields.get("baseline", ()))),
        references=references,
        place=place,
        **{
            name: tuple(chain.from_iterable(_values(record.get(title), split=True) for title in fields.get(name, ())))
            for name in ("contains", "excludes", "regex")
        },
    )


def _of(record: Mapping[str, Any], fields: Mapping[str, tuple[str, ...]], name: str) -> Any:
    return next((record.get(title) for title in fields.get(name, ())), None)


def _identity(record: Mapping[str, Any], fields: Mapping[str, tuple[str, ...]]) -> str | None:
    value = _of(record, fields, "id")
    return None if value is None or value == "" else str(value)


def _text(value: Any, place: str, title: str) -> str | None:
    """Return a text; of a chat, its last turn that is not the assistant's."""
    if is_chat(decoded := _decoded(value)):
        return next((each for each in (last_turns(decoded, place, answered=False)[0],) if each), None)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise DataError(f"{place}: {title} must be a text, not {kind_of(value)}")


def _texts(value: Any, place: str, title: str) -> list[str]:
    """Return one answer, or the several of an array."""
    if value is None:
        return []
    values = value if isinstance(value, list) else [value]
    found = [_text(each, place, title) for each in values]
    return [text for text in found if text is not None]


def _values(value: Any, *, split: bool) -> list[Any]:
    """Return the values of a cell: an array, several with ``|`` between them where the title is a plural, or one."""
    if isinstance(value, str) and value.lstrip().startswith("[") and isinstance(listed := _decoded(value), list):
        value = listed
    if isinstance(value, list):
        return [each for each in value if each is not None]
    if value is None or value == "":
        return []
    if split and isinstance(value, str) and "\n" not in value:
        return [part.strip() for part in value.split("|") if part.strip()]
    return [value]


def _reference(value: Any, weight: float, place: str, title: str) -> Reference:
    if isinstance(value, dict):
        text, own = value.get("text"), value.get("weight", weight)
        if value.get("weight") is None and isinstance(ratings := value.get("ratings"), list):
            if problem := ratings_problem(ratings):
                raise DataError(f"{place}: the ratings of {shown(text)} {problem}")
            own = weight_from_ratings(ratings)
        if not isinstance(text, str):
            raise DataError(f'{place}: {title} has an object without a text; write {{"text": …, "weight": …}}')
        if own is None or (problem := weight_problem(own)):
            raise DataError(
                f"{place}: the weight of {shown(text)} {problem if own is not None else 'is not rated yet'}"
            )
        return Reference(text, float(own))
    return Reference(str(_text(value, place, title)), weight)


def _long(records: Records, fields: Mapping[str, tuple[str, ...]], name: str) -> list[AnswerItem]:
    """Return items from one good or bad answer a row."""
    if "id" not in fields and "question" not in fields:
        raise DataError(f"{name}: no column tells which question an answer is for; add id or question")
    weights = _weights(records, fields, name)
    items: dict[str, AnswerItem] = {}
    for (place, record), weight in zip(records, weights, strict=True):
        identity, question = _identity(record, fields), _text(_of(record, fields, "question"), place, "question")
        if (key := identity or question) is None:
            raise DataError(f"{place}: neither an id nor a question; add one")
        text = _text(_of(record, fields, "answer"), place, "answer")
        if text is None:
            raise DataError(f"{place}: the answer is missing; add it, or remove the line")
        item = items.setdefault(key, AnswerItem(id=identity, question=question, place=place))
        items[key] = replace(item, references=(*item.references, Reference(text, weight)))
    for item in items.values():
        if not any((each.weight or 0) > 0 for each in item.references):
            raise DataError(f"{item.place}: {shown(item.name)} has no good answer; add one, or remove it")
    return list(items.values())


def _weights(records: Records, fields: Mapping[str, tuple[str, ...]], name: str) -> list[float]:
    """Return the weight of each row: from labels, weights or ratings, or 1 without any of these."""
    kind = next((each for each in ("weight", "label", "rating") if each in fields), None)
    if kind is None:
        return [1.0] * len(records)
    (title,) = fields[kind][:1]
    written = [record.get(title) for _, record in records]
    labels = [LABEL_WEIGHTS.get(_label(value)) for value in written]
    if kind == "label" and None not in labels:
        return [weight for weight in labels if weight is not None]
    # Among labels that are words, one that is not known is wrong; numbers are ratings.
    named = kind == "label" and any(_is_word(value) for value, weight in zip(written, labels, strict=True) if weight)
    numbers: list[float] = []
    for (place, _), value in zip(records, written, strict=True):
        number = finite(value) if isinstance(value, str) else value
        if named and _label(value) in LABEL_WEIGHTS:
            continue
        if named or not isinstance(number, int | float) or isinstance(number, bool):
            expected = "good or bad, 1 or 0, or a number" if kind == "label" else "a number"
            raise DataError(f"{place}: {title} must be {expected}, not {shown(value)}{comma_hint(value)}")
        if kind == "weight" and (problem := weight_problem(number)):
            raise DataError(f"{place}: {title} {problem}")
        numbers.append(float(number))
    if kind == "weight":
        return numbers
    if (scale := guess_scale(numbers)) is None:
        raise DataError(
            f"{name}: {title} goes from {min(numbers):g} to {max(numbers):g}, a scale that is not recognised; "
            "write ratings from 1 to 5, or weights from -1 to 1 in a column weight"
        )
    return [weight_on_scale([number], scale) for number in numbers]


def _is_word(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and finite(value) is None)


def _label(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value).strip().lower()


def _merged(items: Sequence[AnswerItem], *, repeats: bool = True) -> list[AnswerItem]:
    """Return each question once, with the outputs of all its rows; repeats need a column that says so."""
    merged: dict[str, AnswerItem] = {}
    for item in items:
        key = item.name
        if (first := merged.get(key)) is None:
            merged[key] = item
        elif repeats:
            merged[key] = replace(first, answers=first.answers + item.answers, baseline=first.baseline + item.baseline)
        else:
            what = "id" if item.id is not None else "question"
            raise DataError(
                f"{item.place}: the {what} {shown(key)} was already used at {first.place}; "
                + ("give each question an id of its own" if what == "id" else "give both an id")
                + ", or number several outputs of one question in a column repeat"
            )
    return list(merged.values())
