"""Trouble for a cluster while commands run on it: workers killed, nodes taken away and added, at random moments."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from tests.execution.conftest import add_node

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster

SECONDS_AT_MOST = 600


def command(*arguments: str, **more: Any) -> subprocess.Popen[str]:
    """Start a command of TruBLEU."""
    line = [sys.executable, "-m", "trubleu", *arguments]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def done(running: subprocess.Popen[str]) -> str:
    """Wait for a command that must end well and say nothing on standard error; return what it printed."""
    output, said = running.communicate(timeout=SECONDS_AT_MOST)
    assert (running.returncode, said) == (0, ""), said
    return output


def processes(part: str, token: str) -> list[int]:
    """Return the processes whose command line has this part and whose environment has this token."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            environment = (folder / "environ").read_bytes()
            if part.encode() in (folder / "cmdline").read_bytes() and f"RAY_AUTH_TOKEN={token}".encode() in environment:
                found.append(int(folder.name))
    return found


def children(parents: list[int]) -> list[int]:
    """Return the processes that these have started; titles of Ray's take the place of their environments."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            found += [int(folder.name)] * (parent in parents)
    return found


def workers() -> list[int]:
    """Return the processes that work on a partition of ours at the moment."""
    found = []
    for process in children(processes("raylet/raylet", os.environ["RAY_AUTH_TOKEN"])):
        with suppress(OSError):
            found += [process] * Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"ray::trubleu")
    return found


def end_clusters() -> None:
    """End whatever Ray runs here with our token, as `ray stop` would for everybody."""
    ours = processes("", os.environ["RAY_AUTH_TOKEN"])
    for process in {*ours, *children(ours)} - {os.getpid()}:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def contents(path: Path) -> dict[str, bytes]:
    """Return what a file or a folder holds."""
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def report(name: str, **figures: object) -> None:
    """Keep the figures of a run."""
    if path := os.environ.get("TRUBLEU_SOAK_OUT"):
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"run": name, **figures}) + "\n")


def befall(cluster: Cluster, running: subprocess.Popen[str], seed: int, pause: float = 2.0) -> Counter[str]:
    """Make trouble until a command has ended, and return what it was; the head is left alone.

    Parameters
    ----------
    cluster
        Whom it befalls.
    running
        The command.
    seed
        Of what happens when.
    pause
        Seconds from one trouble to the next, on average.
    """
    random = Random(seed)
    made: Counter[str] = Counter()
    while True:
        with suppress(subprocess.TimeoutExpired):
            running.wait(random.uniform(0.5, 1.5) * pause)
            return made
        what = random.choice(["kill", "kill", "remove", "add"])
        others = sorted(cluster.worker_nodes, key=lambda node: str(node.node_id))
        if what == "kill" and (working := workers()):
            with suppress(ProcessLookupError):
                os.kill(random.choice(working), signal.SIGKILL)
                made["killed"] += 1
        elif what == "remove" and len(others) > 1:
            cluster.remove_node(random.choice(others), allow_graceful=False)
            made["removed"] += 1
        elif what == "add" and len(others) < 4:
            add_node(cluster)
            made["added"] += 1
