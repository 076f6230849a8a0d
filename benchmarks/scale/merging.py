"""What one process does for all workers: ``python -m benchmarks.scale.merging --results FILE``.

Merging statistics of very many segments: some ranges of a corpus of a billion are made up, reduced as a worker does,
and merged. And engines that have next to nothing to do: how long a task takes, and a result of eight megabytes.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import time
from typing import Final

import numpy as np

from benchmarks.scale.child import measured
from benchmarks.scale.lent import sent_bytes
from benchmarks.scale.store import Results, Row, add_run_options, engines, sizes
from benchmarks.scale.tables import markdown
from trubleu.data.corpus import PART
from trubleu.scoring.partitions import LARGEST
from trubleu.stats import PartialBuilder, SampleBuilder

WHAT, TASKS = "merge score", "tasks"
COLUMNS: Final = 10  # statistics of a segment with bleu-4
RANGES: Final = 16


def main() -> int:
    """Measure every size, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.merging", description=__doc__)
    parser.add_argument(
        "--segments", type=sizes, default=[10**7, 10**8, 10**9, 10**10], metavar="N,N…", help="of the whole corpus"
    )
    add_run_options(parser)
    options = parser.parse_args()
    if options.results is None:
        parser.error("--results is missing")
    results = Results(options.results)
    rows = [results.add(_measured(segments)) for segments in options.segments]
    for engine in engines(options):
        if engine is not None:
            cost = measured("tasks", [engine], [], f"tasks with {engine}", workers=options.workers, limit=options.limit)
            row = results.add({"what": TASKS, "size": 0, "options": "", "engine": engine, **cost})
            print(
                f"{engine}: {row['task_seconds'] * 1e3:.2f} ms a task, {row['bytes_a_second'] / 1e6:,.0f} MB a second"
            )
    print(
        markdown(["segments", "results, kB each", "merging, ms each"], list(map(_line, rows))),
        end="",
    )
    return 0


def _measured(segments: int) -> Row:
    rows = np.random.default_rng(1).poisson(6.0, (min(LARGEST, segments), COLUMNS)).astype(np.float64)
    ranges = min(RANGES, segments // len(rows))
    builder = SampleBuilder(segments, COLUMNS)
    sent, merging = 0, 0.0
    for number in range(ranges):
        partial = PartialBuilder(segments, COLUMNS, number * len(rows))
        for first in range(0, len(rows), PART):
            partial.add(rows[first : first + PART])
        found = partial.finish()
        sent += sent_bytes(found)
        arrived = pickle.loads(pickle.dumps(found, protocol=5))  # noqa: S301 - our own
        start = time.thread_time()
        builder.merge(arrived)
        merging += time.thread_time() - start
    return {
        "what": WHAT,
        "size": segments,
        "options": "bleu-4",
        "engine": None,
        "result_bytes_each": sent / ranges,
        "merge_seconds_each": merging / ranges,
    }


def _line(row: Row) -> list[str]:
    return [f"{row['size']:,}", f"{row['result_bytes_each'] / 1e3:,.0f}", f"{row['merge_seconds_each'] * 1e3:.2f}"]


if __name__ == "__main__":
    sys.exit(main())
