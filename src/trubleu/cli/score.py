"""``trubleu score``: systems against references."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trubleu.data import References
    from trubleu.metrics import Metric

DEFAULT_METRIC: Final = "bleu-4"

PREPARE_FROM: Final = 3
"""Scorings of the same tokens from which on preparing the references pays; see docs/performance.md."""

# Options of metrics that may be given for all metrics at once: name, what it is, and the argument's own settings.
METRIC_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "tokenize": {"metavar": "NAME", "help": "tokenizer: 13a (default), intl, char, zh, words, chat, none, …"},
    "lowercase": {"action": "store_true", "help": "lower-case all texts"},
    "smoothing": {"metavar": "KIND", "help": "exp (default), floor, add-k or none"},
    "smoothing_value": {"metavar": "X", "type": float, "help": "the value for floor (0.1) or add-k (1)"},
    "effective_order": {"action": "store_true", "help": "leave out orders that texts are too short for"},
    "reference_length": {"metavar": "RULE", "help": "closest (default), shortest, longest or average"},
    "variant": {"metavar": "NAME", "help": "sBLEU's smoothing: lin-och (default), nakov, nakov-all or sacrebleu"},
    "definition": {"metavar": "NAME", "help": "ΔBLEU's formula: paper (default) or fork2019"},
    "negative": {"metavar": "RULE", "help": "what ΔBLEU's sums below 0 become: clamp (default), floor:E or error"},
    "length_references": {"metavar": "WHICH", "help": "who sets ΔBLEU's reference length: all (default) or positive"},
    "no_positive": {"metavar": "RULE", "help": "segments without a positive weight: error (default) or skip"},
    "unrated_as": {"metavar": "W", "type": float, "help": "the weight of references that are not rated yet"},
}

EPILOG = """\
examples:
  trubleu score --ref reference.txt system.txt
  trubleu score --ref a.txt --ref b.txt --weight wa.txt --weight wb.txt system.txt -m dbleu-2
  trubleu score --refs refs.jsonl sysA.txt B=sysB.txt -m bleu-4 -m 'dbleu-2[tokenize=chat]' --ci --test --baseline sysA

metrics: bleu-N, sbleu-N, dbleu-N, sdbleu-N (N from 1 to 9, 4 if left out), chrf, chrf++, ter, or your own as
package.module:Class; options of one metric stand in brackets behind its name.
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "score",
        help="score systems against references",
        description="Score one or more systems against references, with intervals and tests.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "systems",
        nargs="+",
        metavar="[NAME=]OUTPUTS",
        help="a system's outputs: one text a line, or JSON lines with id and text; .gz is fine, - is standard input",
    )
    given = parser.add_argument_group("references")
    given.add_argument("--refs", metavar="FILE", help="references with weights as JSON lines, or one reference a line")
    given.add_argument("--ref", action="append", metavar="FILE", help="one reference a line; give it again for more")
    given.add_argument(
        "--weight",
        action="append",
        metavar="FILE",
        help="the weights of a --ref, in the same order: a number from -1 to 1 a line, or nothing for no reference",
    )
    chosen = parser.add_argument_group("metrics")
    chosen.add_argument(
        "-m", "--metric", action="append", metavar="METRIC", help=f"a metric; give it again for more ({DEFAULT_METRIC})"
    )
    for name, settings in METRIC_OPTIONS.items():
        chosen.add_argument(f"--{name.replace('_', '-')}", **settings)
    drawn = parser.add_argument_group("intervals and tests")
    drawn.add_argument("--ci", action="store_true", help="add bootstrap intervals")
    drawn.add_argument("--test", action="store_true", help="test the differences between systems")
    drawn.add_argument("--method", choices=("bootstrap", "randomisation"), default="bootstrap", help="the paired test")
    drawn.add_argument("--baseline", metavar="NAME", help="test every system against this one instead of all pairs")
    drawn.add_argument("--resamples", type=int, default=10_000, metavar="N", help="draws (10000)")
    drawn.add_argument("--confidence", type=float, default=0.95, metavar="C", help="of intervals (0.95)")
    drawn.add_argument("--seed", type=int, default=12345, metavar="N", help="of all draws (12345)")
    out = parser.add_argument_group("output")
    out.add_argument("--format", choices=("text", "json"), default="text", help="text (default) or json")
    out.add_argument("--segments", action="store_true", help="add the score of every segment")
    out.add_argument("--digits", type=int, default=2, metavar="N", help="decimals in text (2)")
    out.add_argument("--out", metavar="FILE", default="-", help="write there instead of standard output")
    out.add_argument("--threads", type=int, metavar="N", help="threads to use (all cores); no number depends on it")
    out.add_argument("--quiet", action="store_true", help="no progress bars and no warnings")


