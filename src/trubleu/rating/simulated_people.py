"""Raters who are made up: how good they take a text to be, and what they do wrong."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Literal

from trubleu.errors import UsageError
from trubleu.rating.items import POINTS

if TYPE_CHECKING:
    from trubleu.rating.items import Item

_BY_ORIGIN = {"seed": 4.3, "parrot": 1.5, "random": 1.4}
_MINED_BEST, _MINED_WORST, _RANKS = 3.9, 2.1, 15
_WITHIN = 0.7  # how far texts of one origin lie apart, either way


@dataclass(frozen=True, slots=True)
class Habits:
    """What simulated raters are like.

    Attributes
    ----------
    noise
        The standard deviation of a rating around what the rater thinks of the text, in points of the scale.
    bias
        The standard deviation of how much milder or stricter one rater is than another.
    lazy
        The share of raters who do not read: half of them always give one answer, the others any.
    clumsy
        The share of those who send answers twice, lose the connection while sending, take answers back and say that
        they cannot judge.
    slow
        The share of those who keep a task open while they do something else, and answer it later.
    leaving
        The share of those who at some time take a task and never come back.

    Examples
    --------
    >>> Habits(lazy=1.5)
    Traceback (most recent call last):
    trubleu.errors.UsageError: the share of lazy raters must lie between 0 and 1, not 1.5
    """

    noise: float = 0.8
    bias: float = 0.3
    lazy: float = 0.0
    clumsy: float = 0.0
    slow: float = 0.0
    leaving: float = 0.0

    def __post_init__(self) -> None:
        for name in ("noise", "bias"):
            if not 0 <= getattr(self, name) <= 100:
                raise UsageError(f"the {name} of raters must lie between 0 and 100, not {getattr(self, name):g}")
        for name in ("lazy", "clumsy", "slow", "leaving"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"the share of {name} raters must lie between 0 and 1, not {getattr(self, name):g}")


@dataclass(frozen=True, slots=True)
class SimulatedRater:
    """One made-up rater; what they answer follows from a seed, whatever the order of tasks.

    Attributes
    ----------
    name
        What their answers are drawn from, together with the text.
    bias, noise
        How much milder they are than others, and how uncertain.
    lazy
        ``constant`` or ``random`` for those who do not read, None for all others.
    clumsy, slow
        See `Habits`.
    leaves_after
        After how many answers they take a task and never come back; None if they do not.

    Examples
    --------
    >>> rater = SimulatedRater("1/1", noise=0.0)
    >>> rater.score("fine", 3.6)
    4
    """

    name: str
    bias: float = 0.0
    noise: float = 0.8
    lazy: Literal["constant", "random"] | None = None
    clumsy: bool = False
    slow: bool = False
    leaves_after: int | None = None

    def score(self, text: str, quality: float) -> int:
        """Return how many points they give to a text that is so good."""
        draw = Random(f"{self.name}/{self.name if self.lazy == 'constant' else text}")  # noqa: S311 - no secret
        if self.lazy is not None:
            return draw.randint(1, POINTS)
        return min(POINTS, max(1, round(quality + self.bias + draw.gauss(0, self.noise))))


def simulated_raters(count: int, habits: Habits, *, seed: int = 1) -> list[SimulatedRater]:
    """Make up raters; the same seed gives the same ones.

    Parameters
    ----------
    count
        How many.
    habits
        What they are like.
    seed
        Of all that is drawn.

    Examples
    --------
    >>> people = simulated_raters(10, Habits(lazy=0.2))
    >>> sum(person.lazy is not None for person in people)
    2
    >>> people == simulated_raters(10, Habits(lazy=0.2))
    True
    """
    draw = Random(f"raters/{seed}")  # noqa: S311

    def chosen(share: float) -> set[int]:
        return set(draw.sample(range(count), round(share * count)))

    biases = [draw.gauss(0, habits.bias) for _ in range(count)]
    lazy, clumsy, slow, leaving = (chosen(each) for each in (habits.lazy, habits.clumsy, habits.slow, habits.leaving))
    constant = set(sorted(lazy)[::2])
    return [
        SimulatedRater(
            f"{seed}/{number}",
            biases[number],
            habits.noise,
            "constant" if number in constant else "random" if number in lazy else None,
            number in clumsy,
            number in slow,
            draw.randint(1, 12) if number in leaving else None,
        )
        for number in range(count)
    ]


def true_qualities(item: Item, *, seed: int = 1) -> tuple[float, ...]:
    """Return how good the texts of an item are taken to be, from 1 to 5.

    A number ``quality`` beside the text in the file is taken as it is. Else what is known decides: gold and practice
    items lie in the middle of what is accepted; the real answer of a conversation is good, mined ones are the worse the
    lower their rank, parrots and random ones bad; systems of pairs differ. The rest is drawn.

    Parameters
    ----------
    item
        The item.
    seed
        Of what is drawn.

    Examples
    --------
    >>> from trubleu.rating.items import Item
    >>> true_qualities(Item("7#1", ("fine",), extra={"quality": 4.5}))
    (4.5,)
    >>> good, bad = (Item("7", ("fine",), extra={"origin": origin}) for origin in ("seed", "random"))
    >>> true_qualities(good) > true_qualities(bad)
    True
    """
    given = item.extra.get("quality")
    if isinstance(given, int | float) and 1 <= given <= POINTS:
        return (float(given),) * len(item.texts)
    if item.accepted is not None:
        return tuple((low + high) / 2 for low, high in item.accepted)
    drawn = [2 * _share(seed, item.key, part) - 1 for part in range(len(item.texts))]  # from −1 to 1
    origin, rank = item.extra.get("origin"), item.extra.get("rank")
    if origin in _BY_ORIGIN:
        return tuple(_BY_ORIGIN[origin] + _WITHIN * each for each in drawn)
    if origin == "mined" and isinstance(rank, int) and rank >= 1:
        middle = _MINED_BEST - (_MINED_BEST - _MINED_WORST) * min(rank - 1, _RANKS) / _RANKS
        return tuple(middle + _WITHIN * each for each in drawn)
    if item.systems:
        middles = [2.3 + 1.4 * _share(seed, "system", system) for system in item.systems]
        return tuple(middle + 1.2 * each for middle, each in zip(middles, drawn, strict=True))
    return tuple(3 + 2 * each for each in drawn)


def _share(*what: object) -> float:
    """Return a number from 0 to 1 that follows from what is given, in every process."""
    digest = hashlib.sha256("/".join(map(str, what)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
