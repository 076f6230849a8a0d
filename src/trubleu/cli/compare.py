"""``trubleu compare``: two systems side by side, and what makes the difference."""

from __future__ import annotations

import argparse
from typing import Any

from trubleu.cli.explain import corpus_and_metric
from trubleu.cli.options import (
    add_corpus_options,
    add_output_options,
    add_sampling_options,
    build_metrics,
    check_output,
    sampling_of,
    write_output,
)

EPILOG = """\
examples:
  trubleu compare --refs refs.jsonl sysA.txt sysB.txt
  trubleu compare --refs refs.jsonl A=sysA.txt B=sysB.txt -m dbleu-2 -m bleu-4 --top 20 --format markdown

The first metric decides which segments and n-grams are shown. N-grams are counted one by one, at one or two thousand
segments a second; --ngrams 0 leaves them out.
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "compare",
        help="show what makes the difference between two systems",
        description="Compare two systems: scores, intervals, a paired test, and the segments and n-grams that make the "
        "difference.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add_corpus_options(parser, "compare")
    shown = parser.add_argument_group("what makes the difference")
    shown.add_argument("--top", type=int, default=10, metavar="N", help="segments to show for each system (10)")
    shown.add_argument("--ngrams", type=int, default=15, metavar="N", help="n-grams to show for each system (15)")
    add_sampling_options(parser.add_argument_group("intervals and test"))
    out = add_output_options(parser)
    out.add_argument("--threads", type=int, metavar="N", help="threads to use (all cores); no number depends on it")


def run(options: argparse.Namespace) -> None:
    """Compare and print."""
    from trubleu.errors import UsageError
    from trubleu.execution.progress import Bars
    from trubleu.explain.difference import compare_systems
    from trubleu.render.comparison import render_comparison

    check_output(options)
    if len(options.systems) != 2:
        raise UsageError(f"compare takes two systems, not {len(options.systems)}; trubleu score takes any number")
    for name in ("top", "ngrams"):
        if getattr(options, name) < 0:
            raise UsageError(f"--{name} {getattr(options, name)} must be 0 or more")
    if options.metric:
        build_metrics(options)  # a wrong name is said before files are read
    with Bars(quiet=options.quiet) as bars:
        references, outputs = corpus_and_metric(options)
        comparison = compare_systems(
            outputs,
            references,
            build_metrics(options),
            sampling=sampling_of(options, interval=True, test=True),
            top_segments=options.top,
            top_ngrams=options.ngrams,
            threads=options.threads,
            steps=bars.stage,
        )
    write_output(options, render_comparison(comparison, options.format, options.digits))
