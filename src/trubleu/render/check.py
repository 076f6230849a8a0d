"""Checks for the terminal, for a pull request, for test reports and programs."""

from __future__ import annotations

import json
import re
from difflib import SequenceMatcher
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from trubleu.errors import counted, some
from trubleu.render.charts import history_chart, table_grid, with_minus
from trubleu.render.comparison import page_values
from trubleu.render.formats import shown_as_it_is
from trubleu.render.pages import report_page
from trubleu.render.tables import Column, Estimate, Table, one_line, render_tables, table_of, truncated
from trubleu.text.markdown import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.checks.check import CheckedCase, CheckReport
    from trubleu.checks.history import Run
    from trubleu.checks.verdict import MetricVerdict
    from trubleu.explain.difference import SystemComparison

MOST_METRICS: Final = 3
"""Metrics on the terminal and in Markdown; JSON and the page have all."""

MOST_ITEMS: Final = 5
"""Questions in Markdown."""

_FINDINGS: Final = 4  # lines on the terminal
_SHORT: Final = 90  # characters of a text
_AROUND: Final = 4  # words before and after a difference
_ALIKE: Final = 0.4  # below it, texts are shown one after the other
_SIZE: Final = 160  # of a difference in Markdown
_OUTCOMES: Final = {"passed": "PASSED", "failed": "FAILED", "unsure": "UNSURE"}
_ALERTS: Final = {"passed": "TIP", "failed": "CAUTION", "unsure": "WARNING"}


def headline(report: CheckReport, digits: int = 2) -> str:
    """Say in a sentence what came out and why."""
    reasons = []
    if report.verdict is not None:
        reasons.append((report.verdict != "worse", f"{report.verdict}: {_change(report, digits)}"))
    reasons += [
        (metric.limit != "below", _threshold(metric, digits)) for metric in report.metrics if metric.limit is not None
    ]
    if report.failing:
        kinds = ", ".join(f"{count} × {kind}" for kind, count in report.finding_counts("fail").most_common())
        verb = "has" if len(report.failing) == 1 else "have"
        reasons.append((False, f"{counted(len(report.failing), 'answer')} {verb} failing findings ({kinds})"))
    return with_minus("; ".join(text for _, text in sorted(reasons, key=itemgetter(0))))  # what failed comes first


def _change(report: CheckReport, digits: int) -> str:
    order = {"worse": 0, "not enough data": 1, "better": 2, "no evidence of a change": 3}
    metric = min(report.metrics, key=lambda each: order[each.verdict or "worse"])
    if not metric.differing:
        return "all answers score as before"
    shown = f"{metric.metric} {metric.old:.{digits}f} → {metric.score:.{digits}f}, p = {metric.p_holm:.4f}"
    if metric.verdict == "not enough data":
        few = counted(metric.differing, "score")
        return (
            f"{shown}; {few} changed, and only a change of {metric.detectable:.{digits}f} points would have been found"
        )
    if metric.verdict == "no evidence of a change":
        return f"{shown}; a change of {metric.detectable:.{digits}f} points would have been found with a power of .8"
    return shown


def _threshold(metric: MetricVerdict, digits: int) -> str:
    where = {"above": "above", "below": "below", "not enough data": "not clearly above"}[metric.limit or "above"]
    shown = f"{metric.score:.{digits}f} [{metric.low:.{digits}f}, {metric.high:.{digits}f}]"
    return f"{metric.metric} {shown} is {where} {metric.minimum:g}"


def check_table(metrics: Sequence[MetricVerdict]) -> Table:
    """Return the scores of a check as a table."""
    compared = any(metric.old is not None for metric in metrics)
    columns = [Column("metric")]
    if compared:
        columns += [
            Column("old", "baseline", "number"),
            Column("score", "new", "number"),
            Column(
                "difference",
                "change",
                "signed",
                of=lambda m: Estimate(m.difference, m.difference_low, m.difference_high),
            ),
            Column("p_holm", "p", "p"),
            Column("detectable", "detectable", "number"),
            Column("verdict"),
        ]
    else:
        columns += [Column("score", "score", "number", of=lambda m: Estimate(m.score, m.low, m.high))]
    if any(metric.minimum is not None for metric in metrics):
        columns += [Column("minimum", kind="number"), Column("limit", "interval")]
    return table_of(metrics, columns)


