"""``trubleu judge``: how well do metrics agree with people? Contains the protocol ``pairs``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trubleu.cli import arguments as add
from trubleu.cli.judge_ratings import (
    add_rating_options,
    add_ratings_parser,
    add_score_options,
    add_sets_parser,
    read_ratings,
    read_scores,
)
from trubleu.cli.options import (
    build_metrics,
    check_output,
    choose_metric,
    keep_inputs,
    picked,
    read_corpus,
    write_output,
)
from trubleu.errors import UsageError
from trubleu.files.paths import exists
from trubleu.files.writer import atomic_writer, check_writable
from trubleu.progress import Bars

if TYPE_CHECKING:
    import argparse

    from trubleu.data import References
    from trubleu.judge.pairs.results import SweepName


DEFAULT_CONDITIONS: Final = ("single", "w>=0.6", "all")
POOLED_CONDITIONS: Final = ("given", "all")


def add_parser(commands: add.Commands) -> None:
    """Measure how well metrics agree with people."""
    protocols = add.commands(commands, "judge", add_parser)
    add_ratings_parser(protocols)
    add_sets_parser(protocols)
    add_pairs_parser(protocols)


def add_pairs_parser(protocols: add.Commands) -> None:
    """Add ``judge pairs``, the ΔBLEU protocol."""
    parser = add.command(protocols, "pairs", run_pairs)
    add.corpus(parser, "judge pairs", without=["no_positive", "scale"])
    people = parser.add_argument_group("human judgements")
    about = "ratings of outputs: item, system, rater, score (and pair, aspect); a table, JSON lines or Parquet"
    add.option(people, "--ratings", "FILE", about)
    add_rating_options(people)
    add_score_options(people)
    units = parser.add_argument_group("protocol")
    add.option(units, "--pairs", "A:B,…", "pairs of systems", "all")
    about = (
        f"which references count; repeat for more ({', '.join(DEFAULT_CONDITIONS)}; with --pool-outputs "
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
    about = "ignore references that equal this system's output; all for every system"
    add.several(units, "--drop-equal", "NAME", about)
    out = add.output(parser, digits=3)
    add.option(out, "--report", "FILE.html", "also write a page with tables, charts and segments")
    add.option(out, "--browse", "N", "number of segments on the page", 200)
    add.threads(out)


def run_pairs(options: argparse.Namespace) -> None:
    """Pairs of systems on units of segments: the protocol of the ΔBLEU paper.

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
    check_output(options)
    _check_extras(options)
    if options.metric:
        build_metrics(options)  # fail on wrong names before reading files
    drawn = picked(options, "unit draws resamples sweep_draws sweep_resamples confidence seed partial")
    protocol = Protocol(sweeps=_sweeps(options.sweeps), **drawn)
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
            scores=read_scores(options, "language_pair", "testset", "lower_is_better"),
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


def _sweeps(written: str) -> tuple[SweepName, ...]:
    if written == "none":
        return ()
    names: Any = tuple(name.strip() for name in written.split(","))
    return names  # type: ignore[no-any-return] # Protocol refuses what is no sweep


def _check_extras(options: argparse.Namespace) -> None:
    """Raise an error for outputs that cannot be written or missing packages, before any work."""
    if options.browse < 0:
        raise UsageError(f"--browse {options.browse} must be 0 or more")
    if options.report is not None:
        from trubleu.render.pages import load_page_templates

        load_page_templates()
        check_writable(options.report)
        keep_inputs(options, options.report)
