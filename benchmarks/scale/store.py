"""What was measured, one row a run, kept in a file so that work goes on where it stopped."""

from __future__ import annotations

import json
import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import argparse

SCHEMA: Final = 1
_PACKAGES: Final = ("trubleu", "numpy", "ray")

Row = dict[str, Any]


class Results:
    """Rows in a file of JSON, which is replaced whenever one is added.

    Parameters
    ----------
    path
        The file; it need not exist.

    Attributes
    ----------
    path, rows
        The file, and what is in it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Row] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []

    def find(self, **wanted: Any) -> Row | None:
        """Return the last row that has such values."""
        for row in reversed(self.rows):
            if all(row.get(name) == value for name, value in wanted.items()):
                return row
        return None

    def add(self, row: Row) -> Row:
        """Keep a row, in place of an earlier one of the same run."""
        row = {"schema": SCHEMA, **row, "machine": machine(), "versions": versions()}
        same = {name: row.get(name) for name in ("what", "size", "options", "engine")}
        self.rows = [each for each in self.rows if any(each.get(name) != value for name, value in same.items())]
        self.rows.append(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        written = self.path.with_suffix(".part")
        written.write_text(json.dumps(self.rows, indent=1) + "\n", encoding="utf-8")
        written.replace(self.path)
        return row


def machine() -> dict[str, Any]:
    """Return what the machine is."""
    model = re.search(r"^model name\s*: (.*)$", _read("/proc/cpuinfo"), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+) kB$", _read("/proc/meminfo"), re.MULTILINE)
    return {
        "cpu": model[1] if model else platform.processor(),
        "cores": os.cpu_count(),
        "memory_bytes": int(memory[1]) * 1024 if memory else None,
        "python": platform.python_version(),
    }


def versions() -> dict[str, str | None]:
    """Return the versions of what took part."""
    return {name: _version(name) for name in _PACKAGES}


def size(text: str) -> int:
    """Read a number of rows, such as 1000000 or 1e6."""
    return int(float(text))


def sizes(text: str) -> list[int]:
    """Read several, with commas between them."""
    return [size(each) for each in text.split(",")]


def add_run_options(parser: argparse._ActionsContainer) -> None:
    """Add what all runs with engines have in common."""
    cores = os.cpu_count() or 1
    parser.add_argument("--results", type=Path, metavar="FILE", help="where rows are kept (DIR/results.json)")
    parser.add_argument("--workers", type=int, default=cores, metavar="N", help=f"of each engine ({cores})")
    parser.add_argument("--keep", action="store_true", help="do not remove what was made for a size")
    parser.add_argument("--again", action="store_true", help="measure what is in the results already, too")
    parser.add_argument("--alone", action="store_true", help="measure without an engine only")
    parser.add_argument("--limit", type=float, default=3600.0, metavar="S", help="seconds a run may take (3600)")


def engines(options: argparse.Namespace) -> tuple[str | None, ...]:
    """Return the engines to compare, all with the same number of cores; None for no engine."""
    return (None,) if options.alone else (None, f"local:{options.workers}", "ray")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""
