"""An engine with next to nothing to do: ``python -m benchmarks.scale.tasks ENGINE REPORT``, started by `merging`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.scale.lent import warm_up
from trubleu.execution import engine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu.execution import Engine

MANY, SOME = 1_000, 48
BYTES: Final = 8 * 10**6


def main() -> int:
    """Map, and write how long it took."""
    name, report = sys.argv[1:]
    with engine(name) as where:
        warm_up(where)
        small = _seconds(where, 0, MANY) / MANY
        large = _seconds(where, BYTES, SOME) / SOME
    found = {"task_seconds": small, "result_seconds": large, "bytes_a_second": BYTES / max(large - small, 1e-9)}
    Path(report).write_text(json.dumps(found), encoding="utf-8")
    return 0


def _seconds(where: Engine, size: int, count: int) -> float:
    start = time.perf_counter()
    for _ in where.map(_made, [size] * count):
        pass
    return time.perf_counter() - start


def _made(size: int, _state: None) -> NDArray[np.uint8]:
    return np.zeros(size, np.uint8)


if __name__ == "__main__":
    sys.exit(main())
