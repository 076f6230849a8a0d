"""Estimates of people's mean rating of systems and of their differences, from ratings of some items and proxies of all.

A proxy is anything that scores items: a model rater, or a metric.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from trubleu.data.metric_scores import SegmentScores
from trubleu.data.outputs import parse_system
from trubleu.data.rankings import titles_of
from trubleu.data.ratings import MEAN, Ratings, read_columns
from trubleu.errors import DataError, UsageError, counted, nearest, shown, some
from trubleu.files.tables import find_required, number
from trubleu.stats.prediction_powered import (
    LEAST_ITEMS,
    LEAST_RATERS,
    PredictionPowered,
    RaterShares,
    Target,
    prediction_powered_mean,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from trubleu.data.ratings import Rated
    from trubleu.files.paths import PathLike

Proxies: TypeAlias = "Mapping[str, Mapping[Rated, float]]"
"""The scores of each proxy by its name: of items by systems."""

ALL: Final = "all"
"""The name of all proxies together."""

_ANY_SCALE: Final = (-1e300, 1e300)  # scores of proxies are on scales of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemEstimate:
    """The mean rating of a system, or of a system less another one.

    Attributes
    ----------
    system, other
        Of which system; less which other one, None for a mean.
    proxy
        The proxy, ``all`` for several together.
    found
        The estimate; None if there is none.
    reason
        Why there is none, or why the proxy cannot be worth anything.
    """

    system: str
    other: str | None
    proxy: str
    found: PredictionPowered | None
    reason: str = ""

    @property
    def name(self) -> str:
        """The system, or the two of a difference."""
        return self.system if self.other is None else f"{self.system} − {self.other}"

    @property
    def worthless(self) -> str:
        """Why the proxy was worth nothing; empty if it was worth something, or if there is no estimate."""
        if self.found is None or self.reason:
            return self.reason if self.found else ""
        if not self.found.useful:
            return "its scores do not follow people's (λ is not distinguishable from 0)"
        if round(self.found.effective) <= self.found.rated:
            return "the interval is no narrower than that of people alone"
        return ""

    @property
    def worth(self) -> str:
        """How many rated items the proxy was worth, in words."""
        if self.found is None:
            return f"no estimate: {self.reason}"
        if self.worthless:
            return f"{self.proxy} was worth nothing: {self.worthless}"
        return f"as if {self.found.effective:,.0f} items were rated, not {self.found.rated:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """Mean ratings of systems, and their differences.

    Attributes
    ----------
    systems, differences
        One entry for each system, or pair of systems, and proxy.
    target, confidence
        What they are estimates of, and the level of their intervals.
    ratings, raters
        How many ratings by people they are from, and by how many people.
    notes
        What to keep in mind, in sentences.
    """

    systems: tuple[SystemEstimate, ...]
    differences: tuple[SystemEstimate, ...]
    target: Target
    confidence: float
    ratings: int
    raters: int
    notes: tuple[str, ...]


def estimate_ratings(
    ratings: Ratings,
    proxies: Proxies,
    *,
    target: Target = "population",
    confidence: float = 0.95,
    probabilities: Mapping[str, float] | None = None,
    segments: Mapping[str, str] | None = None,
    seed: int = 12345,
) -> Estimates:
    """Estimate the mean rating of each system and the difference of each pair of systems.

    Parameters
    ----------
    ratings
        People's ratings of some items.
    proxies
        The scores of each proxy, such as a model's ratings or a metric's segment scores, of these items and of others.
    target, confidence, seed
        As in `trubleu.stats.prediction_powered_mean`.
    probabilities
        The probability with which each rated item was chosen for rating, if they are unequal.
    segments
        The segment of an item, where several items may be of one.

    Raises
    ------
    DataError
        If no system can be estimated: too few items are rated, or none of those that a proxy has scored.

    Examples
    --------
    >>> from trubleu.data import Ratings
    >>> items = [str(n) for n in range(30)]
    >>> ratings = Ratings(items, ["A"] * 30, ["ann"] * 30, [1 + n % 5 for n in range(30)])
    >>> model = {(str(n), "A"): n % 5 + n % 2 for n in range(300)}
    >>> estimate = estimate_ratings(ratings, {"model": model}).systems[0].found
    >>> estimate.rated, estimate.unrated, estimate.effective > 60
    (30, 270, True)
    """
    if not proxies:
        raise UsageError("an estimate needs a proxy: a model's ratings, or a metric's segment scores")
    rated, scores = _RatedItems(ratings), _by_system(proxies)
    _check_ids(ratings, scores)
    _check_probabilities(rated, probabilities)
    task = _Task(rated, scores, target, confidence, probabilities, segments or {}, seed)
    sets = {name: (name,) for name in scores} | ({ALL: tuple(scores)} if len(scores) > 1 else {})
    systems = [system for system in ratings.systems() if any(system in own for own in scores.values())]
    means = tuple(task.estimate((system,), *named) for system in systems for named in sets.items())
    # Systems without a common item, such as origins of responses, have no difference to estimate.
    pairs = [pair for pair in combinations(systems, 2) if not rated.of[pair[0]].keys().isdisjoint(rated.of[pair[1]])]
    differences = tuple(task.estimate(pair, *named) for pair in pairs for named in sets.items())
    if not any(each.found for each in means):
        raise DataError(f"{ratings.source}: no estimate of {shown(means[0].name)}: {means[0].reason}")
    return Estimates(
        systems=means,
        differences=differences,
        target=target,
        confidence=confidence,
        ratings=len(ratings),
        raters=rated.raters,
        notes=tuple(_notes(ratings, task, (*means, *differences))),
    )


def read_proxies(paths: Iterable[str]) -> dict[str, dict[Rated, float]]:
    """Read the scores of proxies: files of ratings by models, and of segment scores, each ``[NAME=]FILE``.

    A file may hold several proxies, called after their raters or metrics.

    Raises
    ------
    DataError
        If a file cannot be read, or two proxies have the same name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "comet.csv"
    >>> _ = path.write_text("metric,system,segment,score\\nCOMET,A,1,0.7\\n")
    >>> read_proxies([str(path)]), read_proxies([f"mine={path}"])
    ({'COMET': {('1', 'A'): 0.7}}, {'mine': {('1', 'A'): 0.7}})
    """
    proxies: dict[str, dict[Rated, float]] = {}
    for argument in paths:
        name, path = parse_system(argument)
        found = _read_scores(path)
        if len(found) == 1 and (argument != path or [*found] == [MEAN]):
            found = {name: next(iter(found.values()))}
        for proxy, scores in found.items():
            if proxy == ALL:
                raise DataError(f"{path}: {ALL} means all proxies together; name this one with NAME=FILE")
            if proxy in proxies:
                raise DataError(f"{path}: another proxy is called {shown(proxy)}; name one with NAME=FILE")
            proxies[proxy] = scores
    return proxies


def _read_scores(path: str) -> dict[str, dict[Rated, float]]:
    found: dict[str, dict[Rated, float]] = defaultdict(dict)
    if path.removesuffix(".gz").endswith(".score") or "metric" in titles_of(path):
        scores = SegmentScores.read(path)
        for metric, system, segment, score in zip(
            scores.metric, scores.system, scores.segment, scores.score, strict=True
        ):
            found[metric][segment, system] = float(score)
        return found
    given = Ratings.read(path, scale=_ANY_SCALE, repeats="mean")
    values: dict[str, dict[Rated, list[float]]] = defaultdict(lambda: defaultdict(list))
    for rater, item, system, score in zip(given.rater, given.item, given.system, given.score, strict=True):
        values[rater][item, system].append(float(score))  # one for each aspect
    return {rater: {rated: fmean(own) for rated, own in scores.items()} for rater, scores in values.items()}


def read_probabilities(path: PathLike) -> dict[str, float]:
    """Read the probability with which each item was chosen: a table with the columns ``item`` and ``probability``.

    Raises
    ------
    DataError
        If the file cannot be read, a column is missing, or a value is no probability.
    """
    table, _ = read_columns(path)
    wanted = {"item": ("id", "segment"), "probability": ("p",)}
    titles = [table.names[place] for place in find_required(table.names, wanted, table.source).values()]
    found: dict[str, float] = {}
    for row, (item, value) in enumerate(zip(*(table.columns[title] for title in titles), strict=True)):
        given = number(value) if isinstance(value, str) else value
        if not isinstance(given, int | float) or not 0 < given <= 1:
            raise DataError(
                f"{table.place(row)}: probability must be a number above 0 and at most 1, not {shown(value)}"
            )
        if found.setdefault(str(item), float(given)) != given:
            raise DataError(f"{table.place(row)}: the item {shown(str(item))} has another probability above")
    return found


class _RatedItems:
    """People's ratings of items by system; the rating of an item is the mean over aspects of the means over raters."""

    def __init__(self, ratings: Ratings) -> None:
        names = {rater: code for code, rater in enumerate(dict.fromkeys(ratings.rater))}
        self.raters = len(names)
        rows: dict[tuple[str, str], list[tuple[int, str | None, float]]] = defaultdict(list)
        aspects = ratings.aspect or [None] * len(ratings)
        for item, system, rater, score, aspect in zip(
            ratings.item, ratings.system, ratings.rater, ratings.score, aspects, strict=True
        ):
            rows[system, item].append((names[rater], aspect, float(score)))
        self.of: dict[str, dict[str, list[tuple[int, float, float]]]] = defaultdict(dict)
        """By system and item: rater, score and the share of it in the item's rating."""
        for (system, item), given in rows.items():
            often = Counter(aspect for _, aspect, _ in given)
            self.of[system][item] = [(rater, score, 1 / len(often) / often[aspect]) for rater, aspect, score in given]

    def mean(self, system: str, item: str) -> float:
        return math.fsum(score * share for _, score, share in self.of[system][item])