def run(options: argparse.Namespace) -> None:
    """Score and print."""
    from trubleu.cli.progress import Bars, told_once
    from trubleu.data import atomic_writer, check_writable, read_outputs
    from trubleu.errors import UsageError
    from trubleu.report.scores import Sampling, score_systems

    if options.baseline is not None and not options.test:
        raise UsageError("--baseline needs --test; add it, or leave the baseline out")
    if not 0 <= options.digits <= 17:
        raise UsageError(f"--digits {options.digits} must lie between 0 and 17")
    check_writable(options.out)
    metrics = build_metrics(options)
    with told_once(quiet=options.quiet), Bars(quiet=options.quiet) as bars:
        references = read_references(options)
        systems = {system.name: system.texts for system in read_outputs(options.systems, references)}
        prepare(references, metrics.values(), len(systems))
        report = score_systems(
            systems,
            references,
            metrics,
            sampling=Sampling(
                interval=options.ci,
                test=options.method if options.test else None,
                baseline=options.baseline,
                resamples=options.resamples,
                confidence=options.confidence,
                seed=options.seed,
            ),
            segments=options.segments,
            threads=options.threads,
            steps=bars.stage,
        )
    if options.format == "json":
        import json

        text = json.dumps(report.to_dict(), ensure_ascii=False, indent=1) + "\n"
    else:
        from trubleu.report.text import render

        text = render(report, options.digits)
    with atomic_writer(options.out) as file:
        file.write(text)


def read_references(options: argparse.Namespace) -> References:
    """Read the references from whichever options name them."""
    from trubleu.data import References, check_standard_input_once, parse_system
    from trubleu.errors import UsageError

    if (options.refs is None) == (options.ref is None):
        raise UsageError("references are given with --refs FILE, or with one or more --ref FILE")
    files = [options.refs] if options.refs is not None else options.ref + (options.weight or [])
    check_standard_input_once([*files, *(parse_system(system)[1] for system in options.systems)])
    if options.refs is not None:
        if options.weight:
            raise UsageError("--weight goes with --ref; a file given with --refs holds its weights itself")
        return References.read(options.refs)
    return References.read_parallel(options.ref, options.weight or ())


def build_metrics(options: argparse.Namespace) -> dict[str, Metric]:
    """Make the metrics; options that were given for all go to those that have them."""
    from trubleu.errors import UsageError
    from trubleu.metrics.registry import parse

    given = {name: getattr(options, name) for name in METRIC_OPTIONS if getattr(options, name) not in (None, False)}
    specs = [parse(text) for text in options.metric or [DEFAULT_METRIC]]
    for name in given:
        if not any(spec.accepts(name) for spec in specs):
            raise UsageError(f"--{name.replace('_', '-')} changes nothing, as none of the metrics takes it from there")
    metrics: dict[str, Metric] = {}
    for spec in specs:
        if spec.text in metrics:
            raise UsageError(f"the metric {spec.text} is given twice; give it once")
        metrics[spec.text] = spec.build(**{name: value for name, value in given.items() if spec.accepts(name)})
    return metrics


def prepare(references: References, metrics: Iterable[Metric], systems: int) -> None:
    """Tokenise the references once where several scorings share their tokens."""
    from trubleu.metrics.matching import Matching

    matchings = [metric.matching for metric in metrics if isinstance(getattr(metric, "matching", None), Matching)]
    uses = Counter((matching.tokenizer, matching.lowercase) for matching in matchings)
    for (tokenizer, lowercase), metrics_of_these in uses.items():
        if metrics_of_these * systems >= PREPARE_FROM:
            references.prepare(tokenize=tokenizer, lowercase=lowercase)
