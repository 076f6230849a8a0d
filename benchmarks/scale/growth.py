"""What a billion costs, from what was measured on less: ``python -m benchmarks.scale.growth RESULTS.json``.

A small model. Work that can be spread (reading, counting, writing) is what was measured a million rows, times the rows,
divided by the workers, pass by pass: whoever has nothing left to do waits for the others. What one process does for all
of them (handing out tasks, taking results, merging) is added as if nothing of it happened meanwhile, so that times are
on the safe side, and so is what is done once.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.scale import merging, mining_engines, scoring
from benchmarks.scale.store import Results, size, sizes
from benchmarks.scale.tables import compared, markdown
from trubleu.files import ranges
from trubleu.mining.search import GROWTH, SEEDS_AT_ONCE, seed_cuts
from trubleu.mining.shard import MOST_TRIPLES
from trubleu.scoring.partitions import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.scale.store import Row

HELD: Final = 2
"""Results a worker that may wait to be taken (`trubleu.execution.ray_tasks`)."""

LARGEST_ROWS: Final = {scoring.WHAT: LARGEST, mining_engines.INDEX: MOST_TRIPLES, mining_engines.RUN: MOST_TRIPLES}
"""Rows of a partition where there are very many."""

COUNTING: Final = {ranges.count.__qualname__: ranges.BLOCK * ranges.BLOCKS_A_PIECE}
"""Bytes of a partition of those passes that count lines."""

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
    """One map over partitions, at the size that is asked for; all of it is done before the next begins.

    Attributes
    ----------
    name
        What is mapped.
    partitions
        How many there are, of the same size.
    merge_seconds, result_bytes
        What it costs one process to take all results.
    reading, working, writing
        For how long one worker would do so, if there was no other.
    """

    name: str
    partitions: int
    merge_seconds: float
    result_bytes: float
    reading: float = 0.0
    working: float = 0.0
    writing: float = 0.0

    @property
    def bytes_each(self) -> float:
        return self.result_bytes / self.partitions

    def share(self, workers: int) -> float:
        """Return what part of it the busiest of so many workers does."""
        return math.ceil(self.partitions / workers) / self.partitions


@dataclass(frozen=True)
class Job:
    """A command at the size that is asked for.

    Attributes
    ----------
    name, measured
        What was run.
    reads
        How often everything is read.
    passes
        Its maps.
    once
        Seconds that it takes in any case.
    task_seconds, result_rate
        As in `Assumptions`.
    """

    name: str
    measured: Row
    reads: float
    passes: tuple[Pass, ...]
    once: float
    task_seconds: float
    result_rate: float

    def spread(self, workers: int) -> tuple[float, float, float]:
        """Return for how long the busiest worker of every pass reads, works and writes."""
        shares = [(each.share(workers), each) for each in self.passes]
        return (
            sum(share * each.reading for share, each in shares),
            sum(share * each.working for share, each in shares),
            sum(share * each.writing for share, each in shares),
        )

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

    def seconds(self, workers: int) -> float:
        """Return how long it takes with so many workers."""
        return sum(self.spread(workers)) + self.serial + self.once

    @property
    def most_workers(self) -> int:
        """From how many workers on one process has more to do than each of them; never more than have work at once."""
        busy = max(each.partitions for each in self.passes if each.working)
        return min(busy, int(sum(self.spread(1)) / self.serial))


def main() -> int:
    """Print the tables."""
    options = parser().parse_args()
    results = Results(options.results)
    assumed = assumed_of(results, options)
    jobs = list(jobs_of(results, assumed))
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
    print("\n".join(parts), end="")
    return 0


def parser() -> argparse.ArgumentParser:
    """Return what reads the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.growth", description=__doc__)
    parser.add_argument("results", type=Path, metavar="RESULTS.json", help="what scoring, mining and merging kept")
    parser.add_argument("--rows", type=size, default=10**9, metavar="N", help="segments or triples (1e9)")
    parser.add_argument("--workers", type=sizes, default=[10, 100], metavar="N,N…", help="cores (10,100)")
    parser.add_argument("--read-rate", type=float, default=200e6, metavar="B", help="bytes/s of a worker (2e8)")
    parser.add_argument("--write-rate", type=float, default=200e6, metavar="B", help="bytes/s of a worker (2e8)")
    parser.add_argument("--network-rate", type=float, default=1e9, metavar="B", help="bytes/s to who merges (1e9)")
    parser.add_argument("--task-seconds", type=float, metavar="S", help="of a task (as measured)")
    parser.add_argument(
        "--note", default="", metavar="TEXT", help="a sentence to begin with, such as how busy the cores were"
    )
    return parser