@dataclass(frozen=True, slots=True)
class _Task:
    """All that an estimate is made of."""

    rated: _RatedItems
    scores: Mapping[str, Mapping[str, Mapping[str, float]]]
    target: Target
    confidence: float
    probabilities: Mapping[str, float] | None
    segments: Mapping[str, str]
    seed: int

    def estimate(self, systems: tuple[str, ...], proxy: str, proxies: Sequence[str]) -> SystemEstimate:
        """Estimate a system's mean, or the difference of two, with some of the proxies."""
        other = systems[1] if len(systems) > 1 else None
        columns = [self.scores[name].get(system, {}) for name in proxies for system in systems]
        scored = [item for item in columns[0] if all(item in column for column in columns)]
        both = [item for item in scored if all(item in self.rated.of[system] for system in systems)]
        rated = set(both)
        left = [item for item in scored if item not in rated]
        code: dict[str, int] = {}
        clusters = [
            [code.setdefault(self.segments.get(item, item), len(code)) for item in items] for items in (both, left)
        ]
        if len(both) < LEAST_ITEMS or len(set(clusters[0])) < LEAST_ITEMS:
            few = counted(len(set(clusters[0])), "segment" if self.segments else "item")
            of = " of both systems" if other else ""
            reason = f"people have rated {few}{of} that it has scored; rate at least {LEAST_ITEMS}"
            return SystemEstimate(system=systems[0], other=other, proxy=proxy, found=None, reason=reason)

        def differences(items: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
            table = np.array([[column[item] for column in columns] for item in items], np.float64)
            table = table.reshape(len(items), len(proxies), len(systems))
            return table[:, :, 0] - table[:, :, 1] if other else table[:, :, 0]

        values, shares = self._rated_values(systems, both)
        inside, outside = differences(both), differences(left)
        found = prediction_powered_mean(
            values,
            inside,
            outside,
            segments=clusters[0],
            unrated_segments=clusters[1],
            probabilities=None if self.probabilities is None else [self.probabilities[item] for item in both],
            raters=shares,
            target=self.target,
            confidence=self.confidence,
            seed=self.seed,
        )
        reason = ""
        if not left:
            reason = "people have rated all items that it has scored"
        elif not np.ptp(np.concatenate([inside, outside]), axis=0).any():
            reason = "its scores are all the same"
        return SystemEstimate(system=systems[0], other=other, proxy=proxy, found=found, reason=reason)

    def _rated_values(
        self, systems: tuple[str, ...], items: Sequence[str]
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], RaterShares]:
        """Return people's rating of each item, or the difference of two, and what each rater contributed to it."""
        values = np.zeros(len(items))
        shares: list[tuple[int, int, float]] = []
        for sign, system in zip((1, -1), systems, strict=False):
            means = np.array([self.rated.mean(system, item) for item in items])
            values += sign * means
            level = float(means.mean())
            for place, item in enumerate(items):
                for rater, score, share in self.rated.of[system][item]:
                    shares.append((place, rater, sign * share * (score - level)))
        columns = (np.array(column) for column in zip(*shares, strict=True))
        return values, RaterShares(*columns)


