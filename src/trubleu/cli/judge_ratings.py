"""``trubleu judge ratings`` and ``judge sets``: compare metrics with ratings of outputs, on one set or on many."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from trubleu.cli.options import (
    FORMATS,
    METRIC_OPTIONS,
    add_corpus_options,
    add_output_options,
    build_metrics,
    check_output,
    choose_metric,
    columns_of,
    take_set,
    write_output,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.data import Rankings, Ratings, References, SegmentScores
    from trubleu.execution.progress import Bars
    from trubleu.judge import RatingsReport

RATINGS_EPILOG = """\
examples:
  trubleu judge ratings SET -m trubleu -m chrf -m bleu-4
  trubleu judge ratings SET --format html --out page.html
  trubleu judge ratings ratings.csv --refs refs.jsonl A.txt B.txt C.txt
  trubleu judge ratings ratings.csv --scores metrics.csv --lower-is-better ter
  trubleu judge ratings rankings.csv --ref ref.en systems/*.de-en

segment-level measures: acc-eq-calibrated, acc-eq, and COEFFICIENT-GROUPING with pearson, spearman, kendall (τ-b) or
kendall-c (τ-c) and pooled, item or system. System-level measures: soft-pairwise-accuracy, pairwise-accuracy, pearson,
spearman, kendall. Tests: perm-input (default), perm-both, perm-system, bootstrap-segments, -systems, -both.
"""

SETS_EPILOG = """\
examples:
  trubleu judge sets sets/* -m trubleu -m chrf -m bleu-4
  trubleu judge sets usr-topical usr-persona mqm --format html --out page.html
"""


def add_ratings_parser(protocols: argparse._SubParsersAction[Any]) -> None:
    """Add ``judge ratings``."""
    parser = protocols.add_parser(
        "ratings",
        help="ratings or rankings of outputs: segment and system level, by the measures that the field uses today",
        description="Hold metrics against ratings or rankings of outputs. What there is, is found out from the data.",
        epilog=RATINGS_EPILOG,
    )
    parser.set_defaults(run=run_ratings, set_name=None)
    add_corpus_options(parser, "judge ratings", systems="*", without=["no_positive", "scale", "only_common"])
    people = parser.add_argument_group("what people think")
    people.add_argument(
        "--ratings",
        metavar="FILE",
        help="ratings or rankings of outputs, if they do not stand first among the arguments",
    )
    add_rating_options(people, without=True)
    add_score_options(people)
    _add_protocol_options(parser)
    out = add_output_options(parser, formats=(*FORMATS, "html"), digits=3)
    out.add_argument("--all-pairs", action="store_true", help="also print the comparisons of all pairs of metrics")
    out.add_argument("--threads", type=int, metavar="N", help="threads to use (all cores); no number depends on it")


def add_sets_parser(protocols: argparse._SubParsersAction[Any]) -> None:
    """Add ``judge sets``."""
    parser = protocols.add_parser(
        "sets",
        help="the same metrics on many sets: how far each is from the best",
        description="Judge metrics on many sets, as judge ratings does, and put them side by side.",
        epilog=SETS_EPILOG,
    )
    parser.set_defaults(run=run_sets, metrics_of="judge ratings", weight=None, source=None)
    parser.add_argument("files", nargs="+", metavar="[NAME=]SET", help="a set made by trubleu import")
    chosen = parser.add_argument_group("metrics")
    chosen.add_argument(
        "-m", "--metric", action="append", metavar="METRIC", help="a metric; repeat for more (as judge ratings)"
    )
    for name in ("tokenize", "lowercase"):
        chosen.add_argument(f"--{name}", **METRIC_OPTIONS[name])
    add_rating_options(parser.add_argument_group("what people think"), without=True)
    _add_protocol_options(parser)
    out = add_output_options(parser, formats=(*FORMATS, "html"), digits=3)
    out.add_argument("--threads", type=int, metavar="N", help="threads to use (all cores); no number depends on it")


def add_rating_options(people: argparse._ArgumentGroup, *, without: bool = False) -> None:
    """Add the options of rating files, and optionally ``--without``."""
    people.add_argument(
        "--aspect",
        action="append",
        metavar="NAME",
        help="use only ratings of this aspect; repeat for more (all, averaged)",
    )
    if without:
        people.add_argument(
            "--without",
            action="append",
            metavar="SYSTEM",
            help="leave out a system, such as people whose texts are among the references; of one set only: SET:SYSTEM",
        )
    people.add_argument("--scale", metavar="LOW:HIGH", help="the worst and the best rating: 1:5, 0:1, -25:0 (guessed)")
    people.add_argument(
        "--repeated-ratings",
        choices=("refuse", "mean", "first", "last", "keep"),
        default="refuse",
        metavar="RULE",
        help="a rater's second rating of the same output: refuse (default), mean, first, last, or keep both",
    )


def add_score_options(
    group: argparse._ArgumentGroup, scores: str = "segment scores of other metrics: .seg.score, CSV, JSON lines"
) -> None:
    """Add the options of score files."""
    group.add_argument("--scores", action="append", metavar="FILE", help=scores)
    group.add_argument(
        "--lower-is-better", action="append", metavar="NAME", help="a metric in --scores that is an error rate"
    )
    group.add_argument("--language-pair", metavar="NAME", help="the language pair, where files have several")
    group.add_argument("--testset", metavar="NAME", help="the test set, where files of scores have several")


def add_draw_options(
    group: argparse._ArgumentGroup, resamples: str, resample: str | None = None, *, ratings: bool = False
) -> None:
    """Add the options of intervals; the resampled unit is one of them if it has a default."""
    if resample is not None:
        more = "; or ratings: segments and the raters of references" if ratings else ""
        group.add_argument(
            "--resample",
            choices=("segments", "systems", "both", *(("ratings",) if ratings else ())),
            default=resample,
            metavar="WHAT",
            help=f"what intervals draw: segments, systems or both ({resample}){more}",
        )
    group.add_argument("--resamples", type=int, default=1000, metavar="N", help=resamples)
    group.add_argument(
        "--confidence", type=float, default=0.95, metavar="C", help="confidence of intervals and tests (0.95)"
    )
    group.add_argument("--seed", type=int, default=12345, metavar="N", help="seed of all draws (12345)")


def _add_protocol_options(parser: argparse.ArgumentParser) -> None:
    drawn = parser.add_argument_group("protocol")
    drawn.add_argument("--segment-measure", metavar="NAME", help="what is tested on outputs (acc-eq-calibrated)")
    drawn.add_argument("--system-measure", metavar="NAME", help="what is tested on systems (soft-pairwise-accuracy)")
    drawn.add_argument("--test", default="perm-input", metavar="NAME", help="between metrics (perm-input)")
    drawn.add_argument(
        "--trials", type=int, metavar="N", help="of the test (1000, or 50 for each pair of metrics if that is more)"
    )
    add_draw_options(drawn, "bootstrap replicates of intervals (1000)", "segments", ratings=True)


def run_ratings(options: argparse.Namespace) -> None:
    """Judge and print."""
    from trubleu.execution.progress import Bars
    from trubleu.files.paths import base_name

    _check(options)
    named = options.ratings
    if options.ratings is None:
        options.ratings = _first(options)
    with Bars(quiet=options.quiet) as bars:
        name = options.set_name or base_name(named or options.ratings)
        report = _judged(options, name, bars)
        write_output(options, _rendered(report, options))


def run_sets(options: argparse.Namespace) -> None:
    """Judge every set and print."""
    from pathlib import Path

    from trubleu.data import parse_system
    from trubleu.data.sets import find_set
    from trubleu.errors import UsageError, some
    from trubleu.execution.progress import Bars
    from trubleu.judge import judge_sets
    from trubleu.render.judge_sets import render_sets, render_sets_page

    _check(options)
    folders: dict[str, str] = {}
    for argument in options.files:
        given, _, path = argument.rpartition("=")
        folder = path if given else argument
        if find_set(folder) is None:
            raise UsageError(f"{folder} is not a set; make one with trubleu import")
        name = given or Path(parse_system(folder)[1]).name or folder
        if name in folders:
            raise UsageError(f"two sets are named {name}; name them with NAME=SET")
        folders[name] = folder
    sets = {name: _options_of(options, folder) for name, folder in folders.items()}
    unknown = dict.fromkeys(options.without or ())
    for name, own in sets.items():
        there = {parse_system(each)[0] for each in own.systems}
        found = {each: each.removeprefix(f"{name}:") for each in options.without or ()}
        own.without = [system for system in found.values() if system in there]
        unknown = {each: None for each in unknown if found[each] not in there}
    if unknown:
        raise UsageError(f"there is no system {some(unknown)} in any of the sets; leave out SYSTEM, or SET:SYSTEM")
    with Bars(quiet=options.quiet) as bars:
        report = judge_sets({name: _judged(own, name, bars) for name, own in sets.items()})
    if options.format == "html":
        write_output(options, render_sets_page(report, options.digits))
    else:
        write_output(options, render_sets(report, options.format, options.digits))


def _options_of(options: argparse.Namespace, folder: str) -> argparse.Namespace:
    """Return the options for judging one set."""
    own = argparse.Namespace(**vars(options))
    for left in ("refs", "ref", "ratings", "columns", "scores", "lower_is_better", "language_pair", "testset"):
        setattr(own, left, None)
    own.systems, own.unrated_as = [folder], None
    take_set(own)
    return own


def _check(options: argparse.Namespace) -> None:
    """Raise an error for outputs that cannot be written, missing packages or missing files, before reading files."""
    from trubleu.stats.metric_tests import check_test

    check_output(options)
    check_test("segment", options.segment_measure or "acc-eq", options.test)
    check_test("system", options.system_measure or "pearson", options.test)
    if options.format == "html":
        from trubleu.render.explanation_page import load_page_templates

        load_page_templates()
    if options.metric:
        build_metrics(options)


def _first(options: argparse.Namespace) -> str:
    """Remove the ratings file from the operands and return it."""
    from trubleu.errors import UsageError

    if not options.systems:
        raise UsageError("there is nothing to judge by; give a set made by trubleu import, or a file of ratings")
    first: str = options.systems.pop(0)
    return first


def _judged(options: argparse.Namespace, name: str, bars: Bars) -> RatingsReport:
    from trubleu.judge import judge_ratings

    opinions = _opinions(options)
    references, outputs = _corpus(options)
    metrics = {}
    if references is not None:
        choose_metric(options, weighted=references.weighted())
        metrics = build_metrics(options)
    return judge_ratings(
        outputs,
        references,
        opinions,
        metrics,
        scores=_scores(options),
        lower_is_better=options.lower_is_better or (),
        name=name,
        without=options.without or (),
        segment_measure=options.segment_measure,
        system_measure=options.system_measure,
        test=options.test,
        trials=options.trials,
        resample=options.resample,
        resamples=options.resamples,
        confidence=options.confidence,
        seed=options.seed,
        threads=options.threads,
        steps=bars.stage,
    )


def _opinions(options: argparse.Namespace) -> Ratings | Rankings:
    from trubleu.data import Rankings, Ratings
    from trubleu.data.rankings import is_rankings
    from trubleu.data.rating_files import FIELDS
    from trubleu.data.weights import parse_scale

    if is_rankings(options.ratings):
        rankings = Rankings.read(options.ratings)
        return rankings if options.language_pair is None else rankings.select(options.language_pair)
    return Ratings.read(
        options.ratings,
        scale=options.scale and parse_scale(options.scale),
        repeats=options.repeated_ratings,
        columns=columns_of(options, options.ratings, FIELDS),
        only=options.aspect,
    )


def _corpus(options: argparse.Namespace) -> tuple[References | None, Mapping[str, Sequence[str | None]]]:
    """Read references and outputs; nothing if all scores are in files."""
    from trubleu.cli.options import corpus_files
    from trubleu.data import References
    from trubleu.data.outputs import read_partial_outputs
    from trubleu.data.reference_files import RATING_TITLES, REFERENCE_TITLES
    from trubleu.errors import UsageError
    from trubleu.files.lines import read_text_lines
    from trubleu.files.paths import name_of
    from trubleu.metrics.dbleu import all_rated

    if not options.systems:
        if not options.scores or options.metric:
            raise UsageError("there are no outputs to score; name the systems' files, or give --scores FILE without -m")
        return None, {}
    files, weights, sources, _ = corpus_files(options)
    if options.refs is None:
        references = References.read_parallel(files, weights)
    else:
        columns = columns_of(options, options.refs, [*REFERENCE_TITLES, *RATING_TITLES])
        references = References.read(options.refs, columns=columns)
    for path in sources:
        references = references.with_messages(read_text_lines(path), what=f"lines in {name_of(path)}")
    references = all_rated(references, options.unrated_as)
    return references, read_partial_outputs(options.systems, references, columns=options.columns)


def _scores(options: argparse.Namespace) -> list[SegmentScores]:
    from trubleu.data import SegmentScores
    from trubleu.errors import UsageError

    for name in ("testset", "lower_is_better"):
        if getattr(options, name) is not None and not options.scores:
            raise UsageError(f"--{name.replace('_', '-')} changes nothing without --scores; leave it out")
    found = [SegmentScores.read(path) for path in options.scores or ()]
    return [each.select(language_pair=options.language_pair, testset=options.testset) for each in found]


def _rendered(report: RatingsReport, options: argparse.Namespace) -> str:
    from trubleu.render.judge_ratings import render_ratings, render_ratings_page

    if options.format == "html":
        return render_ratings_page(report, options.digits)
    return render_ratings(report, options.format, options.digits, all_pairs=options.all_pairs)
