"""Ray's tasks: the cluster finds them a worker, and starts them again where a worker or a node dies.

Tasks rather than actors: a node that joins gets some at once, and one that leaves needs no book-keeping here. What a
worker keeps from one partition to the next lies in `trubleu.engines.ray_worker`.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu._version import __version__
from trubleu.data.extras import needed
from trubleu.engines.contract import TRIES, Engine, Run
from trubleu.engines.work import Partition, Result, Status
from trubleu.errors import EngineError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from trubleu.engines.work import Work

RESULTS_A_CORE: Final = 2
"""How many partitions are at the cluster for every one that it can work on: each worker has a next one at hand."""

_SECONDS_BETWEEN_COUNTS: Final = 5.0
_SECONDS_TO_ANSWER: Final = 10.0
_EXTRA: Final = "trubleu[ray]"


class OnRay(Engine):
    """The cores of a Ray cluster, however many there are at the moment.

    Parameters
    ----------
    address
        ``ray://HOST:PORT``; None for what Ray itself finds, a cluster that is started here if there is nothing else.
    threads
        How many cores a partition takes.
    """

    def __init__(self, address: str | None, *, threads: int = 1) -> None:
        self._ray = needed("ray", "the engine ray", _EXTRA)
        self._threads = threads
        self._cores = 0.0
        self._counted = float("-inf")
        # Somebody who connected before has reasons, and will want to go on after us.
        self._ours = not self._ray.is_initialized()
        if self._ours:
            self._connect(address or os.environ.get("RAY_ADDRESS") or None)

    def _connect(self, address: str | None) -> None:
        # A namespace of its own, so that nothing named in one job is seen by another.
        options: dict[str, Any] = {"namespace": f"trubleu-{secrets.token_hex(8)}", "log_to_driver": False}
        if address is not None and address.startswith("ray://"):
            needed("grpc", "the engine ray://", _EXTRA)
        else:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            options |= {"include_dashboard": False, "logging_level": "ERROR"}
        if address is None:
            _check_current()
        elif address != "auto":
            _check_answers(address, "check the address")
        logging.getLogger("ray").setLevel(logging.ERROR)
        try:
            self._ray.init(address, **options)
        # Ray has no class of its own for this: versions of Python or Ray that differ are a RuntimeError.
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            where = address or "this machine"
            reason = " ".join(str(error).split()).rstrip(".")
            raise EngineError(
                f"there is no Ray cluster to work with at {where}: {reason}; if it asks for a token, set RAY_AUTH_TOKEN"
            ) from error

    @property
    def workers(self) -> int:
        """How many partitions the cluster has cores for."""
        if time.monotonic() - self._counted > _SECONDS_BETWEEN_COUNTS:
            self._cores = self._ray.cluster_resources().get("CPU", 0.0)
            self._counted = time.monotonic()
        return max(1, int(self._cores // self._threads))

    @property
    def threads(self) -> int | None:
        """As many as the cores that a partition takes."""
        return self._threads

    def close(self) -> None:
        """Leave the cluster, which ends what still runs of ours there."""
        if self._ours:
            self._ours = False
            self._ray.shutdown()

    def _run(self, work: Work[Partition, Any, Result]) -> Run[Partition, Result]:
        return _Tasks(self, self._ray, work, self._threads)


def _check_current() -> None:
    """Refuse a cluster that ended without clearing up behind it, to which Ray would try to connect all the same."""
    path = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir(), "ray", "ray_current_cluster")
    with suppress(OSError):
        _check_answers(path.read_text().strip(), f"remove {path}, which names it, or name another in RAY_ADDRESS")


def _check_answers(address: str, remedy: str) -> None:
    """Refuse an address where nobody listens; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_ANSWER):
            pass
    except (OSError, ValueError) as error:
        raise EngineError(f"there is no Ray cluster to work with at {address}: {error}; {remedy}") from error


class _Tasks(Run[Partition, Result]):
    def __init__(self, engine: OnRay, ray: Any, work: Work[Partition, Any, Result], threads: int) -> None:
        self._engine = engine
        self._ray = ray
        self._task = ray.remote(_task()).options(
            num_cpus=threads, max_retries=TRIES - 1, retry_exceptions=False, num_returns=2, name="trubleu"
        )
        self._token = secrets.token_hex(16)
        self._folder = str(Path.cwd())
        self._work = ray.put(self._pickled(work, "the function"))
        self._pending: dict[Any, int] = {}
        self._results: dict[int, Any] = {}
        self._names: dict[int, str] = {}

    @property
    def room(self) -> int:
        return RESULTS_A_CORE * self._engine.workers

    def begin(self, number: int, partition: Partition) -> None:
        content = self._pickled(partition, str(partition))
        # Two objects, so that the large one is not fetched before its turn.
        status, result = self._task.remote(__version__, self._token, self._folder, self._work, content)
        self._pending[status] = number
        self._results[number] = result
        self._names[number] = str(partition)

    def finished(self) -> list[tuple[int, Status]]:
        ready, _ = self._ray.wait(list(self._pending), num_returns=1)
        found = []
        for reference in ready:
            number = self._pending.pop(reference)
            status = Status(*self._got(reference, number))
            if status.outcome != "done":
                del self._results[number]
            found.append((number, status))
        return found

    def take(self, number: int) -> Result:
        result: Result = self._got(self._results.pop(number), number)
        del self._names[number]
        return result

    def close(self) -> None:
        for reference in self._pending:
            with suppress(Exception):  # a cluster that is gone has nothing left to stop
                self._ray.cancel(reference, force=True)
        self._pending.clear()
        self._results.clear()

    def _got(self, reference: Any, number: int) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.OutOfMemoryError as error:
            raise EngineError(
                f"{self._names[number]}: its workers were stopped for want of memory; use smaller partitions, or give "
                "each more cores so that fewer run on a node"
            ) from error
        except self._ray.exceptions.RayError as error:
            what = type(error).__name__
            raise EngineError(
                f"{self._names[number]}: the cluster could not finish it in {TRIES} tries ({what})"
            ) from error

    def _pickled(self, thing: object, what: str) -> bytes:
        try:
            content: bytes = self._ray.cloudpickle.dumps(thing)
        except (TypeError, AttributeError, ValueError) as error:
            raise UsageError(f"{what} cannot be sent to a cluster: {error}") from error
        return content


def _task() -> Callable[..., tuple[tuple[str, ...], Any]]:
    """Return the function that runs on the cluster.

    A nested one is sent as it is, so that it can say what is wrong where another TruBLEU is installed, or none.
    """

    def task(version: str, token: str, folder: str, work: bytes, partition: bytes) -> tuple[tuple[str, ...], Any]:
        import socket  # again: only what stands in here is sent

        node = socket.gethostname()
        try:
            from trubleu._version import __version__ as found
        except ImportError:
            return ("refused", f"TruBLEU is not installed on {node}; install {version} there", "UsageError"), None
        if found != version:
            what = f"TruBLEU {found} is installed on {node}, but {version} here; install the same version everywhere"
            return ("refused", what, "UsageError"), None
        from trubleu.engines.ray_worker import work_on

        return work_on(token, folder, work, partition)

    return task
