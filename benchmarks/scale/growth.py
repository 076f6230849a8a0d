"""What a billion costs, from what was measured on less: ``python -m benchmarks.scale.growth RESULTS.json``.

A small model. Work that can be spread (reading, counting, writing) is what was measured a million rows, times the rows,
divided by the workers. What one process does for all of them (handing out tasks, taking results, merging) is added as
if nothing of it happened meanwhile, so that times are on the safe side, and so is what is done once.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.scale import merging, mining_engines, scoring
from benchmarks.scale.store import Results, size, sizes
from benchmarks.scale.tables import compared, markdown
from trubleu.data.counted import BLOCK, BLOCKS_A_PIECE
from trubleu.mining.finding import GROWTH, seed_cuts
from trubleu.mining.shard import MOST_TRIPLES
from trubleu.report.partitions import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.scale.store import Row

HELD: Final = 2
"""Results a worker that may wait to be taken (`trubleu.engines.on_ray`)."""

LARGEST_ROWS: Final = {scoring.WHAT: LARGEST, mining_engines.INDEX: MOST_TRIPLES, mining_engines.RUN: MOST_TRIPLES}
"""Rows of a partition where there are very many."""

PIECE: Final = BLOCK * BLOCKS_A_PIECE
"""Bytes of a partition of those passes that count lines."""

TASK_SECONDS: Final = 2.4e-3
"""What handing out a task and hearing of its end takes on Ray, where that was not measured."""

BEGIN, END = "<!-- growth -->", "<!-- end of growth -->"

COLUMNS: Final = [
    "what", "workers", "time", "reading", "working", "writing", "tasks", "results", "merging", "once", "one process's",
    "more workers gain until",
]  # fmt: skip


@dataclass(frozen=True)
class Assumptions:
    """What was not measured here.

    Attributes
    ----------
    rows
        How many segments or triples there are.
    read_rate, write_rate
        Bytes a second that each worker gets from and brings to storage that all share.
    result_rate
        Bytes a second that arrive where results are merged: over the network, or as fast as the engine hands them over
        if that is slower.
    task_seconds
        What it takes to hand out a partition and hear of its end.
    """

    rows: int
    read_rate: float
    write_rate: float
    result_rate: float
    task_seconds: float


@dataclass(frozen=True)
class Pass:
    """One map over partitions, at the size that is asked for."""

    name: str
    partitions: int
    merge_seconds: float
    result_bytes: float

    @property
    def bytes_each(self) -> float:
        return self.result_bytes / self.partitions


@dataclass(frozen=True)
class Job:
    """A command at the size that is asked for; seconds of one worker, and of the process that merges."""

    name: str
    measured: Row
    rows: int
    reading: float
    working: float
    writing: float
    passes: tuple[Pass, ...]
    once: float
    task_seconds: float
    result_rate: float

    @property
    def spread(self) -> float:
        """What workers share."""
        return self.reading + self.working + self.writing

    @property
    def tasks(self) -> float:
        return sum(each.partitions for each in self.passes) * self.task_seconds

    @property
    def results(self) -> float:
        return sum(each.result_bytes for each in self.passes) / self.result_rate

    @property
    def merging(self) -> float:
        return sum(each.merge_seconds for each in self.passes)

    @property
    def serial(self) -> float:
        """What one process does for all."""
        return self.tasks + self.results + self.merging

    @property
    def partitions(self) -> int:
        """How many partitions the rows are cut into."""
        return math.ceil(self.rows / LARGEST_ROWS[self.measured["what"]])

    def share(self, workers: int) -> float:
        """Return what part of the spread work each of so many workers does, the last round of partitions included."""
        return math.ceil(self.partitions / workers) / self.partitions

    def seconds(self, workers: int) -> float:
        """Return how long it takes with so many workers."""
        return self.spread * self.share(workers) + self.serial + self.once

    @property
    def most_workers(self) -> int:
        """From how many workers on one process has more to do than each of them; never more than partitions."""
        return min(self.partitions, int(self.spread / self.serial))


def main() -> int:
    """Print the tables."""
    options = _parsed()
    results = Results(options.results)
    tasks = results.find(what=merging.TASKS, engine="ray") or {}
    assumed = Assumptions(
        rows=options.rows,
        read_rate=options.read_rate,
        write_rate=options.write_rate,
        result_rate=min(options.network_rate, tasks.get("bytes_a_second", math.inf)),
        task_seconds=options.task_seconds or tasks.get("task_seconds", TASK_SECONDS),
    )
    jobs = list(_jobs(results, assumed))
    if not jobs:
        raise SystemExit(f"{options.results} has no row of an engine; run benchmarks.scale.scoring or mining first")
    parts = [
        " ".join(filter(None, [options.note, _where(jobs)])),
        compared(results),
        _said(assumed),
        markdown(COLUMNS, [_line(job, workers) for job in jobs for workers in options.workers]),
        "What this is computed from:\n",
        markdown(*_measured(jobs)),
        f"Results at {assumed.rows:,} rows, and how much of them may wait to be merged:\n",
        markdown(*_breaking(jobs, options.workers)),
    ]
    text = "\n".join(parts)
    print(text, end="")
    if options.page is not None:
        _replace(options.page, text)
    return 0


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.growth", description=__doc__)
    parser.add_argument("results", type=Path, metavar="RESULTS.json", help="what scoring, mining and merging kept")
    parser.add_argument("--rows", type=size, default=10**9, metavar="N", help="segments or triples (1e9)")
    parser.add_argument("--workers", type=sizes, default=[10, 100], metavar="N,N…", help="cores (10,100)")
    parser.add_argument("--read-rate", type=float, default=200e6, metavar="B", help="bytes/s of a worker (2e8)")
    parser.add_argument("--write-rate", type=float, default=200e6, metavar="B", help="bytes/s of a worker (2e8)")
    parser.add_argument("--network-rate", type=float, default=1e9, metavar="B", help="bytes/s to who merges (1e9)")
    parser.add_argument("--task-seconds", type=float, metavar="S", help=f"of a task (as measured, else {TASK_SECONDS})")
    parser.add_argument(
        "--note", default="", metavar="TEXT", help="a sentence to begin with, such as how busy the cores were"
    )
    parser.add_argument("--page", type=Path, metavar="FILE", help=f"put it between {BEGIN} and {END} in this page, too")
    return parser.parse_args()


def _jobs(results: Results, assumed: Assumptions) -> Iterator[Job]:
    for what in LARGEST_ROWS:
        rows = [
            row for row in results.rows if row["what"] == what and row["maps"] and "shards of" not in row["options"]
        ]
        for given in dict.fromkeys(row["options"] for row in rows):
            yield _job(max((row for row in rows if row["options"] == given), key=_worth), results, assumed)


def _worth(row: Row) -> tuple[int, bool, bool]:
    """The larger the better; then a cluster's, then one of other processes."""
    return row["size"], row["engine"] == "ray", row["engine"] is not None


