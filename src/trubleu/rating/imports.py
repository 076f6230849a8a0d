"""Import ratings from a table, from Mechanical Turk or from Python, under the study's own rules."""

from __future__ import annotations

import hashlib
import warnings
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from sqlalchemy import Connection, select

from trubleu.data.ratings import checked_labels, checked_names, read_ratings
from trubleu.data.ratings import checked_scores as scores_within
from trubleu.errors import DataError, TrubleuWarning, UsageError, counted, nearest, shown, some
from trubleu.files.paths import PathLike, name_of
from trubleu.rating import raters as people
from trubleu.rating.answers import TakenAnswer, number_counted, take_answers
from trubleu.rating.export import check_mturk
from trubleu.rating.scheduler import checked_scores
from trubleu.rating.secret import derived_token
from trubleu.rating.store.database import get_meta, lock_study, secret_of
from trubleu.rating.store.queries import scores_by_answer, stored_items
from trubleu.rating.store.schema import MODEL, assignments
from trubleu.rating.study import Study, fix_questions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from trubleu.rating.config import Question, StudyConfig
    from trubleu.rating.items import Item


Layout: TypeAlias = Literal["table", "mturk"]

LAYOUTS: tuple[Layout, ...] = get_args(Layout)

_NOBODY = ""  # the system of a rating that names none


@dataclass(frozen=True, slots=True)
class Imported:
    """An answer that was collected outside the study.

    Attributes
    ----------
    key
        The item's key.
    rater
        The rater's id outside.
    scores
        Text by text in the item's order, for each text question by question; None for a question that was left out.
    answered_at
        When, in milliseconds since 1970; None if not known.
    milliseconds
        How long it took, as its source says; None if not known.
    place
        Where it stands, such as ``FILE:LINE``, for messages.
    flipped
        Whether the rater saw the texts of a pair in reverse order.
    """

    key: str
    rater: str
    scores: tuple[int | None, ...]
    answered_at: int | None = None
    milliseconds: int | None = None
    place: str = ""
    flipped: bool = False


@dataclass(frozen=True, slots=True)
class ImportedRatings:
    """The outcome of an import.

    Attributes
    ----------
    answers
        Answers that were given; one to both texts of a pair is one.
    added, counted
        How many of them are new, and how many of these count.
    items, raters
        Items that got new answers, and raters who are new.
    repeated
        Answers that were there already.
    different
        Of these, how many have another score in the file; the first stays.
    rejected, blank
        For Mechanical Turk: assignments that were rejected or have no answer, and were left out.
    excluded
        Raters who were excluded by the rule on gold items.
    """

    answers: int
    added: int
    counted: int
    items: int
    raters: int
    repeated: int
    different: int
    rejected: int = 0
    blank: int = 0
    excluded: int = 0


def import_answers(
    study: Study, answers: Iterable[Imported], *, source: str, platform: str | None = None, now: int | None = None
) -> ImportedRatings:
    """Add answers that were collected outside the study; existing ones are skipped.

    Answers may be to gold items; raters who break the gold rule are excluded.

    Parameters
    ----------
    study
        Where to.
    answers
        The answers. A rater's id makes one rater, who has no link. An id that an export of this study gave (``rater 3
        of 1f2e9a0c``) is that rater; so is one of another study whose raters were carried over.
    source
        Where they come from, for the log.
    platform
        ``prolific`` or ``mturk`` if the ids are of there: who came in by such an id is the same rater.
    now
        The time.

    Raises
    ------
    DataError
        If an answer is about no item of the study, its scores do not fit, or its rater cannot be told from another,
        with its place; nothing is then added.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Item, Study, StudyConfig
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "study"
    >>> study = Study.create(folder, StudyConfig("Imported", "response"), [Item("7", ("fine",))])
    >>> for _ in range(2):
    ...     found = import_answers(study, [Imported("7", "worker 1", (4,))], source="results.csv")
    ...     print(found.added, found.counted, found.repeated)
    1 1 0
    0 0 1
    >>> study.close()
    """
    if platform not in (None, "prolific", "mturk"):
        raise UsageError(f"there is no platform {platform!r}; known: prolific, mturk")
    config = study.config
    given = []
    for answer in answers:
        people.check_name(answer.rater, f"{answer.place}: the id of a rater")
        try:
            given.append(replace(answer, scores=checked_scores(config, answer.scores)))
        except UsageError as error:
            raise DataError(f"{answer.place}: {error}") from None
    at = study.now() if now is None else now

    def work(connection: Connection) -> ImportedRatings:
        lock_study(connection)
        fix_questions(connection, config)
        return _import(connection, config, given, source, _Names(connection, platform, at))

    return study.store.write(work)