def assumed_of(results: Results, options: argparse.Namespace) -> Assumptions:
    """Return what options say, and what was found of an engine that has nothing to do."""
    tasks = results.find(what=merging.TASKS, engine="ray")
    if tasks is None:
        raise SystemExit(_first_run("how long a task takes on Ray", results, options.rows))
    return Assumptions(
        rows=options.rows,
        read_rate=options.read_rate,
        write_rate=options.write_rate,
        result_rate=min(options.network_rate, tasks["bytes_a_second"]),
        task_seconds=tasks["task_seconds"] if options.task_seconds is None else options.task_seconds,
    )


def jobs_of(results: Results, assumed: Assumptions) -> Iterator[Job]:
    """Yield each command, from its run on the most rows that an engine did; one on a cluster, if there is one."""
    for what in LARGEST_ROWS:
        rows = [row for row in results.rows if row["what"] == what and row["engine"] is not None and row["maps"]]
        for given in dict.fromkeys(row["options"] for row in rows if "shards of" not in row["options"]):
            runs = (row for row in rows if row["options"] == given)
            yield _job(max(runs, key=lambda row: (row["size"], row["engine"] == "ray")), results, assumed)


def _job(row: Row, results: Results, assumed: Assumptions) -> Job:
    if row["what"] == mining_engines.RUN:
        passes, reads = _search_passes(row, assumed)
    else:
        passes, reads = _passes(row, results, assumed)
    return Job(
        name=f"{row['what']} {row['options']}".strip(),
        measured=row,
        reads=reads,
        passes=tuple(passes),
        once=row["start_up_seconds"] + row["outside_seconds"],
        task_seconds=assumed.task_seconds,
        result_rate=assumed.result_rate,
    )


def _working(row: Row) -> float:
    """Return the CPU seconds that were measured, without those of whoever merges."""
    return float(row["cpu_by_part"]["workers"] + row["cpu_by_part"]["cluster"])


def _passes(row: Row, results: Results, assumed: Assumptions) -> tuple[list[Pass], float]:
    """Return the passes of a command over files, and how many of them read everything; one of them does the work."""
    growth = assumed.rows / row["size"]
    read = row["input_bytes"] * growth
    written = row["output_bytes"] * growth if row["what"] == mining_engines.INDEX else 0.0
    main = max(row["maps"], key=lambda each: float(each["cpu_seconds"]))
    passes, reads = [], 0
    for each in row["maps"]:
        partitions, reading = each["partitions"], 0.0  # one a file, however large
        if each is main:
            partitions, reading = math.ceil(assumed.rows / LARGEST_ROWS[row["what"]]), read / assumed.read_rate
        elif each["function"] in COUNTING:
            partitions, reading = math.ceil(read / COUNTING[each["function"]]), read / assumed.read_rate
        reads += reading > 0
        found = _scaled(each, partitions, partitions / max(1, each["partitions"]))
        if each is main:
            found = replace(found, working=_working(row) * growth, writing=written / assumed.write_rate)
            if row["what"] == scoring.WHAT:
                found = _merged(found, results, assumed.rows)
        passes.append(replace(found, reading=reading))
    return passes, reads


def _merged(main: Pass, results: Results, rows: int) -> Pass:
    """Return a pass with the results of that many segments, which do not grow as their number does."""
    found = results.find(what=merging.WHAT, size=rows)
    if found is None:
        raise SystemExit(_first_run(f"what merging statistics of {rows:,} segments takes", results, rows))
    seconds, sent = found["merge_seconds_each"], found["result_bytes_each"]
    return replace(main, merge_seconds=seconds * main.partitions, result_bytes=sent * main.partitions)


