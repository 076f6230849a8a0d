"""``trubleu judge``: how well do metrics agree with people? By ratings, on one set or many, or by pairs of systems."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli import arguments as add
from trubleu.cli.options import (
    build_metrics,
    check_target,
    choose_metric,
    columns_of,
    is_figure,
    picked,
    read_corpus,
    read_references,
    score_files,
    take_set,
    write_figure,
    write_output,
)
from trubleu.errors import UsageError, some
from trubleu.files.paths import base_name, exists
from trubleu.files.writer import atomic_writer
from trubleu.metrics.options import SHARED
from trubleu.progress import Bars

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.data import Rankings, Ratings, References, SegmentScores
    from trubleu.judge import RatingsReport


DEFAULT_CONDITIONS: Final = ("single", "w>=0.6", "all")
POOLED_CONDITIONS: Final = ("given", "all")


def add_parser(commands: add.Commands) -> None:
    """Measure how well metrics agree with people."""
    protocols = add.commands(commands, "judge", add_parser)
    _add_ratings(protocols)
    _add_sets(protocols)
    _add_pairs(protocols)


def _add_pairs(protocols: add.Commands) -> None:
    """Add ``judge pairs``, the ΔBLEU protocol."""
    parser = add.command(protocols, "pairs", run_pairs)
    add.corpus(parser, "judge pairs", without=["no_positive", "scale", "scores", "markdown"])
    people = parser.add_argument_group("human judgements")
    about = "ratings of outputs: item, system, rater, score (and pair, aspect); a table, JSON lines or Parquet"
    add.option(people, "--ratings", "FILE", about)
    add_rating_options(people)
    _add_score_options(people)
    units = parser.add_argument_group("protocol")
    add.option(units, "--pairs", "A:B,…", "pairs of systems", "all")
    about = (
        f"which references count; repeat for more (default: {', '.join(DEFAULT_CONDITIONS)}; with --pool-outputs: "
        f"{', '.join(POOLED_CONDITIONS)})"
    )
    add.several(units, "--condition", "WHICH", about)
    add.option(units, "--unit", "M", "segments per unit", 100)
    add.option(units, "--draws", "N", "random assignments to units", 1000)
    add.sampling(units, 1000, "bootstrap replicates")
    add.flag(units, "--partial", "keep the last unit of a pair even if it is smaller")
    add.option(units, "--sweeps", "LIST", "threshold, unit, order, or none", "threshold,unit,order")
    add.option(units, "--sweep-draws", "N", "draws per point", 200)
    add.option(units, "--sweep-resamples", "N", "replicates per point", 200)
    about = "add the rated outputs of other systems to the references, weighted by their ratings"
    add.flag(units, "--pool-outputs", about)
    about = "ignore references that equal this system's output; all: every system's"
    add.several(units, "--drop-equal", "NAME", about)
    out = add.output(parser, digits=3)
    add.option(out, "--report", "FILE.html", "also write a page with tables, charts and segments")
    add.option(out, "--browse", "N", "number of segments on the page", 200)
    add.threads(out)


def run_pairs(options: argparse.Namespace) -> None:
    """Correlate metrics with ratings on pairs of systems, as the ΔBLEU paper does.

    Correlate the differences between systems' scores with the differences between their ratings.

    Examples
    --------
    trubleu judge pairs --refs refs.jsonl --ratings ratings.csv A.txt B.txt C.txt
    trubleu judge pairs --refs refs.jsonl --ratings ratings.csv A.txt B.txt -m bleu-2 -m dbleu-2 --report out.html
    trubleu judge pairs SET --repeated-ratings keep --report out.html
    trubleu judge pairs --ref ref.txt --ratings ratings.tsv --pool-outputs --condition given --condition all A.txt B.txt

    Notes
    -----
    conditions: which references count. single (the one with the origin seed, else the first), all, w>=T (those with a
    weight of at least T; a segment without any keeps its best one), given (without pooled outputs).
    """
    from trubleu.data import parse_system
    from trubleu.data.rankings import is_rankings
    from trubleu.judge import judge_pairs
    from trubleu.judge.pairs.results import Protocol
    from trubleu.metrics.dbleu import all_rated
    from trubleu.render import render_judge_page, render_pairs

    if options.ratings is None:
        gone = [path for _, path in map(parse_system, options.systems) if not exists(path)]
        what = f"there is no {gone[0]}" if gone else "there is nothing to judge by"
        raise UsageError(f"{what}; give --ratings FILE with outputs and references, or a set made by trubleu import")
    if is_rankings(options.ratings):
        raise UsageError(
            f"{options.ratings} has rankings, which trubleu judge ratings judges by; give ratings of outputs"
        )
    if options.browse < 0:
        raise UsageError(f"--browse {options.browse} must be 0 or more")
    if options.report is not None:
        check_target(options, options.report, page=True)
    if options.metric:
        build_metrics(options)  # fail on wrong names before reading files
    drawn = picked(options, "unit draws resamples sweep_draws sweep_resamples confidence seed partial")
    sweeps: Any = () if options.sweeps == "none" else tuple(map(str.strip, options.sweeps.split(",")))
    protocol = Protocol(sweeps=sweeps, **drawn)  # refuses what is no sweep
    with Bars(quiet=options.quiet) as bars:
        references, systems = read_corpus(options)
        references = all_rated(references, options.unrated_as)
        choose_metric(options, weighted=references.weighted() or options.pool_outputs)
        report = judge_pairs(
            systems,
            references,
            read_ratings(options),
            build_metrics(options),
            conditions=options.condition or _conditions(options, references),
            protocol=protocol,
            drop_equal=options.drop_equal or (),
            scores=read_scores(options, references, "language_pair", "testset", "lower_is_better"),
            lower_is_better=options.lower_is_better or (),
            **picked(options, "pairs pool_outputs threads"),
            steps=bars.stage,
        )
        if options.report is not None:
            with atomic_writer(options.report) as file:
                file.write(render_judge_page(report, browse=options.browse))
    write_output(options, render_pairs(report, options.format, options.digits))


def _conditions(options: argparse.Namespace, references: References) -> tuple[str, ...]:
    """Return the paper's conditions that select something; with a pool, only what the pool adds matters."""
    if options.pool_outputs:
        return POOLED_CONDITIONS
    return tuple(each for each in DEFAULT_CONDITIONS if references.weighted() or not each.startswith("w"))


