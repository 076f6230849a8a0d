"""``trubleu compare``: compare systems and explain the difference."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from trubleu.cli import arguments as add
from trubleu.cli.options import (
    build_metrics,
    corpus_and_metric,
    is_figure,
    sampling_of,
    write_figure,
    write_output,
)
from trubleu.errors import UsageError
from trubleu.progress import Bars

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from trubleu.checks import Finding
    from trubleu.data import References
    from trubleu.data.outputs import Value


def add_parser(commands: add.Commands) -> None:
    """Add the command and its options."""
    parser = add.command(commands, "compare", run)
    add.corpus(parser, "compare")
    shown = parser.add_argument_group("differences")
    add.option(shown, "--top", "N", "segments to show per system (default: 5; 2 with more than two systems)", type=int)
    about = "n-grams to show per system (default: 15; 5 with more than two systems)"
    add.option(shown, "--ngrams", "N", about, type=int)
    about = "group segments by this field of --refs, or of another table or JSON lines file with ids; repeat for more"
    add.several(shown, "--by", "FIELD[=FILE]", about, default=[])
    add.flag(shown, "--findings", "also count what no good reference says, such as figures, and what is missing")
    drawn = parser.add_argument_group("intervals and test")
    add.paired_test(drawn)
    add.sampling(drawn)
    out = add.output(parser, formats=add.FIGURE_FORMATS)
    add.charts(out, ("scores", "systems", "significance", "length"))
    add.threads(out)


def run(options: argparse.Namespace) -> None:
    """Show where and why systems differ.

    Compare two or more systems: scores, intervals, paired tests, and the segments, kinds of segments and n-grams in
    which they differ most.

    Examples
    --------
    trubleu compare --refs refs.jsonl sysA.txt sysB.txt
    trubleu compare --refs refs.jsonl A=sysA.txt B=sysB.txt C=sysC.txt --by topic --format html --out page.html
    trubleu compare --refs refs.jsonl A=sysA.txt B=sysB.txt -m dbleu-2 -m bleu-4 --top 20 --format markdown

    Notes
    -----
    The first system is compared with each of the others. The first metric determines which segments, buckets and
    n-grams are shown. Comparing n-grams takes a second per one or two thousand outputs; --ngrams 0 skips it. --format
    svg and pdf write charts for a paper, a page of the PDF for each.
    """
    from trubleu.explain.difference import compare_systems
    from trubleu.render.comparison import comparison_charts, render_comparison, render_comparison_page

    page = options.format == "html"
    for name in ("top", "ngrams"):
        if (getattr(options, name) or 0) < 0:
            raise UsageError(f"--{name} {getattr(options, name)} must be 0 or more")
    if options.metric:
        build_metrics(options)  # fail on wrong names before reading files
    with Bars(quiet=options.quiet) as bars:
        references, outputs = corpus_and_metric(options)
        if len(outputs) < 2:
            raise UsageError("compare needs at least two systems; for one, use trubleu score")
        few = len(outputs) == 2 or page
        comparison = compare_systems(
            outputs,
            references,
            build_metrics(options),
            sampling=sampling_of(options, interval=True, test=True),
            top_segments=(5 if few else 2) if options.top is None else options.top,
            top_ngrams=(15 if few else 5) if options.ngrams is None else options.ngrams,
            columns=_columns(options, references),
            threads=options.threads,
            steps=bars.stage,
        )
        if options.markdown == "strip":
            comparison = replace(comparison, report=comparison.report.without_markdown())
        if is_figure(options):
            write_figure(options, comparison_charts(comparison))
            return
        found = _findings(outputs, references) if options.findings else []
        if page:
            text = render_comparison_page(comparison, options.digits, steps=bars.stage, findings=found)
        else:
            width = _width(options.out)
            text = render_comparison(comparison, options.format, options.digits, columns=width, findings=found)
    write_output(options, text)


def _findings(outputs: Mapping[str, Sequence[str]], references: References) -> list[list[list[Finding]]]:
    from trubleu.checks.corpus import corpus_findings

    return list(corpus_findings(outputs, references).values())


def _columns(options: argparse.Namespace, references: References) -> dict[str, list[Value]]:
    """Read the values for ``--by``."""
    from trubleu.data import read_segment_values

    columns: dict[str, list[Value]] = {}
    for argument in options.by:
        field, _, path = argument.partition("=")
        if not field:
            raise UsageError(f"--by {argument} names no field; write --by FIELD, or --by FIELD=FILE")
        if field in columns:
            raise UsageError(f"--by {field} is given twice; give it once")
        if not path and options.refs is None:
            raise UsageError(f"--by {field} needs a file that has this field; write --by {field}=FILE")
        if not path and options.refs == "-":
            raise UsageError(f"--by {field} cannot read standard input again; write --by {field}=FILE")
        columns[field] = read_segment_values(path or options.refs, field, references)
    return columns


def _width(out: str) -> int:
    """Return the width of the terminal, or a default that fits anywhere."""
    from trubleu.render.comparison import COLUMNS

    return max(shutil.get_terminal_size((COLUMNS, 24)).columns, 40) if out == "-" and sys.stdout.isatty() else COLUMNS
