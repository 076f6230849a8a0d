"""Simulated studies with known ground truth: how often a test finds the better of two systems."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.data import References
from trubleu.errors import CountedWarning, DataError, UsageError
from trubleu.metrics.registry import parse
from trubleu.mining import Candidates, Index
from trubleu.progress import Progress, Steps, no_steps
from trubleu.simulate.raters import Habits, simulated_raters
from trubleu.simulate.world import World, responder
from trubleu.stats import compare, total

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.metrics import Metric

    Measure = Callable[["Scored", "Draw", int], Sequence[object]]

__all__ = [
    "Condition", "Draws", "Pool", "PowerRow", "PowerStudy", "Scored", "draw_ratings", "make_conditions", "make_pool",
    "pool_of", "power_study", "score_pool", "weights_of",
]  # fmt: skip


class Draw(NamedTuple):
    """A simulated test set.

    Attributes
    ----------
    rows
        Which segments of the pool it has; one may come more than once, as the pool stands for endlessly many.
    swapped
        For each of them, whether two systems exchange their outputs where there shall be no difference between them.
    """

    rows: NDArray[np.int64]
    swapped: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """The test sets of a study.

    Parameters
    ----------
    segments
        Sizes of test sets.
    number
        How many test sets to draw of each size.
    resamples
        Draws of a bootstrap interval or of a paired test.
    seed
        Of all draws.
    threads
        How many threads to use; None for all cores if there is enough to do. It changes no number.

    Raises
    ------
    UsageError
        If a number is out of range.
    """

    segments: Sequence[int]
    number: int = 1_000
    resamples: int = 1_000
    seed: int = 1
    threads: int | None = None

    def __post_init__(self) -> None:
        check_numbers("segments", self.segments, 2)
        check_whole("the number of test sets", self.number, 1)
        check_whole("resamples", self.resamples, 1)
        check_whole("seed", self.seed, 0, 2**32 - 1)


def draw_test_set(pool: int, segments: int, *, number: int, seed: int) -> Draw:
    """Draw a test set; the same number and seed give the same one, whatever is scored on it.

    Parameters
    ----------
    pool
        How many segments there are to draw from.
    segments
        How many to draw.
    number
        Which test set of this size it is.
    seed
        Of all of them.

    Examples
    --------
    >>> draw = draw_test_set(10, 4, number=0, seed=1)
    >>> len(draw.rows), bool((draw.rows < 10).all())
    (4, True)
    """
    generator = np.random.default_rng([seed, 2, segments, number])
    return Draw(generator.integers(0, pool, segments), generator.integers(0, 2, segments).astype(bool))


def resampling_seed(number: int, seed: int) -> int:
    """Return the seed for resampling one test set, different from that of every other."""
    return (seed * 1_000_003 + number) % 2**64


def on_test_sets(
    pool: Pool, scored: Sequence[Scored], draws: Draws, told: Progress, measure: Measure
) -> NDArray[np.float64]:
    """Return what is measured on each test set, by condition, size and number; sets are the same for all conditions."""

    def measured(each: Scored, size: int, number: int) -> Sequence[object]:
        draw = draw_test_set(len(pool), size, number=number, seed=draws.seed)
        found = measure(each, draw, resampling_seed(number, draws.seed))
        told(1)
        return found

    values = [
        [[measured(each, size, number) for number in range(draws.number)] for size in draws.segments] for each in scored
    ]
    return np.array(values, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Segments with known ground truth.

    Attributes
    ----------
    candidates
        All candidates for references, without weights, in the order in which mining writes them: the seed's own
        response, the mined ones by rank, the message said back, random ones.
    qualities
        How good each candidate truly is, from 1 to 5.
    outputs
        What each system answers, one text per segment.
    output_qualities
        How good each of these truly is.

    Examples
    --------
    >>> pool = Pool(
    ...     candidates=References.from_lists([["fine", "no idea"], ["at noon"]]),
    ...     qualities=np.array([4.5, 2.0, 4.8]),
    ...     outputs={"A": ("fine thanks", "now"), "B": ("what", "what")},
    ...     output_qualities={"A": np.array([4.5, 3.0]), "B": np.array([1.0, 1.5])},
    ... )
    >>> len(pool), pool.quality("A"), pool.first(1).texts
    (2, 3.75, ('fine', 'at noon'))
    """

    candidates: References
    qualities: NDArray[np.float64]
    outputs: Mapping[str, Sequence[str]]
    output_qualities: Mapping[str, NDArray[np.float64]]

    def __post_init__(self) -> None:
        sizes = {"qualities": (len(self.qualities), self.candidates.count)}
        for name, texts in self.outputs.items():
            sizes[f"outputs of {name}"] = len(texts), len(self)
            sizes[f"output_qualities of {name}"] = len(self.output_qualities[name]), len(self)
        for what, (given, wanted) in sizes.items():
            if given != wanted:
                raise DataError(f"the pool has {given} {what}, but {wanted} texts; give one for each")

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems."""
        return tuple(self.outputs)

    def quality(self, system: str) -> float:
        """Return the true quality of a system: the mean over all segments."""
        return float(self.output_qualities[system].mean())

    def first(self, number: int, weights: NDArray[np.float64] | None = None) -> References:
        """Return the first candidates of each segment, or as many as it has.

        Parameters
        ----------
        number
            How many per segment.
        weights
            One for each candidate of the pool; without it all are alike.
        """
        offsets, counts = self.candidates.offsets, self.candidates.reference_counts()
        kept = np.arange(self.candidates.count) - np.repeat(offsets[:-1], counts) < number
        rated = self.candidates if weights is None else self.candidates.with_weights(weights)
        return rated.take(np.arange(len(self)), kept)


def pool_of(
    candidates: Candidates,
    outputs: Mapping[str, Sequence[str]],
    quality: Callable[[str, str], float],
    *,
    steps: Steps = no_steps,
) -> Pool:
    """Create a pool, looking up the quality of all texts.

    Parameters
    ----------
    candidates
        What was mined.
    outputs
        What each system answers to the seeds.
    quality
        How good a response (the second text) is to a message (the first).
    steps
        Told of how far it is.
    """
    messages = [each.seed.message for each in candidates]
    texts = [[one.text for one in each.candidates] for each in candidates]
    told = steps("looking up the truth", 1 + len(outputs))

    def qualities(answers: Iterable[Sequence[str]]) -> NDArray[np.float64]:
        pairs = zip(messages, answers, strict=False)  # the pool checks their number
        found = [quality(message, text) for message, several in pairs for text in several]
        told(1)
        return np.array(found)

    return Pool(
        candidates=References.from_lists(texts, ids=[each.seed.id for each in candidates]).with_messages(messages),
        qualities=qualities(texts),
        outputs={name: tuple(given) for name, given in outputs.items()},
        output_qualities={name: qualities([[text] for text in given]) for name, given in outputs.items()},
    )


def make_pool(
    world: World,
    systems: Mapping[str, str],
    *,
    segments: int = 5_000,
    corpus: int = 20_000,
    top: int = 15,
    random: int = 0,
    threads: int | None = None,
    steps: Steps = no_steps,
) -> Pool:
    """Create a pool from a world: seeds, candidates mined from its corpus, responses of systems of known skill.

    Parameters
    ----------
    world
        Where texts and their qualities come from.
    systems
        What each system is, as `trubleu.simulate.responder` reads it: ``skill:0.6``, ``random``, …
    segments
        How many seeds.
    corpus
        How many conversations to mine from; systems that repeat what others said have read as many other ones.
    top, random
        How many candidates to mine for a seed, and how many random ones to add.
    threads
        How many threads may mine.
    steps
        Told of how far it is.

    Raises
    ------
    UsageError
        If a number is out of range or there is no such kind of system.

    Examples
    --------
    >>> from trubleu.simulate import World
    >>> pool = make_pool(World(), {"A": "skill:0.9", "B": "parrot"}, segments=20, corpus=500)
    >>> len(pool), pool.quality("A") > pool.quality("B")
    (20, True)
    """
    check_whole("pool", segments, 2)
    check_whole("corpus", corpus, 1)
    check_whole("top", top, 1, 10_000)
    check_whole("random", random, 0, 10_000)
    speakers = {
        name: responder(world, spec, memory=corpus, seed=number) for number, (name, spec) in enumerate(systems.items())
    }
    seeds = list(world.seeds(segments))
    with tempfile.TemporaryDirectory(prefix="trubleu-") as folder:
        index = Index.build(Path(folder) / "index", world.triples(corpus), progress=steps("making the corpus", corpus))
        candidates = index.candidates(
            seeds, top=top, random=random, threads=threads, progress=steps("mining", segments)
        )
    told = steps("answering", len(speakers))
    outputs = {}
    for name, speaker in speakers.items():
        outputs[name] = speaker.respond(seeds)
        told(1)
    return pool_of(candidates, outputs, world.quality, steps=steps)


def check_whole(name: str, number: int, least: int, most: int = 10_000_000) -> None:
    """Raise an error for a number that is not an integer in range.

    Examples
    --------
    >>> check_whole("studies", 0, 1)
    Traceback (most recent call last):
    trubleu.errors.UsageError: studies must be a whole number from 1 to 10,000,000, not 0
    """
    if type(number) is not int or not least <= number <= most:
        raise UsageError(f"{name} must be a whole number from {least:,} to {most:,}, not {number!r}")


CROWD: Final = 40
"""Size of the crowd, of whom each text is rated by a few."""

MOST_RATERS: Final = 1_000


def draw_ratings(
    pool: Pool,
    raters: int,
    *,
    habits: Habits | None = None,
    crowd: int = CROWD,
    seed: int = 1,
    progress: Progress | None = None,
) -> NDArray[np.int64]:
    """Simulate ratings of every candidate by raters drawn from a crowd, as in ``trubleu rate``.

    Parameters
    ----------
    pool
        What is rated.
    raters
        How many rate each text.
    habits
        What the people are like.
    crowd
        How many people there are; some of them are stricter than others, or do not read.
    seed
        Of all that is drawn.
    progress
        Told how many more texts have been rated.

    Returns
    -------
    NDArray[np.int64]
        ``[candidates, raters]``, from 1 to 5. The first columns are what fewer raters would have said.

    Raises
    ------
    UsageError
        If there are fewer people than raters are needed for a text.

    Examples
    --------
    >>> from trubleu.data import References
    >>> from trubleu.simulate.studies import Pool
    >>> texts = References.from_lists([["fine", "no idea"]])
    >>> pool = Pool(candidates=texts, qualities=np.array([4.6, 2.0]), outputs={}, output_qualities={})
    >>> draw_ratings(pool, 3, habits=Habits(noise=0, bias=0)).tolist()
    [[5, 5, 5], [2, 2, 2]]
    """
    check_whole("raters", raters, 1, MOST_RATERS)
    check_whole("crowd", crowd, 1, 1_000_000)
    if raters > crowd:
        raise UsageError(f"{raters} raters per text cannot come from a crowd of {crowd}; raise --crowd")
    people = simulated_raters(crowd, habits or Habits(), seed=seed)
    generator = np.random.default_rng([seed, 1])
    ids = np.repeat(np.array(pool.candidates.ids, dtype=object), pool.candidates.reference_counts())
    ratings = np.empty((pool.candidates.count, raters), dtype=np.int64)
    for row, (name, text, quality) in enumerate(
        zip(ids.tolist(), pool.candidates.texts, pool.qualities.tolist(), strict=True)
    ):
        # One random stream per text, in rater order: ratings by fewer raters are a prefix of those by more.
        draw = Random(f"ratings/{seed}/{name}/{text}")  # noqa: S311 - no secret
        ratings[row] = [people[person].points(quality, draw) for person in generator.permutation(crowd)[:raters]]
        if progress is not None:
            progress(1)
    return ratings


def weights_of(ratings: NDArray[np.int64], raters: int) -> NDArray[np.float64]:
    """Return the weights from the first ``raters`` ratings of each text: (Σ − 3n) / (2n).

    Examples
    --------
    >>> weights_of(np.array([[5, 1], [4, 4]]), 1).tolist(), weights_of(np.array([[5, 1], [4, 4]]), 2).tolist()
    ([1.0, 0.5], [0.0, 0.5])
    """
    sums = ratings[:, :raters].sum(axis=1)
    weights: NDArray[np.float64] = (sums - 3 * raters) / (2 * raters)
    return weights


MOST_REFERENCES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Condition:
    """A way of scoring.

    Attributes
    ----------
    name
        The metric as it was written.
    metric
        The metric.
    references
        How many references a segment has at most.
    raters
        How many people rated each; None if the metric takes no weights.
    """

    name: str
    metric: Metric
    references: int
    raters: int | None


@dataclass(frozen=True, slots=True)
class Scored:
    """The statistics of every system on the whole pool under one condition.

    Attributes
    ----------
    condition
        The condition.
    rows
        ``float64[segments, k]`` for each system.
    left_out
        The share of segments that no reference of positive weight is left for; their rows are 0.
    """

    condition: Condition
    rows: Mapping[str, NDArray[np.float64]]
    left_out: float

    @property
    def how(self) -> dict[str, Any]:
        """The row fields that describe the condition."""
        condition = self.condition
        return {"metric": condition.name, "references": condition.references, "raters": condition.raters}

    def score(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores with higher meaning better, for any metric."""
        scores = self.condition.metric.score(sums)
        return scores if self.condition.metric.higher_is_better else -scores


