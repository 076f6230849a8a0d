"""``trubleu simulate``: synthetic data from a seed, and studies with known ground truth."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from trubleu.cli import arguments as add
from trubleu.cli.options import picked, say, whole_numbers, write_output
from trubleu.errors import UsageError, counted
from trubleu.files.paths import is_standard
from trubleu.files.writer import check_writable
from trubleu.progress import Bars
from trubleu.render.tables import render_tables

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from trubleu.simulate.studies import Draws, Pool, Scored


def world(options: argparse.Namespace) -> None:
    """Generate a world of known quality: a corpus, test messages, systems and their true quality.

    Generate a world in which the quality of every response is known: a corpus to mine, conversations to test on, the
    answers of systems of chosen quality, and the true quality of each answer.

    Examples
    --------
    trubleu simulate world rehearsal
    trubleu simulate world rehearsal --seed 7 --corpus 100000 --segments 500
    trubleu simulate world rehearsal --system a=skill:0.8 --system b=skill:0.7 --system parrot

    Notes
    -----
    systems:
      skill:SHARE  this share of good responses (0 to 1); the others are dull, off topic, unfitting or near-parrots
      retrieval    the response to the most similar message, from conversations outside the corpus
      random       a random response from those conversations
      dull         dull responses
      constant     always the same dull response
      parrot       the message itself
    """
    from trubleu.render.studies import world_table
    from trubleu.simulate import World, write_world
    from trubleu.simulate.world import SYSTEMS

    systems = read_systems(options.system) if options.system else dict(SYSTEMS)
    world, sizes = World(seed=options.seed), picked(options, "corpus segments")
    with Bars(quiet=options.quiet) as bars:
        written = write_world(options.folder, world, **sizes, systems=systems, progress=bars.stage)
    if not options.quiet:
        folder = shlex.quote(str(written.folder))
        what = f"{counted(written.corpus, 'conversation')} to mine, {written.segments:,} to test on"
        say(
            f"{written.folder}: {what}, {counted(len(systems), 'system')}\n",
            render_tables([world_table(written, systems)]),
            "then:",
            f"  trubleu mine index {folder}/corpus.jsonl --out {folder}/corpus.index",
            f"  trubleu mine run {folder}/corpus.index --seeds {folder}/seeds.jsonl --out {folder}/candidates.jsonl",
            f"  trubleu rate new {folder}/study --from {folder}/candidates.jsonl",
            f"  trubleu simulate ratings {folder}/study --world {folder} --raters 10 --out {folder}/ratings.csv",
            f"  trubleu rate import {folder}/study {folder}/ratings.csv",
        )


def read_systems(given: Sequence[str]) -> dict[str, str]:
    """Parse ``--system``: names and descriptions of systems.

    Parameters
    ----------
    given
        ``NAME=SPEC``, or a spec that is its own name.

    Raises
    ------
    UsageError
        If a name is missing, or two systems have the same.

    Examples
    --------
    >>> read_systems(["a=skill:0.8", "parrot"])
    {'a': 'skill:0.8', 'parrot': 'parrot'}
    """
    systems: dict[str, str] = {}
    for each in given:
        name, equals, spec = each.partition("=")
        if not name:
            raise UsageError(f"--system {each} has no name before the =; write NAME=SPEC")
        if name in systems:
            raise UsageError(f"--system {name} is given twice; give each system a name of its own, NAME=SPEC")
        systems[name] = spec if equals else each
    return systems


def ratings(options: argparse.Namespace) -> None:
    """Draw ratings of simulated raters, to rehearse a study.

    Draw as many ratings of each item as the study asks for, and write a table for trubleu rate import. Raters know the
    true quality of every text if it is from a simulated world. Otherwise, real responses are good, mined ones so-so,
    and parrots and random ones bad.

    Examples
    --------
    trubleu simulate ratings rehearsal --raters 10 --out ratings.csv
    trubleu simulate ratings world/study --world world --raters 10 --lazy 0.1 --out ratings.csv
    """
    from trubleu.cli.rate_study import opened
    from trubleu.simulate import read_world
    from trubleu.simulate.raters import Habits

    check_writable(options.out)
    habits = Habits(**picked(options, "noise bias lazy"))
    quality = None if options.world is None else read_world(options.world).quality
    with opened(options.study, copy=True) as study:
        from trubleu.rating.simulated_ratings import simulated_ratings

        made = simulated_ratings(study, options.raters, habits=habits, seed=options.seed, quality=quality)
    made.write(options.out)
    if not options.quiet and not is_standard(options.out):
        say(
            f"{options.out}: {counted(len(made), 'rating')} of {counted(made.raters(), 'simulated rater')}",
            f"then: trubleu rate import {shlex.quote(options.study)} {shlex.quote(options.out)}",
        )


ALL: Final = "all"


def add_systems(parser: argparse.ArgumentParser, often: str, *default: str) -> None:
    """Add ``--system``; without a default, the systems are those of ``simulate world``."""
    about = (
        f"a system ({often}): skill:SHARE (the share of good answers), random, constant, dull, parrot or retrieval "
        f"(default: {', '.join(default) or 'the systems of simulate world'})"
    )
    add.several(parser, "--system", "[NAME=]SPEC", about, dest="responders")
    parser.set_defaults(default_responders=default)


def add_sizes(
    parser: argparse.ArgumentParser, *, segments: str, references: str, raters: str, metrics: Sequence[str]
) -> None:
    """Add the options of what is varied: sizes, references, raters and metrics."""
    varied = parser.add_argument_group("conditions")
    add.option(varied, "--segments", "N,…", "sizes of test sets", segments)
    about = (
        "references per segment, in the order of mine run (the seed's response, mined ones by rank, the message, "
        "random ones), or all"
    )
    add.option(varied, "--references", "N,…", about, references)
    add.option(varied, "--raters", "N,…", "ratings per reference", raters)
    add.several(varied, "-m --metric", "METRIC", f"a metric; repeat for more (default: {', '.join(metrics)})")
    parser.set_defaults(default_metrics=tuple(metrics))


def _add_habits(parser: add.Options) -> None:
    add.option(parser, "--noise", "S", "standard deviation of a rater's noise", 0.8)
    add.option(parser, "--bias", "S", "standard deviation of raters' leniency", 0.3)
    add.option(parser, "--lazy", "SHARE", "share of raters who do not read", 0.0)


def add_world(parser: argparse.ArgumentParser, *, resamples: bool = True) -> None:
    """Add the options of the raters and the world."""
    people = parser.add_argument_group("raters")
    _add_habits(people)
    add.option(people, "--crowd", "N", "number of raters to draw from", 40)
    made = parser.add_argument_group("the world")
    add.option(made, "--pool", "N", "segments to draw test sets from", 5_000)
    add.option(made, "--corpus", "N", "conversations to mine from", 20_000)
    add.option(made, "--top", "N", "mined candidates per seed", 15)
    add.option(made, "--random", "K", "random responses per seed", 0)
    add.option(made, "--seed", "N", "random seed of the world and all draws", 1)
    if resamples:
        add.option(made, "--resamples", "N", "draws of a test", 1_000)
    add.threads(made)


def power(options: argparse.Namespace) -> None:
    """Estimate how often a study would find the better of two systems.

    Simulate many studies of two systems of known quality, with the same mining, weights, metrics and paired test as in
    a real study. For each number of segments, references and raters, the table shows how often the test finds the
    better system at p < 0.05, how often it finds the wrong one, and how often it finds a difference between equal
    systems. ± is the standard error over draws from one world. Worlds differ by more, so try several (--seed).

    Examples
    --------
    trubleu simulate power
    trubleu simulate power --system skill:0.7 --system skill:0.6 --segments 100,300 --raters 1,3,5 --references 1,5,15
    trubleu simulate power -m dbleu-2 -m 'bleu-4[tokenize=words]' --lazy 0.2 --studies 1000 --format csv --out power.csv
    """
    from trubleu.render.studies import render_power
    from trubleu.simulate.studies import check_two, power_study

    systems = chosen_systems(options)
    check_two(systems)  # before the pool is created, which takes seconds
    run_study(options, systems, power_study, render_power)


def chosen_systems(options: argparse.Namespace) -> Mapping[str, str]:
    """Return the systems that are given, or the default ones."""
    from trubleu.simulate.world import SYSTEMS

    given = options.responders or options.default_responders
    return read_systems(given) if given else SYSTEMS


def run_study(options: argparse.Namespace, systems: Mapping[str, str], make: Any, show: Any, names: str = "") -> None:
    """Simulate a study; ``names`` are the options that only this kind of study has."""
    draws = chosen_draws(options)
    with Bars(quiet=options.quiet) as bars:
        pool, scored = _scored(options, systems, bars)
        made = make(pool, scored, draws, steps=bars.stage, **picked(options, names))
    write_output(options, show(made, options.format, options.digits))


def chosen_draws(options: argparse.Namespace) -> Draws:
    """Validate the options before any work; return the test sets."""
    from trubleu.simulate.studies import Draws, check_whole

    check_whole("top", options.top, 1, 10_000)
    check_whole("random", options.random, 0, 10_000)
    drawn = picked(options, "seed threads resamples" if "resamples" in options else "seed threads")
    return Draws(segments=whole_numbers("--segments", options.segments), number=options.sets, **drawn)


def _scored(options: argparse.Namespace, systems: Mapping[str, str], bars: Bars) -> tuple[Pool, Sequence[Scored]]:
    """Create the pool, simulate ratings of its candidates, and score it under all conditions."""
    from trubleu.simulate.raters import Habits
    from trubleu.simulate.studies import draw_ratings, make_conditions, score_pool

    most = options.top + 2 + options.random
    references = whole_numbers("--references", options.references, {ALL: most})
    if max(references) > most:
        raise UsageError(
            f"there are at most {most} candidates per segment, not {max(references)}: the seed's response, "
            f"{options.top} mined ones, the message and {options.random} random ones; raise --top"
        )
    raters = whole_numbers("--raters", options.raters)
    conditions = make_conditions(options.metric or options.default_metrics, references, raters)
    habits = Habits(**picked(options, "noise bias lazy"))
    if max(raters) > options.crowd:
        raise UsageError(f"{max(raters)} raters per text cannot come from a crowd of {options.crowd}; raise --crowd")
    pool = chosen_pool(options, systems, bars)
    needed = max((each.raters for each in conditions if each.raters), default=1)
    progress = bars.stage("rating", pool.candidates.count, " texts")
    ratings = draw_ratings(pool, needed, habits=habits, **picked(options, "crowd seed"), progress=progress)
    return pool, score_pool(pool, conditions, ratings, threads=options.threads, steps=bars.stage)


def chosen_pool(options: argparse.Namespace, systems: Mapping[str, str], bars: Bars) -> Pool:
    """Create the pool."""
    from trubleu.simulate import World
    from trubleu.simulate.studies import make_pool

    sizes = picked(options, "corpus top random threads")
    return make_pool(World(seed=options.seed), systems, segments=options.pool, **sizes, steps=bars.stage)


def add_parser(commands: add.Commands) -> None:
    """Generate synthetic data, and plan studies with it.

    Examples
    --------
    trubleu simulate world rehearsal --corpus 20000 --segments 200
    trubleu simulate ratings my-study --raters 10 --out ratings.csv
    trubleu simulate power --segments 100,300 --raters 1,3,5
    """
    inner = add.commands(commands, "simulate", add_parser)

    parser = add.command(inner, "world", world)
    parser.add_argument("folder", metavar="FOLDER", help="a new folder")
    add.option(parser, "--seed", "N", "random seed", 1)
    add.option(parser, "--corpus", "N", "conversations in the corpus", 20_000)
    add.option(parser, "--segments", "N", "conversations to test on", 200)
    about = (
        "a system; repeat for more (default: strong=skill:0.85, fair=skill:0.6, weak=skill:0.3, retrieval, dull, "
        "parrot and random)"
    )
    add.several(parser, "--system", "NAME=SPEC", about, default=[])
    add.quiet(parser, "no output and no progress bars")

    parser = add.command(inner, "ratings", ratings)
    parser.add_argument("study", metavar="STUDY", help="the folder of the study")
    add.option(parser, "--raters", "N", "number of raters to draw from", type=int, required=True)
    about = "raters know the true quality of every text in this world (see trubleu simulate world)"
    add.option(parser, "--world", "FOLDER", about)
    _add_habits(parser)
    add.option(parser, "--seed", "N", "random seed of raters and ratings", 1)
    about = ".csv, .tsv or .jsonl, also with .gz or .zst, or .parquet; - for standard output"
    add.option(parser, "--out", "FILE", about, required=True)
    add.quiet(parser)

    parser = add.command(inner, "power", power)
    add_systems(parser, "exactly two", "skill:0.7", "skill:0.5")
    add_sizes(parser, segments="50,100,200,500", references="1,5,15", raters="1,3,5,10", metrics=("bleu-2", "dbleu-2"))
    drawn = parser.add_argument_group("tests")
    add.option(drawn, "--studies", "N", "studies per condition", 300, dest="sets")
    add_world(parser)
    add.output(parser, digits=1)
