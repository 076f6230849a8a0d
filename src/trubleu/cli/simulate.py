"""``trubleu simulate``: synthetic data from a seed, and studies with known ground truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trubleu.cli.options import add_number, add_output_options, add_threads, check_output, write_output
from trubleu.errors import UsageError, counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from trubleu.execution.progress import Bars
    from trubleu.simulate import WrittenWorld
    from trubleu.simulate.studies import Pool, Scored


WORLD_EPILOG = """\
examples:
  trubleu simulate world rehearsal
  trubleu simulate world rehearsal --seed 7 --corpus 100000 --segments 500
  trubleu simulate world rehearsal --system a=skill:0.8 --system b=skill:0.7 --system parrot

systems:
  skill:SHARE  this share of good responses (0 to 1); the others are dull, off topic, unfitting or near-parrots
  retrieval    the response to the most similar message, from conversations outside the corpus
  random       a random response from these
  dull         dull responses
  constant     always the same dull response
  parrot       the message itself
"""


def add_world_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``simulate world``."""
    parser = commands.add_parser(
        "world",
        help="a world with known quality: a corpus, test messages, systems, and the truth about them",
        description="Generate a world in which the quality of every response is known: a corpus to mine, conversations "
        "to test on, the answers of systems of chosen quality, and the true quality of each answer.",
        epilog=WORLD_EPILOG,
    )
    parser.set_defaults(run=world, files=[])
    parser.add_argument("folder", metavar="FOLDER", help="a new folder")
    add_number(parser, "--seed", 1, "random seed")
    add_number(parser, "--corpus", 20_000, "conversations in the corpus")
    add_number(parser, "--segments", 200, "conversations to test on")
    parser.add_argument(
        "--system",
        action="append",
        default=[],
        metavar="NAME=SPEC",
        help="a system; repeat for more (default: strong=skill:0.85, fair=skill:0.6, weak=skill:0.3, retrieval, dull, "
        "parrot and random)",
    )
    parser.add_argument("--quiet", action="store_true", help="no output and no progress bars")


def world(options: argparse.Namespace) -> None:
    """Write a synthetic world."""
    import sys

    from trubleu.execution.progress import Bars
    from trubleu.simulate import World, write_world
    from trubleu.simulate.world import SYSTEMS

    if options.files:
        raise UsageError(f"simulate world makes one folder, but {options.files[0]} is given as well")
    systems = read_systems(options.system, need_names=True) if options.system else dict(SYSTEMS)
    with Bars(quiet=options.quiet) as bars:
        written = write_world(
            options.folder,
            World(seed=options.seed),
            corpus=options.corpus,
            segments=options.segments,
            systems=systems,
            progress=lambda name, total: bars.stage(name, total, ""),
        )
    if not options.quiet:
        sys.stdout.write(_told(written, systems))


def read_systems(given: Sequence[str], *, need_names: bool) -> dict[str, str]:
    """Parse ``--system``: names and descriptions of systems.

    Parameters
    ----------
    given
        ``NAME=SPEC``, or a spec that is its own name.
    need_names
        Whether names become those of files, which a spec with a number cannot be.

    Raises
    ------
    UsageError
        If a name is missing, or two systems have the same.

    Examples
    --------
    >>> read_systems(["a=skill:0.8", "parrot"], need_names=True)
    {'a': 'skill:0.8', 'parrot': 'parrot'}
    """

    systems: dict[str, str] = {}
    for each in given:
        name, equals, spec = each.partition("=")
        if not name:
            raise UsageError(f"--system {each} has no name before the =; write NAME=SPEC")
        if need_names and not equals and ":" in name:
            raise UsageError(f"--system {each} needs a name, such as good={each}")
        if name in systems:
            raise UsageError(f"--system {name} is given twice; give each system a name of its own, NAME=SPEC")
        systems[name] = spec if equals else each
    return systems


