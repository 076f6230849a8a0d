"""``trubleu rate``: collect ratings of responses or outputs, from a file of texts to weights and ratings."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from trubleu.cli.options import add_output_options, check_output, takes_option, write_output
from trubleu.cli.rate_model import add_model_parser
from trubleu.cli.rate_serve import add_serve_parser, add_simulate_parser
from trubleu.cli.rate_study import (
    add_audit_parser,
    add_export_parser,
    add_import_parser,
    add_links_parser,
    add_people_parsers,
    add_status_parser,
    check_packages,
    no_more,
    opened,
)

if TYPE_CHECKING:
    from trubleu.rating import Item, StudyConfig


EPILOG = """\
examples:
  trubleu rate new my-study --from candidates.jsonl --raters 5
  trubleu rate links my-study --add 20 --url https://rate.example.org --out links.csv
  trubleu rate serve my-study --url https://rate.example.org
  trubleu rate status my-study
  trubleu rate export my-study --as references --out refs.jsonl
"""

NEW_EPILOG = """\
examples:
  trubleu rate new my-study --from candidates.jsonl --raters 5
  trubleu rate new my-study --from candidates.jsonl --raters 5 --carry seeds-study
  trubleu rate new my-pairs --kind pair --from refs.jsonl --outputs runs/A.txt runs/B.txt --pairs A:B --raters 3
  trubleu rate new my-ranking --kind ranking --from refs.jsonl --outputs runs/A.txt runs/B.txt runs/C.txt --raters 3
  trubleu rate new my-study --from candidates.jsonl --config study.yaml \\
    --store postgresql+psycopg://USER:PASSWORD@HOST/DATABASE
