"""What proxies are worth on WMT23 English-German: MQM ratings as people's, metrics as proxies, ``--target items``."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from benchmarks.simulated.estimates import Sample, intervals
from trubleu.data import References
from trubleu.metrics import metric
from trubleu.progress import Bars
from trubleu.render.tables import Column, render_tables, table_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SIZES: Final = (50, 100, 200)
DRAWS: Final = 200
PROXIES: Final = ("XCOMET-Ensemble-refA", "COMET-refA", "GEMBA-MQM-src", "MetricX-23-refA", "chrF-refA")
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


def measure(people: Floats, proxy: Floats, size: int) -> Floats:
    """Draw the rated segments many times; return how often intervals hold the mean of all, width and worth."""
    order = np.stack([np.random.default_rng([seed, size]).permutation(len(people)) for seed in range(DRAWS)])
    rated, left = order[:, :size], order[:, size:]
    alone, powered = intervals(Sample(people[rated], proxy[rated], proxy[left]), items=True)
    held = [np.abs(each.mean - people.mean()) <= each.half for each in (alone, powered)]
    width = powered.half / alone.half
    return np.asarray(np.stack([*held, width, size / width**2]).astype(np.float64).mean(1))


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
                    found = np.stack([measure(*each, size) for each in data]).mean(0).tolist()
                    rows.append(Row(of, name, size, *found))
                step(1)
    columns = [
        Column("of"),
        Column("proxy"),
        Column("rated", kind="count"),
        Column("people", "coverage, people alone", "number"),
        Column("covered", "coverage", "number"),
        Column("narrower", "width", "number"),
        Column("effective", "as if rated", "number", 0),
    ]
    print(render_tables([table_of(rows, columns)], "markdown", 3))
    return 0