def _by_system(proxies: Proxies) -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, scores in proxies.items():
        own: dict[str, dict[str, float]] = defaultdict(dict)
        for (item, system), score in scores.items():
            own[system][item] = score
        found[name] = dict(own)
    return found


def _check_ids(ratings: Ratings, proxies: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
    """Refuse proxies that have scored nothing that people have rated."""
    people = dict.fromkeys(zip(ratings.item, ratings.system, strict=True))
    for name, scores in proxies.items():
        if any(item in scores.get(system, ()) for item, system in people):
            continue
        items = dict.fromkeys(item for own in scores.values() for item in own)
        for what, theirs, ours in (("system", scores, ratings.systems()), ("item", items, ratings.items())):
            if not any(each in theirs for each in ours):
                raise DataError(
                    f"{name} and {ratings.source} have no {what} in common, such as {some(theirs)} and {some(ours)}; "
                    "use the same ids in both"
                )
        raise DataError(f"{name} has scored nothing that people have rated; let it score the rated items, too")


def _check_probabilities(rated: _RatedItems, probabilities: Mapping[str, float] | None) -> None:
    """Refuse rated items without a probability, or with an impossible one."""
    if probabilities is None:
        return
    for item in dict.fromkeys(item for own in rated.of.values() for item in own):
        if item not in probabilities:
            raise DataError(f"the rated item {shown(item)} has no probability; {nearest(item, probabilities)}")
        if not 0 < probabilities[item] <= 1:
            raise DataError(
                f"item {shown(item)}: the probability of a rated item must be above 0 and at most 1, not "
                f"{probabilities[item]:g}"
            )


def _notes(ratings: Ratings, task: _Task, made: Sequence[SystemEstimate]) -> Iterator[str]:
    raters = task.rated.raters
    sample = any(each.found is not None and each.found.random_raters for each in made)
    of = "these items" if task.target == "items" else "the population that the items are a sample of"
    if set(ratings.rater) == {MEAN}:
        yield f"estimates are of {of}, as rated by the raters of these means"
    elif sample:
        yield f"estimates are of {of}, as rated by people like these {raters}"
    else:
        who = f"these {raters} raters" if raters > 1 else "this one rater"
        yield f"estimates are of {of}, as rated by {who}; from {LEAST_RATERS} raters on, of raters like them"
    yield from _worth(made)
    often = Counter(zip(ratings.item, ratings.system, ratings.aspect or ratings.item, strict=True))
    if max(often.values()) == 1 and set(ratings.rater) != {MEAN}:
        yield "each item has one rating, so how far raters differ is not known"
    unknown = sum(
        all(item not in scores.get(system, ()) for scores in task.scores.values())
        for system, items in task.rated.of.items()
        for item in items
    )
    if unknown:
        yield f"{counted(unknown, 'rated output')} without a score by any proxy not used"


def _worth(made: Sequence[SystemEstimate]) -> Iterator[str]:
    """Yield what each proxy was worth, and what is not estimated: one sentence for all that it says the same of."""
    best: dict[str, SystemEstimate] = {}
    for each in made:
        if each.found and not each.worthless and each.other is None:
            best.setdefault(each.proxy, each)
    for proxy, each in best.items():
        yield f"{each.system} with {proxy}: {each.worth}"
    nothing: dict[tuple[str, str], list[str]] = defaultdict(list)
    for each in made:
        if each.found is None or each.worthless:
            said = each.worth if each.found else f"no estimate with {each.proxy}: {each.reason}"
            nothing[each.proxy, said].append(each.name)
    for (_, said), names in nothing.items():
        yield f"{some(names)}: {said}"