def _search_passes(row: Row, assumed: Assumptions) -> tuple[list[Pass], float]:
    """Return the passes of a search, and how often they read the index together.

    A first one for frequencies, which reads little; then rounds that grow, each over seven times as much. Where seeds
    are cut into chunks each chunk of a group is a partition, which looks at all rows of the group. A round that is told
    the best of n groups finds in each of its 7 n groups an n-th of what the first round found in one, which makes seven
    times as many hits in every round.
    """
    if row["seeds"] > SEEDS_AT_ONCE:
        raise SystemExit(f"{row['seeds']:,} seeds are searched in lots, which is not modelled; measure fewer")
    groups = math.ceil(assumed.rows / MOST_TRIPLES)
    growth = assumed.rows / row["size"]
    count, first = row["maps"][0], row["maps"][1]
    passes = [_scaled(count, groups, groups / count["partitions"])]
    done = read = 0
    while done < groups:
        here = min(groups, max(1, GROWTH * done)) - done
        parts = here * (len(seed_cuts(row["seeds"], here)) - 1)
        found = _scaled(first, parts, min(here / done, GROWTH - 1) if done else 1.0)
        passes.append(
            replace(
                found,
                name=f"{first['function']}, round of {here:,}",
                reading=row["input_bytes"] * growth * parts / groups / assumed.read_rate,
                working=_working(row) * growth * here / groups,
            )
        )
        done, read = done + here, read + parts
    return passes, read / groups


def _scaled(each: Row, partitions: int, share: float) -> Pass:
    return Pass(each["function"], partitions, each["merge_seconds"] * share, each["result_bytes"] * share)


def _first_run(what: str, results: Results, rows: int) -> str:
    command = f"python -m benchmarks.scale.merging --results {results.path} --segments {rows}"
    return f"{results.path} does not say {what}; run this first: {command}"


def _line(job: Job, workers: int) -> list[str]:
    total = job.seconds(workers)
    shares = [f"{part / total:.0%}" for part in (*job.spread(workers), job.tasks, job.results, job.merging, job.once)]
    return [job.name, f"{workers}", _time(total), *shares, _time(job.serial), f"{job.most_workers:,}"]


def _measured(jobs: Sequence[Job]) -> tuple[list[str], list[list[str]]]:
    head = [
        "what",
        "from rows",
        "engine",
        "read, bytes a row",
        "times read",
        "working, CPU s a million",
        "once, s",
        "passes (partitions)",
    ]
    lines = []
    for job in jobs:
        row = job.measured
        read = [f"{row['input_bytes'] / row['size']:.0f}", f"{job.reads:.3g}"]
        passes = ", ".join(f"{each['function']} ({each['partitions']:,})" for each in row["maps"])
        cost = [f"{_working(row) / row['size'] * 1e6:.2f}", f"{job.once:.1f}", passes]
        lines.append([job.name, f"{row['size']:,}", row["engine"], *read, *cost])
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


def _where(jobs: Sequence[Job]) -> str:
    row = jobs[0].measured
    versions = ", ".join(f"{name} {version}" for name, version in row["versions"].items() if name != "trubleu")
    machine = row["machine"]
    memory = f"{machine['memory_bytes'] / 1e9:.0f} GB" if machine["memory_bytes"] else "unknown memory"
    return (
        f"On {machine['cores']} cores of an {machine['cpu']} with {memory}, Python {machine['python']}, {versions}; "
        "seconds without an engine, and how many cores were busy then; how many times as long, and as much CPU time, "
        "it takes with one, and on Ray how many times as long as in processes; peak memory with the last of them:\n"
    )


def _said(assumed: Assumptions) -> str:
    return (
        f"{assumed.rows:,} rows; a worker is a core that reads {assumed.read_rate / 1e6:,.0f} and writes "
        f"{assumed.write_rate / 1e6:,.0f} MB a second; {assumed.result_rate / 1e6:,.0f} MB of results a second arrive; "
        f"a task takes {assumed.task_seconds * 1e3:.1f} ms to hand out.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
