"""Import ratings from a table or from Mechanical Turk, under the study's own rules."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from trubleu.data.rating_files import read_ratings
from trubleu.data.ratings import checked_labels, checked_names, checked_scores
from trubleu.errors import DataError, TrubleuWarning, UsageError, counted, nearest, shown, some
from trubleu.files.paths import name_of
from trubleu.rating.export import check_mturk
from trubleu.rating.import_answers import Imported, ImportedRatings, import_answers
from trubleu.rating.mturk import read_results

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trubleu.files.paths import PathLike
    from trubleu.rating.config import Question, StudyConfig
    from trubleu.rating.items import Item
    from trubleu.rating.study import Study

Layout: TypeAlias = Literal["table", "mturk"]

LAYOUTS: tuple[Layout, ...] = get_args(Layout)

_NOBODY = ""  # the system of a rating that names none


def import_ratings(
    study: Study, path: PathLike, *, layout: Layout = "table", now: int | None = None
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
        results = read_results(path, parts=study.config.parts)
        answers, rejected, blank = list(results.answers), results.rejected, results.blank
    else:
        answers = read_table(study, path)
    source = f"{name_of(path)} {_digest(answers)}"
    platform = "mturk" if layout == "mturk" else None
    added = import_answers(study, answers, source=source, platform=platform, now=now)
    if added.different:
        warnings.warn(
            f"{name_of(path)} has other scores for {counted(added.different, 'answer')} that the study has already; "
            "those of the study stay",
            TrubleuWarning,
            stacklevel=2,
        )
    return replace(added, rejected=rejected, blank=blank)


def _digest(answers: Sequence[Imported]) -> str:
    content = repr([(each.key, each.rater, each.scores) for each in answers])
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_table(study: Study, path: PathLike) -> list[Imported]:
    """Read a plain table of ratings (see `import_ratings`)."""
    raw = read_ratings(path, system=_NOBODY)
    place = raw.place
    questions = study.config.questions
    aspects = checked_labels(raw.columns.get("aspect"), "aspect", place) or (None,) * len(raw.columns["item"])
    asked = [_question(questions, aspect, place(row)) for row, aspect in enumerate(aspects)]
    items = checked_names(raw.columns["item"], "item", place)
    raters = checked_names(raw.columns["rater"], "rater", place)
    widest = (1, max(question.points for question in questions))
    scores = [int(score) for score in checked_scores(raw.columns["score"], widest, place, kind="an integer")]
    if study.config.kind == "response":
        rows = [(items[row], 0, row) for row in range(len(items))]
    else:
        systems = checked_names([each or None for each in raw.columns["system"]], "system", place)
        pairs = checked_labels(raw.columns.get("pair"), "pair", place) or (None,) * len(items)
        by_key = {stored.item.key: stored.item for stored in study.items() if stored.role == "item"}
        rows = [(*_part(by_key, items[row], systems[row], pairs[row], place(row)), row) for row in range(len(items))]
    numbered = [(key, part * len(questions) + asked[row], row) for key, part, row in rows]
    return _answers(numbered, raters, scores, study.config, place)


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
    key = item
    if pair is not None and item not in items:
        named = (f"{item}#{pair}", *(f"{item}#{turned}" for turned in _turned(pair, system)))
        key = next((each for each in named if each in items), named[0])
    if key not in items:
        raise DataError(
            f"{place}: there is no item {shown(key)} in this study; an item is SEGMENT#A:B, or give a column pair"
        )
    if system not in items[key].systems:
        raise DataError(
            f"{place}: {shown(system)} is not a system of {shown(key)}; {nearest(system, items[key].systems)}"
        )
    return key, items[key].systems.index(system)


def _turned(pair: str, system: str) -> list[str]:
    """Return a pair in reverse order; not split at the colon, because names of systems may contain one."""
    turned = []
    if pair.startswith(f"{system}:"):
        turned.append(f"{pair.removeprefix(f'{system}:')}:{system}")
    if pair.endswith(f":{system}"):
        turned.append(f"{system}:{pair.removesuffix(f':{system}')}")
    return turned


def _answers(
    rows: Sequence[tuple[str, int, int]],
    raters: Sequence[str],
    scores: Sequence[int],
    config: StudyConfig,
    place: Callable[[int], str],
) -> list[Imported]:
    """Group the scores by rater and item."""
    found: dict[tuple[str, str], dict[int, int]] = {}
    for key, part, row in rows:
        mine = found.setdefault((key, raters[row]), {})
        if part in mine:
            raise DataError(
                f"{place(row)}: {shown(raters[row])} has rated {shown(key)} already at {place(mine[part])}; "
                "leave one of the two out"
            )
        mine[part] = row
    answers = []
    for (key, rater), mine in found.items():
        first = place(min(mine.values()))
        number = len(config.questions)
        if len({at // number for at in mine}) != config.parts:
            raise DataError(
                f"{first}: {shown(rater)} has not rated all {config.parts} texts of {shown(key)}; "
                "add the others, or leave it out"
            )
        given = tuple(scores[mine[at]] if at in mine else None for at in range(config.parts * number))
        answers.append(Imported(key, rater, given, place=first))
    return answers