def render_check_text(report: CheckReport, digits: int = 2) -> str:
    """Render a check for the terminal, in 15 lines at most with those that say what was read."""
    lines = [f"{_OUTCOMES[report.outcome]}: {headline(report, digits)}", ""]
    lines += render_tables([check_table(report.metrics[:MOST_METRICS])], "text", digits).splitlines()
    if hidden := len(report.metrics) - MOST_METRICS:
        lines += [f"… and {counted(hidden, 'more metric')}"] if hidden > 0 else []
    room = _FINDINGS - (len(report.metrics) > 2)
    found = [
        (item, finding)
        for level in ("fail", "warn")
        for item in report.items
        for finding in item.findings
        if finding.level == level
    ]
    shown = found[:room] if len(found) <= room else found[: room - 1]
    lines += [truncated(one_line(f"{f.level}: {item.case.id}: {f.kind}: {f.message}"), 118) for item, f in shown]
    if rest := found[len(shown) :]:
        fails = sum(finding.level == "fail" for _, finding in rest)
        lines.append(
            f"… and {counted(len(rest), 'more finding')} ({fails} failing); --out FILE.html or FILE.md shows them"
        )
    first = report.metrics[0]
    sign = 1 if first.lower_is_better else -1
    drops = sorted(
        (item for item in report.items if sign * item.change(first.metric) > 0),
        key=lambda item: -sign * item.change(first.metric),
    )[:MOST_ITEMS]
    if drops:
        listed = (f"{truncated(one_line(each.case.id), 20)} {each.change(first.metric):+.{digits}f}" for each in drops)
        lines.append(f"largest drops: {with_minus(', '.join(listed))}")
    lines.append(_counts(report))
    return "\n".join(lines) + "\n"


def _counts(report: CheckReport) -> str:
    parts = [counted(len(report.items), "question")]
    if report.added:
        parts.append(f"{report.added:,} new (findings only)")
    fails, warns = (sum(report.finding_counts(level).values()) for level in ("fail", "warn"))
    parts.append(f"findings: {fails:,} failing, {counted(warns, 'warning')}")
    return ", ".join(parts)