def _job(row: Row, results: Results, assumed: Assumptions) -> Job:
    growth = assumed.rows / row["size"]
    passes, reads = (
        _search_passes(row, assumed) if row["what"] == mining_engines.RUN else _passes(row, results, assumed)
    )
    written = row["output_bytes"] if row["what"] == mining_engines.INDEX else 0
    return Job(
        name=f"{row['what']} {row['options']}".strip(),
        measured=row,
        rows=assumed.rows,
        reading=reads * row["input_bytes"] * growth / assumed.read_rate,
        working=sum(row["cpu_by_part"][part] for part in ("workers", "cluster")) * growth,
        writing=written * growth / assumed.write_rate,
        passes=tuple(passes),
        once=row["start_up_seconds"] + row["outside_seconds"],
        task_seconds=assumed.task_seconds,
        result_rate=assumed.result_rate,
    )


def _passes(row: Row, results: Results, assumed: Assumptions) -> tuple[list[Pass], int]:
    """Return the passes of a command over files, and how many of them read everything."""
    read = row["input_bytes"] * assumed.rows / row["size"]
    main = max(row["maps"], key=lambda each: float(each["cpu_seconds"]))
    passes, reads = [], 0
    for each in row["maps"]:
        partitions = each["partitions"]  # one a file, however large
        if each is main:
            reads, partitions = reads + 1, math.ceil(assumed.rows / LARGEST_ROWS[row["what"]])
        elif partitions >= row["input_bytes"] / PIECE:
            reads, partitions = reads + 1, math.ceil(read / PIECE)
        found = results.find(what=merging.WHAT, size=assumed.rows) if row["what"] == scoring.WHAT else None
        if each is main and found:
            seconds = found["merge_seconds_each"] * partitions
            passes.append(Pass(each["function"], partitions, seconds, found["result_bytes_each"] * partitions))
        else:
            passes.append(_scaled(each, partitions, partitions / max(1, each["partitions"])))
    return passes, reads


