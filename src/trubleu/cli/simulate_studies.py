"""``trubleu simulate power``, ``coverage`` and ``order``: rehearse a study whose truth is known."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli.output import add_output_options, check_output, write_output
from trubleu.cli.simulate_world import read_systems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.cli.progress import Bars
    from trubleu.simulate.studies import Pool, Scored

ALL: Final = "all"

ONE_WORLD: Final = (
    "Errors (±) are those of drawing from one world; worlds differ by more, so try a few (--seed) before you rely on "
    "a number."
)

POWER_EPILOG: Final = """\
examples:
  trubleu simulate power
  trubleu simulate power --system skill:0.7 --system skill:0.6 --segments 100,300 --raters 1,3,5 --references 1,5,15
  trubleu simulate power -m dbleu-2 -m 'bleu-4[tokenize=words]' --lazy 0.2 --studies 1000 --format csv --out power.csv
"""

COVERAGE_EPILOG: Final = """\
examples:
  trubleu simulate coverage
  trubleu simulate coverage --system skill:0.9 --segments 50,100,200 -m bleu-4 -m dbleu-2 --sets 2000
"""

ORDER_EPILOG: Final = """\
examples:
  trubleu simulate order
  trubleu simulate order --system a=skill:0.8 --system b=retrieval --system c=random --segments 100,500 -m dbleu-2
"""


def add_study_parsers(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the three commands."""
    power = _parser(
        commands,
        "power",
        "how often would a study find the better of two systems?",
        "Simulate many studies of two systems of known quality; mining, weights, metrics and the paired test are those "
        "of a real study. The table says how often the test finds the better system at p < 0.05, by the "
        "numbers of segments, references and raters; how often it finds the wrong one; and how often it finds a "
        f"difference where there is none. {ONE_WORLD}",
        POWER_EPILOG,
    )
    power.set_defaults(run=run_power)
    _add_systems(power, "two of these", ("skill:0.7", "skill:0.5"))
    _add_sizes(power, segments="50,100,200,500", references="1,5,15", raters="1,3,5,10", metrics=("bleu-2", "dbleu-2"))
    drawn = power.add_argument_group("tests")
    drawn.add_argument("--studies", type=int, default=300, metavar="N", help="studies to simulate for a number (300)")
    drawn.add_argument("--method", choices=("bootstrap", "randomisation"), default="bootstrap", help="the paired test")
    _add_world(power)
    add_output_options(power, digits=1)

    coverage = _parser(
        commands,
        "coverage",
        "do intervals cover the true score as often as they say?",
        "Draw many test sets from a pool of segments whose score is known, make the bootstrap interval of each, and "
        "count how often it covers the truth.",
        COVERAGE_EPILOG,
    )
    coverage.set_defaults(run=run_coverage)
    _add_systems(coverage, "one of these, or several", ("skill:0.6",))
    _add_sizes(
        coverage,
        segments="50,100,200,500,1000",
        references="5",
        raters="5",
        metrics=("bleu-2", "bleu-4", "sbleu-2", "dbleu-2"),
    )
    drawn = coverage.add_argument_group("intervals")
    drawn.add_argument("--sets", type=int, default=1_000, metavar="N", help="test sets to draw for a number (1000)")
    drawn.add_argument("--confidence", type=float, default=0.95, metavar="C", help="of intervals (0.95)")
    _add_world(coverage)
    add_output_options(coverage)

    order = _parser(
        commands,
        "order",
        "do metrics put systems into their true order?",
        f"Score systems of known quality on many test sets, and compare their order with the true one. {ONE_WORLD}",
        ORDER_EPILOG,
    )
    order.set_defaults(run=run_order)
    _add_systems(
        order,
        "one for each system",
        ("strong, fair, weak, retrieval, dull, parrot and random, as simulate world has them",),
    )
    _add_sizes(order, segments="50,200", references=f"1,{ALL}", raters="5", metrics=("bleu-2", "sbleu-2", "dbleu-2"))
    drawn = order.add_argument_group("test sets")
    drawn.add_argument("--sets", type=int, default=1_000, metavar="N", help="test sets to draw for a number (1000)")
    _add_world(order, resamples=False)
    add_output_options(order)


