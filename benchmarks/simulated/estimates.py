"""Do intervals of estimates with a proxy hold the true mean as often as they promise?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.render.tables import Column, render_tables, table_of
from trubleu.stats.prediction_powered import RaterShares, Target, prediction_powered_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.progress import Steps

    Floats = NDArray[np.float64]

POPULATION: Final = 2_000_000  # items whose mean stands for the truth
_NOISE: Final = 0.6  # of a rating
_STRICTNESS: Final = 0.4  # standard deviation between raters


class World(NamedTuple):
    """What people and a proxy give."""

    name: str
    proxy: str
    skewed: bool = False
    raters: int = 0
    target: Target = "population"


WORLDS: Final = (
    World("ratings 1–5, good proxy", "good"),
    World("ratings 1–5, useless proxy", "useless"),
    World("ratings 1–5, biased proxy", "biased"),
    World("ratings 1–5, good proxy, these items", "good", target="items"),
    World("ten raters, good proxy", "good", raters=10),
    World("ten raters, useless proxy", "useless", raters=10),
    World("20 raters, good proxy", "good", raters=20),
    World("five raters, good proxy", "good", raters=5),
    World("skewed ratings, good proxy", "good", skewed=True),
    World("skewed ratings, useless proxy", "useless", skewed=True),
)


class CoverageRow(NamedTuple):
    """One world with one number of rated items."""

    world: str
    rated: int
    people: float
    powered: float
    width: float
    useful: float


def estimates_study(sizes: Sequence[int], runs: int, unrated: int, seed: int, steps: Steps) -> list[CoverageRow]:
    """Run every world with every number of rated items."""
    rows = []
    step = steps("estimating", len(WORLDS) * len(sizes))
    for number, world in enumerate(WORLDS):
        truth = float(_rated(_quality(np.random.default_rng([seed, number]), POPULATION, world), world).mean())
        for size in sizes:
            found = [
                _one(world, size, unrated, truth, np.random.default_rng([seed, number, size, run]))
                for run in range(runs)
            ]
            people, powered, width, useful = np.mean(found, axis=0).tolist()
            rows.append(CoverageRow(world.name, size, people, powered, width, useful))
            step(1)
    return rows


def _quality(draw: np.random.Generator, count: int, world: World) -> tuple[Floats, Floats]:
    """Return the quality of items, and the noise of a rating of each."""
    normal = draw.normal(0, 1, count)
    return (-np.exp(normal) if world.skewed else 3.4 + normal), draw.normal(0, _NOISE, count)


def _rated(items: tuple[Floats, Floats], world: World) -> Floats:
    quality, noise = items
    return np.round(2 * quality) / 2 if world.skewed else np.clip(np.round(quality + noise), 1, 5)


def _one(world: World, size: int, unrated: int, truth: float, draw: np.random.Generator) -> tuple[float, ...]:
    items = _quality(draw, size + unrated, world)
    quality, people = items[0], _rated(items, world)
    noise = draw.normal(0, 1, size + unrated)
    proxy = {"good": quality + 0.5 * noise, "useless": noise, "biased": 1 + 0.5 * quality + 0.5 * noise}[world.proxy]
    shares = None
    if world.raters:  # two ratings an item, on a scale without ends
        who = np.argsort(draw.random((size, world.raters)), axis=1)[:, :2]
        strictness = draw.normal(0, _STRICTNESS, world.raters)
        scores = quality[:size, None] + strictness[who] + draw.normal(0, _NOISE, (size, 2))
        people = np.concatenate([scores.mean(1), quality[size:]])
        shares = RaterShares(np.repeat(np.arange(size), 2), who.ravel(), (scores.ravel() - scores.mean()) / 2)
        truth = 3.4 + (strictness.mean() if world.raters < 10 else 0)
    elif world.target == "items":
        truth = float(people.mean())
    found = prediction_powered_mean(
        people[:size], proxy[:size], proxy[size:], raters=shares, target=world.target, seed=int(draw.integers(2**31))
    )
    alone, powered = found.people, found.powered
    held = [float(each.low <= truth <= each.high) for each in (alone, powered)]
    return (*held, (powered.high - powered.low) / (alone.high - alone.low), float(found.useful))


def render_estimates(rows: Sequence[CoverageRow], form: str, digits: int) -> str:
    """Return the table."""
    columns = [
        Column("world"),
        Column("rated", kind="count"),
        Column("people", "coverage, people alone", "number", 4),
        Column("powered", "coverage, with the proxy", "number", 4),
        Column("width", "width", "number", 3),
        Column("useful", "proxy found useful", "number", 3),
    ]
    return render_tables([table_of(rows, columns, name="coverage")], form, digits)