def _search_passes(row: Row, assumed: Assumptions) -> tuple[list[Pass], int]:
    """Return the passes of a search: a first one for frequencies, then rounds that grow, each over seven times as much.

    A round that is told the best of n groups finds in each of its 7 n groups an n-th of what the first round found in
    one, which makes seven times as many hits in every round.
    """
    groups = math.ceil(assumed.rows / MOST_TRIPLES)
    count, first = row["maps"][0], row["maps"][1]
    passes = [_scaled(count, groups, groups / count["partitions"])]
    done = 0
    while done < groups:
        here = min(groups, max(1, GROWTH * done)) - done
        parts = here * (len(seed_cuts(row["seeds"], here)) - 1)
        name = f"{first['function']}, round of {here:,}"
        passes.append(_scaled(first, parts, min(here / done, GROWTH - 1) if done else 1.0, name))
        done += here
    return passes, 1  # what the first pass reads is small


def _scaled(each: Row, partitions: int, share: float, name: str = "") -> Pass:
    return Pass(name or each["function"], partitions, each["merge_seconds"] * share, each["result_bytes"] * share)


def _line(job: Job, workers: int) -> list[str]:
    total = job.seconds(workers)
    spread = (each * job.share(workers) for each in (job.reading, job.working, job.writing))
    shares = [f"{part / total:.0%}" for part in (*spread, job.tasks, job.results, job.merging, job.once)]
    return [job.name, f"{workers}", _time(total), *shares, _time(job.serial), f"{job.most_workers:,}"]


def _measured(jobs: Sequence[Job]) -> tuple[list[str], list[list[str]]]:
    head = [
        "what",
        "from rows",
        "engine",
        "read, bytes a row",
        "working, CPU s a million",
        "once, s",
        "passes (partitions)",
    ]
    lines = []
    for job in jobs:
        row = job.measured
        working = sum(row["cpu_by_part"][part] for part in ("workers", "cluster")) / row["size"] * 1e6
        passes = ", ".join(f"{each['function']} ({each['partitions']:,})" for each in row["maps"])
        cost = [f"{row['input_bytes'] / row['size']:.0f}", f"{working:.2f}", f"{job.once:.1f}", passes]
        lines.append([job.name, f"{row['size']:,}", str(row["engine"] or "none"), *cost])
    return head, lines


def _breaking(jobs: Sequence[Job], workers: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    held = [f"held with {number} workers, MB" for number in workers]
    head = ["what", "pass", "partitions", "results, kB each", "results, GB", "merging, ms each", *held]
    lines = [
        [
            job.name,
            each.name,
            f"{each.partitions:,}",
            f"{each.bytes_each / 1e3:,.1f}",
            f"{each.result_bytes / 1e9:.2f}",
            f"{each.merge_seconds / each.partitions * 1e3:.2f}",
            *(f"{each.bytes_each * HELD * number / 1e6:,.0f}" for number in workers),
        ]
        for job in jobs
        for each in job.passes
    ]
    return head, lines


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 1 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def _replace(page: Path, text: str) -> None:
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} has no place for it; write {BEGIN} and {END} where it belongs")
    page.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")


def _where(jobs: Sequence[Job]) -> str:
    row = jobs[0].measured
    versions = ", ".join(f"{name} {version}" for name, version in row["versions"].items() if name != "trubleu")
    machine = row["machine"]
    memory = f"{machine['memory_bytes'] / 1e9:.0f} GB" if machine["memory_bytes"] else "unknown memory"
    return (
        f"On {machine['cores']} cores of an {machine['cpu']} with {memory}, Python {machine['python']}, {versions}; "
        "seconds without an engine, and how many times as long (and as much CPU time) with one; peak memory with the "
        "last of them:\n"
    )


def _said(assumed: Assumptions) -> str:
    return (
        f"{assumed.rows:,} rows; a worker is a core that reads {assumed.read_rate / 1e6:,.0f} and writes "
        f"{assumed.write_rate / 1e6:,.0f} MB a second; {assumed.result_rate / 1e6:,.0f} MB of results a second arrive; "
        f"a task takes {assumed.task_seconds * 1e3:.1f} ms to hand out.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
