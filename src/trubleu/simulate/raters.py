"""Simulated raters: their differences, their errors, and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from trubleu.data.weights import HIGHEST_RATING, LOWEST_RATING
from trubleu.errors import UsageError


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

    Examples
    --------
    >>> Habits(lazy=1.5)
    Traceback (most recent call last):
    trubleu.errors.UsageError: the share of lazy raters must be between 0 and 1, not 1.5
    """

    noise: float = 0.8
    bias: float = 0.3
    lazy: float = 0.0

    def __post_init__(self) -> None:
        for name in ("noise", "bias"):
            if not 0 <= getattr(self, name) <= 100:
                raise UsageError(f"the {name} of raters must be between 0 and 100, not {getattr(self, name):g}")
        if not 0 <= self.lazy <= 1:
            raise UsageError(f"the share of lazy raters must be between 0 and 1, not {self.lazy:g}")


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


def simulated_raters(count: int, habits: Habits | None = None, *, seed: int = 1) -> list[SimulatedRater]:
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
    habits = habits or Habits()
    draw = Random(f"raters/{seed}")  # noqa: S311
    biases = [draw.gauss(0, habits.bias) for _ in range(count)]
    lazy = sorted(draw.sample(range(count), round(habits.lazy * count)))
    kinds: dict[int, Literal["constant", "random"]] = dict.fromkeys(lazy, "random")
    kinds |= dict.fromkeys(lazy[::2], "constant")
    return [
        SimulatedRater(f"{seed}/{number}", bias, habits.noise, kinds.get(number)) for number, bias in enumerate(biases)
    ]
