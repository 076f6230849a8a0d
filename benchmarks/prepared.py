"""Prepared references in files: how fast they open, and how much faster they score than strings."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trubleu
from benchmarks.data import Writer
from benchmarks.rows import Row
from benchmarks.timing import best
from trubleu.data import References

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.cases import Bench

SEED: Final = 9
SEGMENTS: Final = 1_000_000
METRIC: Final = "bleu-4"
OPENING_SECONDS: Final = 0.05
"""Within which references of a million segments are to be open."""

_OPEN = """
import sys, time
from trubleu import References
References  # the import is no part of opening
start = time.perf_counter()
opened = References.read(sys.argv[1])
print(time.perf_counter() - start)
"""


def prepared_files(bench: Bench) -> Iterator[Row]:
    """Open prepared references of a million segments, and score a system against them."""
    with tempfile.TemporaryDirectory() as folder:
        for references in (1, 5):
            yield from _rows(bench, references, Path(folder) / f"{references}.tbp")


def _rows(bench: Bench, references: int, path: Path) -> Iterator[Row]:
    corpus = Writer(SEED).translation(SEGMENTS // 100 if bench.quick else SEGMENTS, references)
    References.from_lists(corpus.references).prepare().save(path)
    yield Row(
        name="open prepared",
        data=corpus.name,
        peer=f"{OPENING_SECONDS * 1000:g} ms",
        ours_seconds=min(_opening_seconds(path) for _ in range(bench.runs(9))),
        peer_seconds=OPENING_SECONDS,
        bar=1.0,
        note=f"time on the clock, in a new process; the file has {path.stat().st_size / 1e6:,.0f} MB",
    )
    outputs = corpus.systems[0]
    from_strings = best(lambda: trubleu.corpus_score(outputs, corpus.references, METRIC, threads=1), bench.runs(7))
    opened = References.read(path)
    expected = trubleu.corpus_score(outputs, corpus.references, METRIC)
    if trubleu.corpus_score(outputs, opened, METRIC) != expected:
        raise AssertionError("the file gives another score than the strings it was made from")
    again = best(lambda: trubleu.corpus_score(outputs, opened, METRIC, threads=1), bench.runs(15))
    first = best(lambda: trubleu.corpus_score(outputs, References.read(path), METRIC, threads=1), bench.runs(15))
    # With one reference most of the work is in the outputs, which is the same for both.
    bar = 3.0 if references > 1 else None
    for seconds, bar_here, note in ((again, bar, "checked before"), (first, None, "with opening and checking it")):
        yield Row(
            name="prepared file",
            data=corpus.name,
            peer="from strings",
            ours_seconds=seconds,
            peer_seconds=from_strings,
            bar=bar_here,
            note=note,
        )


def _opening_seconds(path: Path) -> float:
    command = [sys.executable, "-c", _OPEN, str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
