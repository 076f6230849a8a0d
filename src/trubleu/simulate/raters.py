"""Simulated raters: their differences, their errors, and their scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Literal

from trubleu.data.weights import HIGHEST_RATING, LOWEST_RATING
from trubleu.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Habits:
    """The behaviour of simulated raters.

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
    trubleu.errors.UsageError: the share of lazy raters must be between 0 and 1, not 1.5
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
                raise UsageError(f"the {name} of raters must be between 0 and 100, not {getattr(self, name):g}")
        for name in ("lazy", "clumsy", "slow", "leaving"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"the share of {name} raters must be between 0 and 1, not {getattr(self, name):g}")


@dataclass(frozen=True, slots=True)
class SimulatedRater:
    """A simulated rater; answers are derived from a seed, independent of the order of tasks.

    Attributes
    ----------
    name
        What their answers are drawn from, together with what they rate.
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
        """Return the points for a text of this quality; the same on every call.

        Parameters
        ----------
        text
            What luck is drawn from: the text, and all that tells this rating from another one of it.
        quality
            How good it truly is.
        """
        return self.points(quality, Random(f"{self.name}/{text}"))  # noqa: S311 - no secret

    def points(self, quality: float, draw: Random) -> int:
        """Return the points for something of this quality, with the given random generator."""
        if self.lazy == "constant":
            draw = Random(f"{self.name}/{self.name}")  # noqa: S311
        if self.lazy is not None:
            return draw.randint(LOWEST_RATING, HIGHEST_RATING)
        return min(HIGHEST_RATING, max(LOWEST_RATING, round(quality + self.bias + draw.gauss(0, self.noise))))


@dataclass(frozen=True, slots=True)
class SimulatedModel:
    """A model rater with known bias and noise; deterministic per text.

    Attributes
    ----------
    noise
        The standard deviation of its error, in points of the scale.
    bias
        How many points it gives more than is right.
    slope
        How much of the difference between good and bad it sees: 1 all of it, below it keeps to the middle.
    length
        How many points it gives more to a text that is twice as long as one of 30 characters.

    Examples
    --------
    >>> SimulatedModel(noise=0, bias=0.5).score("", "fine", 3.2)
    3.7
    >>> SimulatedModel(noise=0, slope=0.5).score("", "fine", 5.0)
    4.0
    """

    noise: float = 0.5
    bias: float = 0.0
    slope: float = 1.0
    length: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.noise <= 100:
            raise UsageError(f"the noise of a model must be between 0 and 100, not {self.noise:g}")
        for name in ("bias", "slope", "length"):
            if not -100 <= getattr(self, name) <= 100:
                raise UsageError(f"the {name} of a model must be between -100 and 100, not {getattr(self, name):g}")

    def score(self, place: str, text: str, quality: float) -> float:
        """Return the score of a text of this quality, as a fraction on the scale."""
        draw = Random(f"model/{place}/{text}")  # noqa: S311 - no secret
        middle = (LOWEST_RATING + HIGHEST_RATING) / 2
        favour = self.length * math.log2(max(len(text), 1) / 30) if self.length else 0.0
        score = middle + self.slope * (quality - middle) + self.bias + favour + draw.gauss(0, self.noise)
        return float(min(HIGHEST_RATING, max(LOWEST_RATING, score)))


def read_models(written: Iterable[str]) -> dict[str, SimulatedModel]:
    """Parse models from the command line.

    Raises
    ------
    UsageError
        If one cannot be read, or two have one name.

    Examples
    --------
    >>> read_models(["mild=bias:1,noise:0.5"])
    {'mild': SimulatedModel(noise=0.5, bias=1.0, slope=1.0, length=0.0)}
    """
    models: dict[str, SimulatedModel] = {}
    for text in written:
        name, equals, spec = text.partition("=")
        if not equals or not name or name in models:
            raise UsageError(f"--model {text} must be NAME=SPEC, with a name of its own, as in mild=bias:1,noise:0.5")
        habits: dict[str, float] = {}
        for part in spec.split(","):
            key, _, value = part.partition(":")
            if key not in ("noise", "bias", "slope", "length") or key in habits:
                raise UsageError(
                    f"--model {text}: {key!r} must be noise, bias, slope or length, each once, as in bias:1,noise:0.5"
                )
            try:
                habits[key] = float(value)
            except ValueError:
                raise UsageError(f"--model {text}: {value!r} is not a number; write {key}:0.5") from None
        models[name] = SimulatedModel(**habits)
    return models


def simulated_raters(count: int, habits: Habits, *, seed: int = 1) -> list[SimulatedRater]:
    """Create raters; the same seed gives the same ones.

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
