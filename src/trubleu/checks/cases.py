"""The questions of a check: new answers, those of the baseline, good and bad ones, joined by id or question."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from trubleu.data import References
from trubleu.errors import DataError, TrubleuWarning, counted, shown, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.data.answers import AnswerFile, AnswerItem
    from trubleu.data.references import Reference

_LINES: Final = "one answer a line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question.

    Attributes
    ----------
    id
        Its name in reports.
    question
        What is asked, None if no file says it.
    new, old
        The answers to compare; several are repeats. No old ones: the question is new, or there is no baseline.
    references
        Good and bad answers, with weights.
    contains, excludes, regex
        What every answer to this question must contain, must not contain, and must match.
    """

    id: str
    question: str | None
    new: tuple[str, ...]
    old: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    contains: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    regex: tuple[str, ...] = ()

    @property
    def good(self) -> tuple[str, ...]:
        """The texts of references with a positive weight, or without any."""
        return tuple(each.text for each in self.references if each.weight is None or each.weight > 0)

    @property
    def bad(self) -> tuple[str, ...]:
        """The texts of references with a negative weight."""
        return tuple(each.text for each in self.references if (each.weight or 0) < 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """All questions of a check, in the order of the new file.

    Attributes
    ----------
    items
        The questions.
    compared
        Whether there is a baseline.
    notes
        What was read as what, a line a file.
    """

    items: tuple[Case, ...]
    compared: bool
    notes: tuple[str, ...] = ()

    @property
    def scored(self) -> tuple[Case, ...]:
        """The questions whose scores count: with good answers and, if there is a baseline, old answers."""
        return tuple(case for case in self.items if case.good and (case.old or not self.compared))

    @property
    def added(self) -> tuple[Case, ...]:
        """The questions that only the new file has."""
        return tuple(case for case in self.items if self.compared and not case.old)

    def references(self) -> References:
        """Return the references of the scored questions."""
        cases = self.scored
        weighted = any(each.weight not in (None, 1.0) for case in cases for each in case.references)
        found = References.from_lists(
            [[each.text for each in case.references] for case in cases],
            [[1.0 if each.weight is None else each.weight for each in case.references] for case in cases]
            if weighted
            else None,
            [case.id for case in cases],
        )
        return found.with_messages([case.question or "" for case in cases]) if cases else found


def join_cases(
    new: AnswerFile, baseline: AnswerFile | None, references: AnswerFile | None, *, only_common: bool = False
) -> Cases:
    """Join files by id, else by question, else by line.

    Parameters
    ----------
    new
        The answers to check. They bring their own good answers, and those of the baseline, unless files for them are
        given.
    baseline, references
        The other files.
    only_common
        Leave out questions that the new file lacks, or that have no good answer.

    Raises
    ------
    DataError
        If files share no question, the new file lacks some, or a question has no good answer.
    """
    notes = tuple(each.summary() for each in (new, baseline, references) if each is not None)
    items = new.items
    gone: dict[str, str] = {}
    compared = baseline is not None or any(item.baseline for item in items)
    if references is not None:
        found, lacking = _matched(new, references)
        gone |= dict.fromkeys(lacking, references.source)
        items = tuple(_with_references(item, other) for item, other in zip(items, found, strict=True))
    if baseline is not None:
        found, lacking = _matched(new, baseline)
        gone |= dict.fromkeys(lacking, baseline.source)
        items = tuple(
            replace(item, baseline=() if other is None else other.answers)
            if references is not None or item.references or other is None
            else replace(_with_references(item, other), baseline=other.answers)
            for item, other in zip(items, found, strict=True)
        )
    if gone and not only_common:
        raise DataError(
            f"{new.source} lacks {counted(len(gone), 'question')} of {next(iter(gone.values()))} "
            f"({some(map(shown, gone), 3)}); answer them, or check what both have with --only-common"
        )
    if gone:
        _warn(f"{counted(len(gone), 'question')} left out, as {new.source} lacks them")
    cases = [
        Case(
            id=item.id or (item.question or "")[:80] or str(number),
            question=item.question,
            new=item.answers,
            old=item.baseline,
            references=item.references,
            contains=item.contains,
            excludes=item.excludes,
            regex=item.regex,
        )
        for number, item in enumerate(items, 1)
    ]
    without = [case for case in cases if not case.good and (case.old or not compared)]
    if without and not only_common:
        where = "give a file that has them with --refs" if references is None else f"add one to {references.source}"
        raise DataError(
            f"no good answer for {counted(len(without), 'question')} of {new.source} "
            f"({some((shown(case.id) for case in without), 3)}); {where}, or check the others with --only-common"
        )
    if without:
        _warn(f"{counted(len(without), 'question')} left out, as they have no good answer")
        cases = [case for case in cases if case.good or (compared and not case.old)]
    if not any(case.old or not compared for case in cases):
        raise DataError(f"no question is left to compare; check what the ids of {new.source} are")
    return Cases(items=_distinct(cases), compared=compared, notes=notes)


def _distinct(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Number ids that were cut from questions and are equal."""
    seen: dict[str, int] = {}
    named = []
    for case in cases:
        seen[case.id] = count = seen.get(case.id, 0) + 1
        named.append(case if count == 1 else replace(case, id=f"{case.id} ({count})"))
    return tuple(named)


def _with_references(item: AnswerItem, other: AnswerItem | None) -> AnswerItem:
    if other is None:
        return replace(item, references=())
    return replace(
        item,
        question=item.question or other.question,
        references=other.references,
        contains=item.contains + other.contains,
        excludes=item.excludes + other.excludes,
        regex=item.regex + other.regex,
    )


def _matched(new: AnswerFile, other: AnswerFile) -> tuple[list[AnswerItem | None], list[str]]:
    """Return the other file's item for each of the new one, and the names of those that no new one matches."""
    for keys in (_ids, _questions):
        mine, theirs = keys(new), keys(other)
        if mine and theirs and (shared := mine.keys() & theirs.keys()):
            place_of = {place: key for key, place in mine.items()}
            found = [
                other.items[theirs[key]] if (key := place_of.get(place)) in shared and key is not None else None
                for place in range(len(new.items))
            ]
            lacking = [other.items[place].name for key, place in theirs.items() if key not in shared]
            _check_questions(new, other, found)
            return found, lacking
    if _LINES in (new.form, other.form):
        if len(new.items) != len(other.items):
            raise DataError(
                f"{new.source} has {counted(len(new.items), 'answer')} but {other.source} has {len(other.items):,}; "
                "without ids, they are joined line by line"
            )
        return list(other.items), []
    names = [", ".join(shown(item.name) for item in each.items[:2]) for each in (new, other)]
    raise DataError(
        f"{new.source} ({names[0]}, …) and {other.source} ({names[1]}, …) share no question; "
        "give both the same ids, or name the columns with --columns id=TITLE or question=TITLE"
    )


def _ids(file: AnswerFile) -> dict[str, int]:
    """Return the places of ids; nothing unless every item has one."""
    found = {item.id: place for place, item in enumerate(file.items) if item.id is not None}
    return found if len(found) == len(file.items) else {}


def _questions(file: AnswerFile) -> dict[str, int]:
    texts = ((place, item.question) for place, item in enumerate(file.items))
    found = {_plain(text): place for place, text in texts if text is not None}
    return found if len(found) == len(file.items) else {}


def _plain(question: str) -> str:
    return " ".join(question.split()).casefold()


def _check_questions(new: AnswerFile, other: AnswerFile, found: Sequence[AnswerItem | None]) -> None:
    differ = [
        item.name
        for item, match in zip(new.items, found, strict=True)
        if match is not None
        and item.question is not None
        and match.question is not None
        and _plain(item.question) != _plain(match.question)
    ]
    if differ:
        _warn(
            f"{counted(len(differ), 'id')} ({some(differ, 3)}) with another question in {other.source} than in "
            f"{new.source}; check that they mean the same"
        )


def _warn(what: str) -> None:
    warnings.warn(what, TrubleuWarning, stacklevel=3)
