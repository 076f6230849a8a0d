"""``trubleu judge``: how well do metrics agree with people? Contains the protocols ``pairs`` and ``wmt``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli.judge_ratings import (
    add_draw_options,
    add_rating_options,
    add_ratings_parser,
    add_score_options,
    add_sets_parser,
)
from trubleu.cli.options import (
    FORMATS,
    add_corpus_options,
    add_judge_engine_group,
    add_output_options,
    build_metrics,
    check_output,
    choose_metric,
    chosen_engine,
    columns_of,
    keep_inputs,
    read_corpus,
    resumable,
    write_output,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.data import Ratings, References, SegmentScores
    from trubleu.judge.pairs.results import PairsReport, SweepName
    from trubleu.judge.wmt.results import WmtReport
    from trubleu.judge.wmt.task import WmtTask
    from trubleu.metrics import Metric


DEFAULT_CONDITIONS: Final = ("single", "w>=0.6", "all")
POOLED_CONDITIONS: Final = ("given", "all")

EPILOG = """\
examples:
  trubleu judge pairs --refs refs.jsonl --ratings ratings.csv A.txt B.txt C.txt
  trubleu judge pairs --refs refs.jsonl --ratings ratings.csv A.txt B.txt -m bleu-2 -m dbleu-2 --report out.html
  trubleu judge pairs SET --repeated-ratings keep --report out.html
  trubleu judge pairs --ref gold.txt --ratings ratings.tsv --pool-outputs --condition given --condition all A.txt B.txt

