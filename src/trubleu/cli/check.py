"""``trubleu check``: whether a change made answers worse."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from trubleu.cli import arguments as add
from trubleu.cli.options import bind_scores, build_metrics, check_range, check_target, write_to
from trubleu.errors import Notice, UsageError, nearest
from trubleu.files.paths import check_standard_input_once, format_of, is_remote, is_standard, same_file
from trubleu.metrics.defaults import default_metrics

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from trubleu.checks.cases import Cases
    from trubleu.checks.check import CheckReport
    from trubleu.checks.checks import Checks
    from trubleu.checks.verdict import Conditions
    from trubleu.explain.difference import SystemComparison

FORMS: Final = (".html", ".md", ".junit.xml", ".json")
"""The endings of ``--out``."""


def add_parser(commands: add.Commands) -> None:
    """Add the command and its options."""
    parser = add.command(commands, "check", run)
    about = "answers to check: JSON lines, JSON, a table, or what promptfoo, lm-evaluation-harness or inspect wrote"
    parser.add_argument("new", metavar="NEW", help=about)
    given = parser.add_argument_group("what they are checked against")
    add.option(given, "--baseline", "OLD", "answers that a person has accepted, in any of these forms")
    about = "good and bad answers, in any of these forms (default: those in NEW, or in the baseline)"
    add.option(given, "--refs", "FILE", about)
    add.columns(given, "question=Frage,good=Antwort+Antwort2,bad=Falsch")
    add.flag(given, "--only-common", "leave out questions that NEW lacks, or that have no good answer")
    scored = parser.add_argument_group("scores")
    parser.set_defaults(metrics_of="check", weight=None, source=None)
    add.several(scored, "-m --metric", "METRIC", "a metric that must not drop; repeat for more (default: trubleu)")
    add.scores(scored)
    about = "drops up to N points of the score do not fail (default: 0)"
    add.option(scored, "--tolerance", "N", about, 0.0)
    about = "fail if the score is below N, with or without a baseline; repeat for more metrics"
    add.several(scored, "--min", "METRIC=N", about, default=[])
    about = "say that there is not enough data if a change of N points would not be found with a power of .8"
    add.option(scored, "--detect", "N", about, type=float)
    about = "what too few data come to: "
    add.choice(scored, "--unsure", ("exit", "pass", "fail"), about)
    add.sampling(scored)
    found = parser.add_argument_group("findings")
    add.option(found, "--settings", "FILE", "settings of findings (TOML): levels, contains, excludes, regex, lengths")
    about = "what a kind of finding does: off, warn or fail; all=… for every kind; repeat for more"
    add.several(found, "--finding", "KIND=LEVEL", about, default=[])
    after = parser.add_argument_group("output")
    about = f"write a report, in the form of its ending: {', '.join(FORMS)}; repeat for more"
    add.several(after, "--out", "FILE", about, default=[])
    add.option(after, "--history", "FILE", "append a line about this run (JSON lines), and chart all runs in .html")
    add.flag(after, "--bless", "after a pass, copy NEW over the baseline")
    add.flag(after, "--bless-anyway", "copy NEW over the baseline whatever comes out; for a person who has looked")
    add.option(after, "--digits -w --width", "N", "decimals of scores", 2, dest="decimals")
    add.threads(after)
    add.quiet(after, "no output but that of --out, and no warnings")


def run(options: argparse.Namespace) -> int:
    """Check whether a change made answers worse.

    Compare new answers with those of a baseline, or their scores with a threshold. The check fails if a score drops
    significantly, or if an answer has a finding that the baseline has not, such as a figure that no good answer has.

    Examples
    --------
    trubleu check new.jsonl --baseline accepted.jsonl --refs answers.csv
    trubleu check new.jsonl --refs answers.csv --min trubleu=60 --out check.md --out check.junit.xml
    trubleu check new.jsonl --baseline accepted.jsonl --refs answers.csv --bless

    Notes
    -----
    exit codes: 0 passed, 1 worse or a failing finding, 2 the input is wrong, 3 not enough data to tell (--unsure
    changes it); 2 comes before 1, 1 before 3. On GitHub the Markdown report goes to the summary of the step.
    """
    import warnings

    from trubleu.checks.check import check_answers, compare_cases

    targets = _check_options(options)
    conditions, checks = _conditions(options), _checks(options)
    if not options.scores:
        build_metrics(options)  # fail on wrong names before reading files
    cases = _read(options)
    files = {"new": options.new, "baseline": options.baseline or options.new}
    options.systems = [f"{name}={path}" for name, path in files.items() if name == "new" or cases.compared]
    bind_scores(options, files if cases.compared else ["new"], [case.id for case in cases.scored])
    metrics = build_metrics(options)
    warnings.warn(f"read {'; '.join(cases.notes)}", Notice, stacklevel=1)
    report = check_answers(
        cases, metrics, checks=checks, conditions=conditions, unsure=options.unsure, threads=options.threads
    )
    _write(options, targets, report, lambda: compare_cases(cases, metrics, report))
    return report.exit_code


def _check_options(options: argparse.Namespace) -> dict[str, str]:
    """Raise an error for options that do not fit, before any work; return the form of each file to write."""
    check_range(options, "decimals", 0, 17)
    options.metric = options.metric or [*default_metrics("check", weighted=False)]
    targets: dict[str, str] = {}
    for path in options.out:
        form = next((form for form in FORMS if path.endswith(form)), None)
        if form is None:
            raise UsageError(f"--out {path} must end in {', '.join(FORMS[:-1])} or {FORMS[-1]}, which is its form")
        if path in targets:
            raise UsageError(f"--out {path} is given twice; give it once")
        targets[path] = form
    inputs = [path for path in (options.new, options.baseline, options.refs, options.settings) if path is not None]
    check_standard_input_once(inputs)
    written = [*targets, *filter(None, [options.history])]
    for path in written:
        check_target(options, path, page=targets.get(path) == ".html")
        if any(not is_standard(each) and same_file(each, path) for each in inputs):
            raise UsageError(f"{path} is read by this command and would be lost; write to another file")
    if options.bless or options.bless_anyway:
        _check_blessing(options)
    if options.history is not None and is_remote(options.history):
        raise UsageError(f"--history {options.history} must be a local file; lines cannot be appended to others")
    return targets


def _check_blessing(options: argparse.Namespace) -> None:
    name = "--bless" if options.bless else "--bless-anyway"
    if options.baseline is None:
        raise UsageError(f"{name} copies NEW over the baseline; give that with --baseline")
    if is_standard(options.new) or is_standard(options.baseline):
        raise UsageError(f"{name} copies a file; give files for NEW and --baseline")
    if format_of(options.new) != format_of(options.baseline):
        raise UsageError(f"{name} would make {options.baseline} a file of another form; give both the same ending")
    check_target(options, options.baseline)


def _conditions(options: argparse.Namespace) -> Conditions:
    from trubleu.checks.verdict import Conditions
    from trubleu.files.tables import finite

    minimum: dict[str, float] = {}
    for text in options.min:
        name, equals, value = text.rpartition("=")
        number = finite(value)
        if not equals or not name or number is None:
            raise UsageError(f"--min {text} must be METRIC=N, such as --min {options.metric[0]}=60")
        if name not in options.metric:
            raise UsageError(f"--min {text}: {name} is not among the metrics; {nearest(name, options.metric)}")
        minimum[name] = number
    return Conditions(
        tolerance=options.tolerance,
        detect=options.detect,
        minimum=minimum,
        confidence=options.confidence,
        resamples=options.resamples,
        seed=options.seed,
    )


def _checks(options: argparse.Namespace) -> Checks:
    """Return the findings to look for, from a file and from flags."""
    import dataclasses

    from trubleu.checks.checks import Checks, kind_of
    from trubleu.checks.findings import KINDS

    checks = Checks() if options.settings is None else Checks.read(options.settings)
    levels = dict(checks.levels)
    for text in options.finding:
        kind, equals, level = text.partition("=")
        if not equals:
            raise UsageError(f"--finding {text} must be KIND=LEVEL, such as --finding number=warn")
        levels.update(dict.fromkeys(KINDS, level) if kind == "all" else {kind_of(kind): level})
    return dataclasses.replace(checks, levels=levels)


def _read(options: argparse.Namespace) -> Cases:
    """Read and join all files."""
    from trubleu.checks.cases import join_cases
    from trubleu.data.answers import read_answers

    columns = options.columns
    new = read_answers(options.new, "new", columns=columns)
    baseline = None if options.baseline is None else read_answers(options.baseline, "baseline", columns=columns)
    references = None if options.refs is None else read_answers(options.refs, "references", columns=columns)
    cases = join_cases(new, baseline, references, only_common=options.only_common)
    if columns:
        titles = {
            title for each in (new, baseline, references) if each for found in each.fields.values() for title in found
        }
        for field, text in columns.items():
            if missing := [title for title in text.split("+") if title not in titles]:
                raise UsageError(
                    f"--columns {field}={text}: no file has a column {missing[0]}; {nearest(missing[0], titles)}"
                )
    if not cases.compared and not options.min:
        raise UsageError(
            "check needs something to compare with: --baseline OLD, or a threshold such as --min trubleu=60"
        )
    return cases


def _write(
    options: argparse.Namespace, targets: dict[str, str], report: CheckReport, compared: Callable[[], SystemComparison]
) -> None:
    """Render everything, then write it."""
    from trubleu.checks.history import history_line, read_history, run_of
    from trubleu.files.jsonl import json_line
    from trubleu.files.paths import read_whole
    from trubleu.files.writer import append_text, atomic_writer
    from trubleu.render import check as render

    line = history_line(report)
    runs = [] if options.history is None else [*read_history(options.history), run_of(line, options.history)]
    digits = options.decimals
    forms = {
        ".md": lambda: render.render_check_markdown(report, digits),
        ".junit.xml": lambda: render.render_check_junit(report, digits),
        ".json": lambda: render.render_check_json(report),
        ".html": lambda: render.render_check_page(report, compared(), runs, digits),
    }
    texts = {path: forms[form]() for path, form in targets.items()}
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    shown = forms[".md"]() if summary else ""
    blessed = options.bless_anyway or (options.bless and report.outcome == "passed")
    content = read_whole(options.new) if blessed else b""
    for path, text in texts.items():
        write_to(path, text)
    if options.history is not None:
        append_text(options.history, json_line(line))
    if summary:
        append_text(summary, shown)
    if not options.quiet:
        sys.stdout.write(render.render_check_text(report, digits))
    if blessed:
        with atomic_writer(options.baseline, "wb") as stream:
            stream.write(content)
        if not options.quiet:
            sys.stdout.write(f"{options.baseline} is now a copy of {options.new}\n")
