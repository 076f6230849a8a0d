"""What tests map over partitions; workers import it."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu import Metric


@dataclass(frozen=True)
class Numbered:
    """A partition that makes what is asked of it happen in a folder that all workers see."""

    number: int
    folder: str = ""
    seconds: float = 0.0
    deaths: int = 0
    trouble: str = ""

    def __str__(self) -> str:
        return f"partition {self.number}"


def work(partition: Numbered, _state: object = None) -> NDArray[np.int64]:
    """Return some numbers that follow from the partition's."""
    if partition.folder:
        tries = Path(partition.folder, f"{partition.number}.tries")
        with tries.open("a") as stream:
            stream.write(f"{os.getpid()}\n")
        if len(tries.read_text().splitlines()) <= partition.deaths:
            time.sleep(partition.seconds)
            os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(partition.seconds)
    match partition.trouble:
        case "bad":
            raise DataError(f"file.txt:{partition.number}: it is damaged")
        case "usage":
            raise UsageError("this is refused everywhere")
        case "bug":
            raise ZeroDivisionError("a bug")
        case "unpicklable":
            return lambda: None  # type: ignore[return-value]
    return np.arange(partition.number * 1000, partition.number * 1000 + 20_000)


def where(partition: Numbered, _state: object = None) -> tuple[str, NDArray[np.int64]]:
    """Return the node of a Ray cluster that worked, and the numbers."""
    import ray

    return ray.get_runtime_context().get_node_id(), work(partition)


def metrics_after_deaths(driver: int, folder: str, deaths: int) -> dict[str, Metric]:
    """Make metrics, but first let as many workers be killed; the driver is none."""
    from trubleu import metric

    for death in range(deaths if os.getpid() != driver else 0):
        try:
            Path(folder, f"death {death}").touch(exist_ok=False)
        except FileExistsError:
            continue
        os.kill(os.getpid(), signal.SIGKILL)
    return {text: metric(text) for text in ("dbleu-4", "sbleu-2")}


def count_uses(number: int, state: dict[str, int]) -> tuple[int, int]:
    """Return the process and how many partitions this state has seen."""
    state["uses"] = state.get("uses", 0) + 1
    time.sleep(0.01 * number)
    return os.getpid(), state["uses"]
