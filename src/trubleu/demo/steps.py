"""What the demo does, as the commands that a user would type."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trubleu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

SYSTEMS: Final = {
    "strong": "skill:0.9",
    "fair": "skill:0.5",
    "weak": "skill:0.2",
    "retrieval": "retrieval",
    "dull": "dull",
    "parrot": "parrot",
    "random": "random",
}
"""Who answers, and how. Who retrieves has read other conversations than those that references are mined from."""

CAST: Final = (
    "strong, fair and weak give a good answer in 90, 50 and 20 of 100 cases; retrieval says what somebody answered to "
    "the most similar message; dull says “i don’t know” in many ways; random says anything that anybody answered; "
    "parrot says the message back."
)
"""What the systems do, for people."""

METRICS: Final = ("bleu-2", "dbleu-2", "dbleu2vec-2", "trubleu")
"""BLEU, then with weights of references, then with near misses too; and the default metric."""

COMPARED: Final = ("bleu-2", "dbleu-2")
"""Those that are scored with the good references only, too."""

_MINED: Final = 5
_RANDOM: Final = 1
_CORPUS: Final = 20_000
_GOOD: Final = 0.001  # below the smallest weight above 0 that ratings can give
_OTHERS: Final = 500  # added to the seed of who rates outputs: other people than those who rated references
_UNIT: Final = 10
_EXPLAINED: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What changes a demo's numbers.

    Attributes
    ----------
    seed
        Of the world and of its raters.
    segments
        Messages that the systems answer to.
    raters
        Who all rate everything, so that the same seed gives the same ratings however fast they are.

    Examples
    --------
    >>> DemoOptions(segments=2)
    Traceback (most recent call last):
    trubleu.errors.UsageError: --segments 2 must lie between 4 and 2,000
    """

    seed: int = 1
    segments: int = 100
    raters: int = 3

    def __post_init__(self) -> None:
        for name, low, high in (("seed", 0, 2**31 - 1), ("segments", 4, 2000), ("raters", 1, 50)):
            if not low <= getattr(self, name) <= high:
                raise UsageError(f"--{name} {getattr(self, name)} must lie between {low} and {high:,}")


@dataclass(frozen=True, slots=True)
class Command:
    """Arguments of ``trubleu``.

    Attributes
    ----------
    arguments
        What stands behind the name of the program.
    beside
        Whether it runs beside the commands after it, until the step ends.

    Examples
    --------
    >>> print(Command(("score", "my folder/A.txt"), beside=True))
    trubleu score 'my folder/A.txt' &
    """

    arguments: tuple[str, ...]
    beside: bool = False

    def __str__(self) -> str:
        return shlex.join(["trubleu", *self.arguments]) + " &" * self.beside


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something that is done or not done.

    Attributes
    ----------
    name
        What the journal calls it.
    title
        What people read.
    commands
        In their order; none for the report, which the demo writes itself.
    makes
        The files and folders that are there when it is done. What an interrupted attempt left of them is removed.
    continues
        Whether instead it goes on with what an interrupted attempt left.
    """

    name: str
    title: str
    commands: tuple[Command, ...]
    makes: tuple[str, ...]
    continues: bool = False

    @property
    def typed(self) -> tuple[str, ...]:
        """The commands as one would type them; what runs beside the others is ended at last."""
        end = ("kill $!; wait $!",) if any(command.beside for command in self.commands) else ()
        return (*map(str, self.commands), *end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What changes how steps are done, and no number.

    Attributes
    ----------
    port
        Where pages are served.
    quiet
        Whether commands print nothing.
    attempt
        How often the step was begun before. Raters who come later are other people than those who were interrupted.
    """

    port: int = 8000
    quiet: bool = False
    attempt: int = 0

    @property
    def url(self) -> str:
        """Where pages are."""
        return f"http://127.0.0.1:{self.port}"


