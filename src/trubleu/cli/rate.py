"""``trubleu rate``: collect ratings of responses or outputs, from a file of texts to weights and ratings."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from trubleu.cli import arguments as add
from trubleu.cli.options import check_range, picked, say, takes_option, write_tables
from trubleu.cli.rate_estimate import add_estimate_parser
from trubleu.cli.rate_serve import add_serve_parser
from trubleu.cli.rate_study import add_parsers, check_packages, opened, study_command
from trubleu.errors import UsageError, counted
from trubleu.files.paths import check_standard_input_once
from trubleu.metrics.defaults import DEFAULT_METRIC
from trubleu.progress import Bars
from trubleu.render.tables import FOR_PROGRAMS

if TYPE_CHECKING:
    import argparse

    from trubleu.rating import Item, StudyConfig


def add_parser(commands: add.Commands) -> None:
    """Collect ratings of responses and outputs, by people and models.

    Examples
    --------
    trubleu rate new my-study --from candidates.jsonl --raters 5
    trubleu rate links my-study --add 20 --url https://rate.example.org --out links.csv
    trubleu rate serve my-study --url https://rate.example.org
    trubleu rate status my-study
    trubleu rate export my-study --as references --out refs.jsonl
    """
    inner = add.commands(commands, "rate", add_parser)
    _add_new(inner)
    _add_plan(inner)
    add_serve_parser(inner)
    add_parsers(inner)
    add_estimate_parser(inner)


def _add_new(commands: add.Commands) -> None:
    parser = add.command(commands, "new", new)
    parser.add_argument("study", metavar="STUDY", help="the folder to create")
    about = "candidates, references or triples: JSON lines, a table or Parquet; for pairs and rankings, the messages"
    add.option(parser, "--from", "FILE", about, dest="source", required=True)
    add.option(parser, "--kind", "NAME", "response (default), pair or ranking", choices=("response", "pair", "ranking"))
    add.option(parser, "--outputs", "SYSTEM", "outputs of systems, for pairs and rankings", [], nargs="+")
    add.option(parser, "--pairs", "LIST", "pairs of systems to compare, such as A:B,A:C (default: all)")
    add.option(parser, "--raters", "N", "ratings per item (default: 5)", type=int)
    add.option(parser, "--config", "FILE", "settings to start from: the study.yaml of another study")
    add.option(parser, "--title", "TEXT", "title of the pages (default: Rate responses)")
    add.option(parser, "--carry", "STUDY", "reuse the ratings of the same texts in another study")
    add.option(parser, "--store", "URL", "PostgreSQL database (default: a file in the folder)")
    add.quiet(parser, "print nothing")


def _add_plan(commands: add.Commands) -> None:
    parser = study_command(commands, "plan", plan)
    add.option(parser, "--raters", "N", "ratings per item (default: as the study says)", type=int)
    add.option(parser, "--seconds-per-item", "S", "seconds per item (default: 20)", type=float)
    add.option(parser, "--pay", "P", "pay per hour (default: 15)", type=float)
    add.option(parser, "--minutes", "M", "maximum minutes per rater", 60.0)
    about = "plan for estimates with a model's help: which items to rate next, and how many for --interval"
    add.option(parser, "--for", "NAME", about, dest="purpose", choices=("estimate",))
    add.option(parser, "--seed", "N", "random seed of the items that --for estimate draws", 12345)
    score = parser.add_argument_group("which references to rate next")
    add.option(score, "--systems", "[NAME=]OUTPUTS", "outputs of one or two systems", dest="scored", nargs="+")
    add.option(score, "-m --metric", "METRIC", f"a metric that uses weights (default: {DEFAULT_METRIC})")
    add.option(score, "--interval", "WIDTH", "the wanted width of the interval", type=float)
    add.option(score, "--most", "N", "maximum number of ratings to plan (default: 100)", type=int)
    add.output(parser)


def new(options: argparse.Namespace) -> None:
    r"""Create a study.

    Create a study in a new folder, from candidates, references or triples (raters see one response at a time), or from
    the outputs of systems (two side by side, or several to rank, without their names). Edit its study.yaml to set the
    wording, practice and gold items.

    Examples
    --------
    trubleu rate new my-study --from candidates.jsonl --raters 5
    trubleu rate new my-study --from candidates.jsonl --raters 5 --carry seeds-study
    trubleu rate new my-pairs --kind pair --from refs.jsonl --outputs runs/A.txt runs/B.txt --pairs A:B --raters 3
    trubleu rate new my-ranking --kind ranking --from refs.jsonl --outputs runs/A.txt runs/B.txt runs/C.txt --raters 3
    trubleu rate new my-study --from candidates.jsonl --config study.yaml \
      --store postgresql+psycopg://USER:PASSWORD@HOST/DATABASE
    """
    check_packages()
    from trubleu.rating import Study
    from trubleu.rating.carry_over import create_and_carry

    with ExitStack() as stack:
        config = _config(options)
        items = _items(options, config)
        if options.carry is not None:
            other = stack.enter_context(Study.open(options.carry))
            study, taken = create_and_carry(options.study, config, items, other, store_url=options.store)
        else:
            study, taken = Study.create(options.study, config, items, store_url=options.store), None
        stack.enter_context(study)
        each, asked = counted(config.raters, "rating"), counted(len(items) * config.raters, "rating")
        lines = [f"{study.folder}: {counted(len(items), 'item')}, {each} each, {asked} in all"]
        if taken is not None:
            lines.append(
                f"carried over: {counted(taken.answers, 'answer')} to {counted(taken.items, 'item')}, "
                f"{taken.counted:,} of them count, {counted(taken.raters, 'rater')}"
            )
            if taken.changed:
                lines.append(f"not carried over, because texts differ: {counted(len(taken.changed), 'item')}")
    if not options.quiet:
        lines += [
            f"settings, practice and gold items: {study.folder / 'study.yaml'}",
            f"then: trubleu rate plan {study.folder}, rate links {study.folder} --add N, rate serve {study.folder}",
        ]
        say(*lines)


def _config(options: argparse.Namespace) -> StudyConfig:
    """Return the settings of a file, or the defaults, overridden by the options."""
    from trubleu.rating import read_config
    from trubleu.rating.config import FEWEST_RANKED, MOST_RANKED, default_config

    if options.raters is not None:
        check_range(options, "raters", 1, 1000)
    if options.config is None:
        number = len(options.outputs)
        if options.kind == "ranking" and not FEWEST_RANKED <= number <= MOST_RANKED:
            most = f"{FEWEST_RANKED} to {MOST_RANKED}"
            raise UsageError(f"--kind ranking needs --outputs of {most} systems, but {number} are given")
        config = default_config(options.kind or "response", number)
    else:
        config = read_config(options.config)
        if options.kind not in (None, config.kind):
            raise UsageError(f"--kind {options.kind} does not fit {options.config}, which says kind: {config.kind}")
    if options.raters is not None:
        config = replace(config, raters=options.raters)
    if options.title is not None:
        if not options.title.strip():
            raise UsageError("--title is empty; give a text")
        config = replace(config, title=options.title)
    return config


def _items(options: argparse.Namespace, config: StudyConfig) -> list[Item]:
    from trubleu.data import parse_system, read_outputs
    from trubleu.rating import output_items, parse_pairs, read_items, read_segments

    if config.kind == "response":
        if options.outputs or options.pairs:
            raise UsageError("--outputs and --pairs are for --kind pair; add it, or leave them out")
        return read_items(options.source)
    if config.kind == "ranking" and len(options.outputs) != config.parts:
        given = len(options.outputs)
        raise UsageError(f"{options.config} says outputs: {config.parts}, but --outputs names {given}; give as many")
    if config.kind == "ranking" and options.pairs:
        raise UsageError("--pairs is for --kind pair; leave it out, as a ranking shows all outputs together")
    if len(options.outputs) < 2:
        raise UsageError(f"--kind pair needs --outputs of two systems at least, but {len(options.outputs)} are given")
    if options.source == "-":
        raise UsageError("--from - is for --kind response only; put the contexts into a file")
    check_standard_input_once([parse_system(each)[1] for each in options.outputs])
    segments = read_segments(options.source)
    outputs = read_outputs(options.outputs, segments)
    names = [system.name for system in outputs]
    return output_items(
        segments, outputs, [tuple(names)] if config.kind == "ranking" else parse_pairs(options.pairs or "all", names)
    )


def plan(options: argparse.Namespace) -> None:
    """Estimate effort and cost, or choose the references to rate next.

    Estimate the ratings, hours, people and money that a study still needs, practice and gold items included. With
    --systems, list the references to rate next to narrow the interval of a score, or of the difference between two
    scores. With --for estimate, draw items to rate next for trubleu rate estimate, the uncertain ones more often, and
    say how many more ratings an interval of the width --interval takes.

    Examples
    --------
    trubleu rate plan my-study --raters 5 --seconds-per-item 15 --pay 14.50
    trubleu rate plan my-study --systems A.txt B.txt --interval 2
    trubleu rate plan my-study --for estimate --interval 0.3
    """
    check_packages()
    from trubleu.rating.plan import make_plan
    from trubleu.render.rating import plan_table

    if options.purpose == "estimate":
        _plan_estimate(options)
        return
    if options.scored is not None:
        _plan_ratings(options)
        return
    for name in ("metric", "interval", "most"):
        if getattr(options, name) is not None:
            also = "" if name == "metric" else ", or --for estimate"
            raise UsageError(f"--{name} goes with --systems{also}; add it, or leave it out")
    if options.raters is not None:
        check_range(options, "raters", 1, 1000)
    with opened(options.study, copy=True) as study:
        items = [item for item in study.items() if item.role == "item"]
    config = study.config if options.raters is None else replace(study.config, raters=options.raters)
    made = make_plan(
        config,
        len(items),
        there=sum(min(item.counted, config.raters) for item in items),
        least_people=max((config.raters - item.counted for item in items), default=0),
        per_hour=options.pay,
        **picked(options, "seconds_per_item minutes"),
    )
    write_tables(options, plan_table(made, for_people=options.format not in FOR_PROGRAMS))


def _plan_estimate(options: argparse.Namespace) -> None:
    """Print which items of a study people should rate next, and how many."""
    from trubleu.rating.study_estimate import estimate_study, next_items, study_scores, wanted_intervals
    from trubleu.render.rating import estimate_plan_tables

    if given := [name for name in ("raters", "scored", "metric") if getattr(options, name)]:
        name = {"scored": "systems"}.get(given[0], given[0])
        raise UsageError(f"--{name} does not go with --for estimate; leave it out")
    for name, low, high in (("pay", 0, 1e6), ("seconds_per_item", 0.1, 86_400)):
        if getattr(options, name) is not None:
            check_range(options, name, low, high)
    with opened(options.study, copy=True) as study:
        scores, config = study_scores(study), study.config
    unrated = sum(not item.counted for item in scores.items)
    if not unrated:
        raise UsageError(f"people have rated all items of {options.study}; there is nothing to plan")
    chosen = next_items(scores, min(100, unrated) if options.most is None else options.most, seed=options.seed)
    intervals = None
    if options.interval is not None:
        made = estimate_study(scores, {})
        intervals = wanted_intervals(made, config, options.interval, seconds=options.seconds_per_item, pay=options.pay)
    tables, notes = estimate_plan_tables(chosen, intervals, options.format)
    write_tables(options, *tables, notes=notes)


def _plan_ratings(options: argparse.Namespace) -> None:
    """Print which references of a study to rate next."""
    from trubleu.data import read_outputs
    from trubleu.metrics.registry import metric, parse
    from trubleu.rating.export import rated_references
    from trubleu.render.rating import rating_plan_tables
    from trubleu.scoring.next_ratings import plan_ratings

    if given := [name for name in ("raters", "seconds_per_item", "pay") if getattr(options, name)]:
        raise UsageError(f"--{given[0].replace('_', '-')} has no effect with --systems; leave it out")
    spec = options.metric or DEFAULT_METRIC
    # A segment without a good reference yet cannot be scored, but must not prevent a plan.
    skips = takes_option(parse(spec), "no_positive") and "no_positive" not in spec
    chosen = metric(spec, no_positive="skip") if skips else metric(spec)
    with opened(options.study, copy=True) as study:
        references = rated_references(study)
    outputs = {system.name: system.texts for system in read_outputs(options.scored, references)}
    most = 100 if options.most is None else options.most
    with Bars(quiet=options.quiet) as bars:
        made = plan_ratings(references, outputs, chosen, width=options.interval, most=most, steps=bars.stage)
    tables, notes = rating_plan_tables(made, options.format)
    write_tables(options, *tables, notes=notes)
