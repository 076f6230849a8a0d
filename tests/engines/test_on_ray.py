"""A real cluster of two nodes on this machine, and one fault of each kind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import ray
from ray.cluster_utils import Cluster

from tests.engines.functions import Numbered, count_uses, metrics_after_deaths, where, work
from trubleu.data import LineStream
from trubleu.engines import BadPartitionsError, EngineError, engine, on_ray
from trubleu.errors import UsageError
from trubleu.report import Sampling, score_files, score_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.filterwarnings("default:::ray")

ROOT = Path(__file__).parent.parent.parent
# A node that is gone is noticed after a second, not after a quarter of a minute.
NOTICE = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300, "health_check_failure_threshold": 3}
NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Start a head and a second node."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(ROOT))  # workers import this folder
        head = NODE | {"include_dashboard": False, "_system_config": NOTICE}
        started = Cluster(initialize_head=True, head_node_args=head)
        started.add_node(**NODE)
        patch.setenv("RAY_ADDRESS", started.address)
        try:
            yield started
        finally:
            started.shutdown()


@pytest.fixture(scope="module")
def connected(cluster: Cluster) -> Iterator[Cluster]:
    """Connect once: engines use what is there and leave it as it was."""
    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
    yield cluster
    ray.shutdown()


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


def test_scores_are_the_same_though_workers_are_killed(connected: Cluster, tmp_path: Path) -> None:
    corpus(tmp_path / "corpus", 3)
    references, *systems = (tmp_path / "corpus" / name for name in ("r.txt", "s.txt", "t.txt"))
    files = LineStream.open([references], [], {system.stem: system for system in systems})
    sampling = Sampling(interval=True, test="randomisation", resamples=40)
    alone = score_parts(files, ["s", "t"], files.segments, metrics_after_deaths(0, "", 0), sampling=sampling)
    (tmp_path / "deaths").mkdir()
    make = partial(metrics_after_deaths, os.getpid(), str(tmp_path / "deaths"), 2)
    with engine("ray") as there:
        assert score_files(files, make, there, sampling=sampling, rows=9_999) == alone
    assert len(list((tmp_path / "deaths").iterdir())) == 2


def test_a_node_is_added_and_one_is_removed(connected: Cluster) -> None:
    with engine("ray") as there:
        found = there.map(where, [Numbered(number, seconds=0.15) for number in range(24)])
        done = [next(found)]
        added = connected.add_node(**NODE)
        while done[-1][1][0] != added.node_id:
            done.append(next(found))
        connected.remove_node(added, allow_graceful=False)
        done += found
    assert len({node for _, (node, _) in done}) == 3
    check([(partition, result) for partition, (_, result) in done], 24)


def test_a_partition_is_bad(connected: Cluster, tmp_path: Path) -> None:
    with engine("ray") as there:
        partitions = [Numbered(number, str(tmp_path), trouble="bad" * (number == 1)) for number in range(5)]
        with pytest.raises(BadPartitionsError, match=r"1 of 5 .* partition 1 \(file.txt:1: it is damaged\)"):
            list(there.map(work, partitions))
        assert len(list(tmp_path.iterdir())) == 5
        with pytest.raises(EngineError, match="partition 1: the work failed with ZeroDivisionError: a bug"):
            list(there.map(work, [Numbered(number, trouble="bug" * (number == 1)) for number in range(3)]))


def test_results_do_not_pile_up(connected: Cluster, tmp_path: Path) -> None:
    with engine("ray") as there:
        found = there.map(work, [Numbered(number, str(tmp_path)) for number in range(40)])
        next(found)
        time.sleep(0.3)
        assert len(list(tmp_path.iterdir())) <= on_ray.RESULTS_A_CORE * there.workers
        found.close()


def test_another_version_on_the_cluster_is_refused(connected: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_ray, "__version__", "9.9.9")
    with engine("ray") as there, pytest.raises(UsageError, match=r"TruBLEU .* is installed on .*, but 9\.9\.9 here"):
        list(there.map(work, [Numbered(0)]))


def corpus(folder: Path, seed: int) -> list[str]:
    """Write files of references and outputs, and return the arguments that score them."""
    random = np.random.default_rng(seed)
    folder.mkdir()
    for name in ("r.txt", "s.txt", "t.txt"):
        words = random.choice(["a", "b", "c", "d", "e"], size=(70_000, 5))
        (folder / name).write_text("".join(" ".join(line) + "\n" for line in words.tolist()))
    files = ["--ref", str(folder / "r.txt"), str(folder / "s.txt"), str(folder / "t.txt")]
    return ["score", *files, "-m", "sbleu-2", "--ci", "--test", "--resamples", "50", "--format", "json"]


def command(arguments: list[str], **more: Any) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "trubleu", *arguments]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def test_two_jobs_at_once_do_not_mix(cluster: Cluster, tmp_path: Path) -> None:
    jobs = [corpus(tmp_path / str(seed), seed) for seed in (1, 2)]
    at_once = [command([*job, "--engine", "ray"]) for job in jobs]
    found = [job.communicate(timeout=100) for job in at_once]
    alone = [command(job).communicate(timeout=100) for job in jobs]
    assert [json.loads(out) for out, _ in found] == [json.loads(out) for out, _ in alone]
    assert found[0] != found[1]


def test_ctrl_c_stops_the_work(cluster: Cluster, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom tests.engines.functions import Numbered, work\nfrom trubleu.engines import engine\n"
        "with engine('ray') as there:\n"
        "    list(there.map(work, [Numbered(number, sys.argv[1], seconds=60) for number in range(4)]))\n"
    )
    line = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as driver:
        end = time.monotonic() + 60
        while not (begun := list(tmp_path.iterdir())) or not begun[0].read_text():
            assert time.monotonic() < end
            time.sleep(0.05)
        driver.send_signal(signal.SIGINT)
        _, error = driver.communicate(timeout=30)
    assert "KeyboardInterrupt" in error
    workers = [int(path.read_text()) for path in tmp_path.iterdir()]
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nonsense"])
def test_no_cluster_is_said(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(EngineError, match=f"there is no Ray cluster to work with at {address}: .*; check the address"):
        engine("ray")


def test_a_cluster_that_died_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:1\n")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with pytest.raises(EngineError, match=r"at 127\.0\.0\.1:1: .*; remove .*ray_current_cluster, which names it"):
        engine("ray")
