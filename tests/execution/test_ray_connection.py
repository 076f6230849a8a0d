"""The process that would be connected to a cluster, and this side of its pipe; and what Ray says, in our words."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from ray import exceptions

from tests.execution.conftest import ROOT
from tests.execution.driver import SLEPT, Large, doubled, length, slept
from trubleu.errors import EngineError
from trubleu.execution import engine, ray_connection, ray_tasks
from trubleu.execution.ray_connection import RayProcess
from trubleu.execution.ray_tasks import OnRay, Tasks
from trubleu.optional_deps import needed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[RayProcess]:
    monkeypatch.setattr(ray_connection, "DRIVER", ("-m", "tests.execution.driver"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with RayProcess(None) as found:
        yield found


@contextmanager
def interrupted_once(so_far: Callable[[], bool]) -> Iterator[None]:
    """Press Ctrl-C in the block as soon as it has come so far, however long that takes."""
    main = threading.main_thread().ident
    assert main is not None
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.01):
            if so_far():
                signal.pthread_kill(main, signal.SIGINT)
                return

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        over.set()
        watching.join()


def test_large_partitions_and_results_fit_through_the_pipe(there: RayProcess) -> None:
    partitions = [bytes([number]) * 3_000_000 for number in range(3)]
    assert [result for _, result in there.map(doubled, partitions)] == [part + part for part in partitions]


def test_an_engine_that_was_interrupted_says_so(there: RayProcess, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    assert list(there.map(slept, [(0.0, "")])) == [((0.0, ""), 0.0)]
    with interrupted_once(begun.exists):
        list(there.map(slept, [(SLEPT, str(begun))]))
    assert there._process is not None
    there._process.wait(SLEPT / 2)  # which ends its work, even if nobody closes the engine
    with pytest.raises(EngineError, match="the engine was interrupted in the middle of its work; make a new one"):
        list(there.map(slept, [(0.0, "")]))


def test_ctrl_c_while_something_is_sent(there: RayProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    ask = there.ask

    def noted(*content: object) -> Any:
        asked.append(content[0])
        return ask(*content)

    monkeypatch.setattr(there, "ask", noted)
    began = time.monotonic()
    # The other side sleeps over it.
    with interrupted_once(lambda: asked == ["open", "begin"] and there._waits):
        list(there.map(length, [Large(3_000_000)] * 2))
    there.close()
    assert time.monotonic() - began < SLEPT / 2


def test_what_cannot_be_begun_is_said(there: RayProcess) -> None:
    with pytest.raises(EngineError, match=r"^this cannot be begun$"):
        list(there.map(doubled, ["refused", "fine"]))
    assert list(there.map(doubled, ["a", "b", "c"])) == [("a", "aa"), ("b", "bb"), ("c", "cc")]
    assert there.workers == 2


def test_what_nobody_thought_of_is_said(there: RayProcess) -> None:
    with pytest.raises(EngineError, match=r"^the Ray cluster cannot be used: ZeroDivisionError: a bug$"):
        list(there.map(0, [1]))  # type: ignore[arg-type]
    assert there.workers == 2


class Cluster:
    """What `Tasks` asks of Ray: everything is finished at once, and comes to what was given."""

    exceptions = exceptions

    def __init__(self, status: Any, result: Any = None) -> None:
        self._answers = (status, result)

    def remote(self, _task: object) -> Any:
        return SimpleNamespace(options=lambda **_options: SimpleNamespace(remote=lambda *_content: self._answers))

    def put(self, thing: object) -> object:
        return thing

    def wait(self, references: list[Any], **_options: Any) -> tuple[list[Any], list[Any]]:
        return references[:1], references[1:]

    def get(self, reference: Any) -> Any:
        if isinstance(reference, Exception):
            raise reference
        return reference

    def is_initialized(self) -> bool:
        return True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": {"CPU": 1.0}}]

    def cancel(self, _reference: object, **_options: Any) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (exceptions.WorkerCrashedError(), r"^a: the cluster could not finish it in 3 tries \(WorkerCrashedError\)$"),
        (exceptions.RuntimeEnvSetupError("no\nmore"), r"^a: the cluster could not finish it \(RuntimeEnvSetupError: "),
        (exceptions.OutOfMemoryError("much"), "^a: its workers were stopped for lack of memory"),
        (exceptions.AuthenticationError("wrong"), "^the Ray cluster does not accept the token; set RAY_AUTH_TOKEN"),
        (exceptions.LocalRayletDiedError(), "^the connection to the Ray cluster is lost"),
        (("done",), "^a: its result was lost with a node, and could not be made again; no result was written"),
    ],
)
def test_what_ray_cannot_finish(monkeypatch: pytest.MonkeyPatch, status: Any, message: str) -> None:
    monkeypatch.setattr(
        ray_tasks, "needed", lambda name, *what: Cluster(status) if name == "ray" else needed(name, *what)
    )
    with OnRay(None) as cluster, pytest.raises(EngineError, match=message):
        list(cluster.map(lambda text, _state: text, ["a"]))


def test_the_cluster_refuses_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ray_tasks, "needed", lambda name, *what: Cluster(("done",)) if name == "ray" else needed(name, *what)
    )
    monkeypatch.setattr(Cluster, "put", Cluster.get)
    full = exceptions.ObjectStoreFullError("it is full\nand more about it")
    with (
        OnRay(None) as cluster,
        pytest.raises(EngineError, match=r"cannot continue \(ObjectStoreFullError: it is full"),
    ):
        Tasks(cluster, Cluster(None), full, "", ("1", "2"))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, None),
        ("auto", "auto"),
        ("ray://head", "ray://head:10001"),
        ("ray://head:1", "ray://head:1"),
        ("ray://[::1]", "ray://[::1]:10001"),
        ("ray://[::1]:1", "ray://[::1]:1"),
    ],
)
def test_an_address_may_do_without_its_port(given: str | None, found: str | None) -> None:
    assert ray_tasks._with_port(given) == found


def test_an_address_is_no_matter_of_the_connection_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str | None] = []
    monkeypatch.setattr("trubleu.execution._connected_to_ray", lambda: True)
    monkeypatch.setattr(ray_connection, "RayProcess", lambda address, **_options: made.append(address))
    engine("ray://other:10001")
    assert made == ["ray://other:10001"]
