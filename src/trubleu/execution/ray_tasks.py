"""Ray tasks: the cluster schedules them, and restarts those whose worker or node dies.

Tasks rather than actors: a node that joins gets work at once, and one that leaves needs no bookkeeping here.
"""

from __future__ import annotations

import logging
import os
import pickle
import secrets
import socket
import stat
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu._version import __version__
from trubleu.errors import EngineError, UsageError
from trubleu.execution.base import TRIES, Engine, Partition, Result, Run, Status
from trubleu.execution.hashing import sources_digest
from trubleu.optional_deps import needed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trubleu.execution.base import Work

NOTHING_LOST: Final = "no result was written, and what was kept with --resume need not be done again"

RESULTS_A_CORE: Final = 2
"""Submitted partitions per core: each worker has its next one at hand."""

_SECONDS_BETWEEN_COUNTS: Final = 5.0
_SECONDS_TO_ANSWER: Final = 10.0
_SECONDS_WITHOUT_NODES: Final = 60.0
_EXTRA: Final = "trubleu[ray]"
_CLIENT_PORT: Final = 10001
_LONGEST_ADDRESS: Final = 4096


class OnRay(Engine):
    """The cores of a Ray cluster, whose number may change.

    Parameters
    ----------
    address
        ``ray://HOST:PORT``; None for the one that RAY_ADDRESS names or this user began or joined here, or a new one.
    threads
        How many cores a partition takes.
    same
        The version and the digest of the code that workers must have, too; what is installed here if left out.

    Attributes
    ----------
    begun_here
        Whether no cluster was found and one was started.
    """

    threads: int

    def __init__(self, address: str | None, *, threads: int = 1, same: tuple[str, str] | None = None) -> None:
        self._ray = needed("ray", "the engine ray", _EXTRA)
        self._same = same
        self.threads = threads
        self._cores = 0.0
        self._counted = float("-inf")
        self.begun_here = False
        # An existing connection belongs to the caller and is left open.
        self._ours = not self._ray.is_initialized()
        if self._ours:
            given = _with_port(address or os.environ.get("RAY_ADDRESS"))
            found = _current() if given in (None, "", "auto") else given  # Ray's auto would take another user's
            if given == "auto" and found is None:
                raise EngineError(
                    "RAY_ADDRESS is auto, but you have started no Ray cluster here; start one, or name one there"
                )
            self._connect(found)

    def _connect(self, address: str | None) -> None:
        # A separate namespace isolates the named objects of each job.
        options: dict[str, Any] = {"namespace": f"trubleu-{secrets.token_hex(8)}", "log_to_driver": False}
        if passed := _environment():
            options["runtime_env"] = {"env_vars": passed}
        if address is not None and address.startswith("ray://"):
            needed("grpc", "the engine ray://", _EXTRA)
        else:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            options |= {"include_dashboard": False, "logging_level": "ERROR"}
        if address not in {None, "local"}:
            _check_answers(address, "check the address")
        logging.getLogger("ray").setLevel(logging.ERROR)
        try:
            self._ray.init(address or "local", **options)
        except self._ray.exceptions.AuthenticationError as error:
            raise EngineError(_refused(address)) from error
        # Ray has no exception class for this: a mismatch of Python or Ray versions is a RuntimeError.
        except (ConnectionError, RuntimeError, ValueError, OSError, self._ray.exceptions.RayError) as error:
            where = address or "this machine"
            reason = " ".join(str(error).split()).rstrip(".")
            raise EngineError(
                f"there is no Ray cluster to work with at {where}: {reason}; if it asks for a token, set RAY_AUTH_TOKEN"
            ) from error
        self.begun_here = address is None

    @property
    def workers(self) -> int:
        """Number of partitions that the cluster has cores for."""
        if time.monotonic() - self._counted > _SECONDS_BETWEEN_COUNTS:
            with self.reaching():
                self._cores = self._ray.cluster_resources().get("CPU", 0.0)
            self._counted = time.monotonic()
        return max(1, int(self._cores // self.threads))

    def close(self) -> None:
        """Disconnect from the cluster, which ends our running tasks."""
        if self._ours:
            self._ours = False
            self._ray.shutdown()

    def largest_node(self) -> int:
        """Return the number of cores of the largest node."""
        with self.reaching():
            nodes = self._ray.nodes()
        return max((int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]), default=0)

    @contextmanager
    def reaching(self) -> Iterator[None]:
        """Raise an error if the cluster is lost or rejects a request; Ray reports a loss only for remote clusters."""
        try:
            yield
        except (ConnectionError, self._ray.exceptions.LocalRayletDiedError) as error:
            reason = " ".join(str(error).split())
            raise EngineError(f"the connection to the Ray cluster is lost ({reason}); {NOTHING_LOST}") from error
        except self._ray.exceptions.AuthenticationError as error:
            raise EngineError(_refused(None)) from error
        except self._ray.exceptions.RayError as error:
            raise EngineError(f"the Ray cluster cannot continue ({said(error)}); {NOTHING_LOST}") from error

    def tasks(self, work: bytes, folder: str) -> Tasks[Any]:
        """Start a map of pickled work; relative paths start from ``folder``."""
        if (largest := self.largest_node()) < self.threads and _seconds_to_wait() <= 0:
            raise EngineError(
                f"a partition takes {self.threads} of a node's cores, but the largest node of the Ray cluster has "
                f"{largest}; ask for fewer threads, or if the cluster starts nodes when they are needed, set "
                "TRUBLEU_RAY_WAIT to the seconds that this may take"
            )
        return Tasks(self, self._ray, work, folder, self._same or (__version__, sources_digest()))

    def _run(self, work: Work[Partition, Any, Result]) -> Run[Partition, Result]:
        tasks: Tasks[Partition] = self.tasks(pickled(work, "the function"), str(Path.cwd()))
        return tasks


def said(error: BaseException) -> str:
    """Return the class of a Ray error and the first line of its long text."""
    cause = getattr(error, "cause", None)  # of an error in a task, whose own text begins with where it ran
    told = cause if isinstance(cause, Exception) else error
    return ": ".join([type(told).__name__, *str(told).strip().splitlines()[:1]]).rstrip(".")


def _refused(address: str | None) -> str:
    where = "" if address is None else f" at {address}"
    return f"the Ray cluster{where} does not accept the token; set RAY_AUTH_TOKEN to the one of its nodes"


def _with_port(address: str | None) -> str | None:
    """Add the default port of Ray's client server to an address without a port."""
    if address is None or not address.startswith("ray://"):
        return address
    host = address.removeprefix("ray://").rstrip("/")
    return f"ray://{host}" if ":" in host.rpartition("]")[2] else f"ray://{host}:{_CLIENT_PORT}"


def _environment() -> dict[str, str]:
    """Return the environment variables to pass to workers, listed in TRUBLEU_WORKER_ENV."""
    names = [name.strip() for name in os.environ.get("TRUBLEU_WORKER_ENV", "").split(",") if name.strip()]
    if missing := [name for name in names if name not in os.environ]:
        raise UsageError(f"TRUBLEU_WORKER_ENV names {missing[0]}, which is not set; set it, or leave it out there")
    return {name: os.environ[name] for name in names}


def _seconds_to_wait() -> float:
    """Return how long to wait for nodes, in seconds, from TRUBLEU_RAY_WAIT."""
    text = os.environ.get("TRUBLEU_RAY_WAIT", "0")
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"TRUBLEU_RAY_WAIT is {text!r}, but must be a number of seconds") from error