def _add_ratings(protocols: add.Commands) -> None:
    """Add ``judge ratings``."""
    parser = add.command(protocols, "ratings", run_ratings)
    parser.set_defaults(set_name=None)
    add.corpus(
        parser, "judge ratings", systems="*", without=["no_positive", "scale", "only_common", "scores", "markdown"]
    )
    people = parser.add_argument_group("human judgements")
    about = "ratings or rankings of outputs, if they are not the first argument"
    add.option(people, "--ratings", "FILE", about)
    about = "official scores of systems, one NAME SCORE per line, to compare with corpus scores"
    add.option(people, "--human", "FILE", about)
    add_rating_options(people, without=True)
    _add_score_options(people)
    _add_protocol_options(parser)
    out = add.output(parser, formats=add.FIGURE_FORMATS, digits=3)
    add.charts(out, ("agreement", "systems"))
    add.flag(out, "--all-pairs", "print the comparisons of all pairs of metrics")
    add.threads(out)


def _add_sets(protocols: add.Commands) -> None:
    """Add ``judge sets``."""
    parser = add.command(protocols, "sets", run_sets)
    parser.set_defaults(weight=None, source=None, human=None)
    parser.add_argument("files", nargs="+", metavar="[NAME=]SET", help="a set made by trubleu import")
    add.metrics(parser, "judge ratings", without=[*{*SHARED} - {"tokenize", "lowercase"}])
    add_rating_options(parser.add_argument_group("human judgements"), without=True)
    scored = parser.add_argument_group("scores of other programs")
    about = "segment scores of a metric that another program computed, for one of the sets; repeat for more"
    add.several(scored, "--scores", "SET:[NAME=]FILE", about)
    add.several(scored, "--lower-is-better", "NAME", "a metric in --scores that is an error rate")
    _add_protocol_options(parser)
    out = add.output(parser, formats=add.FIGURE_FORMATS, digits=3)
    add.charts(out, ("distance", "agreement"))
    add.threads(out)


def add_rating_options(people: argparse._ArgumentGroup, *, without: bool = False) -> None:
    """Add the options of rating files, and optionally ``--without``."""
    add.several(people, "--aspect", "NAME", "use only ratings of this aspect; repeat for more (default: all, averaged)")
    if without:
        about = "leave out a system, such as people whose texts are also references; SET:SYSTEM for one set only"
        add.several(people, "--without", "SYSTEM", about)
    add.option(people, "--scale", "LOW:HIGH", "the worst and the best rating: 1:5, 0:1, -25:0 (default: detected)")
    rules = ("refuse", "mean", "first", "last", "keep")
    add.choice(people, "--repeated-ratings", rules, "a rater's second rating of the same output: ", "RULE")