def make_conditions(metrics: Sequence[str], references: Sequence[int], raters: Sequence[int]) -> tuple[Condition, ...]:
    """Combine metrics, numbers of references and, for weighted metrics, numbers of raters.

    Parameters
    ----------
    metrics
        As ``-m`` takes them.
    references, raters
        Numbers, none twice.

    Raises
    ------
    UsageError
        If something is given twice, out of range, or cannot be studied by drawing rows.

    Examples
    --------
    >>> for each in make_conditions(["bleu-2", "dbleu-2"], [1, 5], [3]):
    ...     print(each.name, each.references, each.raters)
    bleu-2 1 None
    bleu-2 5 None
    dbleu-2 1 3
    dbleu-2 5 3
    """
    for what, numbers, most in (("references", references, MOST_REFERENCES), ("raters", raters, MOST_RATERS)):
        check_numbers(what, numbers, 1, most)
    if len(set(metrics)) != len(metrics) or not metrics:
        raise UsageError("give at least one metric, and none of them twice")
    made = []
    for name in metrics:
        spec = parse(name)
        # As a user would if a study left a segment without a good reference.
        metric = spec.build(**({"no_positive": "skip"} if spec.accepts("no_positive") else {}))
        if metric.learns:
            raise UsageError(
                f"{name} learns from the references of all segments, so a test set is more than the sum of its "
                "segments; leave it out"
            )
        people = raters if metric.uses_weights else [None]
        made += [Condition(name, metric, *numbers) for numbers in product(references, people)]
    return tuple(made)


