"""An engine that was made before, lent to a command that would make one, and what it takes to merge results there."""

from __future__ import annotations

import os
import pickle
import time
from contextlib import closing
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from benchmarks.scale.processes import cpu_seconds
from trubleu.execution import Engine

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

USED: Final = (
    "numpy", "trubleu.native", "trubleu.cli.score", "trubleu.data.corpus", "trubleu.metrics", "trubleu.scoring",
    "trubleu.scoring.partitions", "trubleu.mining", "trubleu.data.triples",
)  # fmt: skip
"""What commands import late."""

_TASKS_A_WORKER: Final = 4
_SECONDS_A_TASK: Final = 0.25  # long enough that no worker can take another's share


class Lent(Engine):
    """Passes everything on, and notes each map.

    Parameters
    ----------
    engine
        Who works.

    Attributes
    ----------
    maps
        For each map the function, how many partitions there were, seconds and CPU seconds (of all processes) from its
        beginning to its end, the CPU seconds that whoever called spent between results, and the bytes of the results.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.threads = engine.threads
        self.maps: list[dict[str, Any]] = []

    @property
    def workers(self) -> int:
        return self._engine.workers

    def close(self) -> None:
        """Do nothing: who lent it closes it."""

    def _run(self, work: Any) -> Any:
        return self._engine._run(work)  # noqa: SLF001 - an engine in front of another one

    def map(
        self,
        function: Callable[[Any, Any], Any],
        partitions: Sequence[Any],
        *,
        state: Callable[[], Any] | None = None,
        progress: Callable[[Any], object] | None = None,
        skip_bad: bool = False,
    ) -> Generator[tuple[Any, Any], None, None]:
        """Do as the engine does."""
        noted: dict[str, Any] = {
            "function": _name(function),
            "partitions": len(partitions),
            "merge_seconds": 0.0,
            "result_bytes": 0,
        }
        self.maps.append(noted)
        start, cpu = time.perf_counter(), cpu_seconds(os.getpid())
        results = self._engine.map(function, partitions, state=state, progress=progress, skip_bad=skip_bad)
        with closing(results):
            for partition, result in results:
                noted["result_bytes"] += sent_bytes(result)
                resumed = time.thread_time()  # that of others' work on the same cores would be no merging
                yield partition, result
                noted["merge_seconds"] += time.thread_time() - resumed
        noted["wall_seconds"] = time.perf_counter() - start
        noted["cpu_seconds"] = cpu_seconds(os.getpid()) - cpu


def warm_up(engine: Engine) -> int:
    """Let all workers start and import what they need; return how many there were."""
    use()
    tasks = range(_TASKS_A_WORKER * engine.workers)
    return len({pid for _, pid in engine.map(_ready, tasks, state=use)})


def use() -> None:
    """Import what commands import late."""
    for name in USED:
        import_module(name)


def sent_bytes(thing: object) -> int:
    """Return how large a thing is when it is sent, without copying the arrays in it."""
    buffers: list[pickle.PickleBuffer] = []
    content = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return len(content) + sum(buffer.raw().nbytes for buffer in buffers)


def _ready(_task: int, _state: None) -> int:
    time.sleep(_SECONDS_A_TASK)
    return os.getpid()


def _name(function: Any) -> str:
    if isinstance(function, partial):
        return _name(function.func)
    inner = getattr(function, "function", None)  # such as a function whose results are kept
    return _name(inner) if callable(inner) else str(getattr(function, "__qualname__", type(function).__qualname__))
