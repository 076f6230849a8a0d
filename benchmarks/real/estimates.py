"""What proxies are worth on WMT23 English-German: MQM ratings as people's, metrics as proxies, ``--target items``."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.data import References
from trubleu.metrics import metric
from trubleu.progress import Bars
from trubleu.render.tables import Column, render_tables, table_of
from trubleu.stats.prediction_powered import prediction_powered_mean

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SIZES: Final = (50, 100, 200)
DRAWS: Final = 200
PROXIES: Final = ("COMET-refA", "GEMBA-MQM-src", "MetricX-23-refA", "chrF-refA")
OURS: Final = "trubleu"
HUMANS: Final = "refA"  # rated, but the reference of the metrics


class Row(NamedTuple):
    """One proxy at one number of rated segments, for means or for differences."""

    of: str
    proxy: str
    rated: int
    people: float
    covered: float
    narrower: float
    effective: float
    useful: float


def read_scores(path: Path) -> dict[str, Floats]:
    """Read the scores of each system's segments, NaN for None."""
    found: dict[str, list[float]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        system, score = line.split("\t")
        found.setdefault(system, []).append(float("nan") if score == "None" else float(score))
    return {system: np.array(scores) for system, scores in found.items()}


def own_scores(source: Path, systems: list[str]) -> dict[str, Floats]:
    """Score all segments with the default metric."""
    references = References.from_streams([(source / "references/en-de.refA.txt").read_text("utf-8").splitlines()])
    ours = metric(OURS)
    outputs = {each: (source / f"system-outputs/en-de/{each}.txt").read_text("utf-8").splitlines() for each in systems}
    return {each: ours.segments(texts, references) for each, texts in outputs.items()}


def measure(people: Floats, proxy: Floats, size: int, draws: int) -> tuple[list[float], ...]:
    """Return for each draw whether intervals hold the mean of all, how wide they are, and what the proxy was worth."""
    found: list[list[float]] = []
    for seed in range(draws):
        order = np.random.default_rng([seed, size]).permutation(len(people))
        rated, left = order[:size], order[size:]
        made = prediction_powered_mean(people[rated], proxy[rated], proxy[left], target="items", seed=seed)
        truth = people.mean()
        alone, powered = made.people, made.powered
        held = [each.low <= truth <= each.high for each in (alone, powered)]
        found.append([*held, (powered.high - powered.low) / (alone.high - alone.low), made.effective, made.useful])
    return tuple(map(list, zip(*found, strict=True)))


def run(source: Path, _folder: Path) -> int:
    """Draw segments to be rated many times, and print what the intervals were worth."""
    source = source / "wmt23"
    people = read_scores(source / "human-scores/en-de.mqm.seg.score")
    people.pop(HUMANS)
    systems = [*people]
    rated = np.isfinite(np.stack([*people.values()])).all(0)
    proxies = {
        name.rpartition("-")[0]: read_scores(source / f"metric-scores/en-de/{name}.seg.score") for name in PROXIES
    }
    proxies[OURS] = own_scores(source, systems)
    rows = []
    with Bars(quiet=False) as bars:
        step = bars.stage("estimating", len(proxies) * len(SIZES))
        for name, scores in proxies.items():
            means = [(people[each][rated], scores[each][rated]) for each in systems]
            pairs = [(a[0] - b[0], a[1] - b[1]) for a, b in combinations(means, 2)]
            for size in SIZES:
                for of, data in (("mean", means), ("difference", pairs)):
                    measured = zip(*(measure(*each, size, DRAWS) for each in data), strict=True)
                    rows.append(Row(of, name, size, *(float(np.mean(column)) for column in measured)))
                step(1)
    columns = [
        Column("of"),
        Column("proxy"),
        Column("rated", kind="count"),
        Column("people", "coverage, people alone", "number"),
        Column("covered", "coverage", "number"),
        Column("narrower", "width", "number"),
        Column("effective", "as if rated", "number"),
        Column("useful", "share useful", "number"),
    ]
    print(render_tables([table_of(rows, columns)], "markdown", 3))
    return 0