def check_numbers(what: str, numbers: Sequence[int], least: int, most: int = 10_000_000) -> None:
    """Raise an error for a list of numbers that is empty, has duplicates or values out of range."""
    for number in numbers:
        check_whole(what, number, least, most)
    if len(set(numbers)) != len(numbers) or not numbers:
        raise UsageError(f"{what} must be one number or several different ones, separated by commas")


def score_pool(
    pool: Pool,
    conditions: Sequence[Condition],
    ratings: NDArray[np.int64],
    *,
    threads: int | None = None,
    steps: Steps = no_steps,
) -> tuple[Scored, ...]:
    """Compute the statistics of all systems under all conditions once; a test set is a selection of rows.

    Parameters
    ----------
    pool
        The segments.
    conditions
        Ways to score.
    ratings
        As `draw_ratings` returns them, for at least as many raters as the conditions have.
    threads
        How many threads to use; None for all cores if there is enough to do.
    steps
        Told of how far it is.
    """
    told = steps("scoring", len(conditions) * len(pool.outputs))
    made = []
    for condition in conditions:
        weights = None if condition.raters is None else weights_of(ratings, condition.raters)
        made.append(score_references(pool, condition, pool.first(condition.references, weights), threads, told))
    return tuple(made)


def score_references(
    pool: Pool, condition: Condition, references: References, threads: int | None, told: Progress
) -> Scored:
    """Compute the statistics of all systems against some references."""
    rows = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "segments in .* without a reference of positive", CountedWarning)
        for system, outputs in pool.outputs.items():
            rows[system] = condition.metric.statistics(outputs, references, threads=threads)
            told(1)
        left_out = len(condition.metric.skipped(references)) / len(pool)
    return Scored(condition, rows, left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One way of scoring and one size of test sets.

    Attributes
    ----------
    metric, references, raters
        How outputs were scored; no raters for metrics that take no weights.
    segments
        Segments of a test set.
    """

    metric: str
    references: int
    raters: int | None
    segments: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRow(Row):
    """Results of many simulated studies of one kind; see `Row` for what it is.

    Attributes
    ----------
    ratings
        How many ratings of references such a study has to pay for; None without raters.
    studies
        How many were simulated.
    found
        The share of studies in which the test found the truly better system.
    wrong
        The share in which the test "found" the other one.
    false_alarms
        The share in which the test found a difference where there was none, because for each segment a coin decided
        which output belonged to which system.
    difference
        The better system's score less the other's on the whole pool, with the sign turned round for error rates; below
        0 the metric is wrong however large the test set.
    left_out
        The share of segments without a reference of positive weight, which weighted metrics leave out.
    """

    ratings: int | None
    studies: int
    found: float
    wrong: float
    false_alarms: float
    difference: float
    left_out: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerStudy:
    """Power of studies that compare two systems.

    Attributes
    ----------
    better, other
        The systems; the first is the better one in truth.
    better_quality, other_quality
        How good they truly are, from 1 to 5.
    pool
        How many segments test sets were drawn from.
    draws
        The test sets.
    rows
        One for each condition and number of segments.
    """

    better: str
    other: str
    better_quality: float
    other_quality: float
    pool: int
    draws: Draws
    rows: tuple[PowerRow, ...]


def power_study(pool: Pool, scored: Sequence[Scored], draws: Draws, *, steps: Steps = no_steps) -> PowerStudy:
    """Simulate studies that compare two systems with the default paired test at p < 0.05.

    Test sets of one size are the same under all conditions, so differences between conditions are not masked by
    sampling noise.

    Parameters
    ----------
    pool
        Segments with two systems, one of which is truly better.
    scored
        Their statistics under each condition.
    draws
        The test sets, one a study, and the resamples of a test.
    steps
        Told of how far it is.

    Raises
    ------
    UsageError
        If there are not two systems, or neither is better.
    """
    check_two(pool.systems)
    better, other = sorted(pool.systems, key=pool.quality, reverse=True)
    qualities = {"better_quality": pool.quality(better), "other_quality": pool.quality(other)}
    if len({*qualities.values()}) == 1:
        raise UsageError(
            f"{better} and {other} are equally good in truth, so there is nothing to find; give two systems that "
            "differ (how often a difference is found where there is none is in the table anyway)"
        )
    settings: dict[str, Any] = {"resamples": draws.resamples, "threads": draws.threads}
    told = steps("simulating studies", len(draws.segments) * draws.number * len(scored))

    def outcomes(each: Scored, draw: Draw, seed: int) -> Sequence[bool]:
        a, b = each.rows[better][draw.rows], each.rows[other][draw.rows]
        # The same rows dealt to both systems at random leave no difference.
        coins = draw.swapped[:, np.newaxis]
        [real] = compare({"a": a, "b": b}, each.score, seed=seed, **settings)
        swapped = {"a": np.where(coins, b, a), "b": np.where(coins, a, b)}
        [none] = compare(swapped, each.score, seed=seed, **settings)
        found = real.significant
        return [found and real.difference > 0, found and real.difference < 0, none.significant]

    shares = on_test_sets(pool, scored, draws, told, outcomes).mean(axis=2).tolist()
    rows = []
    for each, by_size in zip(scored, shares, strict=True):
        one, two = (float(each.score(total(each.rows[system]))) for system in (better, other))
        texts = int(np.minimum(pool.candidates.reference_counts(), each.condition.references).sum())
        raters = each.condition.raters
        for size, (found, wrong, false_alarms) in zip(draws.segments, by_size, strict=True):
            rows.append(
                PowerRow(
                    **each.how,
                    segments=size,
                    ratings=None if raters is None else round(texts * size / len(pool) * raters),
                    studies=draws.number,
                    found=found,
                    wrong=wrong,
                    false_alarms=false_alarms,
                    difference=one - two,
                    left_out=each.left_out,
                )
            )
    return PowerStudy(better=better, other=other, **qualities, pool=len(pool), draws=draws, rows=tuple(rows))


def check_two(systems: Collection[str]) -> None:
    """Raise an error unless there are two systems."""
    if len(systems) != 2:
        raise UsageError(f"power is about two systems, not {len(systems)}; give --system twice")
