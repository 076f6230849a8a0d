"""Do intervals of estimates with a proxy hold the true mean as often as they promise?

The estimate is stated here for many runs at once; a test holds it equal to the product's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import stats

from trubleu.render.tables import Column, render_tables, table_of
from trubleu.stats.prediction_powered import FOLDS, LEAST_RATERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.progress import Steps

    Floats = NDArray[np.float64]

POPULATION: Final = 4_000_000  # items whose mean stands for the truth
_NOISE: Final = 0.6  # of a rating
_STRICTNESS: Final = 0.4  # standard deviation between raters
_BATCH: Final = 500  # runs at once


class World(NamedTuple):
    """What people and a proxy give."""

    name: str
    proxy: str
    skewed: bool = False
    raters: int = 0
    items: bool = False


WORLDS: Final = (
    World("ratings 1–5, good proxy", "good"),
    World("ratings 1–5, useless proxy", "useless"),
    World("ratings 1–5, biased proxy", "biased"),
    World("ratings 1–5, good proxy, these items", "good", items=True),
    World("five raters, good proxy", "good", raters=5),
    World("ten raters, good proxy", "good", raters=10),
    World("ten raters, useless proxy", "useless", raters=10),
    World("20 raters, good proxy", "good", raters=20),
    World("skewed ratings, good proxy", "good", skewed=True),
    World("skewed ratings, useless proxy", "useless", skewed=True),
)


class Sample(NamedTuple):
    """Rated and unrated items of many runs, ``[runs, items]``; of ratings by raters also who gave what."""

    y: Floats
    f: Floats
    g: Floats
    who: NDArray[np.int64] | None = None
    scores: Floats | None = None


class Interval(NamedTuple):
    """Means with half the width of their intervals, one for each run."""

    mean: Floats
    half: Floats


class CoverageRow(NamedTuple):
    """One world with one number of rated items."""

    world: str
    rated: int
    people: float
    powered: float
    width: float


def estimates_study(sizes: Sequence[int], runs: int, unrated: int, seed: int, steps: Steps) -> list[CoverageRow]:
    """Run every world with every number of rated items."""
    rows = []
    step = steps("estimating", len(WORLDS) * len(sizes))
    for number, world in enumerate(WORLDS):
        noise = np.random.default_rng([seed, number]).normal(0, 1, (2, POPULATION))
        truth = 3.4 if world.raters else float(_rated(_quality(noise[0], world), noise[1], world).mean())
        for size in sizes:
            found = [
                _covered(
                    world, size, min(_BATCH, runs - at), unrated, truth, np.random.default_rng([seed, number, size, at])
                )
                for at in range(0, runs, _BATCH)
            ]
            rows.append(CoverageRow(world.name, size, *np.concatenate(found, axis=1).mean(1).tolist()))
            step(1)
    return rows


def _quality(normal: Floats, world: World) -> Floats:
    return -np.exp(normal) if world.skewed else 3.4 + normal


def _rated(quality: Floats, noise: Floats, world: World) -> Floats:
    return np.round(2 * quality) / 2 if world.skewed else np.clip(np.round(quality + _NOISE * noise), 1, 5)


def _covered(world: World, size: int, runs: int, unrated: int, truth: float, draw: np.random.Generator) -> Floats:
    """Return for each run whether the two intervals hold the truth, and the ratio of their widths."""
    quality = _quality(draw.normal(0, 1, (runs, size + unrated)), world)
    people = _rated(quality, draw.normal(0, 1, quality.shape), world)
    noise = draw.normal(0, 1, quality.shape)
    proxy = {"good": quality + 0.5 * noise, "useless": noise, "biased": 1 + 0.5 * quality + 0.5 * noise}[world.proxy]
    sample, true = Sample(people[:, :size], proxy[:, :size], proxy[:, size:]), np.full(runs, truth)
    if world.raters:  # two ratings an item, on a scale without ends
        strictness = draw.normal(0, _STRICTNESS, (runs, world.raters))
        first = draw.integers(0, world.raters, (runs, size))
        who = np.stack([first, (first + draw.integers(1, world.raters, (runs, size))) % world.raters], axis=2)
        given = np.take_along_axis(strictness, who.reshape(runs, -1), 1).reshape(who.shape)
        scores = quality[:, :size, None] + given + draw.normal(0, _NOISE, who.shape)
        sample = sample._replace(y=scores.mean(2), who=who, scores=scores)
        if world.raters < LEAST_RATERS:
            true = truth + strictness.mean(1)
    elif world.items:
        true = people.mean(1)
    alone, powered = intervals(sample, items=world.items)
    held = [np.abs(each.mean - true) <= each.half for each in (alone, powered)]
    return np.stack([*held, powered.half / alone.half]).astype(np.float64)


def intervals(sample: Sample, *, items: bool = False) -> tuple[Interval, Interval]:
    """Return the 95 % intervals of people alone and with the proxy; folds are ten equal runs of items."""
    y, f, g = sample.y, sample.f, sample.g
    runs, n = y.shape
    size = n + g.shape[1]
    centre = (f.sum(1) + g.sum(1)) / size
    f, g = f - centre[:, None], g - centre[:, None]
    fold = np.repeat(np.arange(FOLDS), n // FOLDS)
    moments = [each.reshape(runs, FOLDS, -1).sum(2) for each in (f, y, f * f, f * y)]
    at_f, at_y, square, product = (each.sum(1)[:, None] - each for each in moments)
    others = n - n // FOLDS
    slopes = (product - at_f * at_y / others) / (square - at_f**2 / others)
    usual = slopes.mean(1)
    nothing = np.zeros_like(f)
    alone = _interval(sample, nothing, nothing, np.zeros(runs), size, items)
    return alone, _interval(sample, slopes[:, fold] * f, usual[:, None] * f, (usual**2) * (g**2).sum(1), size, items)


def _interval(sample: Sample, correction: Floats, inside: Floats, outside: Floats, size: int, items: bool) -> Interval:
    residual = sample.y - correction
    runs, n = residual.shape
    mean = residual.mean(1)
    influence = (residual - mean[:, None]) / n
    if items:
        variance = (1 - n / size) * (influence**2).sum(1)
    else:
        variance = ((influence + inside / size) ** 2).sum(1) + outside / size**2
    variance = variance * n / (n - 1)
    degrees = np.full(runs, n - 1.0)
    raters = 0 if sample.who is None else int(sample.who.max()) + 1
    if sample.who is not None and sample.scores is not None and raters >= LEAST_RATERS:
        value = sample.scores - sample.scores.mean((1, 2), keepdims=True) - correction[:, :, None]
        parts = (value - value.mean((1, 2), keepdims=True)) / (2 * n)
        codes = np.arange(runs)[:, None, None] * raters + sample.who
        sums = np.bincount(codes.ravel(), parts.ravel(), runs * raters).reshape(runs, raters)
        by_rater = (sums**2).sum(1) * raters / (raters - 1)
        cells = (parts**2).sum((1, 2))
        total = variance + by_rater - cells
        satterthwaite = total**2 / (np.maximum(variance - cells, 0) ** 2 / (n - 1) + by_rater**2 / (raters - 1))
        degrees = np.where(by_rater > cells, satterthwaite, degrees)
        variance = np.where(by_rater > cells, total, variance)
    return Interval(mean, stats.t.ppf(0.975, degrees) * np.sqrt(variance))


def render_estimates(rows: Sequence[CoverageRow], form: str, digits: int) -> str:
    """Return the table."""
    columns = [
        Column("world"),
        Column("rated", kind="count"),
        Column("people", "coverage, people alone", "number", 4),
        Column("powered", "coverage, with the proxy", "number", 4),
        Column("width", "width", "number", 2),
    ]
    return render_tables([table_of(rows, columns, name="coverage")], form, digits)
