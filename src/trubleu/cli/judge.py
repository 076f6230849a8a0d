"""``trubleu judge``: how well do metrics agree with people?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli import judge_wmt
from trubleu.cli.engine import add_judge_engine_group, chosen_engine
from trubleu.cli.output import add_output_options, check_output, keep_inputs, write_output
from trubleu.cli.score import add_corpus_options, build_metrics, read_corpus

if TYPE_CHECKING:
    from trubleu.data import Ratings, References, SegmentScores
    from trubleu.judge.pairs.results import PairsReport, SweepName

DEFAULT_METRICS: Final = ("bleu-2", "sbleu-2", "dbleu-2")
DEFAULT_CONDITIONS: Final = ("single", "w>=0.6", "all")
POOLED_CONDITIONS: Final = ("given", "all")

EPILOG = """\
examples:
  trubleu judge pairs --refs refs.jsonl --ratings ratings.csv A.txt B.txt C.txt
  trubleu judge pairs --refs refs.jsonl --ratings ratings.csv A.txt B.txt -m bleu-2 -m dbleu-2 --report out.html
  trubleu judge pairs --ref gold.txt --ratings ratings.tsv --pool-outputs --condition given --condition all A.txt B.txt

conditions: which references count. single (the one with the origin seed, else the first), all, w>=T (those with a
weight of at least T; a segment without any keeps its best one), given (without pooled outputs).
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command with its two protocols."""
    parser = commands.add_parser(
        "judge",
        help="measure how well metrics agree with people",
        description="Measure how well metrics agree with people, how sure that is, and whether one is better.",
        allow_abbrev=False,
    )
    protocols = parser.add_subparsers(title="protocols", dest="protocol", metavar="PROTOCOL", required=True)
    add_pairs_parser(protocols)
    judge_wmt.add_parser(protocols)


def add_pairs_parser(protocols: argparse._SubParsersAction[Any]) -> None:
    """Add the ΔBLEU protocol."""
    parser = protocols.add_parser(
        "pairs",
        help="units of segments, pairs of systems, rated outputs: the protocol of the ΔBLEU paper",
        description="Hold differences between systems' scores against differences between their ratings.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add_corpus_options(parser, ", ".join(DEFAULT_METRICS), without=["no_positive"])
    people = parser.add_argument_group("what people think")
    people.add_argument(
        "--ratings",
        required=True,
        metavar="FILE",
        help="ratings of outputs: item, system, rater, score (and pair, aspect); CSV, TSV, JSON lines or Parquet",
    )
    people.add_argument(
        "--aspect", action="append", metavar="NAME", help="only ratings of this; give it again for more (all, averaged)"
    )
    people.add_argument("--scale", default="1-5", metavar="LOW-HIGH", help="the lowest and the highest rating (1-5)")
    people.add_argument(
        "--repeated-ratings",
        choices=("refuse", "keep", "first"),
        default="refuse",
        metavar="RULE",
        help="a rater's second rating of the same: refuse (default), keep or first",
    )
    people.add_argument(
        "--scores", action="append", metavar="FILE", help="segment scores of other metrics: .seg.score, CSV, JSON lines"
    )
    people.add_argument(
        "--lower-is-better", action="append", metavar="NAME", help="a metric in --scores for which that is so"
    )
    people.add_argument("--language-pair", metavar="NAME", help="which language pair is meant in files of scores")
    people.add_argument("--testset", metavar="NAME", help="which test set is meant in files of scores")
    units = parser.add_argument_group("protocol")
    units.add_argument("--pairs", default="all", metavar="A:B,…", help="pairs of systems (all)")
    units.add_argument(
        "--condition",
        action="append",
        metavar="WHICH",
        help=f"which references count; give it again for more ({', '.join(DEFAULT_CONDITIONS)}; "
        f"with --pool-outputs {', '.join(POOLED_CONDITIONS)})",
    )
    units.add_argument("--unit", type=int, default=100, metavar="M", help="segments a unit (100)")
    units.add_argument("--draws", type=int, default=1000, metavar="N", help="random assignments to units (1000)")
    units.add_argument("--resamples", type=int, default=1000, metavar="N", help="bootstrap replicates (1000)")
    units.add_argument("--confidence", type=float, default=0.95, metavar="C", help="of intervals (0.95)")
    units.add_argument("--seed", type=int, default=12345, metavar="N", help="of all draws (12345)")
    units.add_argument("--partial", action="store_true", help="keep a pair's last unit although it is smaller")
    units.add_argument(
        "--sweeps", default="threshold,unit,order", metavar="LIST", help="threshold, unit, order (all three), or none"
    )
    units.add_argument("--sweep-draws", type=int, default=1000, metavar="N", help="draws at each point (1000)")
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
    out.add_argument("--report", metavar="FILE.html", help="also write a page with tables, figures and segments")
    out.add_argument("--browse", type=int, default=200, metavar="N", help="segments to look at on the page (200)")
    out.add_argument("--figures", metavar="FOLDER", help="also write figures there")
    out.add_argument("--figure-format", default="svg", metavar="LIST", help="svg (default), pdf, png, or several")
    out.add_argument("--threads", type=int, metavar="N", help="threads to use (all cores); no number depends on it")
    add_judge_engine_group(parser)


def run(options: argparse.Namespace) -> None:
    """Judge and print."""
    from trubleu.cli.progress import Bars, told_once
    from trubleu.engines.output import prepare_folder
    from trubleu.judge import judge_pairs, render_pairs
    from trubleu.judge.pairs.protocol import Protocol

    check_output(options)
    _check_extras(options)
    if options.metric:
        build_metrics(options)  # a wrong name is said before files are read
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
    with told_once(quiet=options.quiet), Bars(quiet=options.quiet) as bars, chosen_engine(options) as engine:
        if options.resume is not None:
            prepare_folder(options.resume)  # if that cannot be, it is said before files are read
        references, systems = read_corpus(options)
        references = _rated(references, options)
        _choose_metrics(options, references)
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
            steps=bars.stage,
        )
        _write_extras(report, options)
    write_output(options, render_pairs(report, options.format, options.digits))


def _conditions(options: argparse.Namespace, references: References) -> tuple[str, ...]:
    """Return the paper's conditions, those that choose something; with a pool, it is what the pool adds that counts."""
    if options.pool_outputs:
        return POOLED_CONDITIONS
    return tuple(each for each in DEFAULT_CONDITIONS if references.weighted() or not each.startswith("w"))