conditions: which references count. single (the one with the origin seed, else the first), all, w>=T (those with a
weight of at least T; a segment without any keeps its best one), given (without pooled outputs).
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command with its protocols."""
    parser = commands.add_parser(
        "judge",
        help="measure how well metrics agree with people",
        description="Measure how well metrics agree with people, how sure that is, and whether one is better.",
    )
    protocols = parser.add_subparsers(title="protocols", dest="protocol", metavar="PROTOCOL", required=True)
    add_ratings_parser(protocols)
    add_sets_parser(protocols)
    add_pairs_parser(protocols)
    add_wmt_parser(protocols)


def add_pairs_parser(protocols: argparse._SubParsersAction[Any]) -> None:
    """Add ``judge pairs``, the ΔBLEU protocol."""
    parser = protocols.add_parser(
        "pairs",
        help="units of segments, pairs of systems, rated outputs: the protocol of the ΔBLEU paper",
        description="Hold differences between systems' scores against differences between their ratings.",
        epilog=EPILOG,
    )
    parser.set_defaults(run=run_pairs)
    add_corpus_options(parser, "judge pairs", without=["no_positive", "scale"])
    people = parser.add_argument_group("what people think")
    people.add_argument(
        "--ratings",
        metavar="FILE",
        help="ratings of outputs: item, system, rater, score (and pair, aspect); a table, JSON lines or Parquet",
    )
    add_rating_options(people)
    add_score_options(people)
    units = parser.add_argument_group("protocol")
    units.add_argument("--pairs", default="all", metavar="A:B,…", help="pairs of systems (all)")
    units.add_argument(
        "--condition",
        action="append",
        metavar="WHICH",
        help=f"which references count; repeat for more ({', '.join(DEFAULT_CONDITIONS)}; "
        f"with --pool-outputs {', '.join(POOLED_CONDITIONS)})",
    )
    units.add_argument("--unit", type=int, default=100, metavar="M", help="segments per unit (100)")
    units.add_argument("--draws", type=int, default=1000, metavar="N", help="random assignments to units (1000)")
    add_draw_options(units, "bootstrap replicates (1000)")
    units.add_argument("--partial", action="store_true", help="keep a pair's last unit although it is smaller")
    units.add_argument(
        "--sweeps", default="threshold,unit,order", metavar="LIST", help="threshold, unit, order (all three), or none"
    )
    units.add_argument("--sweep-draws", type=int, default=200, metavar="N", help="draws at each point (200)")
    units.add_argument("--sweep-resamples", type=int, default=200, metavar="N", help="replicates at each point (200)")
    units.add_argument(
        "--pool-outputs",
        action="store_true",
        help="rated outputs of the other systems join the references, weighted by their ratings",
    )
    units.add_argument(
        "--drop-equal",
        action="append",
        metavar="NAME",
        help="leave out references equal to this system's output when it is scored; all for every system",
    )
    out = add_output_options(parser, digits=3)
    out.add_argument("--report", metavar="FILE.html", help="also write a page with tables, charts and segments")
    out.add_argument("--browse", type=int, default=200, metavar="N", help="segments to look at on the page (200)")
    out.add_argument("--threads", type=int, metavar="N", help="threads to use (all cores); no number depends on it")
    add_judge_engine_group(parser)


def run_pairs(options: argparse.Namespace) -> None:
    """Judge and print."""
    from trubleu.data import parse_system
    from trubleu.errors import UsageError
    from trubleu.execution.output_parts import prepare_folder
    from trubleu.execution.progress import Bars
    from trubleu.files.paths import exists
    from trubleu.judge import judge_pairs
    from trubleu.judge.pairs.results import Protocol
    from trubleu.render import render_pairs

    if options.ratings is None:
        gone = [path for _, path in map(parse_system, options.systems) if not exists(path)]
        what = f"there is no {gone[0]}" if gone else "there is nothing to judge by"
        raise UsageError(f"{what}; give --ratings FILE with outputs and references, or a set made by trubleu import")
    check_output(options)
    _check_extras(options)
    if options.metric:
        build_metrics(options)  # fail on wrong names before reading files
    protocol = Protocol(
        unit=options.unit,
        draws=options.draws,
        resamples=options.resamples,
        sweeps=_sweeps(options.sweeps),
        sweep_draws=options.sweep_draws,
        sweep_resamples=options.sweep_resamples,
        confidence=options.confidence,
        seed=options.seed,
        partial=options.partial,
    )
    with (
        resumable(options) as cache,
        Bars(quiet=options.quiet) as bars,
        chosen_engine(options) as engine,
    ):
        if options.resume is not None:
            prepare_folder(options.resume)  # fail before reading files if it is not writable
        references, systems = read_corpus(options)
        references = _rated(references, options)
        choose_metric(options, weighted=references.weighted() or options.pool_outputs)
        report = judge_pairs(
            systems,
            references,
            _ratings(options),
            build_metrics(options),
            pairs=options.pairs,
            conditions=options.condition or _conditions(options, references),
            protocol=protocol,
            pool_outputs=options.pool_outputs,
            drop_equal=options.drop_equal or (),
            scores=_scores(options),
            lower_is_better=options.lower_is_better or (),
            threads=options.threads,
            engine=engine,
            keep=options.resume,
            cache=cache,
            steps=bars.stage,
        )
        _write_extras(report, options)
    write_output(options, render_pairs(report, options.format, options.digits))


def _conditions(options: argparse.Namespace, references: References) -> tuple[str, ...]:
    """Return the paper's conditions that select something; with a pool, only what the pool adds matters."""
    if options.pool_outputs:
        return POOLED_CONDITIONS
    return tuple(each for each in DEFAULT_CONDITIONS if references.weighted() or not each.startswith("w"))


def _sweeps(written: str) -> tuple[SweepName, ...]:
    if written == "none":
        return ()
    names: Any = tuple(name.strip() for name in written.split(","))
    return names  # type: ignore[no-any-return] # Protocol refuses what is no sweep


def _ratings(options: argparse.Namespace) -> Ratings:
    from trubleu.data import Ratings
    from trubleu.data.rating_files import FIELDS
    from trubleu.data.weights import parse_scale

    return Ratings.read(
        options.ratings,
        scale=options.scale and parse_scale(options.scale),
        repeats=options.repeated_ratings,
        columns=columns_of(options, options.ratings, FIELDS),
        only=options.aspect,
    )


def _rated(references: References, options: argparse.Namespace) -> References:
    from trubleu.metrics.dbleu import all_rated

    return all_rated(references, options.unrated_as)


def _scores(options: argparse.Namespace) -> list[SegmentScores]:
    from trubleu.data import SegmentScores
    from trubleu.errors import UsageError

    wanted = {name: getattr(options, name) for name in ("language_pair", "testset", "lower_is_better")}
    for name, value in wanted.items():
        if value is not None and not options.scores:
            raise UsageError(f"--{name.replace('_', '-')} changes nothing without --scores; leave it out")
    found = [SegmentScores.read(path) for path in options.scores or ()]
    return [scores.select(language_pair=options.language_pair, testset=options.testset) for scores in found]