def demo_steps(folder: Path, options: DemoOptions, around: Surroundings | None = None) -> tuple[Step, ...]:
    """Return the steps.

    Parameters
    ----------
    folder
        Where everything stays, as the commands are to name it.
    options
        What changes numbers.
    around
        What does not.

    Examples
    --------
    >>> from pathlib import Path
    >>> steps = demo_steps(Path("demo"), DemoOptions())
    >>> [step.name for step in steps][:3], str(steps[1].commands[0])
    (['world', 'index', 'candidates'], 'trubleu mine index demo/world/corpus.jsonl --out demo/index')
    """
    return tuple(_steps(folder, options, Surroundings() if around is None else around))


def _steps(folder: Path, options: DemoOptions, around: Surroundings) -> Iterator[Step]:
    def at(name: str) -> str:
        return str(folder / name)

    def command(*arguments: object) -> Command:
        return Command((*map(str, arguments), *(["--quiet"] if around.quiet else [])))

    seed, raters = options.seed, options.raters
    outputs = _outputs(folder)
    metrics = [part for name in METRICS for part in ("-m", name)]
    sizes = ("--corpus", _CORPUS, "--segments", options.segments, "--seed", seed)
    systems = [part for name, how in SYSTEMS.items() for part in ("--system", name if name == how else f"{name}={how}")]
    yield Step(
        name="world",
        title="Make a world: conversations, messages to answer, seven systems that answer them",
        commands=(command("simulate", "world", at("world"), *sizes, *systems),),
        makes=("world", *_world_files()),
    )
    yield Step(
        name="index",
        title="Index the conversations",
        commands=(command("mine", "index", at("world/corpus.jsonl"), "--out", at("index")),),
        makes=("index", "index/index.json"),
    )
    mined = ("--top", _MINED, "--random", _RANDOM, "--seed", seed, "--out", at("candidates.jsonl"))
    yield Step(
        name="candidates",
        title="Mine candidate references: what others answered to similar messages, and bad ones for contrast",
        commands=(command("mine", "run", at("index"), "--seeds", at("world/seeds.jsonl"), *mined),),
        makes=("candidates.jsonl",),
    )
    study = ("--from", at("candidates.jsonl"), "--raters", raters)
    yield Step(
        name="study",
        title="Make a study in which people rate the candidates",
        commands=(command("rate", "new", at("study"), *study),),
        makes=("study", *_study_files("study")),
    )
    yield _rating(folder, options, around, "study", "Serve its pages; simulated raters answer over HTTP, as people do")
    yield Step(
        name="references",
        title="Turn ratings into weights: references from −1 (very bad) to +1 (very good)",
        commands=(
            command("rate", "status", at("study"), "--format", "json", "--out", at("status.json")),
            command("rate", "export", at("study"), "--as", "references", "--out", at("references.jsonl")),
        ),
        makes=("status.json", "references.jsonl"),
    )
    pairs = ("--kind", "pair", "--from", at("world/seeds.jsonl"))
    which = ("--pairs", ",".join(f"{a}:{b}" for a, b in rated_pairs(list(SYSTEMS))))
    yield Step(
        name="pairs",
        title="Make a second study, in which people rate what the systems say, two at a time",
        commands=(command("rate", "new", at("pairs"), *pairs, "--outputs", *outputs, *which, "--raters", raters),),
        makes=("pairs", *_study_files("pairs")),
    )
    yield _rating(folder, options, around, "pairs", "Serve it, and let simulated raters answer")
    yield Step(
        name="ratings",
        title="Write down what people think of the systems",
        commands=(command("rate", "export", at("pairs"), "--as", "ratings", "--out", at("ratings.csv")),),
        makes=("ratings.csv",),
    )
    refs = ("--refs", at("references.jsonl"), *outputs)
    scored = ("--no-positive", "skip", "--ci", "--test", "--seed", seed, "--format", "json", "--out")
    yield Step(
        name="scores",
        title="Score the systems without weights and with them, with intervals and tests",
        commands=(command("score", *refs, *metrics, *scored, at("scores.json")),),
        makes=("scores.json",),
    )
    good = ("--refs", at("good.jsonl"), *outputs, *(part for name in COMPARED for part in ("-m", name)))
    yield Step(
        name="good scores",
        title="Leave the bad references out and score again: is it enough to be rid of them?",
        commands=(
            # It has nothing to be quiet about.
            Command(("refs", "convert", at("references.jsonl"), at("good.jsonl"), "--min-weight", str(_GOOD))),
            command("score", *good, *scored, at("good-scores.json")),
        ),
        makes=("good.jsonl", "good-scores.json"),
    )
    unit = ("--unit", min(_UNIT, options.segments // 2), "--condition", "all", "--sweeps", "none", "--seed", seed)
    judged = ("--ratings", at("ratings.csv"), *metrics, *which, *unit)
    wanted = ("--report", at("judge.html"), "--format", "json", "--out", at("judge.json"))
    yield Step(
        name="judgement",
        title="Hold the metrics against what people think",
        commands=(command("judge", "pairs", *refs, *judged, *wanted),),
        makes=("judge.json", "judge.html"),
    )
    explained = (*_outputs(folder, ("strong", "parrot")), "-m", "dbleu-2", "--no-positive", "skip")
    page = ("--differ", min(_EXPLAINED, options.segments), "--format", "html", "--out", at("explain.html"))
    yield Step(
        name="explanation",
        title="Show which words made the difference between a good system and one that says the message back",
        commands=(command("explain", "--refs", at("references.jsonl"), *explained, *page),),
        makes=("explain.html",),
    )
    yield Step(name="report", title="Write the report", commands=(), makes=("report.html",))


def _rating(folder: Path, options: DemoOptions, around: Surroundings, study: str, title: str) -> Step:
    where = str(folder / study)
    # Raters who come after an interruption are others: else they would say again what they said before.
    seed = options.seed + 1000 * around.attempt + (_OTHERS if study == "pairs" else 0)
    people = ("--world", str(folder / "world"), "--raters", str(options.raters), "--seed", str(seed))
    quiet = ("--quiet",) if around.quiet else ()
    return Step(
        name=f"rate {study}",
        title=title,
        commands=(
            Command(("rate", "serve", where, "--port", str(around.port), "--requests", "0", "--quiet"), beside=True),
            Command(("rate", "simulate", where, *people, "--url", around.url, *quiet)),
        ),
        makes=(study, *_study_files(study)),
        continues=True,
    )


def _world_files() -> tuple[str, ...]:
    outputs = [f"outputs/{name}.txt" for name in SYSTEMS]
    return tuple(f"world/{name}" for name in ("world.json", "corpus.jsonl", "seeds.jsonl", "truth.csv", *outputs))


def _study_files(study: str) -> tuple[str, ...]:
    return f"{study}/study.yaml", f"{study}/store.db"


def trial_steps(folder: Path, around: Surroundings) -> tuple[Command, Command, Command]:
    """Return how a small study for trying the pages is made, where its rater's link comes from, and how it is served.

    Parameters
    ----------
    folder
        The folder of the demo.
    around
        Where pages are served.
    """
    where = str(folder / "trial")
    new = ("rate", "new", where, "--from", str(folder / "trial.jsonl"), "--title", "Try it: rate responses")
    links = ("rate", "links", where, "--add", "1", "--url", around.url)
    serve = ("rate", "serve", where, "--port", str(around.port), "--quiet")
    return Command((*new, "--quiet")), Command(links), Command(serve)


def rated_pairs(systems: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs that people see: every system beside the next and, farther away, the one opposite to it.

    Examples
    --------
    >>> rated_pairs("abcd")
    [('a', 'b'), ('b', 'c'), ('c', 'd'), ('d', 'a'), ('a', 'c'), ('b', 'd')]
    """
    half = len(systems) // 2
    around = [(name, systems[(place + 1) % len(systems)]) for place, name in enumerate(systems)]
    return around + [(systems[place], systems[place + half]) for place in range(half)]


def _outputs(folder: Path, systems: Iterable[str] = SYSTEMS) -> list[str]:
    paths = {name: str(folder / "world" / "outputs" / f"{name}.txt") for name in systems}
    # A path with an equals sign would be taken for NAME=PATH.
    return [f"{name}={path}" if "=" in path else path for name, path in paths.items()]
