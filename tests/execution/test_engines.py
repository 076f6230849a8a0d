"""Engines on one machine: order, state, faults, and that nothing is left running."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.execution.functions import Numbered, count_uses, no_state, work
from trubleu.errors import BadPartitionsError, DataError, EngineError, TrubleuWarning, UsageError
from trubleu.execution import Engine, engine, local
from trubleu.execution.base import Run, Status, Work
from trubleu.execution.local import Processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module", params=["local", "local:2"])
def here(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with engine(request.param) as found:
        yield found


@pytest.fixture
def alone() -> Engine:
    """Return what is enough where engines do not differ."""
    return engine("local")


def test_results_come_in_the_order_of_partitions(here: Engine) -> None:
    partitions = [Numbered(number, seconds=0.05 * (number == 0)) for number in (3, 0, 2, 1, 4)]
    finished: list[Numbered] = []
    found = list(here.map(work, partitions, progress=finished.append))
    assert [partition for partition, _ in found] == partitions
    for partition, result in found:
        np.testing.assert_array_equal(result, work(partition))
    assert sorted(finished, key=lambda each: each.number) == sorted(partitions, key=lambda each: each.number)
    assert list(here.map(work, [])) == []


def test_a_worker_makes_its_state_once(here: Engine) -> None:
    found = [result for _, result in here.map(count_uses, list(range(6)), state=dict)]
    workers = {process for process, _ in found}
    assert len(workers) <= here.workers
    for worker in workers:
        uses = [use for process, use in found if process == worker]
        assert sorted(uses) == list(range(1, len(uses) + 1))


def test_bad_partitions_are_all_named_after_the_rest_is_done(here: Engine) -> None:
    partitions = [Numbered(number, trouble="bad" * (number in (1, 3))) for number in range(5)]
    done = []
    found = here.map(work, partitions)
    with pytest.raises(BadPartitionsError, match="2 of 5 partitions") as caught:  # noqa: PT012
        for partition, _ in found:
            done.append(partition.number)
    assert done == [0, 2, 4]
    assert caught.value.partitions == {
        "partition 1": "file.txt:1: it is damaged",
        "partition 3": "file.txt:3: it is damaged",
    }
    assert "partition 1 (file.txt:1: it is damaged), partition 3" in str(caught.value)


def test_bad_partitions_may_be_left_out(here: Engine) -> None:
    partitions = [Numbered(number, trouble="bad" * (number == 1)) for number in range(3)]
    with pytest.warns(TrubleuWarning, match="1 of 3 partitions were left out: partition 1"):
        found = [partition.number for partition, _ in here.map(work, partitions, skip_bad=True)]
    assert found == [0, 2]


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("missing", "^partition 1: /no/such/file: there is no such file; check the path$"),
        ("disk", "^partition 1: file.txt cannot be read$"),
        ("changed", "^partition 1: file.txt changed while it was read$"),
        ("not kept", "^partition 1: kept cannot be written: No space"),
    ],
)
def test_good_data_is_not_left_out_when_a_disk_has_trouble(alone: Engine, trouble: str, message: str) -> None:
    partitions = [Numbered(number, trouble=trouble * (number == 1)) for number in range(3)]
    with pytest.raises(EngineError, match=message):
        list(alone.map(work, partitions, skip_bad=True))


def test_damage_is_left_out_whatever_class_it_has(alone: Engine) -> None:
    with pytest.warns(TrubleuWarning, match=r"1 of 2 partitions were left out: partition 0 \(file.txt cannot be read"):
        found = list(alone.map(work, [Numbered(0, trouble="damaged"), Numbered(1)], skip_bad=True))
    assert [partition.number for partition, _ in found] == [1]


def test_a_state_that_cannot_be_made_is_no_fault_of_partitions(alone: Engine) -> None:
    with pytest.raises(DataError, match=r"^the index is damaged; make it again$") as caught:
        list(alone.map(work, [Numbered(number) for number in range(3)], state=no_state, skip_bad=True))
    assert not isinstance(caught.value, BadPartitionsError)


def test_partitions_of_one_name_are_all_counted(alone: Engine) -> None:
    with pytest.raises(BadPartitionsError, match="2 of 2 partitions") as caught:
        list(alone.map(work, [Numbered(1, trouble="bad"), Numbered(1, seconds=0.001, trouble="bad")]))
    assert list(caught.value.partitions) == ["partition 1", "partition 1 #2"]


class Noting(Engine, Run[int, int]):
    """Finishes whatever was begun, and notes what is asked of it."""

    workers, threads, room = 2, 1, 3

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self._begun: list[int] = []

    def _run(self, _work: object) -> Run[Any, Any]:
        return self

    def begin(self, number: int, _partition: int) -> None:
        self.asked.append(("begin", number))
        self._begun.append(number)

    def finished(self) -> list[tuple[int, Status]]:
        found, self._begun = [(number, Status()) for number in self._begun], []
        return found

    def take(self, number: int) -> int:
        self.asked.append(("take", number))
        return number

    def close(self) -> None:
        pass


def test_more_is_begun_with_every_result_that_is_taken() -> None:
    engine = Noting()
    list(engine.map(work, list(range(5))))  # type: ignore[arg-type]
    first = [("begin", 0), ("begin", 1), ("begin", 2), ("take", 0), ("begin", 3), ("take", 1), ("begin", 4)]
    assert engine.asked == [*first, ("take", 2), ("take", 3), ("take", 4)]


@pytest.mark.parametrize(
    ("trouble", "error", "message"),
    [
        ("usage", UsageError, "^this is refused everywhere$"),
        ("bug", UsageError, r"functions\.py:\d+: ZeroDivisionError: a bug; correct the code$"),
    ],
)
def test_what_is_no_matter_of_data_stops_all(
    here: Engine, tmp_path: Path, trouble: str, error: type[Exception], message: str
) -> None:
    partitions = [Numbered(number, str(tmp_path), trouble=trouble * (number == 1)) for number in range(40)]
    with pytest.raises(error, match=message):
        list(here.map(work, partitions, skip_bad=True))
    assert len(list(tmp_path.iterdir())) < 20
    assert len(list(here.map(work, partitions[2:4]))) == 2  # the engine can still be used


def test_results_do_not_pile_up(here: Engine, tmp_path: Path) -> None:
    found = here.map(work, [Numbered(number, str(tmp_path)) for number in range(40)])
    next(found)
    time.sleep(0.3)
    assert len(list(tmp_path.iterdir())) <= 3 * here.workers
    found.close()
    begun = len(list(tmp_path.iterdir()))
    time.sleep(0.1)
    assert len(list(tmp_path.iterdir())) == begun


def test_a_partition_whose_worker_is_killed_is_tried_again(tmp_path: Path) -> None:
    partitions = [Numbered(number, str(tmp_path), deaths=2 * (number == 2)) for number in range(5)]
    with engine("local:2") as workers:
        found = list(workers.map(work, partitions))
        assert len((tmp_path / "2.tries").read_text().splitlines()) == 3
        for partition, result in found:
            np.testing.assert_array_equal(result, work(Numbered(partition.number)))
        deadly = [Numbered(9, str(tmp_path), deaths=99)]
        with pytest.raises(EngineError, match="partition 9: 3 workers died of it, the last one killed by SIGKILL"):
            list(workers.map(work, deadly))


def test_what_cannot_be_sent_is_said() -> None:
    with engine("local:1") as workers:
        with pytest.raises(UsageError, match="the function cannot be sent to another process"):
            list(workers.map(lambda number, _state: number, [1]))
        with pytest.raises(EngineError, match=r"partition 0: .* its result cannot be sent"):
            list(workers.map(work, [Numbered(0, trouble="unpicklable")]))
        first = workers.map(work, [Numbered(0)])
        next(first)  # nothing is left to do, but whether there is must not matter
        with pytest.raises(UsageError, match="busy with another map"):
            next(workers.map(work, [Numbered(1)]))
        first.close()
        assert len(list(workers.map(work, [Numbered(1)]))) == 1


class Stubborn:
    """A process that notes what is done to it."""

    def __init__(self, done: list[str]) -> None:
        self._done = done
        self.connection = self.process = self

    def close(self) -> None:
        self._done.append("close")

    def terminate(self) -> None:
        self._done.append("terminate")

    def join(self, seconds: float | None = None) -> None:
        self._done.append("join" if seconds is None else "wait")

    def is_alive(self) -> bool:
        return "kill" not in self._done

    def kill(self) -> None:
        self._done.append("kill")


def test_all_processes_are_stopped_before_one_is_waited_for() -> None:
    done: list[str] = []
    with Processes(2) as two:
        run = two._run(Work(work))
        for number in range(2):
            two.busy[Stubborn(done)] = number  # type: ignore[index]
        run.close()
    assert done == [*["close", "terminate"] * 2, "wait", "kill", "join", "wait"]
    with pytest.raises(SystemExit) as left:
        local._leave(signal.SIGTERM, None)
    assert local.ended(left.value.code) == "killed by SIGTERM"  # type: ignore[arg-type]


SCRIPT = """
import sys
from tests.execution.functions import Numbered, work
from trubleu.execution import engine

