"""A corpus in plain files, and what it scores as a whole."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from trubleu.data import LineStream
from trubleu.metrics.registry import metrics_by_name
from trubleu.scoring import Sampling, score_parts

if TYPE_CHECKING:
    from pathlib import Path

    from trubleu.scoring import ScoreReport

SAMPLING = Sampling(interval=True, test="bootstrap", resamples=40)

make_metrics = partial(metrics_by_name, {"dbleu-4": {}, "sbleu-2": {}})


def write(folder: Path, segments: int, seed: int = 1, names: str = "rqst") -> LineStream:
    """Write two files of references with weights and the outputs of two systems, or only some of these files."""
    random = np.random.default_rng(seed)
    lines = [f"{'abc'[i % 3]} {'abc'[i // 3 % 3]} {'abc'[i // 9]} d\n" for i in range(27)]
    for name in names:
        drawn = random.integers(27, size=segments).tolist()
        # The second reference is never the same as the first, of which there would be a warning.
        (folder / name).write_text(
            "".join(lines[number].replace("d", "d e" if name == "q" else "d") for number in drawn)
        )
    weighted = [] if names == "rs" else [("wr", 0.0), ("wq", 0.3)]
    for name, empty in weighted:
        weights = np.where(random.random(segments) < empty, "", random.choice(["0.7", "1", "0.1"], segments))
        (folder / name).write_text("".join(f"{weight}\n" for weight in weights))
    return LineStream(
        references=[folder / name for name in "rq" if name in names],
        weights=[folder / name for name, _ in weighted],
        systems={name: folder / name for name in "st" if name in names},
    )


def whole(files: LineStream) -> ScoreReport:
    """Score the files without cutting them."""
    files = files.counted()
    return score_parts(files, list(files.systems), files.segments, make_metrics(), sampling=SAMPLING)