def _sweeps(written: str) -> tuple[SweepName, ...]:
    if written == "none":
        return ()
    names: Any = tuple(name.strip() for name in written.split(","))
    return names  # type: ignore[no-any-return] # Protocol refuses what is no sweep


def _ratings(options: argparse.Namespace) -> Ratings:
    import re

    from trubleu.data import Ratings
    from trubleu.errors import UsageError

    written = re.fullmatch(r"\s*(-?\d+)\s*-\s*(-?\d+)\s*", options.scale)
    if written is None:
        raise UsageError(f"--scale {options.scale} is no scale; write the lowest and the highest rating, such as 1-5")
    ratings = Ratings.read(options.ratings, scale=(int(written[1]), int(written[2])), repeats=options.repeated_ratings)
    return ratings.select(aspect=options.aspect) if options.aspect else ratings


def _rated(references: References, options: argparse.Namespace) -> References:
    from trubleu.metrics.weights import all_rated

    return all_rated(references, options.unrated_as)


def _choose_metrics(options: argparse.Namespace, references: References) -> None:
    """Fill in metrics if none was named; without any weights ΔBLEU would be BLEU."""
    from trubleu.cli.score import choose_metric

    weighted = references.weighted() or options.pool_outputs
    if not options.metric:
        options.metric = [name for name in DEFAULT_METRICS if weighted or not name.startswith("d")]
    choose_metric(options, weighted=weighted)


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
    """Say what cannot be written, or is not installed, before any work is done."""
    from trubleu.data import check_writable
    from trubleu.errors import UsageError

    if options.browse < 0:
        raise UsageError(f"--browse {options.browse} must be 0 or more")
    if options.report is not None:
        from trubleu.judge.show.page import load_templates

        load_templates()
        check_writable(options.report)
        keep_inputs(options, options.report)
    if options.figures is not None:
        from trubleu.judge.show.figures import check_figures

        check_figures(options.figures, _formats(options))


def _formats(options: argparse.Namespace) -> tuple[str, ...]:
    return tuple(each.strip() for each in options.figure_format.split(","))


def _write_extras(report: PairsReport, options: argparse.Namespace) -> None:
    if options.report is not None:
        from trubleu.data import atomic_writer
        from trubleu.judge.show.page import render_page

        page = render_page(report, browse=options.browse)
        with atomic_writer(options.report) as file:
            file.write(page)
    if options.figures is not None:
        from trubleu.judge.show.figures import write_figures

        write_figures(report, options.figures, formats=_formats(options))