"""

PLAN_EPILOG = """\
examples:
  trubleu rate plan --from candidates.jsonl --raters 5 --seconds-per-item 15 --pay 14.50
  trubleu rate plan my-study --minutes 30 --format json
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its subcommands."""
    parser = commands.add_parser(
        "rate",
        help="let people rate or rank responses and outputs, and models beside them",
        description="Let people rate responses, or rate or rank the outputs of systems, and turn that into weighted "
        "references, ratings or rankings.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    inner = parser.add_subparsers(title="commands", dest="rate_command", metavar="COMMAND", required=True)
    _add_new(inner)
    _add_plan(inner)
    add_links_parser(inner)
    add_serve_parser(inner)
    add_status_parser(inner)
    add_audit_parser(inner)
    add_export_parser(inner)
    add_import_parser(inner)
    add_people_parsers(inner)
    add_model_parser(inner)
    add_simulate_parser(inner)


def _add_new(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "new",
        help="make a study",
        description="Make a study in a new folder, from candidates, references or triples (one response at a time), or "
        "from the outputs of systems (two at a time, or several to be ranked; blind). Wording, practice and gold items "
        "are then set in its study.yaml.",
        epilog=NEW_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=new, files=[])
    parser.add_argument("study", metavar="STUDY", help="the folder to make")
    _add_what(parser, required=True)
    parser.add_argument("--title", metavar="TEXT", help="what raters see at the top (Rate responses)")
    parser.add_argument(
        "--carry", metavar="STUDY", help="take over the ratings that another study has of the same texts"
    )
    parser.add_argument("--store", metavar="URL", help="a PostgreSQL database instead of a file in the folder")
    parser.add_argument("--quiet", action="store_true", help="print nothing")


def _add_what(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        required=required,
        help="candidates, references or triples as JSON lines, tables or Parquet; for pairs, what the "
        "outputs answer to",
    )
    parser.add_argument(
        "--kind", choices=("response", "pair", "ranking"), metavar="NAME", help="response (default), pair or ranking"
    )
    parser.add_argument(
        "--outputs",
        nargs="+",
        default=[],
        metavar="SYSTEM",
        help="for pairs and rankings: NAME=PATH or PATH of each system",
    )
    parser.add_argument("--pairs", metavar="LIST", help="for pairs: which, as A:B,A:C, or all (default)")
    parser.add_argument("--raters", type=int, metavar="N", help="ratings for each item (5)")
    parser.add_argument("--config", metavar="FILE", help="settings to begin with, as in the study.yaml of a study")


def _add_plan(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "plan",
        help="what a study takes, or which references to rate next",
        description="Say how many ratings, hours and people a study takes, and at a given pay how much money; practice "
        "and gold items included. For a study, what is still missing. With --systems, which references to rate next so "
        "that the interval of a score, or of the difference between two, becomes narrowest.",
        epilog=PLAN_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=plan, files=[])
    parser.add_argument("study", nargs="?", metavar="STUDY", help="the folder of a study; or give --from")
    _add_what(parser, required=False)
    parser.add_argument("--seconds-per-item", type=float, metavar="S", help="how long a task takes (20)")
    parser.add_argument("--pay", type=float, metavar="P", help="of an hour (15)")
    parser.add_argument("--minutes", type=float, default=60.0, metavar="M", help="that nobody should exceed (60)")
    score = parser.add_argument_group("which references to rate next")
    score.add_argument(
        "--systems", dest="scored", nargs="+", metavar="[NAME=]OUTPUTS", help="outputs of one system, or of two"
    )
    score.add_argument("-m", "--metric", metavar="METRIC", help="a metric that uses weights (default: trubleu)")
    score.add_argument("--interval", type=float, metavar="WIDTH", help="width of the interval at which the plan ends")
    score.add_argument("--most", type=int, metavar="N", help="ratings to plan at most (default: 100)")
    add_output_options(parser)


def new(options: argparse.Namespace) -> None:
    """Create a study."""
    import sys
    from contextlib import ExitStack

    from trubleu.errors import UsageError, counted

    check_packages()
    no_more(options, "new")
    from trubleu.rating import Study
    from trubleu.rating.carry import create_and_carry
    from trubleu.rating.config import check_verified

    with ExitStack() as stack:
        config = _config(options)
        check_verified(config, options.config)
        items = _items(options, config)
        if options.carry is not None:
            other = stack.enter_context(Study.open(options.carry))
            if other.config.kind != config.kind:
                raise UsageError(
                    f"--carry {options.carry} is a study of kind {other.config.kind}, not {config.kind}; "
                    "ratings can be carried over only between studies of one kind"
                )
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
        sys.stdout.write("\n".join(lines) + "\n")


def _config(options: argparse.Namespace) -> StudyConfig:
    """Return the settings of a file, or the defaults, overridden by the options."""
    from dataclasses import replace

    from trubleu.errors import UsageError
    from trubleu.rating import read_config
    from trubleu.rating.config import FEWEST_RANKED, MOST_RANKED, default_config

    if options.raters is not None and not 1 <= options.raters <= 1000:
        raise UsageError(f"--raters {options.raters} must lie between 1 and 1,000")
    if options.config is None:
        number = len(options.outputs)
        if options.kind == "ranking" and not FEWEST_RANKED <= number <= MOST_RANKED:
            raise UsageError(
                f"--kind ranking needs --outputs of {FEWEST_RANKED} to {MOST_RANKED} systems, but {number} are given"
            )
        config = default_config(options.kind or "response", number)
    else:
        config = read_config(options.config)
        if options.kind not in (None, config.kind):
            raise UsageError(f"--kind {options.kind} does not fit {options.config}, which says kind: {config.kind}")
    if options.raters is not None:
        config = replace(config, raters=options.raters)
    title = getattr(options, "title", None)
    if title is not None:
        if not title.strip():
            raise UsageError("--title is empty; give a text")
        config = replace(config, title=title)
    return config


def _items(options: argparse.Namespace, config: StudyConfig) -> list[Item]:
    from trubleu.data import parse_system, read_outputs
    from trubleu.errors import UsageError
    from trubleu.files.paths import check_standard_input_once
    from trubleu.rating import output_items, parse_pairs, read_items, read_segments

    if config.kind == "response":
        if options.outputs or options.pairs:
            raise UsageError("--outputs and --pairs are for --kind pair; add it, or leave them out")
        return read_items(options.source)
    if config.kind == "ranking" and len(options.outputs) != config.parts:
        raise UsageError(
            f"{options.config} says outputs: {config.parts}, but --outputs names {len(options.outputs)}; "
            "give one file for each"
        )
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
    """Estimate the effort of a study."""
    from dataclasses import replace

    from trubleu.errors import UsageError
    from trubleu.rating.plan import make_plan
    from trubleu.render.rating import plan_table
    from trubleu.render.tables import FOR_PROGRAMS, render_tables

    check_packages()
    no_more(options, "plan")
    check_output(options)
    if options.scored is not None:
        _plan_ratings(options)
        return
    for name in ("metric", "interval", "most"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name} goes with --systems; add it, or leave it out")
    if (options.study is None) == (options.source is None):
        raise UsageError("rate plan needs a STUDY, or --from FILE for one that is not made yet, and not both")
    given: dict[str, Any] = {
        "seconds_per_item": options.seconds_per_item,
        "per_hour": options.pay,
        "minutes": options.minutes,
    }
    if options.study is not None:
        for name in ("kind", "outputs", "pairs", "config"):
            if getattr(options, name):
                raise UsageError(f"--{name} is for --from; a study knows it already")
        with opened(options.study, copy=True) as study:
            items = [item for item in study.items() if item.role == "item"]
            config = study.config
        wanted = config.raters if options.raters is None else _config(options).raters
        there = sum(min(item.counted, wanted) for item in items)
        given["least_people"] = max((wanted - item.counted for item in items), default=0)
        made = make_plan(replace(config, raters=wanted), len(items), there=there, **given)
    else:
        config = _config(options)
        made = make_plan(config, len(_items(options, config)), **given)
    table = plan_table(made, for_people=options.format not in FOR_PROGRAMS)
    write_output(options, render_tables([table], options.format, options.digits))


def _plan_ratings(options: argparse.Namespace) -> None:
    """Print which references of a study to rate next."""
    from trubleu.data import read_outputs
    from trubleu.errors import UsageError
    from trubleu.execution.progress import Bars
    from trubleu.metrics.registry import metric, parse
    from trubleu.rating.export import rated_references
    from trubleu.render.rating import rating_plan_tables
    from trubleu.render.tables import render_tables
    from trubleu.scoring.next_ratings import plan_ratings

    if options.study is None or options.source is not None:
        raise UsageError("--systems goes with a STUDY that has ratings; name its folder, and leave --from out")
    ignored = ("kind", "outputs", "pairs", "config", "raters", "seconds_per_item", "pay")
    if given := [name for name in ignored if getattr(options, name)]:
        raise UsageError(f"--{given[0].replace('_', '-')} has no effect with --systems; leave it out")
    spec = options.metric or "trubleu"
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
    write_output(options, render_tables(tables, options.format, options.digits, notes=notes))
