"""Faults on a Ray cluster at full size, and the page about clusters as it is written; `make soak` runs these."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.simulated.triples import simulated_triples
from tests.docs.blocks import ROOT, Reader, blocks
from tests.execution.conftest import start
from tests.execution.trouble import befall, command, contents, done, end_clusters, processes, report, workers
from trubleu.data import write_triples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ray.cluster_utils import Cluster

pytestmark = [
    pytest.mark.skipif(not os.environ.get("TRUBLEU_SOAK"), reason="make soak runs it"),
    pytest.mark.filterwarnings("default:::ray"),
    # Clusters that were killed leave open what they had.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SEGMENTS = 2_000_000
TRIPLES = 300_000
ROUNDS = 3
PAUSES = {"mine run": 0.5}  # seconds between troubles, on average, of what does not take long


@pytest.fixture
def three() -> Iterator[Cluster]:
    """Start a head and two more nodes."""
    yield from started(3)


def started(nodes: int) -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(ROOT))
        cluster = start(nodes)
        patch.setenv("RAY_ADDRESS", cluster.address)
        try:
            yield cluster
        finally:
            cluster.shutdown()
            end_clusters()  # what those that were killed have left


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return commands without `--out`, each large enough to be disturbed."""
    folder = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(1)
    words = np.array([f"w{number}" for number in range(5_000)])
    for name in ("r", "s", "t"):
        with (folder / f"{name}.txt").open("w") as stream:
            for _ in range(SEGMENTS // 100_000):
                drawn = words[random.zipf(1.3, size=(100_000, 8)) % len(words)]
                stream.writelines(" ".join(line) + "\n" for line in drawn.tolist())
    for name, count, seed in (("corpus", TRIPLES, 1), ("seeds", 400, 2)):
        write_triples(folder / f"{name}.jsonl", simulated_triples(count, seed=seed))
    index = ["mine", "index", str(folder / "corpus.jsonl"), "--shard-triples", "20000", "--quiet"]
    done(command(*index, "--out", str(folder / "index")))
    texts = [f"--ref={folder / 'r.txt'}", str(folder / "s.txt"), str(folder / "t.txt")]
    return {
        "score": [
            "score",
            *texts,
            "-m",
            "bleu-4",
            "-m",
            "sbleu-2",
            "--ci",
            "--test",
            "--resamples",
            "200",
            "--format=json",
        ],
        "mine index": index,
        "mine run": ["mine", "run", str(folder / "index"), "--seeds", str(folder / "seeds.jsonl"), "--quiet"],
        "vectors train": [
            *("vectors", "train", str(folder / "r.txt"), "--orders", "1-2", "--min-count", "5"),
            *("--dim", "10", "--epochs", "1", "--threads", "1", "--quiet"),
        ],
    }


@pytest.fixture(scope="module")
def alone(jobs: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, bytes]]:
    """Return what a command makes in one process, worked out once."""
    made: dict[str, dict[str, bytes]] = {}

    def find(name: str) -> dict[str, bytes]:
        if name not in made:
            out = tmp_path_factory.mktemp("alone") / "out.jsonl"
            done(command(*jobs[name], "--out", str(out)))
            made[name] = contents(out)
        return made[name]

    return find


@pytest.mark.parametrize("name", ["score", "mine index", "mine run", "vectors train"])
def test_results_are_the_same_whatever_befalls_the_cluster(
    three: Cluster, jobs: dict[str, list[str]], alone: Callable[[str], dict[str, bytes]], tmp_path: Path, name: str
) -> None:
    wanted = alone(name)
    befallen: Counter[str] = Counter()
    seed = 0
    # A command may be over before anything has befallen its cluster.
    while seed < ROUNDS or befallen["killed"] + befallen["removed"] == 0:
        out = tmp_path / f"{seed}.jsonl"  # candidates must be called so; others may
        began = time.monotonic()
        running = command(*jobs[name], "--engine", "ray", "--out", str(out))
        trouble = befall(three, running, seed, PAUSES.get(name, 2.0))
        befallen += trouble
        seed += 1
        done(running)
        assert contents(out) == wanted
        report(f"{name} in trouble", **trouble, seconds=round(time.monotonic() - began, 1))
        assert seed < 20 * ROUNDS, "nothing befalls the cluster"


def test_two_commands_at_once(
    three: Cluster, jobs: dict[str, list[str]], alone: Callable[[str], dict[str, bytes]], tmp_path: Path
) -> None:
    names = ["score", "mine run", "vectors train"]
    running = [command(*jobs[name], "--engine", "ray", "--out", str(tmp_path / f"{name}.jsonl")) for name in names]
    for name, each in zip(names, running, strict=True):
        done(each)
        assert contents(tmp_path / f"{name}.jsonl") == alone(name)