def _import(
    connection: Connection, config: StudyConfig, given: Sequence[Imported], source: str, names: _Names
) -> ImportedRatings:
    here = {each.item.key: each for each in stored_items(connection) if each.role in ("item", "gold")}
    now = names.now
    tasks = connection.execute(select(assignments.c.item, assignments.c.rater))
    there = dict.fromkeys(((row.item, row.rater) for row in tasks), None) | scores_by_answer(connection)
    answers: dict[tuple[int, int], TakenAnswer] = {}
    met: set[int] = set()
    different = 0
    for answer in given:
        if answer.key not in here:
            raise DataError(f"{answer.place}: {answer.key!r} is not an item of this study; check the ids")
        item = here[answer.key].id
        if labelled := names.labelled(answer.rater):
            # Most likely an export of this study with nothing new; otherwise the name could mean another person.
            if len(labelled) != 1 or there.get((item, labelled[0])) != answer.scores:
                whose = " or ".join(repr(people.pseudonym(number, names.study)) for number in labelled)
                label = f"{shown(answer.rater)} is the label of a rater of this study"
                raise DataError(f"{answer.place}: {label}; write {whose} if that is who rated, or another name")
            continue
        pair = (item, names.number(answer))
        met.add(pair[1])
        if pair in there:
            different += there[pair] not in (None, answer.scores)
        elif pair not in answers:
            when = now if answer.answered_at is None else answer.answered_at
            is_gold = here[answer.key].role == "gold"
            answers[pair] = TakenAnswer(*pair, answer.scores, answer.flipped, when, None, answer.milliseconds, is_gold)
    number = len(config.questions)
    taken = list(answers.values())
    take_answers(connection, taken, questions=number, kind="imported", source=source, now=now)
    excluded = people.exclude_by_rule(connection, config.gold.rule, met, now=now)
    rated = len({answer.item for answer in taken if not answer.gold})
    return ImportedRatings(
        answers=len(given),
        added=len(answers),
        counted=number_counted(connection, taken),
        items=rated,
        raters=names.added,
        repeated=len(given) - len(answers),
        different=different,
        excluded=excluded,
    )


class _Names:
    """Resolves rater names of a file, adding new raters."""

    def __init__(self, connection: Connection, platform: str | None, now: int) -> None:
        self.added = 0
        self.study = get_meta(connection, "study") or ""
        self._connection = connection
        self._entries = ("import",) if platform is None else ("import", platform)
        self.now = now
        self._numbers: dict[str, int] = {}
        self._labels: defaultdict[str | None, list[int]] = defaultdict(list)
        self._there = {rater.id: rater.label for rater in people.all_raters(connection)}
        for number, label in self._there.items():
            self._labels[label].append(number)

    def labelled(self, name: str) -> list[int]:
        """Return the raters with this label; none if the name is another kind of id, or new."""
        if name in self._numbers or people.parse_pseudonym(name) is not None:
            return []
        found = self._labels.get(name, [])
        return found if found and self._known(name) is None else []

    def number(self, answer: Imported) -> int:
        """Return the number of an answer's rater."""
        name = answer.rater
        if name not in self._numbers:
            self._numbers[name] = self._found(answer)
        return self._numbers[name]

    def _found(self, answer: Imported) -> int:
        name, found = answer.rater, None
        if (marked := people.parse_pseudonym(name)) is not None:
            number, mark = marked
            found = people.recall(self._connection, people.CARRIED, name)
            if people.is_of(mark, self.study):
                if number not in self._there:
                    raise DataError(f"{answer.place}: this study has no {shown(name)}; is the file of a later state?")
                return number
            if found is None and name.startswith(MODEL):
                remedy = "leave it out, or let it rate here with trubleu rate model"
                raise DataError(f"{answer.place}: {shown(name)} is a model of another study, not a person; {remedy}")
        if found is None:
            found = self._known(name)
        if found is not None:
            return found
        token = derived_token(secret_of(self._connection), "import", name)
        more = {"external": name, "label": name, "practice_done": True}
        added = people.add_rater(self._connection, "import", self.now, token=token, **more)
        for entry in self._entries:
            people.remember(self._connection, added.id, entry, name)
        self.added += 1
        return added.id

    def _known(self, name: str) -> int | None:
        found = (people.recall(self._connection, entry, name) for entry in self._entries)
        return next((number for number in found if number is not None), None)


