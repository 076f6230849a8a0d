"""Single outputs and people: r and ρ against golds alone, and with the other systems' rated outputs."""

from __future__ import annotations

import warnings
from collections import defaultdict
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy.stats import rankdata

from benchmarks.real import files
from trubleu import References, metric
from trubleu.data import read_published
from trubleu.errors import TrubleuWarning
from trubleu.judge.pairs.reference_pool import sameness
from trubleu.render.tables import Column, Table, render_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from trubleu.data import EvaluationSet

METRICS: Final = ("trubleu-ctx", "trubleu", "chrf")
CONTEXTS: Final = 400
"""Contexts of DSTC7."""
RESAMPLES: Final = 1_000
SEED: Final = 12345


class Judged(NamedTuple):
    """An output with its references.

    Attributes
    ----------
    segment
        The place of its segment.
    text
        What the system said.
    rating
        The mean of its ratings.
    references, weights
        What it is held against.
    """

    segment: int
    text: str
    rating: float
    references: list[str]
    weights: list[float]


def judged(found: EvaluationSet, golds: int | None, contexts: int | None, *, pooled: bool) -> list[Judged]:
    """Return the outputs of a set with their golds, those that equal the output left out, and other rated outputs."""
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    weights: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in found.ratings:
        if row.aspect in found.aspects or not found.aspects:
            low, high = found.scales[row.aspect]
            scores[row.item, row.system].append(float(row.score))
            weights[row.item, row.system].append(2 * (float(row.score) - low) / (high - low) - 1)
    rows = []
    for place, segment in enumerate(found.segments[:contexts]):
        said = {system: texts[segment.id] for system, texts in found.outputs.items() if segment.id in texts}
        for system, text in said.items():
            if (segment.id, system) not in scores:
                continue
            held = [each.text for each in segment.references if sameness(each.text) != sameness(text)][:golds]
            if not held:
                continue
            others = [other for other in said if other != system and (segment.id, other) in weights] if pooled else []
            texts = [*held, *(said[other] for other in others)]
            rated = [1.0] * len(held) + [fmean(weights[segment.id, other]) for other in others]
            rows.append(Judged(place, text, fmean(scores[segment.id, system]), texts, rated))
    return rows


def measured(rows: Sequence[Judged], names: Sequence[str]) -> list[tuple[str | float, ...]]:
    """Return r and ρ of each metric with intervals over segments, and how far behind the first metric it is."""
    references = References.from_lists([row.references for row in rows], [row.weights for row in rows])
    outputs, people = [row.text for row in rows], np.array([row.rating for row in rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrubleuWarning)
        scores = [metric(name).segments(outputs, references) for name in names]
    segments = np.array([row.segment for row in rows])
    places = [np.flatnonzero(segments == segment) for segment in np.unique(segments)]
    random = np.random.default_rng(SEED)
    draws = [
        np.concatenate([places[i] for i in random.integers(0, len(places), len(places))]) for _ in range(RESAMPLES)
    ]
    drawn = np.array([[_pearson(own[draw], people[draw]) for draw in draws] for own in scores])
    found: list[tuple[str | float, ...]] = []
    for name, own, values in zip(names, scores, drawn, strict=True):
        low, high = np.quantile(values, (0.025, 0.975))
        behind = np.quantile(drawn[0] - values, (0.025, 0.975))
        rho = _pearson(rankdata(own), rankdata(people))
        first = "" if name == names[0] else f"[{behind[0]:+.3f}, {behind[1]:+.3f}]"
        found.append((name, len(rows), _pearson(own, people), f"[{low:.3f}, {high:.3f}]", rho, first))
    return found


def _pearson(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def run(source: Path, folder: Path, names: Sequence[str] = METRICS) -> int:
    """Print a table, and leave it in the folder."""
    sets: list[tuple[str, Callable[[], EvaluationSet], int | None, int | None]] = [
        (name, partial(_one, "usr", source / file), None, None)
        for name, file in (("usr-topical", "tc_usr_data.json"), ("usr-persona", "pc_usr_data.json"))
    ]
    if (dialogues := files.data_folder("dstc7")) is not None:
        dstc7 = partial(_one, "dstc7", dialogues)
        sets += [(f"dstc7, golds: {golds}", dstc7, golds, CONTEXTS) for golds in (1, 5)]
    rows = [
        (title, "golds and rated pool" if pooled else "golds", *row)
        for title, read, golds, contexts in sets
        for pooled in (False, True)
        for row in measured(judged(read(), golds, contexts, pooled=pooled), names)
    ]
    columns = [
        *(Column(name) for name in ("set", "references", "metric")),
        Column("outputs", kind="count"),
        Column("r", kind="number", digits=3),
        Column("interval"),
        Column("rho", kind="number", digits=3),
        Column("lead", f"lead of {names[0]} in r"),
    ]
    table = Table("Single outputs", columns, rows, [f"intervals: 95 %, over segments, seed {SEED}"])
    (folder / "result.csv").write_text(render_tables([table], "csv"), encoding="utf-8")
    print(render_tables([table], "markdown", 3))
    return 0


def _one(kind: str, source: Path) -> EvaluationSet:
    [found] = read_published(kind, source)
    return found