def test_a_command_that_was_killed_goes_on(
    three: Cluster, jobs: dict[str, list[str]], alone: Callable[[str], dict[str, bytes]], tmp_path: Path
) -> None:
    kept, out = tmp_path / "kept", tmp_path / "out"
    kept.mkdir()
    arguments = [*jobs["score"], "--engine", "ray", "--resume", str(kept), "--out", str(out), "--quiet"]
    before: dict[Path, int] = {}
    for wanted in (2, 5, 9):
        running = command(*arguments)
        until(partial(holds, kept, wanted))
        running.kill()
        running.communicate()
        until(lambda: not workers())
        assert not out.exists()
        assert all(path.stat().st_mtime_ns == moment for path, moment in before.items())
        before = {path: path.stat().st_mtime_ns for path in kept.glob("*.result")}
    done(command(*arguments))
    assert contents(out) == alone("score")
    assert all(path.stat().st_mtime_ns == moment for path, moment in before.items())


@pytest.mark.parametrize("what", ["head", "gcs_server"])
def test_the_head_dies(jobs: dict[str, list[str]], tmp_path: Path, what: str) -> None:
    for cluster in started(2):
        running = command(*jobs["score"], "--engine", "ray", "--out", str(tmp_path / "out"))
        until(lambda: bool(workers()))
        began = time.monotonic()
        if what == "head":
            cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=False)
        else:
            cluster.head_node.kill_gcs_server(check_alive=False)
            for worker in workers():  # nothing can come of the rest without a head
                os.kill(worker, signal.SIGKILL)
        output, said = running.communicate(timeout=200)
        report(f"{what} killed", seconds=round(time.monotonic() - began, 1))
        assert (running.returncode, output) == (2, "")
        assert said.startswith("trubleu: the connection to the Ray cluster is lost")
        assert said.count("\n") == 1
        assert list(tmp_path.iterdir()) == []


def test_a_disk_is_full(three: Cluster, jobs: dict[str, list[str]], tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", kept], check=False)
    if mounted.returncode != 0:
        pytest.skip("no small disk can be made here")
    try:
        arguments = [*jobs["score"], "--engine", "ray", "--resume", str(kept), "--out", str(tmp_path / "out")]
        running = command(*arguments)
        output, said = running.communicate(timeout=200)
        assert (running.returncode, output) == (2, "")
        assert "No space left on device" in said
        assert "Traceback" not in said
        assert not (tmp_path / "out").exists()
    finally:
        subprocess.run(["umount", kept], check=True)


def test_a_cluster_for_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", folder := tempfile.mkdtemp(prefix="r", dir="/tmp"))  # sockets have short paths
    (tmp_path / "a.txt").write_text("a b c d e\n")
    arguments = ["score", "--ref", str(tmp_path / "a.txt"), str(tmp_path / "a.txt"), "--format=json", "--engine", "ray"]
    running = command(*arguments)
    output, said = running.communicate(timeout=100)
    assert said.startswith("trubleu: warning: there is no Ray cluster here, so one was started on this machine")
    assert said.count("\n") == 1
    assert json.loads(done(command(*arguments, "--quiet"))) == json.loads(output)
    until(lambda: not processes("gcs_server", os.environ["RAY_AUTH_TOKEN"]))
    shutil.rmtree(folder)


def test_there_is_not_enough_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", folder := tempfile.mkdtemp(prefix="r", dir="/tmp"))
    monkeypatch.setenv("RAY_memory_usage_threshold", "0.01")  # so that Ray thinks that it is always short
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "200")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    script = (
        "from tests.execution.functions import Numbered, work\nfrom trubleu.execution import engine\n"
        "with engine('ray') as there:\n    list(there.map(work, [Numbered(0, seconds=20)]))\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert "EngineError: partition 0: its workers were stopped for lack of memory" in ended.stderr
    until(lambda: not processes("gcs_server", os.environ["RAY_AUTH_TOKEN"]))
    shutil.rmtree(folder)


def test_the_page_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp_cors", reason="jobs need ray[default], which make soak installs")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", folder := tempfile.mkdtemp(prefix="r", dir="/tmp"))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    try:
        (tmp_path / "examples").symlink_to(ROOT / "examples")
        reader = Reader(tmp_path, frozenset({"cluster"}))
        ran = 0
        for block in blocks((ROOT / "docs" / "cluster.md").read_text(), "cluster.md"):
            for left in range(10, -1, -1):
                try:
                    ran += reader.run(block)
                    break
                except AssertionError as error:  # the page says that this may take some seconds
                    if "No available agent" not in str(error) or not left:
                        raise
                time.sleep(3)
        assert ran == 7
    finally:
        end_clusters()
        shutil.rmtree(folder, ignore_errors=True)


def holds(folder: Path, results: int) -> bool:
    """Tell whether so many results are kept in a folder."""
    return len(list(folder.glob("*.result"))) >= results


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
