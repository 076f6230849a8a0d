"""A real cluster of two nodes on this machine, one for all tests of this folder that a process runs.

Clusters that tests start have a token of their own. Ray settles this when it is imported; with nothing said it looks
for a token in the home folder, or writes one there.
"""

from __future__ import annotations

import gc
import os
import secrets
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ray._private.node import Node
    from ray.cluster_utils import Cluster

os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)

ROOT = Path(__file__).parent.parent.parent
# A node that is gone is noticed after a second, not after a quarter of a minute; one that is only slow has minutes.
NOTICE = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_failure_threshold": 3,
    "health_check_timeout_ms": 60_000,
}
NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what needs the cluster first: xdist begins with many neighbours a process, so that one process starts one."""
    items.sort(key=lambda item: "cluster" not in getattr(item, "fixturenames", ()))


def start(nodes: int) -> Cluster:
    """Start a cluster of so many nodes with one core each."""
    from ray.cluster_utils import Cluster

    started = Cluster()
    add_node(started, include_dashboard=False, _system_config=NOTICE)
    for _ in range(nodes - 1):
        add_node(started)
    return started


def add_node(cluster: Cluster, **more: Any) -> Node:
    """Add a node with one core; the first one is the head."""
    from ray._private import node

    # Ray gives a node half a minute to start, which it may exceed on a busy machine.
    slow = SimpleNamespace(**vars(time) | {"monotonic": lambda: time.monotonic() / 10})
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(node, "time", slow)
        warnings.simplefilter("ignore", ResourceWarning)  # Ray leaves sockets open that it looked for ports with
        added = cluster.add_node(**NODE, **more)
        gc.collect()
    return added


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """Start a head and a second node."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(ROOT))  # workers import this folder
        started = start(2)
        patch.setenv("RAY_ADDRESS", started.address)
        try:
            yield started
        finally:
            started.shutdown()


@pytest.fixture(scope="package")
def connected(cluster: Cluster) -> Iterator[Cluster]:
    """Connect once: engines use what is there and leave it as it was."""
    import ray

    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
    yield cluster
    ray.shutdown()
