"""A real cluster of two nodes on this machine, and one fault of each kind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import ray

from tests.execution.conftest import add_node
from tests.execution.functions import Numbered, count_uses, environment, where, work
from trubleu.cli import main
from trubleu.errors import BadPartitionsError, EngineError, UsageError
from trubleu.execution import engine, ray_tasks
from trubleu.execution.ray_connection import RayProcess
from trubleu.execution.ray_tasks import OnRay

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster

pytestmark = pytest.mark.filterwarnings("default:::ray")


def check(found: list[tuple[Numbered, Any]], count: int) -> None:
    assert [partition.number for partition, _ in found] == list(range(count))
    for partition, result in found:
        np.testing.assert_array_equal(result, work(Numbered(partition.number)))


def test_results_are_in_order_and_a_worker_has_one_state(connected: Cluster) -> None:
    with engine("ray") as there:
        assert there.workers == 2
        check(list(there.map(work, [Numbered(number, seconds=0.1 * (number == 0)) for number in range(6)])), 6)
        found = [result for _, result in there.map(count_uses, list(range(6)), state=dict)]
        for worker in {process for process, _ in found}:
            uses = [use for process, use in found if process == worker]
            assert sorted(uses) == list(range(1, len(uses) + 1))
        assert len({process for process, _ in found}) < 6
    assert ray.is_initialized()  # it was not the engine's


def test_a_worker_is_killed(connected: Cluster, tmp_path: Path) -> None:
    with engine("ray") as there:
        partitions = [Numbered(number, str(tmp_path), deaths=2 * (number == 2)) for number in range(5)]
        check(list(there.map(work, partitions)), 5)
        assert len((tmp_path / "2.tries").read_text().splitlines()) == 3
        with pytest.raises(EngineError, match=r"partition 7: the cluster could not finish it in 3 tries \(Worker"):
            list(there.map(work, [Numbered(7, str(tmp_path), deaths=99)]))


def test_a_node_is_added_and_one_is_removed(connected: Cluster, tmp_path: Path) -> None:
    with engine("ray") as there:
        found = there.map(where, [Numbered(number, str(tmp_path), seconds=0.15) for number in range(24)])
        done = [next(found)]
        added = add_node(connected)
        while done[-1][1][0] != added.node_id:
            done.append(next(found))
        connected.remove_node(added, allow_graceful=False)
        done += found
    connected.wait_for_nodes(300)  # or the next tests would still count what is gone
    assert len({node for _, (node, _) in done}) == 3
    check([(partition, result) for partition, (_, result) in done], 24)


def test_a_partition_is_bad(connected: Cluster, tmp_path: Path) -> None:
    with engine("ray") as there:
        partitions = [Numbered(number, str(tmp_path), trouble="bad" * (number == 1)) for number in range(5)]
        with pytest.raises(BadPartitionsError, match=r"1 of 5 .* partition 1 \(file.txt:1: it is damaged\)"):
            list(there.map(work, partitions))
        assert len(list(tmp_path.iterdir())) == 5
        with pytest.raises(UsageError, match=r"functions\.py:\d+: ZeroDivisionError: a bug; correct the code$"):
            list(there.map(work, [Numbered(number, trouble="bug" * (number == 1)) for number in range(3)]))


def test_results_do_not_pile_up(connected: Cluster, tmp_path: Path) -> None:
    with engine("ray") as there:
        found = there.map(work, [Numbered(number, str(tmp_path)) for number in range(40)])
        next(found)
        time.sleep(0.3)
        assert len(list(tmp_path.iterdir())) <= ray_tasks.RESULTS_A_CORE * there.workers
        found.close()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("__version__", "9.9.9", r"TruBLEU .* is installed on .*, but 9\.9\.9 here; install the same version"),
        ("sources_digest", lambda: "other", r"TruBLEU .* on .* has other code than .* here; install the same files"),
    ],
)
def test_another_trubleu_on_the_cluster_is_refused(
    connected: Cluster, monkeypatch: pytest.MonkeyPatch, name: str, value: object, message: str
) -> None:
    monkeypatch.setattr(ray_tasks, name, value)
    with engine("ray") as there, pytest.raises(UsageError, match=message):
        list(there.map(work, [Numbered(0)]))


def test_a_file_that_a_node_does_not_have(connected: Cluster) -> None:
    what = r"/no/such/file: .* \(on the node \S+: every node must reach files by the same path\)"
    with engine("ray") as there, pytest.raises(EngineError, match=f"^partition 0: {what}"):
        list(there.map(work, [Numbered(0, trouble="missing")], skip_bad=True))


def test_more_cores_than_any_node_has(connected: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EngineError, match=r"takes 2 of a node's cores, but the largest node .* has 1; ask for fewer"):
        next(engine("ray", threads=2).map(work, [Numbered(0)]))
    monkeypatch.setenv("TRUBLEU_RAY_WAIT", "0.1")
    monkeypatch.setattr(ray_tasks, "_SECONDS_BETWEEN_COUNTS", 0.1)
    monkeypatch.setattr(ray_tasks, "_SECONDS_WITHOUT_NODES", 0.1)
    with pytest.raises(EngineError, match="for 0 seconds no node of the Ray cluster has had the 2 cores"):
        next(engine("ray", threads=2).map(work, [Numbered(0)]))
    monkeypatch.setenv("TRUBLEU_RAY_WAIT", "soon")
    with pytest.raises(UsageError, match="TRUBLEU_RAY_WAIT is 'soon', but must be a number of seconds"):
        next(engine("ray", threads=2).map(work, [Numbered(0)]))


def test_a_result_that_cannot_be_sent(connected: Cluster) -> None:
    with engine("ray") as there, pytest.raises(EngineError, match=r"partition 0: .* its result cannot be sent to a"):
        list(there.map(work, [Numbered(0, trouble="unpicklable")]))


def test_functions_of_a_script_are_sent_as_they_are(connected: Cluster) -> None:
    with engine("ray") as there:
        assert list(there.map(lambda number, power: number**power, [2, 3], state=lambda: 3)) == [(2, 8), (3, 27)]
        with pytest.raises(UsageError, match="the function cannot be sent to a cluster"):
            list(there.map(connected.add_node, [1]))


def corpus(folder: Path, seed: int) -> list[str]:
    """Write files of references and outputs, and return the arguments that score them."""
    random = np.random.default_rng(seed)
    folder.mkdir()
    for name in ("r.txt", "s.txt", "t.txt"):
        words = random.choice(["a", "b", "c", "d", "e"], size=(20_000, 5))
        (folder / name).write_text("".join(" ".join(line) + "\n" for line in words.tolist()))
    files = ["--ref", str(folder / "r.txt"), str(folder / "s.txt"), str(folder / "t.txt")]
    return ["score", *files, "--ci", "--test", "--resamples", "50", "--format", "json"]


def printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command in this process, and return what it prints as JSON."""
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_scores_are_the_same_though_workers_are_killed(
    connected: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [*corpus(tmp_path / "corpus", 3), "-m", "tests.execution.functions:Fatal", "-m", "sbleu-2"]
    alone = printed(arguments, capsys)
    (tmp_path / "deaths").mkdir()
    assert main([*arguments, "--engine", "ray", "--out", "scores.json"]) == 0
    assert json.loads((tmp_path / "scores.json").read_text()) == alone
    assert len(list((tmp_path / "deaths").iterdir())) == 2


def test_a_range_of_a_file_is_damaged(connected: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*corpus(tmp_path / "corpus", 4), "-m", "bleu-2", "--engine", "ray"]
    damaged = tmp_path / "corpus" / "s.txt"
    lines = damaged.read_bytes().split(b"\n")
    lines[7_000] = b"\xff"
    damaged.write_bytes(b"\n".join(lines))
    out = tmp_path / "scores.json"
    assert main([*arguments, "--out", str(out)]) == 2
    assert "partitions cannot be used" in (said := capsys.readouterr().err)
    assert f"{damaged}:7001" in said
    assert not out.exists()
    assert main([*arguments, "--out", str(out), "--skip-bad"]) == 0
    left_out = re.search(r"1 of \d+ partitions were left out: lines ([\d,]+) to ([\d,]+)", capsys.readouterr().err)
    assert left_out is not None
    first, last = (int(number.replace(",", "")) for number in left_out.groups())
    assert first <= 7_001 <= last
    for name in ("r.txt", "s.txt", "t.txt"):
        lines = (tmp_path / "corpus" / name).read_bytes().splitlines(keepends=True)
        (tmp_path / "corpus" / name).write_bytes(b"".join(lines[: first - 1] + lines[last:]))
    found = json.loads(out.read_text())
    assert [(each["first"], each["last"]) for each in found.pop("left_out")] == [(first, last)]
    assert found == printed(arguments[:-2], capsys)


def test_ctrl_c_stops_the_work_of_a_script_with_a_module_beside_it(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("from tests.execution.functions import work as work_beside\n")
    (tmp_path / "begun").mkdir()
    (tmp_path / "script.py").write_text(
        "import sys\nfrom tests.execution.functions import Numbered\nfrom trubleu.execution import engine\n"
        "import beside\n"
        "class Work:\n    def __call__(self, partition, state):\n        return beside.work_beside(partition)\n"
        "with engine('ray') as there:\n"
        "    list(there.map(Work(), [Numbered(number, sys.argv[1], seconds=900) for number in range(4)]))\n"
    )
    line = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "begun")]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as driver:
        end = time.monotonic() + 300
        while not (begun := list((tmp_path / "begun").iterdir())) or not begun[0].read_text():
            assert driver.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        driver.send_signal(signal.SIGINT)
        _, error = driver.communicate(timeout=300)
    assert "KeyboardInterrupt" in error
    # One may have been stopped when it had made its file and written nothing to it.
    workers = [int(written) for path in (tmp_path / "begun").iterdir() if (written := path.read_text())]
    assert workers
    end = time.monotonic() + 300
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_two_jobs_at_once_do_not_mix_until_one_is_lost(connected: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    own = engine("ray")
    monkeypatch.setattr("trubleu.execution._connected_to_ray", lambda: False)  # so that another process connects
    monkeypatch.setenv("TRUBLEU_WORKER_ENV", "FOR_WORKERS")
    monkeypatch.setenv("FOR_WORKERS", "told")
    monkeypatch.setenv("NOT_FOR_WORKERS", "secret")
    with engine("ray") as there:
        assert isinstance(there, RayProcess)
        assert there.workers == 2
        names = ("FOR_WORKERS", "NOT_FOR_WORKERS")
        assert list(there.map(environment, [names])) == [(names, {"FOR_WORKERS": "told", "NOT_FOR_WORKERS": None})]
        with pytest.raises(BadPartitionsError, match="1 of 3"):
            list(there.map(work, [Numbered(number, trouble="bad" * (number == 1)) for number in range(3)]))
        found = there.map(count_uses, list(range(9)), state=dict)
        theirs, uses = next(found)[1]
        assert uses == 1
        assert theirs not in [process for _, (process, _) in own.map(count_uses, [0, 1], state=dict)]
        driver = there._process  # what Ray itself ends when a head is gone; that one is in make soak
        assert driver is not None
        driver.kill()
        with pytest.raises(EngineError, match=r"Ray cluster is lost, .*: killed by SIGKILL\); no result was"):
            list(found)
        with pytest.raises(EngineError, match="is lost"):
            list(there.map(work, [Numbered(0)]))
    with pytest.raises(EngineError, match="the engine was closed"):
        list(there.map(work, [Numbered(0)]))


def test_variables_for_workers_must_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setenv("TRUBLEU_WORKER_ENV", "PATH, NO_SUCH_VARIABLE")
    with pytest.raises(UsageError, match="TRUBLEU_WORKER_ENV names NO_SUCH_VARIABLE, which is not set"):
        OnRay(None)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nonsense"])
def test_no_cluster_is_said(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(EngineError, match=f"there is no Ray cluster to work with at {address}: .*; check the address"):
        OnRay(None)


def test_a_cluster_that_died_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:1\n")
    (tmp_path / "secrets.py").write_text("raise SystemExit")  # which must not pass for Python's
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with pytest.raises(EngineError, match=r"at 127\.0\.0\.1:1: .*; remove .*ray_current_cluster, which names it"):
        engine("ray")  # said by the process that would connect


@pytest.mark.parametrize("named", [None, "auto"])
def test_a_cluster_of_another_user_is_not_joined(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str | None
) -> None:
    (tmp_path / "ray").mkdir()
    path = tmp_path / "ray" / "ray_current_cluster"
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        path.write_text(address)
        given: list[str] = []
        monkeypatch.setattr(ray, "is_initialized", lambda: False)
        monkeypatch.setattr(ray, "init", lambda address, **_options: given.append(address))
        monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
        if named is not None:
            monkeypatch.setenv("RAY_ADDRESS", named)
        OnRay(None)
        assert given == [address]
        refused = rf"ray_current_cluster names the Ray cluster {address}, but others may have written it; if you trust"
        path.chmod(0o666)
        with pytest.raises(UsageError, match=refused):
            OnRay(None)
        path.chmod(0o644)
        user = os.getuid()
        with monkeypatch.context() as patch:
            patch.setattr(os, "getuid", lambda: user + 1)
            with pytest.raises(UsageError, match=refused):
                OnRay(None)
            OnRay(f"ray://{address}")  # which was named
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
        if named is None:
            OnRay(None)
        else:
            with pytest.raises(EngineError, match="you have started no Ray cluster here"):
                OnRay(None)
    assert given == [address, f"ray://{address}", "local"][: 3 if named is None else 2]


def test_only_where_there_is_no_cluster_one_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[str] = []
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda address, **_options: given.append(address))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    assert OnRay(None).begun_here
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    with pytest.raises(EngineError, match=r"RAY_ADDRESS is auto, but you have started no Ray cluster here; "):
        OnRay(None)
    assert given == ["local"]
