"""A store of two million n-gram vectors: how fast it opens, and how fast n-grams are found in it; ready vectors too."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.rows import Row
from benchmarks.timing import best
from trubleu.vectors import VectorStore, ready_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.cases import Bench

SEED: Final = 11
ENTRIES: Final = 2_000_000
DIMENSIONS: Final = 300
OPENING_SECONDS: Final = 0.05
"""Within which a store of two million vectors is to be open."""

FIRST_LOOKUP_SECONDS: Final = 0.5
LOOKUPS: Final = 5_000
READY_LOOKUPS: Final = 100_000
READY_SECONDS: Final = 3.0

_OPEN = """
import sys, time
from trubleu.vectors import VectorStore  # the import is no part of opening
start = time.perf_counter()
store = VectorStore.open(sys.argv[1])
opened = time.perf_counter() - start
ngrams = [f"word{number} of it" for number in range(0, len(store), max(1, len(store) // int(sys.argv[2])))]
start = time.perf_counter()
assert store.lookup(ngrams).any(axis=1).all()
print(opened, time.perf_counter() - start)
"""


def vector_store(bench: Bench) -> Iterator[Row]:
    """Open a store in a new process, find n-grams in it, and make ready vectors of n-grams."""
    entries = ENTRIES // 100 if bench.quick else ENTRIES
    data = f"{entries:,} × {DIMENSIONS}, float16"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.store"
        _write(path, entries)
        times = [_seconds(path) for _ in range(bench.runs(9))]
        yield Row(
            name="open store",
            data=data,
            peer=f"{OPENING_SECONDS * 1000:g} ms",
            ours_seconds=min(opened for opened, _ in times),
            peer_seconds=OPENING_SECONDS,
            bar=1.0,
            note=f"time on the clock, in a new process; the file has {path.stat().st_size / 1e6:,.0f} MB",
        )
        yield Row(
            name="first lookup",
            data=data,
            peer=f"{FIRST_LOOKUP_SECONDS * 1000:g} ms",
            ours_seconds=min(found for _, found in times),
            peer_seconds=FIRST_LOOKUP_SECONDS,
            note=f"{LOOKUPS:,} n-grams all over the file, the index checked before; time on the clock",
        )
    yield _ready(bench)


def _ready(bench: Bench) -> Row:
    generator = np.random.default_rng(SEED)
    words = [f"{a}{b}" for a in ("re", "un", "over", "micro", "") for b in _endings(generator)]
    chosen = generator.integers(0, len(words), (bench.size(READY_LOOKUPS), 3))
    ngrams = [" ".join(words[i] for i in row[: 1 + number % 3]) for number, row in enumerate(chosen.tolist())]
    source = ready_vectors()
    return Row(
        name="ready vectors",
        data=f"{len(ngrams):,} n-grams",
        peer=f"{READY_SECONDS:g} s",
        ours_seconds=best(lambda: source.lookup(ngrams), bench.runs(5), clock=time.perf_counter),
        peer_seconds=READY_SECONDS,
        note="time on the clock; words that were there before are remembered",
    )


def _endings(generator: np.random.Generator) -> list[str]:
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return ["".join(generator.choice(letters, 5)) for _ in range(4_000)]


def _write(path: Path, entries: int) -> None:
    generator = np.random.default_rng(SEED)
    matrix = np.empty((entries, DIMENSIONS), np.float16)
    for first in range(0, entries, 1 << 16):
        block = matrix[first : first + (1 << 16)]
        block[:] = generator.standard_normal(block.shape, dtype=np.float32)
    ngrams = [f"word{number} of it" for number in range(entries)]
    VectorStore.write(path, ngrams, matrix, counts=np.arange(entries, 0, -1), dtype="float16")


def _seconds(path: Path) -> tuple[float, float]:
    command = [sys.executable, "-c", _OPEN, str(path), str(LOOKUPS)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    opened, found = map(float, printed.split())
    return opened, found