def _parser(
    commands: argparse._SubParsersAction[Any], name: str, about: str, description: str, epilog: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(files=[])
    return parser


def _add_systems(parser: argparse.ArgumentParser, often: str, default: Sequence[str]) -> None:
    parser.add_argument(
        "--system",
        action="append",
        dest="responders",
        metavar="[NAME=]SPEC",
        help=f"a system, {often}: skill:SHARE (that share of its answers is good), random, constant, dull, parrot or "
        f"retrieval ({', '.join(default)})",
    )
    parser.set_defaults(default_responders=tuple(default))


def _add_sizes(
    parser: argparse.ArgumentParser, *, segments: str, references: str, raters: str, metrics: Sequence[str]
) -> None:
    varied = parser.add_argument_group("what is varied")
    varied.add_argument(
        "--segments", default=segments, metavar="N,…", help=f"sizes of test sets ({segments.replace(',', ', ')})"
    )
    varied.add_argument(
        "--references",
        default=references,
        metavar="N,…",
        help="references a segment, in the order of mine run: the seed's response, mined ones by rank, the message, "
        f"random ones; all for all of them ({references.replace(',', ', ')})",
    )
    varied.add_argument(
        "--raters", default=raters, metavar="N,…", help=f"ratings of each reference ({raters.replace(',', ', ')})"
    )
    varied.add_argument(
        "-m", "--metric", action="append", metavar="METRIC", help=f"a metric; again for more ({', '.join(metrics)})"
    )
    parser.set_defaults(default_metrics=tuple(metrics))


def _add_world(parser: argparse.ArgumentParser, *, resamples: bool = True) -> None:
    people = parser.add_argument_group("raters")
    people.add_argument("--noise", type=float, default=0.8, metavar="S", help="spread of one rater's scores (0.8)")
    people.add_argument("--bias", type=float, default=0.3, metavar="S", help="spread of how mild raters are (0.3)")
    people.add_argument("--lazy", type=float, default=0.0, metavar="SHARE", help="of raters who do not read (0)")
    people.add_argument("--crowd", type=int, default=40, metavar="N", help="people that raters are drawn from (40)")
    made = parser.add_argument_group("the world")
    made.add_argument("--pool", type=int, default=5_000, metavar="N", help="segments to draw test sets from (5000)")
    made.add_argument("--corpus", type=int, default=20_000, metavar="N", help="conversations to mine from (20000)")
    made.add_argument("--top", type=int, default=15, metavar="N", help="candidates to mine for a seed (15)")
    made.add_argument("--random", type=int, default=0, metavar="K", help="random responses to add to them (0)")
    made.add_argument("--seed", type=int, default=1, metavar="N", help="of the world and of all draws (1)")
    if resamples:
        made.add_argument("--resamples", type=int, default=1_000, metavar="N", help="draws of the bootstrap (1000)")
    made.add_argument("--threads", type=int, metavar="N", help="threads to use (all cores); no number depends on it")


def run_power(options: argparse.Namespace) -> None:
    """Simulate studies of two systems."""
    from trubleu.cli.progress import Bars, told_once
    from trubleu.simulate.studies import power_study
    from trubleu.simulate.studies.power import check_two
    from trubleu.simulate.studies.tables import render_power

    systems = _systems(options)
    check_two(systems)  # before the pool is made, which takes seconds
    sizes = _checked(options)
    with told_once(quiet=options.quiet), Bars(quiet=options.quiet) as bars:
        pool, scored = _scored(options, systems, bars)
        study = power_study(
            pool,
            scored,
            segments=sizes,
            studies=options.studies,
            test=options.method,
            resamples=options.resamples,
            seed=options.seed,
            threads=options.threads,
            steps=bars.stage,
        )
    write_output(options, render_power(study, options.format, options.digits))


def run_coverage(options: argparse.Namespace) -> None:
    """Count how often intervals cover the truth."""
    from trubleu.cli.progress import Bars, told_once
    from trubleu.simulate.studies import coverage_study
    from trubleu.simulate.studies.tables import render_coverage

    systems = _systems(options)
    sizes = _checked(options)
    with told_once(quiet=options.quiet), Bars(quiet=options.quiet) as bars:
        pool, scored = _scored(options, systems, bars)
        study = coverage_study(
            pool,
            scored,
            segments=sizes,
            sets=options.sets,
            confidence=options.confidence,
            resamples=options.resamples,
            seed=options.seed,
            threads=options.threads,
            steps=bars.stage,
        )
    write_output(options, render_coverage(study, options.format, options.digits))


def run_order(options: argparse.Namespace) -> None:
    """Compare the order of systems with the true one."""
    from trubleu.cli.progress import Bars, told_once
    from trubleu.errors import UsageError
    from trubleu.simulate.studies import order_study
    from trubleu.simulate.studies.tables import render_order
    from trubleu.simulate.world_files import SYSTEMS

    systems = _systems(options) if options.responders else SYSTEMS
    if len(systems) < 2:
        raise UsageError(f"an order needs two systems or more, not {len(systems)}; give --system again")
    sizes = _checked(options)
    with told_once(quiet=options.quiet), Bars(quiet=options.quiet) as bars:
        pool, scored = _scored(options, systems, bars)
        study = order_study(pool, scored, segments=sizes, sets=options.sets, seed=options.seed, steps=bars.stage)
    write_output(options, render_order(study, options.format, options.digits))


def _checked(options: argparse.Namespace) -> list[int]:
    """Refuse, before any work is done, what could not be printed or makes no study; return the sizes of test sets."""
    from trubleu.errors import UsageError
    from trubleu.simulate.studies.conditions import check_numbers
    from trubleu.simulate.studies.pool import check_whole
    from trubleu.stats.checks import at_least_one, confidence_level

    if options.files:
        raise UsageError(
            f"simulate {options.simulate_command} reads no files, but {options.files[0]} is given; leave it out"
        )
    check_output(options)
    sizes = _numbers("segments", options.segments)
    check_numbers("segments", sizes, 2)
    for name in ("studies", "sets"):
        if name in options:
            check_whole(name, getattr(options, name), 1)
    check_whole("seed", options.seed, 0, 2**32 - 1)
    if "resamples" in options:
        at_least_one(options.resamples, "resamples")
    if "confidence" in options:
        confidence_level(options.confidence)
    return sizes


def _systems(options: argparse.Namespace) -> dict[str, str]:
    return read_systems(options.responders or options.default_responders, need_names=False)


def _scored(options: argparse.Namespace, systems: Mapping[str, str], bars: Bars) -> tuple[Pool, Sequence[Scored]]:
    """Make the pool, let people rate its candidates, and score it under all conditions."""
    from trubleu.errors import UsageError
    from trubleu.simulate import World
    from trubleu.simulate.people import Habits
    from trubleu.simulate.studies import draw_ratings, make_conditions, make_pool, score_pool
    from trubleu.simulate.studies.pool import check_whole

    check_whole("top", options.top, 1, 10_000)
    check_whole("random", options.random, 0, 10_000)
    most = options.top + 2 + options.random
    references = _numbers("references", options.references, {ALL: most})
    if max(references) > most:
        raise UsageError(
            f"there are at most {most} candidates a segment, not {max(references)}: the seed's response, "
            f"{options.top} mined ones, the message and {options.random} random ones; raise --top"
        )
    raters = _numbers("raters", options.raters)
    conditions = make_conditions(options.metric or options.default_metrics, references, raters)
    habits = Habits(noise=options.noise, bias=options.bias, lazy=options.lazy)
    if max(raters) > options.crowd:
        raise UsageError(f"{max(raters)} raters a text cannot come from a crowd of {options.crowd}; raise --crowd")
    pool = make_pool(
        World(seed=options.seed),
        systems,
        segments=options.pool,
        corpus=options.corpus,
        top=options.top,
        random=options.random,
        threads=options.threads,
        steps=bars.stage,
    )
    needed = max((each.raters for each in conditions if each.raters), default=1)
    ratings = draw_ratings(
        pool,
        needed,
        habits=habits,
        crowd=options.crowd,
        seed=options.seed,
        progress=bars.stage("rating", pool.candidates.count, " texts"),
    )
    return pool, score_pool(pool, conditions, ratings, threads=options.threads, steps=bars.stage)


def _numbers(name: str, written: str, words: Mapping[str, int] | None = None) -> list[int]:
    """Read whole numbers with commas between them."""
    from trubleu.errors import UsageError

    numbers = []
    for part in written.split(","):
        known = (words or {}).get(part.strip())
        try:
            numbers.append(int(part) if known is None else known)
        except ValueError:
            raise UsageError(f"--{name} {written} must be whole numbers with commas between them, as in 1,5") from None
    return numbers