def _told(written: WrittenWorld, systems: dict[str, str]) -> str:
    import shlex

    from trubleu.render.studies import world_table
    from trubleu.render.tables import render_tables

    folder = shlex.quote(str(written.folder))
    what = f"{counted(written.corpus, 'conversation')} to mine, {written.segments:,} to test on"
    return (
        f"{written.folder}: {what}, {counted(len(systems), 'system')}\n\n"
        + render_tables([world_table(written, systems)])
        + "\nthen:\n"
        f"  trubleu mine index {folder}/corpus.jsonl --out {folder}/corpus.index\n"
        f"  trubleu mine run {folder}/corpus.index --seeds {folder}/seeds.jsonl --out {folder}/candidates.jsonl\n"
        f"  trubleu rate new {folder}/study --from {folder}/candidates.jsonl\n"
        f"  trubleu rate simulate {folder}/study --world {folder} --raters 10\n"
    )


ALL: Final = "all"

ONE_WORLD: Final = "± is the standard error over draws from one world. Worlds differ by more, so try several (--seed)."

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


MODELS_EPILOG: Final = """\
examples:
  trubleu simulate models
  trubleu simulate models --model mild=bias:1,noise:0.5 --model guesses=slope:0,noise:4 --rated 1,3,all
"""

MODELS: Final = (
    "good=noise:0.5",
    "mild=noise:0.5,bias:1",
    "timid=noise:0.5,slope:0.4",
    "likes-long=noise:0.5,length:1",
    "guesses=noise:4,slope:0",
)