def import_ratings(
    study: Study,
    path: PathLike,
    *,
    layout: Layout = "table",
    columns: Mapping[str, str] | None = None,
    now: int | None = None,
) -> ImportedRatings:
    """Import the ratings of a file: all of them, or none if one is invalid. Importing again changes nothing.

    Parameters
    ----------
    study
        The study.
    path
        A table with the columns ``item``, ``rater`` and ``score`` (in a study of pairs also ``system``, and ``pair``
        unless the item names it) in CSV, TSV, JSON lines or Parquet, as `Ratings.read` takes them; or the results of
        Mechanical Turk in CSV.
    layout
        ``table`` or ``mturk``.
    columns
        The columns of a table by field, if their titles are not recognised, such as ``{"score": "points"}``.
    now
        The time in milliseconds since 1970.

    Raises
    ------
    DataError
        If the file cannot be read or used, with the line and the column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.rating import Item, Study, StudyConfig
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "ratings.csv").write_text("item,rater,score\\n7,ann,4\\n7,bob,5\\n")
    >>> study = Study.create(folder / "study", StudyConfig("Answers", "response"), [Item("7", ("fine",))])
    >>> found = import_ratings(study, folder / "ratings.csv")
    >>> found.added, found.counted, found.raters
    (2, 2, 2)
    >>> import_ratings(study, folder / "ratings.csv").added
    0
    >>> study.close()
    """
    if layout not in LAYOUTS:
        raise UsageError(f"there is no layout {layout!r}; {nearest(str(layout), LAYOUTS)}")
    rejected = blank = 0
    if layout == "mturk":
        check_mturk(study.config)
        if columns:
            raise UsageError("results of Mechanical Turk have fixed columns; leave columns (--columns) out")
        from trubleu.rating.mturk import read_results

        results = read_results(path, parts=study.config.parts)
        answers, rejected, blank = list(results.answers), results.rejected, results.blank
    else:
        answers = read_table(study, path, columns)
    content = repr([(each.key, each.rater, each.scores) for each in answers])
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    platform = "mturk" if layout == "mturk" else None
    added = import_answers(study, answers, source=f"{name_of(path)} {digest}", platform=platform, now=now)
    if added.different:
        answered = f"{counted(added.different, 'answer')} that the study has already; those of the study stay"
        warnings.warn(f"{name_of(path)} has other scores for {answered}", TrubleuWarning, stacklevel=2)
    return replace(added, rejected=rejected, blank=blank)


def read_table(study: Study, path: PathLike, columns: Mapping[str, str] | None = None) -> list[Imported]:
    """Read a plain table of ratings (see `import_ratings`)."""
    raw = read_ratings(path, columns, system=_NOBODY)
    place = raw.place
    questions = study.config.questions
    aspects = checked_labels(raw.columns.get("aspect"), "aspect", place) or (None,) * len(raw.columns["item"])
    asked = [_question(questions, aspect, place(row)) for row, aspect in enumerate(aspects)]
    items = checked_names(raw.columns["item"], "item", place)
    raters = checked_names(raw.columns["rater"], "rater", place)
    widest = (1, max(question.points for question in questions))
    scores = [int(score) for score in scores_within(raw.columns["score"], widest, place, kind="an integer")]
    if study.config.kind == "response":
        rows = [(items[row], 0, row) for row in range(len(items))]
    else:
        systems = checked_names([each or None for each in raw.columns["system"]], "system", place)
        pairs = checked_labels(raw.columns.get("pair"), "pair", place) or (None,) * len(items)
        rated = [stored.item for stored in study.items() if stored.role == "item"]
        turned = {f"{each.segment}#{':'.join(each.systems[::-1])}": each for each in rated}
        by_name = turned | {each.key: each for each in rated}
        rows = [(*_part(by_name, items[row], systems[row], pairs[row], place(row)), row) for row in range(len(items))]
    numbered = [(key, raters[row], part * len(questions) + asked[row], row) for key, part, row in rows]
    return _answers(numbered, scores, study.config, place)


def _question(questions: Sequence[Question], aspect: str | None, place: str) -> int:
    """Return the index of the question that a row answers."""
    names = [question.name for question in questions]
    if aspect is None and len(names) > 1:
        raise DataError(f"{place}: this names no question; give a column aspect with {some(names)}")
    if aspect is not None and aspect not in names:
        known = [name for name in names if name]
        hint = nearest(aspect, known) if known else "give a column score and none of aspects"
        raise DataError(f"{place}: {shown(aspect)} is not a question of this study; {hint}")
    return 0 if aspect is None else names.index(aspect)


def _part(items: dict[str, Item], item: str, system: str, pair: str | None, place: str) -> tuple[str, int]:
    """Return the key of the item that a row rates, and the index of the text."""
    name = item if pair is None or item in items else f"{item}#{pair}"
    if (found := items.get(name)) is None:
        raise DataError(f"{place}: there is no item {shown(name)}; an item is SEGMENT#A:B, or give a column pair")
    if system not in found.systems:
        hint = nearest(system, found.systems)
        raise DataError(f"{place}: {shown(system)} is not a system of {shown(found.key)}; {hint}")
    return found.key, found.systems.index(system)


def _answers(
    rows: Sequence[tuple[str, str, int, int]], scores: Sequence[int], config: StudyConfig, place: Callable[[int], str]
) -> list[Imported]:
    """Group the scores by item and rater."""
    found: dict[tuple[str, str], dict[int, int]] = {}
    for key, rater, part, row in rows:
        mine = found.setdefault((key, rater), {})
        if part in mine:
            twice = f"{shown(rater)} has rated {shown(key)} already at {place(mine[part])}"
            raise DataError(f"{place(row)}: {twice}; leave one of the two out")
        mine[part] = row
    answers = []
    for (key, rater), mine in found.items():
        first = place(min(mine.values()))
        number = len(config.questions)
        if len({at // number for at in mine}) != config.parts:
            texts = f"all {config.parts} texts of {shown(key)}"
            raise DataError(f"{first}: {shown(rater)} has not rated {texts}; add the others, or leave it out")
        given = tuple(scores[mine[at]] if at in mine else None for at in range(config.parts * number))
        answers.append(Imported(key, rater, given, place=first))
    return answers