if __name__ == "__main__":
    with engine("local:2") as processes:
        list(processes.map(work, [Numbered(number, sys.argv[1], seconds=900) for number in range(4)]))
"""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_running(tmp_path: Path, end: signal.Signals) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as driver:
        # Files are made before something is written to them.
        wait_for(lambda: sum(bool(path.read_text()) for path in tmp_path.glob("*.tries")) == 2)
        workers = [int(path.read_text()) for path in tmp_path.glob("*.tries")]
        assert all(map(alive, workers))
        driver.send_signal(end)
        _, error = driver.communicate(timeout=300)
    assert ("KeyboardInterrupt" in error) == (end == signal.SIGINT)
    wait_for(lambda: not any(map(alive, workers)))
    assert len(list(tmp_path.glob("*.tries"))) == 2


def wait_for(condition: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def alive(process: int) -> bool:
    with suppress(OSError):
        # Whoever should reap it may be slow: a process that has ended but was not waited for is not running.
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    return False


@pytest.mark.parametrize("name", ["", "remote", "local:", "local:0", "local:-1", "local:x", "ray:", "ray://", "rays"])
def test_there_are_no_other_engines(name: str) -> None:
    with pytest.raises(UsageError, match=r"there is no engine .*; known: local, local:N, local:all, ray, ray://"):
        engine(name)


def test_one_process_a_core() -> None:
    with engine("local:all") as workers:
        assert workers.workers == os.cpu_count()


def test_a_worker_that_ends_is_not_interrupted_again() -> None:
    """It is sent SIGTERM as its pipe is closed; an exception while Python shuts down would be printed."""
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    ours, theirs = multiprocessing.Pipe()
    ours.close()
    try:
        local._serve(theirs)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