def _add_score_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of score files."""
    add.scores(group)
    add.option(group, "--language-pair", "NAME", "the language pair, if files have several")
    add.option(group, "--testset", "NAME", "the test set, if files of scores have several")


def _add_protocol_options(parser: argparse.ArgumentParser) -> None:
    drawn = parser.add_argument_group("protocol")
    add.option(drawn, "--segment-measure", "NAME", "segment-level measure to test (default: acc-eq-calibrated)")
    add.option(drawn, "--system-measure", "NAME", "system-level measure to test (default: soft-pairwise-accuracy)")
    add.option(drawn, "--test", "NAME", "test between metrics", "perm-input")
    add.option(drawn, "--trials", "N", "trials of the test (default: 1000, or 50 per pair of metrics)", type=int)
    add.choice(drawn, "--identical", ("expanded", "collapsed"), "ranked systems with the same text: ", "HOW")
    about = "what to resample for intervals (ratings: segments and the raters of references): "
    add.choice(drawn, "--resample", ("segments", "systems", "both", "ratings"), about, "WHAT")
    add.sampling(drawn, 1000, "bootstrap replicates of intervals")


def run_ratings(options: argparse.Namespace) -> None:
    """Compare metrics with ratings or rankings, using the field's current measures.

    Compare metrics with ratings or rankings of outputs, at the segment and the system level.

    Examples
    --------
    trubleu judge ratings SET -m trubleu -m chrf -m bleu-4
    trubleu judge ratings SET --format html --out page.html
    trubleu judge ratings ratings.csv --refs refs.jsonl A.txt B.txt C.txt
    trubleu judge ratings ratings.csv --scores metrics.csv --lower-is-better ter
    trubleu judge ratings rankings.csv --ref ref.en systems/*.de-en --segment-measure tau-wmt14 --human official.txt

    Notes
    -----
    segment-level measures: acc-eq-calibrated, acc-eq, tau-wmt12, tau-wmt13, tau-wmt14, tau-hties, and
    COEFFICIENT-GROUPING with pearson, spearman, kendall (τ-b) or kendall-c (τ-c) and pooled, item or system.
    System-level measures: soft-pairwise-accuracy, pairwise-accuracy, pearson, spearman, kendall. Tests: perm-input
    (default), perm-both, perm-system, bootstrap-segments, -systems, -both, williams.
    """
    from trubleu.render.judge_ratings import ratings_charts, render_ratings, render_ratings_page

    _check(options)
    if options.ratings is None:
        options.ratings = _first(options)
    with Bars(quiet=options.quiet) as bars:
        name = options.set_name or base_name(options.ratings or options.human)
        report = _judged(options, name, bars)
    if is_figure(options):
        write_figure(options, ratings_charts(report))
    elif options.format == "html":
        write_output(options, render_ratings_page(report, options.digits))
    else:
        write_output(options, render_ratings(report, options.format, options.digits, all_pairs=options.all_pairs))


def run_sets(options: argparse.Namespace) -> None:
    """Compare metrics on many sets: how far each is from the best.

    Judge metrics on many sets, as judge ratings does, and compare them.

    Examples
    --------
    trubleu judge sets sets/* -m trubleu -m chrf -m bleu-4
    trubleu judge sets usr-topical usr-persona mqm --format html --out page.html
    trubleu judge sets wmt23 mqm --scores wmt23:comet=comet23.json --scores mqm:comet=comet.json
    """
    from trubleu.data import parse_system
    from trubleu.data.sets import find_set
    from trubleu.judge import judge_sets
    from trubleu.render.judge_ratings import render_sets, render_sets_page, sets_charts

    _check(options)
    sets: dict[str, argparse.Namespace] = {}
    for argument in options.files:
        given, _, path = argument.rpartition("=")
        folder = path if given else argument
        if find_set(folder) is None:
            raise UsageError(f"{folder} is not a set; create one with trubleu import")
        name = given or Path(parse_system(folder)[1]).name or folder
        if name in sets:
            raise UsageError(f"two sets are named {name}; name them with NAME=SET")
        sets[name] = _options_of(options, folder)
    _add_scores(options, sets)
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
    if is_figure(options):
        write_figure(options, sets_charts(report))
    elif options.format == "html":
        write_output(options, render_sets_page(report, options.digits))
    else:
        write_output(options, render_sets(report, options.format, options.digits))


def _add_scores(options: argparse.Namespace, sets: Mapping[str, argparse.Namespace]) -> None:
    """Give each set the files of ``--scores`` that name it, beside its own."""
    for argument in options.scores or ():
        name, colon, rest = argument.partition(":")
        if not colon or name not in sets:
            raise UsageError(f"--scores {argument} must begin with a set, as in {next(iter(sets))}:comet=FILE")
        sets[name].scores = [*(sets[name].scores or ()), rest]
    left = dict.fromkeys(options.lower_is_better or ())
    for own in sets.values():
        there = {metric for scores in score_files(own) for metric in scores.metrics()}
        own.lower_is_better = [name for name in options.lower_is_better or () if name in there] or None
        left = {name: None for name in left if name not in there}
    if left:
        raise UsageError(f"lower is better for {some(left)}, but no set has scores of it")


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

    check_test("segment", options.segment_measure or "pearson-pooled", "perm-input")
    check_test("system", options.system_measure or "pearson", "perm-input")
    check_test("system", "pearson", options.test)
    if options.metric:
        build_metrics(options)


def _first(options: argparse.Namespace) -> str | None:
    """Remove the ratings file from the operands and return it; with ``--human`` there may be none."""
    from trubleu.data import parse_system
    from trubleu.data.rankings import titles_of

    if options.human is not None:
        titles = titles_of(parse_system(options.systems[0])[1]) if options.systems else set()
        if not {"system", "score"} <= titles and "system1rank" not in titles:
            return None
    if not options.systems:
        raise UsageError("there is nothing to judge by; give a set made by trubleu import, or a file of ratings")
    first: str = options.systems.pop(0)
    return first


def _judged(options: argparse.Namespace, name: str, bars: Bars) -> RatingsReport:
    from trubleu.data import read_official_scores
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
        human=None if options.human is None else read_official_scores(options.human),
        scores=read_scores(options, references, "testset", "lower_is_better"),
        lower_is_better=options.lower_is_better or (),
        name=name,
        without=options.without or (),
        **picked(
            options, "identical segment_measure system_measure test trials resample resamples confidence seed threads"
        ),
        steps=bars.stage,
    )


def _opinions(options: argparse.Namespace) -> Ratings | Rankings | None:
    """Read ratings or rankings; with ``--human`` there may be neither."""
    from trubleu.data import Rankings
    from trubleu.data.rankings import is_rankings

    ranked = options.ratings is not None and is_rankings(options.ratings)
    if ranked or options.ratings is None:
        why = f"but {options.ratings} has rankings" if ranked else "and there are none"
        for name, usual in (("aspect", None), ("scale", None), ("repeated_ratings", "refuse")):
            if getattr(options, name) != usual:
                raise UsageError(f"--{name.replace('_', '-')} is about ratings, {why}; leave it out")
    if options.language_pair is not None and not ranked and not options.scores:
        raise UsageError("--language-pair changes nothing without rankings or --scores; leave it out")
    if not ranked:
        return None if options.ratings is None else read_ratings(options)
    rankings = Rankings.read(options.ratings)
    # With one language pair, scores may call it something else.
    of_scores = options.scores and len(rankings.language_pairs) == 1
    return rankings if options.language_pair is None or of_scores else rankings.select(options.language_pair)


def read_ratings(options: argparse.Namespace) -> Ratings:
    """Read the file of ``--ratings``."""
    from trubleu.data import Ratings
    from trubleu.data.ratings import FIELDS
    from trubleu.data.weights import parse_scale

    return Ratings.read(
        options.ratings,
        scale=options.scale and parse_scale(options.scale),
        repeats=options.repeated_ratings,
        columns=columns_of(options, options.ratings, FIELDS),
        only=options.aspect,
    )


def _corpus(options: argparse.Namespace) -> tuple[References | None, Mapping[str, Sequence[str | None]]]:
    """Read references and outputs; nothing if all scores are in files."""
    from trubleu.data.oddities import warn_of_oddities
    from trubleu.data.outputs import read_partial_outputs
    from trubleu.metrics.dbleu import all_rated

    if not options.systems:
        if not options.scores or options.metric:
            raise UsageError("there are no outputs to score; name the systems' files, or give --scores FILE without -m")
        return None, {}
    references = all_rated(read_references(options), options.unrated_as)
    outputs = read_partial_outputs(options.systems, references, columns=options.columns)
    warn_of_oddities(outputs, references)
    return references, outputs


def read_scores(options: argparse.Namespace, references: References | None, *about_scores: str) -> list[SegmentScores]:
    """Read the files of ``--scores``; options that are only about these need one."""
    for name in about_scores:
        if getattr(options, name) is not None and not options.scores:
            raise UsageError(f"--{name.replace('_', '-')} changes nothing without --scores; leave it out")
    chosen = picked(options, "language_pair testset")
    found = [each.select(**chosen) for each in score_files(options)]
    return found if references is None else [each.placed(references.ids) for each in found]
