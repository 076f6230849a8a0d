"""``trubleu rate estimate``: mean ratings of systems, from ratings of some items and a proxy's scores of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trubleu.cli import arguments as add
from trubleu.cli.judge import add_rating_options, read_ratings
from trubleu.cli.options import picked, write_tables
from trubleu.cli.rate_study import opened
from trubleu.errors import UsageError
from trubleu.files.paths import check_standard_input_once
from trubleu.render.tables import FOR_PROGRAMS

if TYPE_CHECKING:
    import argparse

    from trubleu.rating.estimate import Estimates

TARGETS = ("population", "items")
"""As in `trubleu.stats.prediction_powered`, repeated so ``--help`` need not import it (a test keeps them equal)."""


def add_estimate_parser(commands: add.Commands) -> None:
    """Add the command."""
    parser = add.command(commands, "estimate", estimate)
    parser.add_argument("study", nargs="?", metavar="STUDY", help="the folder of a study in which a model has rated")
    people = parser.add_argument_group("ratings by people (instead of a study)")
    add.option(people, "--ratings", "FILE", "ratings of outputs: CSV, TSV, JSON lines or Parquet")
    add.columns(people, "item=InstanceID,score=rating")
    add_rating_options(people)
    about = "the probability of each item to be chosen for rating (columns item, probability; default: equal)"
    add.option(people, "--probabilities", "FILE", about)
    about = (
        "scores of these outputs and of others: ratings by models, segment scores of metrics (.seg.score), or what "
        "trubleu score --segments --format csv prints"
    )
    add.option(parser.add_argument_group("proxies"), "--proxy", "[NAME=]FILE", about, [], nargs="+")
    drawn = parser.add_argument_group("estimate")
    about = "population: the items are a sample of it; items: the mean of these items: "
    add.choice(drawn, "--target", TARGETS, about)
    add.option(drawn, "--confidence", "C", "confidence level", 0.95)
    add.option(drawn, "--seed", "N", "random seed of the folds", 12345)
    add.output(parser)


def estimate(options: argparse.Namespace) -> None:
    """Estimate mean ratings by people with the help of a proxy.

    Estimate people's mean rating of each system, and the difference of each pair, from people's ratings of some outputs
    and a proxy's scores of these and others: a model, or any metric. The proxy counts only as far as it agrees with
    people (prediction-powered inference); the intervals are valid whatever it says. In a study, its models are proxies.

    Examples
    --------
    trubleu rate estimate my-study
    trubleu rate estimate --ratings people.csv --proxy model.csv
    trubleu rate estimate --ratings people.csv --proxy COMET.seg.score chrf=chrf.csv --target items
    """
    from trubleu.render.rating import estimate_tables
    from trubleu.stats.checks import confidence_level, seed_range

    if options.study is not None and options.ratings is not None:
        raise UsageError("rate estimate takes a STUDY or --ratings FILE, not both")
    if options.study is None and (options.ratings is None or not options.proxy):
        raise UsageError(
            "rate estimate needs a STUDY; or --ratings FILE, by people, and --proxy FILE, scores of more outputs"
        )
    confidence_level(options.confidence)
    seed_range(options.seed)
    from trubleu.data import parse_system
    from trubleu.rating.estimate import estimate_ratings, read_probabilities, read_proxies

    check_standard_input_once([*filter(None, [options.ratings]), *(parse_system(each)[1] for each in options.proxy)])
    settings: dict[str, Any] = picked(options, "target confidence seed")
    if options.probabilities is not None:
        settings["probabilities"] = read_probabilities(options.probabilities)
    if options.study is None:
        made = estimate_ratings(read_ratings(options), read_proxies(options.proxy), **settings)
    else:
        made = _of_study(options, settings)
    people = options.format not in FOR_PROGRAMS
    write_tables(options, *estimate_tables(made, for_people=people), notes=made.notes if people else ())


def _of_study(options: argparse.Namespace, settings: dict[str, Any]) -> Estimates:
    if given := [name for name in ("columns", "scale") if getattr(options, name) is not None]:
        raise UsageError(f"--{given[0]} goes with --ratings FILE, not with a STUDY")
    if options.aspect and len(options.aspect) > 1:
        raise UsageError("rate estimate STUDY takes one --aspect: the name of a question")
    with opened(options.study, copy=True) as study:
        from trubleu.rating.estimate import read_proxies
        from trubleu.rating.study_estimate import estimate_study, study_scores

        scores = study_scores(study, options.aspect and options.aspect[0])
    return estimate_study(scores, read_proxies(options.proxy), **settings)
