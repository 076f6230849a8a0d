"""Assertions for tests: an answer is right, and new answers are not worse than accepted ones."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, TypeAlias

from trubleu.checks.cases import join_cases
from trubleu.checks.check import check_answers
from trubleu.checks.checks import Checks
from trubleu.checks.findings import KINDS
from trubleu.checks.verdict import Conditions
from trubleu.data.answers import AnswerFile, AnswerItem, read_answers
from trubleu.data.references import Reference, References
from trubleu.errors import TrubleuWarning, UsageError
from trubleu.metrics.registry import metric as metric_named
from trubleu.text.differences import marked_pair
from trubleu.text.markdown import plain_text

if TYPE_CHECKING:
    from trubleu.checks.check import CheckReport
    from trubleu.data.answers import Role

Answers: TypeAlias = str | os.PathLike[str] | Mapping[str, str | Sequence[str]]
"""A file, or answers by id; several for one id are repeats, or good answers."""

MOST_SHOWN = 3
"""How many answers a failing assertion shows."""


def assert_answer(
    answer: str,
    good: str | Sequence[str],
    *,
    bad: str | Sequence[str] = (),
    question: str | None = None,
    minimum: float | None = None,
    metric: str = "trubleu",
    checks: Checks | None = None,
) -> None:
    """Assert that an answer has no failing finding, and that its score is not below a minimum.

    Parameters
    ----------
    answer
        The answer.
    good, bad
        One or several good and bad answers.
    question
        What was asked; figures and links in it are not new.
    minimum
        The lowest score that passes; without one only findings count.
    metric
        The metric of the score.
    checks
        The findings to look for. By default those that fail with a baseline fail here.

    Raises
    ------
    AssertionError
        With the answer, the nearest good answer, and the words that differ in brackets.

    Examples
    --------
    >>> assert_answer("Returns take 30 days.", "You can return it within 30 days.")
    >>> assert_answer("Returns take 60 days.", "Returns take 30 days.")
    Traceback (most recent call last):
    AssertionError: the answer fails
      number: "60 days" is in no good reference
      answer: Returns take [60] days.
      good:   Returns take [30] days.
    """
    goods, bads = ([texts] if isinstance(texts, str) else list(texts) for texts in (good, bad))
    if not goods:
        raise UsageError("assert_answer needs a good answer")
    weights = [1.0] * len(goods) + [-1.0] * len(bads)
    wrong = [
        f"{found.kind}: {found.message}"
        for found in (checks or _strict()).find(answer, [*goods, *bads], weights, question)
        if found.level == "fail"
    ]
    if minimum is not None:
        texts = [list(map(plain_text, [*goods, *bads]))]
        scorer = metric_named(metric)
        score = float(scorer.segments([plain_text(answer)], References.from_lists(texts, [weights]))[0])
        if (score > minimum) if not scorer.higher_is_better else (score < minimum):
            side = "above" if not scorer.higher_is_better else "below"
            wrong.append(f"{metric}: {score:.2f} is {side} {minimum:g}")
    if wrong:
        raise AssertionError("\n".join(["the answer fails", *(f"  {line}" for line in wrong), *_shown(answer, goods)]))


def assert_not_worse(
    new: Answers,
    baseline: Answers,
    good: Answers | None = None,
    *,
    bad: Mapping[str, str | Sequence[str]] | None = None,
    metric: str | Sequence[str] = "trubleu",
    tolerance: float = 0.0,
    checks: Checks | None = None,
) -> None:
    """Assert that new answers do not score worse than accepted ones, and have no failing finding that these have not.

    Parameters
    ----------
    new, baseline
        Files, as `trubleu check` takes them, or answers by id.
    good
        A file of good and bad answers, or good answers by id. It may be left out if one of the other files has them.
    bad
        Bad answers by id, beside good ones by id.
    metric
        The metric that must not drop, or several.
    tolerance
        Drops up to this many points do not fail.
    checks
        The findings to look for.

    Raises
    ------
    AssertionError
        With the verdict, and of up to three answers the nearest good answer and the words that differ in brackets.

    Warns
    -----
    TrubleuWarning
        If there are not enough answers to tell.

    Examples
    --------
    >>> accepted = {"a": "You can return it within 30 days."}
    >>> assert_not_worse(accepted, accepted, {"a": "Returns take 30 days."})
    """
    files = [_file(new, "new"), _file(baseline, "baseline")]
    references = None if good is None else _file(good, "references", bad)
    cases = join_cases(files[0], files[1], references)
    names = [metric] if isinstance(metric, str) else list(metric)
    report = check_answers(
        cases,
        {name: metric_named(name) for name in names},
        checks=checks,
        conditions=Conditions(tolerance=tolerance),
        unsure="pass",
    )
    if report.outcome == "failed":
        raise AssertionError("\n".join(_reasons(report)))
    if report.verdict == "not enough data":
        warnings.warn(f"not enough data to tell: {_scores(report)}", TrubleuWarning, stacklevel=2)


def _strict() -> Checks:
    """Return the default findings, each with the level that it has against a baseline."""
    return Checks(levels={kind: default.baseline for kind, default in KINDS.items()})


def _file(answers: Answers, role: Role, bad: Mapping[str, str | Sequence[str]] | None = None) -> AnswerFile:
    if isinstance(answers, str | os.PathLike):
        if bad:
            raise UsageError("bad answers by id go with good answers by id; write them into the file")
        return read_answers(answers, role)
    if not isinstance(answers, Mapping):
        raise UsageError("answers must be a file or a mapping from ids to texts")
    items = []
    for name, value in answers.items():
        texts = (value,) if isinstance(value, str) else tuple(value)
        others = (bad or {}).get(name, ())
        bads = (others,) if isinstance(others, str) else tuple(others)
        if role == "references":
            weighted = (*(Reference(text, 1.0) for text in texts), *(Reference(text, -1.0) for text in bads))
            items.append(AnswerItem(id=str(name), references=weighted))
        else:
            items.append(AnswerItem(id=str(name), answers=texts))
    return AnswerFile(source=f"the {role} answers", form="a mapping", items=tuple(items))


def _reasons(report: CheckReport) -> list[str]:
    """Return the lines of a failing assertion."""
    lines = [f"the new answers fail: {_scores(report)}"]
    first = report.metrics[0].metric
    for item in report.most_changed()[:MOST_SHOWN]:
        change = f" ({first} {item.change(first):+.2f})" if first in item.old_scores else ""
        lines.append(f"  {item.case.id}{change}")
        lines += [f"    {found.level}: {found.kind}: {found.message}" for found in item.findings]
        lines += [f"  {line}" for line in _shown(item.case.new[0], item.case.good)]
    return lines


def _scores(report: CheckReport) -> str:
    said = [
        f"{each.metric} {each.old:.2f} → {each.score:.2f}, {each.verdict} (p = {each.p_holm:.4f})"
        for each in report.metrics
    ]
    if report.failing:
        said.append(f"{len(report.failing)} with failing findings")
    return "; ".join(said)


def _shown(answer: str, good: Sequence[str]) -> list[str]:
    """Return an answer and the nearest good one, with the words that differ in brackets."""
    if not good:
        return [f"  answer: {answer}"]
    words = answer.split()
    nearest = max(good, key=lambda text: SequenceMatcher(None, words, text.split(), autojunk=False).ratio())
    one, other = marked_pair(answer, nearest)
    return [f"  answer: {one}", f"  good:   {other}"]