def add_study_parsers(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the four commands."""
    power = _parser(
        commands,
        "power",
        "how often would a study find the better of two systems?",
        "Simulate many studies of two systems of known quality, with the same mining, weights, metrics and paired test "
        "as in a real study. For each number of segments, references and raters, the table shows how often the test "
        "finds the better system at p < 0.05, how often it finds the wrong one, and how often it finds a difference "
        f"between equal systems. {ONE_WORLD}",
        POWER_EPILOG,
    )
    power.set_defaults(study_options=("studies", "test", "resamples", "threads"))
    _add_systems(power, "exactly two", "skill:0.7", "skill:0.5")
    _add_sizes(power, segments="50,100,200,500", references="1,5,15", raters="1,3,5,10", metrics=("bleu-2", "dbleu-2"))
    drawn = power.add_argument_group("tests")
    add_number(drawn, "--studies", 300, "studies per condition")
    tests = ("bootstrap", "randomisation")
    drawn.add_argument("--method", dest="test", choices=tests, default=tests[0], help="the paired test")
    _add_world(power)
    add_output_options(power, digits=1)

    coverage = _parser(
        commands,
        "coverage",
        "do intervals contain the true score as often as they promise?",
        "Draw many test sets from a pool of segments with a known score, compute the bootstrap interval of each, and "
        "count how often it contains the true score.",
        COVERAGE_EPILOG,
    )
    coverage.set_defaults(study_options=("sets", "confidence", "resamples", "threads"))
    _add_systems(coverage, "repeat for more", "skill:0.6")
    metrics = ("bleu-2", "bleu-4", "sbleu-2", "dbleu-2")
    _add_sizes(coverage, segments="50,100,200,500,1000", references="5", raters="5", metrics=metrics)
    drawn = coverage.add_argument_group("intervals")
    add_number(drawn, "--sets", 1_000, "test sets per condition")
    add_number(drawn, "--confidence", 0.95, "confidence level", "C")
    _add_world(coverage)
    add_output_options(coverage)

    order = _parser(
        commands,
        "order",
        "do metrics rank systems in their true order?",
        f"Score systems of known quality on many test sets, and compare their order with the true one. {ONE_WORLD}",
        ORDER_EPILOG,
    )
    order.set_defaults(study_options=("sets",))
    _add_systems(order, "repeat for more")
    _add_sizes(order, segments="50,200", references=f"1,{ALL}", raters="5", metrics=("bleu-2", "sbleu-2", "dbleu-2"))
    add_number(order.add_argument_group("test sets"), "--sets", 1_000, "test sets per condition")
    _add_world(order, resamples=False)
    add_output_options(order)

    models = _parser(
        commands,
        "models",
        "what are ratings by a model worth beside people's?",
        "Weigh references by people, by models of known bias and noise, and by both, with the same calibration and "
        "test as in a real study. The table shows how far weights are from the truth, how many 95 % intervals hold it, "
        f"and how well systems are ordered with them. {ONE_WORLD}",
        MODELS_EPILOG,
    )
    models.set_defaults(run=run_models)
    _add_systems(models, "repeat for more")
    varied = models.add_argument_group("conditions")
    varied.add_argument(
        "--model",
        action="append",
        metavar="NAME=SPEC",
        help="a model (repeat for more), as noise:0.5,bias:1: the standard deviation of its error, what it gives too "
        "much, its slope (below 1 it keeps to the middle), and length, what it gives more to texts of twice the length "
        f"(default: {' '.join(MODELS)})",
    )
    varied.add_argument(
        "--rated", default=f"1,3,{ALL}", metavar="N,…", help=f"texts per segment that people rate (1,3,{ALL})"
    )
    varied.add_argument("--raters", type=int, default=3, metavar="N", help="people who rate each of these (3)")
    varied.add_argument("--segments", default="200", metavar="N", help="segments of a test set (200)")
    varied.add_argument("-m", "--metric", action="append", metavar="METRIC", help="one that takes weights (dbleu-2)")
    varied.add_argument("--sets", type=int, default=500, metavar="N", help="test sets (500)")
    _add_world(models, resamples=False)
    models.set_defaults(pool=1_000)
    add_output_options(models)


def _parser(
    commands: argparse._SubParsersAction[Any], name: str, about: str, description: str, epilog: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=about, description=description, epilog=epilog)
    parser.set_defaults(run=study, files=[])
    return parser


def _add_systems(parser: argparse.ArgumentParser, often: str, *default: str) -> None:
    """Add ``--system``; without a default, the systems are those of ``simulate world``."""
    parser.add_argument(
        "--system",
        action="append",
        dest="responders",
        metavar="[NAME=]SPEC",
        help=f"a system ({often}): skill:SHARE (the share of good answers), random, constant, dull, parrot or "
        f"retrieval (default: {', '.join(default) or 'the systems of simulate world'})",
    )
    parser.set_defaults(default_responders=default)


def _add_sizes(
    parser: argparse.ArgumentParser, *, segments: str, references: str, raters: str, metrics: Sequence[str]
) -> None:
    varied = parser.add_argument_group("conditions")
    varied.add_argument("--segments", default=segments, metavar="N,…", help=f"sizes of test sets (default: {segments})")
    varied.add_argument(
        "--references",
        default=references,
        metavar="N,…",
        help="references per segment, in the order of mine run (the seed's response, mined ones by rank, the message, "
        f"random ones), or all (default: {references})",
    )
    varied.add_argument("--raters", default=raters, metavar="N,…", help=f"ratings per reference (default: {raters})")
    varied.add_argument(
        "-m",
        "--metric",
        action="append",
        metavar="METRIC",
        help=f"a metric; repeat for more (default: {', '.join(metrics)})",
    )
    parser.set_defaults(default_metrics=tuple(metrics))


def _add_world(parser: argparse.ArgumentParser, *, resamples: bool = True) -> None:
    people = parser.add_argument_group("raters")
    add_number(people, "--noise", 0.8, "standard deviation of a rater's noise", "S")
    add_number(people, "--bias", 0.3, "standard deviation of raters' leniency", "S")
    add_number(people, "--lazy", 0.0, "share of raters who do not read", "SHARE")
    add_number(people, "--crowd", 40, "number of raters to draw from")
    made = parser.add_argument_group("the world")
    add_number(made, "--pool", 5_000, "segments to draw test sets from")
    add_number(made, "--corpus", 20_000, "conversations to mine from")
    add_number(made, "--top", 15, "mined candidates per seed")
    add_number(made, "--random", 0, "random responses per seed", "K")
    add_number(made, "--seed", 1, "random seed of the world and all draws")
    if resamples:
        add_number(made, "--resamples", 1_000, "bootstrap resamples")
    add_threads(made)


def study(options: argparse.Namespace) -> None:
    """Simulate a study of the kind that the command names."""
    from trubleu.execution.progress import Bars
    from trubleu.render import studies as render
    from trubleu.simulate import studies
    from trubleu.simulate.world import SYSTEMS

    kind = options.simulate_command
    given = options.responders or options.default_responders
    systems = read_systems(given, need_names=False) if given else SYSTEMS
    # Before the pool is created, which takes seconds.
    if kind == "power":
        studies.check_two(systems)
    if kind == "order" and len(systems) < 2:
        raise UsageError(f"an order needs at least two systems, not {len(systems)}; give --system again")
    sizes = _checked(options)
    make: Any = {"power": studies.power_study, "coverage": studies.coverage_study, "order": studies.order_study}[kind]
    show: Any = {"power": render.render_power, "coverage": render.render_coverage, "order": render.render_order}[kind]
    chosen = {name: getattr(options, name) for name in ("seed", *options.study_options)}
    with Bars(quiet=options.quiet) as bars:
        pool, scored = _scored(options, systems, bars)
        made = make(pool, scored, segments=sizes, steps=bars.stage, **chosen)
    write_output(options, show(made, options.format, options.digits))


def run_models(options: argparse.Namespace) -> None:
    """Weight references by people, by models, and by both."""
    from trubleu.execution.progress import Bars
    from trubleu.optional_deps import needed
    from trubleu.render.studies import render_models
    from trubleu.simulate.model_study import model_study
    from trubleu.simulate.raters import Habits, read_models
    from trubleu.simulate.studies import MOST_REFERENCES
    from trubleu.simulate.world import SYSTEMS

    needed("scipy", "calibrating a model", "trubleu[model]")
    sizes = _checked(options)
    if len(sizes) != 1 or len(options.metric or ["dbleu-2"]) != 1:
        raise UsageError("simulate models takes one number of segments and one metric; leave the others out")
    models = read_models(options.model or MODELS)
    rated = _numbers("rated", options.rated, {ALL: MOST_REFERENCES})
    habits = Habits(noise=options.noise, bias=options.bias, lazy=options.lazy)
    systems = read_systems(options.responders, need_names=False) if options.responders else SYSTEMS
    with Bars(quiet=options.quiet) as bars:
        study = model_study(
            _pool(options, systems, bars),
            models,
            rated=rated,
            raters=options.raters,
            metric=(options.metric or ["dbleu-2"])[0],
            segments=sizes[0],
            sets=options.sets,
            habits=habits,
            crowd=options.crowd,
            seed=options.seed,
            threads=options.threads,
            steps=bars.stage,
        )
    write_output(options, render_models(study, options.format, options.digits))


def _checked(options: argparse.Namespace) -> list[int]:
    """Validate the options before any work; return the sizes of test sets."""
    from trubleu.simulate.studies import check_numbers, check_whole
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
    check_whole("top", options.top, 1, 10_000)
    check_whole("random", options.random, 0, 10_000)
    if "resamples" in options:
        at_least_one(options.resamples, "resamples")
    if "confidence" in options:
        confidence_level(options.confidence)
    return sizes


def _scored(options: argparse.Namespace, systems: Mapping[str, str], bars: Bars) -> tuple[Pool, Sequence[Scored]]:
    """Create the pool, simulate ratings of its candidates, and score it under all conditions."""
    from trubleu.simulate.raters import Habits
    from trubleu.simulate.studies import draw_ratings, make_conditions, score_pool

    most = options.top + 2 + options.random
    references = _numbers("references", options.references, {ALL: most})
    if max(references) > most:
        raise UsageError(
            f"there are at most {most} candidates per segment, not {max(references)}: the seed's response, "
            f"{options.top} mined ones, the message and {options.random} random ones; raise --top"
        )
    raters = _numbers("raters", options.raters)
    conditions = make_conditions(options.metric or options.default_metrics, references, raters)
    habits = Habits(noise=options.noise, bias=options.bias, lazy=options.lazy)
    if max(raters) > options.crowd:
        raise UsageError(f"{max(raters)} raters per text cannot come from a crowd of {options.crowd}; raise --crowd")
    pool = _pool(options, systems, bars)
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


def _pool(options: argparse.Namespace, systems: Mapping[str, str], bars: Bars) -> Pool:
    from trubleu.simulate import World
    from trubleu.simulate.studies import make_pool

    return make_pool(
        World(seed=options.seed),
        systems,
        segments=options.pool,
        corpus=options.corpus,
        top=options.top,
        random=options.random,
        threads=options.threads,
        steps=bars.stage,
    )


def _numbers(name: str, written: str, words: Mapping[str, int] | None = None) -> list[int]:
    """Parse comma-separated integers."""

    numbers = []
    for part in written.split(","):
        known = (words or {}).get(part.strip())
        try:
            numbers.append(int(part) if known is None else known)
        except ValueError:
            raise UsageError(f"--{name} {written} must be whole numbers with commas between them, as in 1,5") from None
    return numbers


EPILOG = """\
examples:
  trubleu simulate world rehearsal --corpus 20000 --segments 200
  trubleu simulate triples --n 29000000 --out corpus.jsonl.zst
  trubleu simulate triples --n 2000 --seed 2 --out seeds.jsonl
  trubleu simulate triples --n 10 --out -
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its subcommands."""
    parser = commands.add_parser(
        "simulate",
        help="generate made-up data, and plan studies with it",
        description="Generate made-up data of any size from a seed, for rehearsals, planning and benchmarks.",
        epilog=EPILOG,
    )
    inner = parser.add_subparsers(title="commands", dest="simulate_command", metavar="COMMAND", required=True)
    add_world_parser(inner)
    _add_triples(inner)
    add_study_parsers(inner)


def _add_triples(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "triples",
        help="any number of conversations without meaning",
        description="Make up conversations: words with Zipf's frequencies, topics, stock phrases, duplicates and "
        "near-duplicates. The first thousand triples are the same however many are asked for.",
        epilog=EPILOG,
    )
    parser.set_defaults(run=triples, files=[])
    parser.add_argument("--n", type=int, required=True, metavar="N", help="number of triples")
    add_number(parser, "--seed", 1, "random seed of the texts")
    add_number(parser, "--language", 1, "random seed of the words and stock phrases")
    add_number(parser, "--words", 200_000, "vocabulary size")
    add_number(parser, "--exponent", 1.0, "exponent of Zipf's law", "X")
    add_number(parser, "--duplicates", 0.02, "share of messages and responses that repeat an earlier one", "SHARE")
    add_number(parser, "--near-duplicates", 0.05, "share that nearly repeat an earlier one", "SHARE")
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help=".jsonl or .tsv, also with .gz or .zst, or .parquet; - for standard output",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def triples(options: argparse.Namespace) -> None:
    """Write synthetic triples."""
    from trubleu.execution.progress import Bars
    from trubleu.simulate import TripleSimulation

    if options.files:
        raise UsageError(
            f"simulate triples reads no files, but {options.files[0]} is given; name the target with --out"
        )
    simulation = TripleSimulation(
        seed=options.seed,
        language=options.language,
        words=options.words,
        exponent=options.exponent,
        duplicates=options.duplicates,
        near_duplicates=options.near_duplicates,
    )
    with Bars(quiet=options.quiet) as bars:
        simulation.write(options.out, options.n, progress=bars.stage("simulating", options.n, " triples"))