def _check_extras(options: argparse.Namespace) -> None:
    """Raise an error for outputs that cannot be written or missing packages, before any work."""
    from trubleu.errors import UsageError
    from trubleu.files.writer import check_writable

    if options.browse < 0:
        raise UsageError(f"--browse {options.browse} must be 0 or more")
    if options.report is not None:
        from trubleu.render.explanation_page import load_page_templates

        load_page_templates()
        check_writable(options.report)
        keep_inputs(options, options.report)


def _write_extras(report: PairsReport, options: argparse.Namespace) -> None:
    if options.report is not None:
        from trubleu.files.writer import atomic_writer
        from trubleu.render.judge_page import render_judge_page

        page = render_judge_page(report, browse=options.browse)
        with atomic_writer(options.report) as file:
            file.write(page)


WMT_DIGITS: Final = 3

WMT_EPILOG = """\
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


def add_wmt_parser(protocols: argparse._SubParsersAction[Any]) -> None:
    """Add ``judge wmt``."""
    parser = protocols.add_parser(
        "wmt",
        help="official scores of systems, ranked pairs, direct assessments: the protocol of WMT's metrics tasks",
        description="Correlate metrics with people as the metrics tasks of WMT do. What is not given is not computed.",
        epilog=WMT_EPILOG,
    )
    parser.set_defaults(run=run_wmt)
    add_corpus_options(parser, "judge wmt", systems="*", without=["no_positive", "scale", "columns", "only_common"])
    people = parser.add_argument_group("what people think")
    people.add_argument(
        "--human", metavar="FILE", help="official scores of systems: one NAME SCORE (LOW, HIGH) per line"
    )
    people.add_argument("--rankings", metavar="FILE", help="ranked pairs of outputs: WMT's CSV, maybe compressed")
    people.add_argument(
        "--assessments",
        action="append",
        metavar="[NAME=]FILE",
        help="direct assessments of a system's outputs, one number per line or nothing; repeat for more systems",
    )
    people.add_argument("--tasks", metavar="FILE.toml", help="several language pairs; instead of all files above")
    add_score_options(
        parser.add_argument_group("other metrics"),
        "other metrics' scores of segments, or of systems if it ends in .sys.score(.gz)",
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
    add_draw_options(drawn, "draws (1000); 0 for no intervals", "both")
    out = add_output_options(parser, formats=(*FORMATS, "html"), digits=WMT_DIGITS)
    out.add_argument(
        "--write-scores", metavar="PREFIX", help="write the metrics' PREFIX.seg.score.gz and PREFIX.sys.score.gz"
    )
    out.add_argument("--threads", type=int, metavar="N", help="threads to use (all cores); no number depends on it")
    add_judge_engine_group(parser)


def run_wmt(options: argparse.Namespace) -> None:
    """Judge and print."""
    from trubleu.execution.output_parts import prepare_folder
    from trubleu.execution.progress import Bars
    from trubleu.judge.wmt.judge import judge_wmt
    from trubleu.render.judge_wmt import render_wmt, render_wmt_page

    check_output(options)
    _check(options)
    if options.format == "html":
        from trubleu.render.explanation_page import load_page_templates

        load_page_templates()  # fail on missing packages before reading files
    if options.metric:
        _build(options)  # fail on wrong names before reading files
    with (
        resumable(options) as cache,
        Bars(quiet=options.quiet) as bars,
        chosen_engine(options) as engine,
    ):
        if options.resume is not None:
            prepare_folder(options.resume)  # fail before reading files if it is not writable
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
            cache=cache,
            steps=bars.stage,
        )
        _write_scores(options, report)
    page = options.format == "html"
    write_output(
        options, render_wmt_page(report, options.digits) if page else render_wmt(report, options.format, options.digits)
    )


def _check(options: argparse.Namespace) -> None:
    """Raise an error for conflicting options, before reading files."""
    from trubleu.errors import UsageError
    from trubleu.files.writer import check_writable
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
    from trubleu.judge.wmt.task import TaskFiles, read_tasks

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
    """Create the metrics, if there is something to compare outputs with."""
    references = [task.references for task in tasks if task.references is not None]
    if not options.metric and not references:
        return {}
    choose_metric(options, weighted=any(each.weighted() for each in references))
    return _build(options)


def _build(options: argparse.Namespace) -> dict[str, Metric]:
    """Create the metrics; --unrated-as also selects segments, so it is valid even if no metric takes it."""
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
