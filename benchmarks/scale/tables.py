"""Runs of one command with several engines, side by side."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from benchmarks.scale.store import Results, Row

RUNS: Final = [
    "size", "options", "engine", "s", "ratio", "CPU s", "CPU ratio", "driver's", "connection's", "workers'",
    "cluster's", "driver GB", "worker GB", "all, own GB", "start-up s", "bytes read a row", "bytes written a row",
]  # fmt: skip
PASSES: Final = [
    "size", "options", "engine", "pass", "partitions", "s", "CPU s", "merging, ms each", "results, kB each",
    "merging, ms a million", "results, MB a million",
]  # fmt: skip


def summary(results: Results, what: str) -> str:
    """Return the runs of a command, and the passes that engines made for them, in Markdown."""
    rows = sorted((row for row in results.rows if row["what"] == what), key=_order)
    runs = markdown(RUNS, [_run(row, results) for row in rows])
    passes = [_pass(row, each) for row in rows for each in row["maps"]]
    return f"### {what}\n\n{runs}\n" + (f"{markdown(PASSES, passes)}\n" if passes else "")


def compared(results: Results) -> str:
    """Return how long every command took without an engine, and with each how many times as long, in Markdown.

    As threads do not keep all cores busy without an engine, each is compared with the one before it, too.
    """
    runs = [row for row in results.rows if "maps" in row]
    names = sorted({row["engine"] for row in runs if row["engine"]})
    columns = [f"{name}{what}" for name in names for what in ("", ", CPU")]
    columns += [f"{name} to {before}" for before, name in pairwise(names)]
    head = ["what", "rows", "no engine", "cores busy", *columns, "driver MB", "worker MB"]
    lines = []
    for alone in sorted((row for row in runs if row["engine"] is None), key=lambda row: (row["what"], *_order(row))):
        found = [results.find(**{**_run_of(alone), "engine": name}) for name in names]
        cells = [_ratio(row, alone, name) for row in found for name in ("wall_seconds", "cpu_seconds")]
        cells += [_ratio(row, before, "wall_seconds") for before, row in pairwise(found)]
        last = next((row for row in reversed(found) if row), alone)
        memory = [f"{last[name] / 1e6:,.0f}" for name in ("driver_peak_bytes", "worker_peak_bytes")]
        busy = f"{alone['cpu_seconds'] / alone['wall_seconds']:.1f}"
        what = f"{alone['what']} {alone['options']}".strip()
        lines.append([what, f"{alone['size']:,}", f"{alone['wall_seconds']:.1f} s", busy, *cells, *memory])
    return markdown(head, lines)


def all_same(results: Results, what: str) -> bool:
    """Return whether engines made no difference; say where they did."""
    different = [row for row in results.rows if row["what"] == what and not _same(row, results)]
    for row in different:
        print(f"{row['command']}: another result than without an engine", file=sys.stderr)
    return not different


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Return a table, all but its first column aligned to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _order(row: Row) -> tuple[Any, ...]:
    return row["size"], row["options"], row["engine"] or ""


def _run_of(row: Row) -> Row:
    return {name: row[name] for name in ("what", "size", "options")}


def _alone(row: Row, results: Results) -> Row | None:
    return results.find(**_run_of(row), engine=None)


def _same(row: Row, results: Results) -> bool:
    alone = _alone(row, results)
    return alone is None or bool(row["result"] == alone["result"])


def _ratio(row: Row | None, other: Row | None, name: str) -> str:
    return f"{row[name] / other[name]:.2f}" if row and other and other[name] else ""


def _run(row: Row, results: Results) -> list[str]:
    alone = _alone(row, results)
    return [
        f"{row['size']:,}",
        row["options"] or "none",
        (row["engine"] or "none") + ("" if _same(row, results) else ", **another result**"),
        f"{row['wall_seconds']:.1f}",
        _ratio(row, alone, "wall_seconds"),
        f"{row['cpu_seconds']:.1f}",
        _ratio(row, alone, "cpu_seconds"),
        *(f"{row['cpu_by_part'][part]:.2f}" for part in ("driver", "connection", "workers", "cluster")),
        *(f"{row[name] / 1e9:.2f}" for name in ("driver_peak_bytes", "worker_peak_bytes", "all_own_bytes")),
        f"{row['start_up_seconds']:.1f}",
        *(f"{row[name] / row['size']:.0f}" for name in ("input_bytes", "output_bytes")),
    ]


def _pass(row: Row, each: Row) -> list[str]:
    millions, partitions = row["size"] / 1e6, max(1, each["partitions"])
    merging, sent = each["merge_seconds"] * 1e3, each["result_bytes"]
    return [
        f"{row['size']:,}",
        row["options"] or "none",
        row["engine"] or "none",
        each["function"],
        f"{each['partitions']:,}",
        *(f"{each[name]:.2f}" for name in ("wall_seconds", "cpu_seconds")),
        f"{merging / partitions:.2f}",
        f"{sent / partitions / 1e3:.1f}",
        f"{merging / millions:.2f}",
        f"{sent / millions / 1e6:.2f}",
    ]
