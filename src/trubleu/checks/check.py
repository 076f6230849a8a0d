"""A check of new answers: scores against a baseline or thresholds, findings, and what follows from both."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np

from trubleu.checks.checks import Checks
from trubleu.checks.findings import common_kinds, new_findings, only_warned
from trubleu.checks.item import Item
from trubleu.checks.verdict import Conditions, judge_scores
from trubleu.errors import TrubleuWarning, counted
from trubleu.explain.difference import SystemComparison, compare_systems
from trubleu.results import SCHEMA
from trubleu.scoring.systems import Sampling, score_systems
from trubleu.signature import without_markdown
from trubleu.text.markdown import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.checks.cases import Case, Cases
    from trubleu.checks.findings import Finding
    from trubleu.checks.verdict import MetricVerdict, Verdict
    from trubleu.metrics import Metric

Outcome: TypeAlias = Literal["passed", "failed", "unsure"]
"""What a check comes to."""

EXIT_CODES: Final[Mapping[Outcome, int]] = {"passed": 0, "failed": 1, "unsure": 3}
"""What the command exits with; 2 is for input that cannot be used."""

Unsure: TypeAlias = Literal["exit", "pass", "fail"]
"""What too few data come to: code 3 of their own, or passed, or failed."""

UNSURE: Final = get_args(Unsure)

WITHOUT_REFERENCES: Final = ("empty", "markup", "contains", "excludes", "regex")
"""Kinds of findings that need no good answer; a new question without one is looked at for these only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCase:
    """One question with its scores and findings.

    Attributes
    ----------
    case
        The question and its answers.
    scores, old_scores
        By metric; empty for a question whose scores do not count, and without a baseline.
    findings
        Those that the old answers do not have.
    """

    case: Case
    scores: Mapping[str, float] = field(default_factory=dict)
    old_scores: Mapping[str, float] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    def change(self, metric: str) -> float:
        """Return the change of the score; 0 if it does not count."""
        both = metric in self.scores and metric in self.old_scores
        return self.scores[metric] - self.old_scores[metric] if both else 0.0

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The findings that make the check fail."""
        return tuple(found for found in self.findings if found.level == "fail")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The result of `check_answers`.

    Attributes
    ----------
    metrics
        A verdict per metric.
    items
        The questions, in the order of the new file.
    compared
        Whether there is a baseline.
    unsure
        What too few data come to.
    conditions
        What was asked for.
    notes
        What was read as what, and what else to know.
    """

    metrics: tuple[MetricVerdict, ...]
    items: tuple[CheckedCase, ...]
    compared: bool
    conditions: Conditions
    unsure: Unsure = "exit"
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the scores; the worst over the metrics, None without a baseline."""
        found = {each.verdict for each in self.metrics}
        order: tuple[Verdict, ...] = ("worse", "not enough data", "better", "no evidence of a change")
        return next((verdict for verdict in order if verdict in found), None)

    @property
    def outcome(self) -> Outcome:
        """Whether the check passed."""
        if self.failing or any(metric.failed for metric in self.metrics):
            return "failed"
        if not any(metric.unsure for metric in self.metrics):
            return "passed"
        outcomes: dict[Unsure, Outcome] = {"exit": "unsure", "pass": "passed", "fail": "failed"}
        return outcomes[self.unsure]

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return EXIT_CODES[self.outcome]

    @property
    def failing(self) -> tuple[CheckedCase, ...]:
        """The questions with a finding that makes the check fail."""
        return tuple(item for item in self.items if item.failing)

    @property
    def added(self) -> int:
        """How many questions only the new file has."""
        return sum(not item.case.old for item in self.items) if self.compared else 0

    def finding_counts(self, level: str) -> Counter[str]:
        """Return how many findings of each kind there are on a level."""
        return Counter(found.kind for item in self.items for found in item.findings if found.level == level)

    def most_changed(self) -> list[CheckedCase]:
        """Return the questions whose scores changed, or that have findings, most important first.

        Those with a failing finding come first, then by the drop of the first metric, then warnings.
        """
        first = self.metrics[0]
        sign = 1 if first.lower_is_better else -1
        changed = [item for item in self.items if item.findings or item.change(first.metric)]
        return sorted(
            changed, key=lambda item: (not item.failing, -sign * item.change(first.metric), -len(item.findings))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        return {
            "schema": SCHEMA,
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "verdict": self.verdict,
            "questions": len(self.items),
            "new_questions": self.added,
            "conditions": asdict(self.conditions),
            "unsure": self.unsure,
            "metrics": [asdict(metric) for metric in self.metrics],
            "findings": {level: dict(self.finding_counts(level)) for level in ("fail", "warn")},
            "notes": list(self.notes),
            "items": [
                {
                    "id": item.case.id,
                    "question": item.case.question,
                    "new": list(item.case.new),
                    "old": list(item.case.old),
                    "references": [{"text": each.text, "weight": each.weight} for each in item.case.references],
                    "scores": dict(item.scores),
                    "old_scores": dict(item.old_scores),
                    "findings": [asdict(found) for found in item.findings],
                }
                for item in self.items
            ],
        }


def check_answers(
    cases: Cases,
    metrics: Mapping[str, Metric],
    *,
    checks: Checks | None = None,
    conditions: Conditions | None = None,
    unsure: Unsure = "exit",
    threads: int | None = None,
) -> CheckReport:
    """Check new answers: score them, test the change, and look for findings.

    Parameters
    ----------
    cases
        The questions with their answers.
    metrics
        The gating metrics by name. The texts that they see have no Markdown.
    checks
        The findings to look for; the defaults of `Checks` if left out.
    conditions
        What makes the check fail, beside findings.
    unsure
        What too few data come to.
    threads
        As for `trubleu.scoring.score_systems`.
    """
    conditions = conditions or Conditions()
    scored = cases.scored
    references = cases.references().map_texts(plain_text)
    new, old = (
        [tuple(map(plain_text, texts)) for texts in side]
        for side in zip(*((c.new, c.old) for c in scored), strict=True)
    )
    verdicts, scores = judge_scores(
        metrics, new, old if cases.compared else None, references, conditions, threads=threads
    )
    verdicts = tuple(replace(each, signature=without_markdown(each.signature)) for each in verdicts)
    findings, notes = _findings(cases, checks or Checks())
    place_of = {case.id: place for place, case in enumerate(scored)}
    items = []
    for case, found in zip(cases.items, findings, strict=True):
        place = place_of.get(case.id)
        sides = [
            {
                name: float(rows[side, place])
                for name, rows in scores.items()
                if place is not None and side < len(rows) and math.isfinite(rows[side, place])
            }
            for side in (0, 1)
        ]
        items.append(CheckedCase(case=case, scores=sides[0], old_scores=sides[1], findings=tuple(found)))
    if added := len(cases.added):
        notes.insert(0, f"{counted(added, 'new question')}: no scores compared, findings only")
    return CheckReport(
        metrics=verdicts,
        items=tuple(items),
        compared=cases.compared,
        conditions=conditions,
        unsure=unsure,
        notes=(*cases.notes, *notes),
    )


def compare_cases(cases: Cases, metrics: Mapping[str, Metric], report: CheckReport) -> SystemComparison:
    """Return the comparison of the new answers with those of the baseline, for the page; of repeats it has the first.

    Parameters
    ----------
    cases, metrics
        As for `check_answers`.
    report
        What that returned: scores and intervals are its own.
    """
    scored = cases.scored
    references = cases.references().map_texts(plain_text)
    systems = {"new": [plain_text(case.new[0]) for case in scored]}
    if cases.compared:
        systems["baseline"] = [plain_text(case.old[0]) for case in scored]
    drawing = {name: getattr(report.conditions, name) for name in ("resamples", "confidence", "seed")}
    sampling = Sampling(interval=True, test="randomisation" if cases.compared else None, **drawing)
    found = {item.case.id: item for item in report.items}
    sides = [[found[case.id].scores for case in scored], [found[case.id].old_scores for case in scored]]
    scores = {
        name: np.array([[each.get(name, math.nan) for each in side] for side in sides[: len(systems)]])
        for name in metrics
    }
    if cases.compared:
        with warnings.catch_warnings(action="ignore", category=TrubleuWarning):  # issued when scores were judged
            return replace(compare_systems(systems, references, metrics, sampling=sampling), scores=scores)
    return SystemComparison(
        metric=next(iter(metrics)),
        report=score_systems(systems, references, metrics, sampling=sampling),
        segments=(),
        buckets=(),
        ngrams=None,
        notes=(),
        metrics=metrics,
        references=references,
        outputs=systems,
        scores=scores,
        cuts=(),
    )


def _findings(cases: Cases, checks: Checks) -> tuple[list[list[Finding]], list[str]]:
    """Return the findings of each question that its old answers do not have, and notes on kinds that only warn."""
    after = _by_case(checks, [[_item(case, text, case.old) for text in case.new] for case in cases.items])
    after = [
        found if case.good else [[each for each in one if each.kind in WITHOUT_REFERENCES] for one in found]
        for case, found in zip(cases.items, after, strict=True)
    ]
    fails = any(each.level == "fail" for found in after for answer in found for each in answer)
    # Old answers matter where the new ones have findings, and all of them if one of these fails.
    olds = [case.old if fails or any(found) else () for case, found in zip(cases.items, after, strict=True)]
    before = _by_case(
        checks, [[_item(case, old) for old in texts] for case, texts in zip(cases.items, olds, strict=True)]
    )
    accepted = [found for answers in before for found in answers]
    common = {kind: count for kind, count in common_kinds(accepted).items() if fails and kind not in checks.levels}
    new = [only_warned(new_findings(mine, theirs), common) for mine, theirs in zip(after, before, strict=True)]
    found = {each.kind for findings in new for each in findings}
    notes = [
        f"{kind}: only warns, as {count:,} of {len(accepted):,} accepted answers have such a finding, too"
        for kind, count in common.items()
        if kind in found
    ]
    return new, notes


def _item(case: Case, text: str, old: Sequence[str] = ()) -> Item:
    return Item(
        text,
        [each.text for each in case.references],
        [1.0 if each.weight is None else each.weight for each in case.references],
        case.question,
        old,
        case.contains,
        case.excludes,
        case.regex,
    )


def _by_case(checks: Checks, items: Sequence[Sequence[Item]]) -> list[list[list[Finding]]]:
    """Return the findings of all outputs of each question, found in one go."""
    found = iter(checks.find_all([item for each in items for item in each]))
    return [[next(found) for _ in each] for each in items]
