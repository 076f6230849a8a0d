"""One command with one engine that is ready: ``python -m benchmarks.scale.trial ENGINE REPORT COMMAND…``.

Runs in a process of its own (see `benchmarks.scale.child`). ENGINE is ``none`` for a command without ``--engine``. The
command is the one that people type; it finds the engine made and its workers started.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path

import trubleu.execution
from benchmarks.scale.lent import Lent, warm_up
from benchmarks.scale.processes import cpu_by_part, cpu_seconds
from trubleu.cli import main as command_line
from trubleu.errors import TrubleuWarning


def main() -> int:
    """Run the command, and write what it took."""
    name, report, *command = sys.argv[1:]
    warnings.simplefilter("ignore", TrubleuWarning)  # that a cluster is started for it is what is wanted
    began = time.perf_counter()
    with trubleu.execution.engine("local" if name == "none" else name) as engine:
        workers = warm_up(engine)
        start_up = time.perf_counter() - began
        lent = Lent(engine)

        # What `chosen_engine` asks for an engine, whichever it wants.
        trubleu.execution.engine = lambda *_name, **_options: lent
        start, cpu, each_cpu = time.perf_counter(), cpu_seconds(os.getpid()), cpu_by_part(os.getpid(), name)
        code = command_line(command if name == "none" else [*command, "--engine", name])
        wall = time.perf_counter() - start
        after = cpu_by_part(os.getpid(), name)
        found = {
            "start_up_seconds": start_up,
            "workers": workers,
            "wall_seconds": wall,
            "cpu_seconds": cpu_seconds(os.getpid()) - cpu,
            "cpu_by_part": {part: seconds - each_cpu[part] for part, seconds in after.items()},
            "outside_seconds": wall - sum(each.get("wall_seconds", 0.0) for each in lent.maps),
            "maps": lent.maps,
        }
    if code == 0:
        Path(report).write_text(json.dumps(found), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
