"""``trubleu judge wmt``: metrics against official scores of systems, ranked pairs of outputs and direct assessments."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli.engine import add_judge_engine_group, chosen_engine
from trubleu.cli.output import add_output_options, check_output, keep_inputs, write_output
from trubleu.cli.score import add_corpus_options, build_metrics, choose_metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.judge.wmt.results import WmtReport
    from trubleu.judge.wmt.task import WmtTask
    from trubleu.metrics import Metric

DEFAULT_METRICS: Final = ("bleu-4", "sbleu-4[variant=sacrebleu]")
DIGITS: Final = 3

EPILOG = """\
examples:
  trubleu judge wmt --ref ref.en --human official.txt --rankings rankings.csv.gz systems/*.de-en
  trubleu judge wmt --ref ref.en --assessments human.txt mt.txt -m 'sbleu-4[variant=sacrebleu]' -m chrf
  trubleu judge wmt --tasks tasks.toml -m bleu -m chrf --scores meteor.seg.score.gz --write-scores ours

tasks.toml has a table for each language pair, with paths relative to it:
  [de-en]
  references = "references/newstest2015-deen-ref.en"
  outputs = "system-outputs/de-en/*"
  human = "official_scores/wmt15.deu-eng.txt"
  rankings = "judgements/wmt15.deu-eng.csv.gz"
"""


def add_parser(protocols: argparse._SubParsersAction[Any]) -> None:
    """Add the protocol and its options."""
    parser = protocols.add_parser(
        "wmt",
        help="official scores of systems, ranked pairs, direct assessments: the protocol of WMT's metrics tasks",
        description="Correlate metrics with people as the metrics tasks of WMT do. What is not given is not computed.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add_corpus_options(parser, " and ".join(DEFAULT_METRICS), systems="*", without=["no_positive"])
    people = parser.add_argument_group("what people think")
    people.add_argument("--human", metavar="FILE", help="official scores of systems: NAME SCORE (LOW, HIGH) a line")
    people.add_argument("--rankings", metavar="FILE", help="ranked pairs of outputs: WMT's CSV, maybe compressed")
    people.add_argument(
        "--assessments",
        action="append",
        metavar="[NAME=]FILE",
        help="direct assessments of a system's outputs, one number a line or nothing; again for more systems",
    )
    people.add_argument("--tasks", metavar="FILE.toml", help="several language pairs; instead of all files above")
    people.add_argument("--language-pair", metavar="NAME", help="what the one language pair is called")
    people.add_argument("--testset", metavar="NAME", help="which test set is meant in files of scores")
    others = parser.add_argument_group("other metrics")
    others.add_argument(
        "--scores",
        action="append",
        metavar="FILE",
        help="other metrics' scores of segments, or of systems if it ends in .sys.score(.gz)",
    )
    others.add_argument(
        "--lower-is-better", action="append", metavar="NAME", help="a metric in --scores for which that is so"
    )
    drawn = parser.add_argument_group("protocol")
    drawn.add_argument("--tau", default="wmt14", metavar="NAME", help="wmt12, wmt13, wmt14 (default) or hties")
    drawn.add_argument(
        "--identical",
        choices=("expanded", "collapsed"),
        default="expanded",
        metavar="HOW",
        help="systems that wrote the same text: expanded (default) or collapsed into one",
    )
    drawn.add_argument(
        "--resample",
        choices=("segments", "systems", "both"),
        default="both",
        metavar="WHAT",
        help="what system-level intervals draw: segments, systems or both (default)",
    )
    drawn.add_argument("--resamples", type=int, default=1000, metavar="N", help="draws (1000); 0 for no intervals")
    drawn.add_argument("--confidence", type=float, default=0.95, metavar="C", help="of intervals (0.95)")
    drawn.add_argument("--seed", type=int, default=12345, metavar="N", help="of all draws (12345)")
    out = add_output_options(parser, digits=DIGITS)
    out.add_argument(
        "--write-scores", metavar="PREFIX", help="write the metrics' PREFIX.seg.score.gz and PREFIX.sys.score.gz"
    )
    out.add_argument("--threads", type=int, metavar="N", help="threads to use (all cores); no number depends on it")
    add_judge_engine_group(parser)


def run(options: argparse.Namespace) -> None:
    """Judge and print."""
    from trubleu.cli.progress import Bars, told_once
    from trubleu.engines.output import prepare_folder
    from trubleu.judge.wmt.judging import judge_wmt
    from trubleu.judge.wmt.tables import render_wmt

    check_output(options)
    _check(options)
    if options.metric:
        _build(options)  # a wrong name is said before files are read
    with told_once(quiet=options.quiet), Bars(quiet=options.quiet) as bars, chosen_engine(options) as engine:
        if options.resume is not None:
            prepare_folder(options.resume)  # if that cannot be, it is said before files are read
        tasks = _tasks(options)
        report = judge_wmt(
            tasks,
            _metrics(options, tasks),
            tau=options.tau,
            identical=options.identical,
            resample=options.resample,
            resamples=options.resamples,
            confidence=options.confidence,
            seed=options.seed,
            unrated_as=options.unrated_as,
            lower_is_better=options.lower_is_better or (),
            threads=options.threads,
            engine=engine,
            keep=options.resume,
            steps=bars.stage,
        )
        _write_scores(options, report)
    write_output(options, render_wmt(report, options.format, options.digits))


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not go together, before any file is read."""
    from trubleu.data import check_writable
    from trubleu.errors import UsageError
    from trubleu.judge.wmt.tau import check_variant

    check_variant(options.tau)
    of_one = ("refs", "ref", "weight", "source", "human", "rankings", "assessments", "language_pair", "testset")
    if options.tasks is not None:
        given = [name for name in of_one if getattr(options, name) is not None]
        if given or options.systems:
            what = f"--{given[0].replace('_', '-')}" if given else options.systems[0]
            raise UsageError(f"{what} is of one language pair; with --tasks it belongs into {options.tasks}")
    elif options.refs is not None and options.ref is not None:
        raise UsageError("references are given with --refs FILE, or with one or more --ref FILE, not with both")
    elif options.weight and not options.ref:
        raise UsageError("--weight goes with --ref; a file given with --refs holds its weights itself")
    elif not options.systems:
        raise UsageError("there are no outputs; name the systems' files, or give --tasks FILE.toml")
    elif options.human is None and options.rankings is None and not options.assessments:
        raise UsageError("there is nothing to judge by; give --human, --rankings or --assessments")
    elif options.refs is None and options.ref is None and (options.metric or not options.scores):
        raise UsageError("metrics need references; give --refs FILE, or one or more --ref FILE")
    if options.write_scores is not None:
        for path in _score_paths(options.write_scores):
            check_writable(path)
            keep_inputs(options, path)


def _tasks(options: argparse.Namespace) -> list[WmtTask]:
    from trubleu.judge.wmt.files import TaskFiles, read_tasks

    scores = tuple(options.scores or ())
    if options.tasks is not None:
        return read_tasks(options.tasks, scores)
    files = TaskFiles(
        references=options.refs if options.refs is not None else tuple(options.ref or ()),
        weights=tuple(options.weight or ()),
        source=options.source,
        outputs=tuple(options.systems),
        human=options.human,
        rankings=options.rankings,
        assessments=tuple(options.assessments or ()),
        scores=scores,
        testset=options.testset or "",
    )
    return [files.read(options.language_pair)]


def _metrics(options: argparse.Namespace, tasks: Sequence[WmtTask]) -> dict[str, Metric]:
    """Make the metrics, if there is something to compare outputs with."""
    references = [task.references for task in tasks if task.references is not None]
    if not options.metric and not references:
        return {}
    if not options.metric:
        options.metric = list(DEFAULT_METRICS)
    choose_metric(options, weighted=any(each.weighted() for each in references))
    return _build(options)


def _build(options: argparse.Namespace) -> dict[str, Metric]:
    """Make the metrics; --unrated-as also decides which segments are left out, so none of them need take it."""
    from trubleu.metrics.registry import parse

    if not any(parse(text).accepts("unrated_as") for text in options.metric):
        options = argparse.Namespace(**{**vars(options), "unrated_as": None})
    return build_metrics(options)


def _score_paths(prefix: str) -> tuple[str, str]:
    return f"{prefix}.seg.score.gz", f"{prefix}.sys.score.gz"


def _write_scores(options: argparse.Namespace, report: WmtReport) -> None:
    from trubleu.errors import UsageError
    from trubleu.judge.wmt.scores import score_files

    if options.write_scores is None:
        return
    if not any(task.segment_scores for task in report.scored):
        raise UsageError("--write-scores writes scores that are computed here, and there are none; name a metric")
    for scores, path in zip(score_files(report.scored), _score_paths(options.write_scores), strict=True):
        scores.write(path)