def _current() -> str | None:
    """Return the address of the cluster that this user started or joined with ``ray start``.

    Refuses the clusters of other users and one that ended without cleaning up. Ray would find the address itself, but
    try for minutes to connect to a cluster that is gone.
    """
    # Where Ray writes it: on macOS below /tmp, whatever TMPDIR is.
    folder = tempfile.gettempdir() if sys.platform.startswith(("linux", "win")) else "/tmp"  # noqa: S108
    path = Path(os.environ.get("RAY_TMPDIR") or folder, "ray", "ray_current_cluster")
    try:
        # Symbolic links are not followed: another user's link could lead to a file of ours.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, errors="replace") as stream:
            found = os.fstat(stream.fileno())
            address = stream.read(_LONGEST_ADDRESS).strip()
    except OSError:
        return None
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & stat.S_IWOTH):
        # Anyone can write there, and the workers of a cluster run any code they are sent and see all data.
        raise UsageError(
            f"{path} names the Ray cluster {address}, but others may have written it; if you trust that cluster, name "
            "it with ray://HOST:PORT or in RAY_ADDRESS"
        )
    _check_answers(address, f"remove {path}, which names it, or name another in RAY_ADDRESS")
    return address


def _check_answers(address: str, remedy: str) -> None:
    """Raise an error if nothing listens at an address; Ray itself would retry for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_ANSWER):
            pass
    except (OSError, ValueError) as error:
        why = error if isinstance(error, OSError) else "it does not end in :PORT"
        raise EngineError(f"there is no Ray cluster to work with at {address}: {why}; {remedy}") from error


class Tasks(Run[Partition, Any]):
    """A map in progress.

    Parameters
    ----------
    engine, ray
        Whose it is, and the package.
    work
        What is done with each partition, pickled.
    folder
        Where relative paths start from.
    same
        The version and the digest of the code that workers must have.
    """

    def __init__(self, engine: OnRay, ray: Any, work: bytes, folder: str, same: tuple[str, str]) -> None:
        self._engine = engine
        self._ray = ray
        self._task = ray.remote(_task()).options(
            num_cpus=engine.threads, max_retries=TRIES - 1, retry_exceptions=False, num_returns=2, name="trubleu"
        )
        self._same = same
        self._token = secrets.token_hex(16)
        self._folder = folder
        with engine.reaching():
            self._work = ray.put(work)
        self._pending: dict[Any, int] = {}
        self._results: dict[int, tuple[Any, str]] = {}

    @property
    def room(self) -> int:
        """Enough to keep every core busy."""
        return RESULTS_A_CORE * self._engine.workers

    def begin(self, number: int, partition: Partition) -> None:
        """Submit a partition to the cluster."""
        name = str(partition)
        self.begin_pickled(number, name, pickled(partition, name))

    def begin_pickled(self, number: int, name: str, partition: bytes) -> None:
        """Submit an already pickled partition to the cluster."""
        with self._engine.reaching():
            # Two objects, so the large one is only fetched when needed.
            status, result = self._task.remote(*self._same, self._token, self._folder, self._work, partition)
        self._pending[status] = number
        self._results[number] = result, name

    def finished(self) -> list[tuple[int, Status]]:
        """Wait until a partition finishes or has failed for good."""
        found = []
        for reference in self._ready(list(self._pending)):
            number = self._pending.pop(reference)
            status = Status(*self._got(reference, self._results[number][1]))
            if status.outcome != "done":
                del self._results[number]
            found.append((number, status))
        return found

    def take(self, number: int) -> Any:
        """Return the result of a finished partition and release it."""
        return loaded(self.take_pickled(number))

    def take_pickled(self, number: int) -> bytes:
        """Return the pickled result."""
        reference, name = self._results.pop(number)
        self._ready([reference])  # it may have been lost with its node and must be recomputed then
        result: bytes | None = self._got(reference, name)
        if result is None:
            raise EngineError(f"{name}: its result was lost with a node, and could not be made again; {NOTHING_LOST}")
        return result

    def close(self) -> None:
        """Stop all running partitions."""
        for reference in self._pending:
            with suppress(Exception):  # a lost cluster has nothing left to stop
                self._ray.cancel(reference, force=True)
        self._pending.clear()
        self._results.clear()

    def _ready(self, references: list[Any]) -> list[Any]:
        patience = max(_SECONDS_WITHOUT_NODES, _seconds_to_wait())
        last_seen = time.monotonic()
        while True:
            with self._engine.reaching():
                ready, _ = self._ray.wait(references, num_returns=1, timeout=_SECONDS_BETWEEN_COUNTS)
            if ready:
                found: list[Any] = ready
                return found
            if self._engine.largest_node() >= self._engine.threads:
                last_seen = time.monotonic()
            elif time.monotonic() - last_seen > patience:
                raise EngineError(
                    f"for {patience:.0f} seconds no node of the Ray cluster has had the {self._engine.threads} cores "
                    f"that a partition takes; add one, or set TRUBLEU_RAY_WAIT to more seconds; {NOTHING_LOST}"
                )

    def _got(self, reference: Any, name: str) -> Any:
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except exceptions.OutOfMemoryError as error:
            raise EngineError(
                f"{name}: its workers were stopped for lack of memory; give each more threads, so "
                "fewer run on a node, or use nodes with more of it"
            ) from error
        except (exceptions.WorkerCrashedError, exceptions.NodeDiedError) as error:
            what = type(error).__name__
            raise EngineError(f"{name}: the cluster could not finish it in {TRIES} tries ({what})") from error
        except (ConnectionError, exceptions.LocalRayletDiedError, exceptions.AuthenticationError):
            with self._engine.reaching():
                raise
        except exceptions.RayError as error:
            raise EngineError(f"{name}: the cluster could not finish it ({said(error)})") from error


def _task() -> Callable[..., tuple[tuple[Any, ...], Any]]:
    """Return the function that runs on the cluster.

    Ray pickles a nested function by value, so it can report a missing or different TruBLEU on the worker.
    """

    def task(version: str, digest: str, *rest: Any) -> tuple[tuple[Any, ...], Any]:
        import socket  # imported again: only the function body is sent

        node = socket.gethostname()
        try:
            from trubleu._version import __version__ as found
        except ImportError:
            return ("refused", f"TruBLEU is not installed on {node}; install {version} there", "UsageError"), None
        if found != version:
            what = f"TruBLEU {found} is installed on {node}, but {version} here; install the same version everywhere"
            return ("refused", what, "UsageError"), None
        try:
            from trubleu.execution.hashing import sources_digest
            from trubleu.execution.ray_tasks import work_on

            same = sources_digest() == digest
        except ImportError:
            same = False
        if not same:
            what = f"TruBLEU {found} on {node} has other code than {version} here; install the same files everywhere"
            return ("refused", what, "UsageError"), None
        return work_on(*rest)

    return task


# Only the last map's: a worker serves one job, and a job runs one map at a time.
_works: dict[str, Work[Any, Any, Any]] = {}


def work_on(token: str, folder: str, work: bytes, partition: bytes) -> tuple[tuple[Any, ...], bytes | None]:
    """Process a partition and return its status, as plain values, and its pickled result.

    Parameters
    ----------
    token
        Which map it belongs to.
    folder
        Where the driver is, which relative paths start from; gone to if it is there.
    work, partition
        Both pickled; what is in them is looked at here, where it can be said what is wrong.
    """
    try:
        if token not in _works:
            with suppress(OSError):
                os.chdir(folder)
            _works.clear()
            _works[token] = loaded(work)
        content = loaded(partition)
    except Exception as error:
        return astuple(Status("failed", f"what was sent cannot be read: {error}", type(error).__name__)), None
    status, result = _works[token](content)
    if status.outcome == "trouble":
        remedy = ": every node must reach files by the same path" if status.missing else ""
        status = replace(status, message=f"{status.message} (on the node {socket.gethostname()}{remedy})")
    if status.outcome != "done":
        return astuple(status), None
    try:
        return astuple(status), pickled(result, "its result")
    except UsageError as error:
        return astuple(Status("failed", str(error), "UsageError")), None


def pickled(thing: object, what: str) -> bytes:
    """Pickle an object; raise an error if it cannot be sent."""
    try:
        try:
            content = pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError):
            content = b"__main__"
        if b"__main__" in content:  # objects from a script or notebook cannot be imported by name elsewhere
            content = needed("ray.cloudpickle", "the engine ray", "trubleu[ray]").dumps(thing)
    except (pickle.PicklingError, AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"{what} cannot be sent to a cluster: {error}") from error
    return content


def loaded(content: bytes) -> Any:
    """Unpickle an object."""
    return pickle.loads(content)  # noqa: S301 - between a driver and its workers, which run its code anyway
