"""Check TruBLEU where the truth is known: ``python -m benchmarks.simulated coverage``, ``order``, ``models``.

``triples`` writes conversations without meaning, for load.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from benchmarks.simulated.coverage import coverage_study, render_coverage
from benchmarks.simulated.estimates import estimates_study, render_estimates
from benchmarks.simulated.models import model_study, read_models, render_models
from benchmarks.simulated.order import order_study, render_order
from benchmarks.simulated.triples import simulated_triples
from trubleu.cli import EXIT_BAD_INPUT, Parser
from trubleu.cli import arguments as add
from trubleu.cli.options import check_output, picked, whole_numbers, write_output
from trubleu.cli.simulate import (
    ALL,
    add_sizes,
    add_systems,
    add_world,
    chosen_draws,
    chosen_pool,
    chosen_systems,
    run_study,
)
from trubleu.data import write_triples
from trubleu.errors import TrubleuError, UsageError
from trubleu.progress import Bars, told_once
from trubleu.simulate.raters import Habits
from trubleu.simulate.studies import MOST_REFERENCES
from trubleu.stats.checks import confidence_level

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

MODELS: Final = (
    "good=noise:0.5",
    "mild=noise:0.5,bias:1",
    "timid=noise:0.5,slope:0.4",
    "likes-long=noise:0.5,length:1",
    "guesses=noise:4,slope:0",
)


def coverage(options: argparse.Namespace) -> None:
    """Do intervals contain the true score as often as they promise?

    Draw many test sets from a pool of segments with a known score, compute the bootstrap interval of each, and count
    how often it contains the true score.

    Examples
    --------
    python -m benchmarks.simulated coverage
    python -m benchmarks.simulated coverage --system skill:0.9 --segments 50,100,200 -m bleu-4 -m dbleu-2 --sets 2000
    """
    confidence_level(options.confidence)
    run_study(options, chosen_systems(options), coverage_study, render_coverage, "confidence")


def order(options: argparse.Namespace) -> None:
    """Do metrics rank systems in their true order?

    Score systems of known quality on many test sets, and compare their order with the true one. ± is the standard error
    over draws from one world. Worlds differ by more, so try several (--seed).

    Examples
    --------
    python -m benchmarks.simulated order
    python -m benchmarks.simulated order --system a=skill:0.8 --system b=retrieval --segments 100,500 -m dbleu-2
    """
    systems = chosen_systems(options)
    if len(systems) < 2:
        raise UsageError(f"an order needs at least two systems, not {len(systems)}; give --system again")
    run_study(options, systems, order_study, render_order)


def models(options: argparse.Namespace) -> None:
    """What are ratings by a model worth beside people's?

    Weigh references by people, by models of known bias and noise, and by both, with the same calibration and test as in
    a real study. The table shows how far weights are from the truth, how many 95 % intervals hold it, and how well
    systems are ordered with them. Worlds differ, so try several (--seed).

    Examples
    --------
    python -m benchmarks.simulated models
    python -m benchmarks.simulated models --model mild=bias:1,noise:0.5 --model guesses=slope:0,noise:4 --rated 1,3,all
    """
    metrics = options.metric or ["dbleu-2"]
    draws = chosen_draws(options)
    if len(draws.segments) != 1 or len(metrics) != 1:
        raise UsageError("models takes one number of segments and one metric; leave the others out")
    made = read_models(options.model or MODELS)
    rated = whole_numbers("--rated", options.rated, {ALL: MOST_REFERENCES})
    habits = Habits(**picked(options, "noise bias lazy"))
    systems = chosen_systems(options)
    with Bars(quiet=options.quiet) as bars:
        study = model_study(
            chosen_pool(options, systems, bars),
            made,
            draws,
            rated=rated,
            metric=metrics[0],
            habits=habits,
            **picked(options, "raters crowd"),
            steps=bars.stage,
        )
    write_output(options, render_models(study, options.format, options.digits))


def estimates(options: argparse.Namespace) -> None:
    """Do estimates with a proxy hold the true mean as often as they promise?

    Draw rated items and a proxy's scores from worlds whose mean rating is known, and count how often the 95 % intervals
    of rate estimate contain it.

    Examples
    --------
    python -m benchmarks.simulated estimates
    python -m benchmarks.simulated estimates --rated 50 --runs 1000
    """
    with Bars(quiet=options.quiet) as bars:
        sizes = whole_numbers("--rated", options.rated)
        rows = estimates_study(sizes, **picked(options, "runs unrated seed"), steps=bars.stage)
    write_output(options, render_estimates(rows, options.format, options.digits))


def triples(options: argparse.Namespace) -> None:
    """Any number of conversations without meaning.

    Generate triples of artificial words with Zipf's frequencies, topics, stock phrases, duplicates and near-duplicates.
    The first thousand are the same for any number.

    Examples
    --------
    python -m benchmarks.simulated triples --n 29000000 --out corpus.jsonl.zst
    python -m benchmarks.simulated triples --n 2000 --seed 2 --out seeds.jsonl
    python -m benchmarks.simulated triples --n 10 --out -
    """
    made = simulated_triples(options.n, **picked(options, "seed words"))
    with Bars(quiet=options.quiet) as bars:
        write_triples(options.out, made, progress=bars.stage("simulating", options.n, " triples"))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all checks."""
    root = Parser(prog="python -m benchmarks.simulated", description="Check TruBLEU where the truth is known.")
    inner = root.add_subparsers(title="checks", metavar="NAME", required=True)

    parser = add.command(inner, "coverage", coverage)
    add_systems(parser, "repeat for more", "skill:0.6")
    metrics = ("bleu-2", "bleu-4", "sbleu-2", "dbleu-2")
    add_sizes(parser, segments="50,100,200,500,1000", references="5", raters="5", metrics=metrics)
    drawn = parser.add_argument_group("intervals")
    add.option(drawn, "--sets", "N", "test sets per condition", 1_000)
    add.option(drawn, "--confidence", "C", "confidence level", 0.95)
    add_world(parser)
    add.output(parser)

    parser = add.command(inner, "order", order)
    add_systems(parser, "repeat for more")
    add_sizes(parser, segments="50,200", references=f"1,{ALL}", raters="5", metrics=("bleu-2", "sbleu-2", "dbleu-2"))
    add.option(parser.add_argument_group("number of test sets"), "--sets", "N", "test sets per condition", 1_000)
    add_world(parser, resamples=False)
    add.output(parser)

    parser = add.command(inner, "models", models)
    add_systems(parser, "repeat for more")
    varied = parser.add_argument_group("conditions")
    about = (
        "a model (repeat for more), such as mild=noise:0.5,bias:1. noise: standard deviation of its errors; bias: "
        "points that it adds to every text; slope: below 1, its scores stay near the middle; length: points that it "
        f"adds per doubling of the length (default: {' '.join(MODELS)})"
    )
    add.several(varied, "--model", "NAME=SPEC", about)
    add.option(varied, "--rated", "N,…", "texts per segment that people rate", f"1,3,{ALL}")
    add.option(varied, "--raters", "N", "ratings per text", 3)
    add.option(varied, "--segments", "N", "segments per test set", "200")
    add.several(varied, "-m --metric", "METRIC", "a metric that uses weights (default: dbleu-2)")
    add.option(varied, "--sets", "N", "number of test sets", 500)
    add_world(parser, resamples=False)
    parser.set_defaults(pool=1_000)
    add.output(parser)

    parser = add.command(inner, "estimates", estimates)
    add.option(parser, "--rated", "N,…", "rated items", "30,100,300")
    add.option(parser, "--unrated", "N", "items that the proxy alone has scored", 1_000)
    add.option(parser, "--runs", "N", "runs per condition", 10_000)
    add.option(parser, "--seed", "N", "random seed", 1)
    add.output(parser)

    parser = add.command(inner, "triples", triples)
    add.option(parser, "--n", "N", "number of triples", type=int, required=True)
    add.option(parser, "--seed", "N", "random seed of the texts", 1)
    add.option(parser, "--words", "N", "vocabulary size", 200_000)
    about = ".jsonl, also with .gz or .zst, or .parquet; - for standard output"
    add.option(parser, "--out", "FILE", about, required=True)
    add.quiet(parser, "no progress bar")
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a check and return its exit code."""
    try:
        options = build_parser().parse_args(arguments)
        if "digits" in options:
            check_output(options)
        with told_once(quiet=options.quiet):
            options.run(options)
    except TrubleuError as error:
        sys.stderr.write(f"trubleu: {error}\n")
        return EXIT_BAD_INPUT
    return 0


if __name__ == "__main__":
    sys.exit(main())
