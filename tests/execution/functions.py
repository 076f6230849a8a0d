"""What tests map over partitions; workers import it."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trubleu.errors import ChangedError, DataError, EngineError, UsageError
from trubleu.files.lines import read_text_lines
from trubleu.metrics import Bleu

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
            return threading.Lock()  # type: ignore[return-value]
        case "missing":
            read_text_lines("/no/such/file")
        case "disk":
            _unreadable(OSError(errno.EIO, "Input/output error"))
        case "changed":
            raise ChangedError("file.txt changed while it was read")
        case "damaged":
            _unreadable(gzip.BadGzipFile("Not a gzipped file"))
        case "not kept":
            raise EngineError("kept cannot be written: No space left on device")
    return np.arange(partition.number * 1000, partition.number * 1000 + 20_000)


def _unreadable(error: OSError) -> None:
    try:
        raise error
    except OSError as found:
        raise DataError("file.txt cannot be read") from found


def no_state() -> None:
    """Fail as a state does that is made from data."""
    raise DataError("the index is damaged; make it again")


def where(partition: Numbered, _state: object = None) -> tuple[str, NDArray[np.int64]]:
    """Return the node of a Ray cluster that worked, and the numbers; all but the first wait until three nodes work."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    if partition.number:
        Path(partition.folder, f"{node}.node").touch()
        while len(list(Path(partition.folder).glob("*.node"))) < 3:
            time.sleep(0.02)
    return node, work(partition)


class Fatal(Bleu):
    """BLEU, but the first two workers that count with it are killed, if there is a folder to note it in."""

    def statistics(self, *texts: Any, **options: Any) -> NDArray[np.float64]:
        """Count, or die."""
        folder = Path("deaths")  # where the driver is, for workers too
        for death in range(2 if folder.is_dir() else 0):
            try:
                (folder / str(death)).touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
        return super().statistics(*texts, **options)


def count_uses(number: int, state: dict[str, int]) -> tuple[int, int]:
    """Return the process and how many partitions this state has seen."""
    state["uses"] = state.get("uses", 0) + 1
    time.sleep(0.01 * number)
    return os.getpid(), state["uses"]


def environment(names: tuple[str, ...], _state: object = None) -> dict[str, str | None]:
    """Return variables of the worker's environment."""
    return {name: os.environ.get(name) for name in names}
