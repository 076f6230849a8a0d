"""What a benchmark finds, as a line to read and a flat object to keep."""

from __future__ import annotations

import math
import os
import platform
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Row:
    """Ours and the peer, on the same data.

    Attributes
    ----------
    name
        The benchmark.
    data
        What it ran on.
    peer
        What ours is compared with.
    ours_seconds, peer_seconds
        CPU time, unless the note says otherwise.
    bar
        The ratio that must be reached; None if there is no such promise.
    note
        How it was measured, where that needs saying.
    """

    name: str
    data: str
    peer: str
    ours_seconds: float
    peer_seconds: float
    bar: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float:
        """How many times as long as ours the peer takes."""
        return self.peer_seconds / self.ours_seconds

    @property
    def reached(self) -> bool | None:
        """Whether the ratio is as large as promised; None without a promise."""
        return None if self.bar is None else self.ratio >= self.bar

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self) | {"ratio": self.ratio, "reached": self.reached, "versions": versions(), "cpu": cpu()}

    def __str__(self) -> str:
        verdict = {None: "", True: "reached", False: "MISSED"}[self.reached]
        bar = "" if self.bar is None else f"≥ {self.bar:g}"
        note = f"  ({self.note})" if self.note else ""
        return (
            f"{self.name:20} {self.data:34} {self.peer:18} {_milliseconds(self.ours_seconds)} "
            f"{_milliseconds(self.peer_seconds)} {self.ratio:8.2f}× {bar:>8} {verdict:8}{note}"
        )


HEADER = f"{'benchmark':20} {'data':34} {'peer':18} {'ours, ms':>10} {'peer, ms':>10} {'ratio':>9} {'bar':>8}"


@cache
def versions() -> str:
    """Name the versions of everything that was measured."""
    import trubleu

    others = []
    for name in ("sacrebleu", "nltk", "pycocoevalcap", "rouge-score", "numpy", "scipy", "bm25s", "tantivy"):
        with suppress(PackageNotFoundError):  # only some benchmarks need it
            others.append(f"{name} {version(name)}")
    return f"trubleu {trubleu.__version__}, {', '.join(others)}, Python {platform.python_version()}"


@cache
def cpu() -> str:
    """Name the processor and count the cores that this process may use."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text(encoding="utf-8").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    return f"{model}, {len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()} cores"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:10.2f}"


def check_equal(ours: float, theirs: float) -> None:
    """Refuse to compare the speed of different numbers."""
    if not math.isclose(ours, theirs, rel_tol=1e-9):
        raise AssertionError(f"ours is {ours!r} but the peer's is {theirs!r}")