def render_check_json(report: CheckReport) -> str:
    """Render all of a check as JSON."""
    return json.dumps(report.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def render_check_markdown(report: CheckReport, digits: int = 2) -> str:
    """Render a check for a pull request, in 30 lines at most."""
    lines = [
        f"> [!{_ALERTS[report.outcome]}]",
        f"> **{_OUTCOMES[report.outcome].capitalize()}.** {_safe(headline(report, digits))}",
        "",
    ]
    lines += render_tables([check_table(report.metrics[:MOST_METRICS])], "markdown", digits).splitlines()
    changed = report.most_changed()
    first = report.metrics[0].metric
    if changed:
        score = "change" if report.compared else first
        lines += ["", f"| question | {score} | answer | findings |", "|:--|--:|:--|:--|"]
        lines += [_markdown_row(item, report, digits) for item in changed[:MOST_ITEMS]]
    rest = changed[MOST_ITEMS:]
    lines += ["", f"<details><summary>{_counts(report)}</summary>", ""]
    if rest:
        listed = (f"{_safe(truncated(one_line(item.case.id), 40))} ({_number(item, report, digits)})" for item in rest)
        lines.append(f"- also changed: {some(listed, 40)}")
    if warned := report.finding_counts("warn"):
        lines.append("- warnings: " + ", ".join(f"{count} × {kind}" for kind, count in warned.most_common()))
    lines += [f"- {_safe(one_line(note))}" for note in report.notes[:5]]
    signatures = ", ".join(f"`{metric.signature}`" for metric in report.metrics[:MOST_METRICS])
    lines += [f"- {signatures}", "", "</details>"]
    return "\n".join(lines) + "\n"


def _number(item: CheckedCase, report: CheckReport, digits: int) -> str:
    first = report.metrics[0].metric
    if not report.compared:
        return f"{item.scores[first]:.{digits}f}" if first in item.scores else "–"
    return with_minus(f"{item.change(first):+.{digits}f}") if first in item.old_scores else "new"


def _markdown_row(item: CheckedCase, report: CheckReport, digits: int) -> str:
    name = item.case.id if item.case.question in (None, item.case.id) else f"{item.case.id}: {item.case.question}"
    findings = sorted(item.findings, key=lambda finding: finding.level != "fail")
    found = [f"{'❌' if finding.level == 'fail' else '⚠️'} {_quoted(finding.message)}" for finding in findings[:3]]
    if more := len(item.findings) - 3:
        found += [f"and {more} more"] if more > 0 else []
    cells = [
        _safe(truncated(one_line(name), _SHORT)),
        _number(item, report, digits),
        _shown_change(item),
        "<br>".join(found),
    ]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _quoted(message: str) -> str:
    """Return a message with what it quotes in bold."""
    parts = re.split(r'"([^"]*)"', one_line(message))
    return "".join(f"**{_safe(part)}**" if at % 2 and part.strip() else _safe(part) for at, part in enumerate(parts))


def _shown_change(item: CheckedCase) -> str:
    """Return the new answer around what differs from the old one, or around its first finding."""
    new = item.case.new[0]
    if item.case.old:
        pair = next(((a, b) for b in item.case.new for a in item.case.old if a != b), (item.case.old[0], new))
        return _difference(*pair)
    spans = sorted(chain.from_iterable(finding.spans for finding in item.findings))
    if not spans:
        return _safe(truncated(one_line(new), _SIZE))
    start, end = spans[0]
    before, after = new[max(0, start - 60) : start], new[end : end + 60]
    whole = f"{_safe(before)}**{_safe(new[start:end])}**{_safe(after)}"
    return f"{'…' * (start > 60)}{whole}{'…' * (end + 60 < len(new))}"


def _difference(old: str, new: str) -> str:
    """Return two texts as one, with what was removed struck and what was added bold, around the differences."""
    a, b = plain_text(old).split(), plain_text(new).split()
    shown, used = [], 0
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < _ALIKE:
        one, other = (_safe(truncated(one_line(" ".join(words)), _SHORT)) for words in (a, b))
        return f"~~{one}~~ **{other}**" if one and other else f"~~{one}~~ (empty)" if one else f"**{other}**"
    codes = matcher.get_opcodes()
    for at, (kind, start, end, begin, stop) in enumerate(codes):
        if kind == "equal":
            words = a[start:end]
            head = [] if at == 0 else words[:_AROUND]
            tail = [] if at == len(codes) - 1 else words[max(len(head), len(words) - _AROUND) :]
            pieces = [*head, *(["…"] if len(head) + len(tail) < len(words) else []), *tail]
            shown.append(_safe(" ".join(pieces)))
        else:
            for words, mark in ((a[start:end], "~~"), (b[begin:stop], "**")):
                if words:
                    text = truncated(one_line(" ".join(words)), _SHORT)
                    used += len(text)
                    shown.append(f"{mark}{_safe(text)}{mark}")
        if used > _SIZE and at < len(codes) - 1:
            shown.append("…")
            break
    return " ".join(part for part in shown if part) or "(empty)"


_MENTION: Final = re.compile(r"[@#](?=\w)")


def _safe(text: str) -> str:
    """Escape a text for Markdown on GitHub, where names and numbers of others would become mentions and links."""
    return _MENTION.sub(lambda sign: f"{sign[0]}<!-- -->", shown_as_it_is(one_line(text)))


_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_check_junit(report: CheckReport, digits: int = 2) -> str:
    """Render a check as a test report: failures are worse scores and failing findings, errors too few data."""
    cases = [*_metric_tests(report, digits), *_item_tests(report)]
    failures, errors = (sum(f"<{kind} " in case for case in cases) for kind in ("failure", "error"))
    head = f'<testsuite name="trubleu check" tests="{len(cases)}" failures="{failures}" errors="{errors}" skipped="0">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]) + "\n"


def _metric_tests(report: CheckReport, digits: int) -> Iterator[str]:
    for metric in report.metrics:
        said = []
        if metric.verdict is not None:
            said.append(
                f"{metric.verdict}: {metric.old:.{digits}f} → {metric.score:.{digits}f}, p = {metric.p_holm:.4f}"
            )
        if metric.limit is not None:
            said.append(_threshold(metric, digits))
        unsure = {"exit": "error", "fail": "failure", "pass": None}[report.unsure]
        kind = "failure" if metric.failed else unsure if metric.unsure else None
        yield _test_case("trubleu.scores", metric.metric, kind, ["; ".join(said)])


def _item_tests(report: CheckReport) -> Iterator[str]:
    for item in report.items:
        messages = [f"{finding.kind}: {finding.message}" for finding in item.failing]
        yield _test_case(
            "trubleu.answers", item.case.id, "failure" if messages else None, messages, "\n".join(item.case.new)
        )


def _test_case(suite: str, name: str, kind: str | None, messages: Sequence[str], text: str = "") -> str:
    head = f"<testcase classname={_attribute(suite)} name={_attribute(one_line(name))}"
    if kind is None:
        return f"  {head}/>"
    message = "; ".join(map(one_line, messages))
    body = escape(_NOT_XML.sub("�", "\n".join([*messages, text]).strip()))
    return f"  {head}><{kind} message={_attribute(message)}>{body}</{kind}></testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))


def _repeats(report: CheckReport) -> list[str]:
    most = max(len(texts) for item in report.items for texts in (item.case.new, item.case.old))
    return ["of several outputs for a question the first is shown; its score is their mean"] if most > 1 else []


def render_check_page(
    report: CheckReport, comparison: SystemComparison, runs: Sequence[Run] = (), digits: int = 2
) -> str:
    """Render a check as a page: the page of the comparison, with findings and the course of the scores.

    Parameters
    ----------
    report
        What `trubleu.checks.check_answers` returns.
    comparison
        What `trubleu.checks.check.compare_cases` returns for the same cases.
    runs
        The history with this run at its end; nothing is drawn of fewer than two.
    digits
        Decimals of scores.

    Raises
    ------
    MissingExtraError
        If Jinja2 is not installed.
    """
    scored = set(comparison.references.ids)
    found = [list(item.findings) for item in report.items if item.case.id in scored]
    values = page_values(comparison, digits, findings=[found, *([[]] * len(found) for _ in comparison.systems[1:])])
    rows = [
        (kind, level, count) for level in ("fail", "warn") for kind, count in report.finding_counts(level).most_common()
    ]
    table = Table("", [Column("kind"), Column("level"), Column("findings", kind="count")], rows, name="findings")
    charts = [history_chart(metric.metric, runs) for metric in report.metrics] if len(runs) > 1 else []
    return report_page(
        "check.html.j2",
        "compare.css",
        "compare.js",
        **{
            **values,
            "title": "Check of answers",
            "verdicts": [f"{_OUTCOMES[report.outcome].capitalize()}: {headline(report, digits)}."],
            "about": _counts(report),
            "check": table_grid(check_table(report.metrics), digits, "check"),
            "finding_rows": table_grid(table, digits, "findings"),
            "compared": report.compared,
            "history": charts,
            "how": [*report.notes, *_repeats(report), *values["how"]],
        },
    )
