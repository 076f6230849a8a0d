"""Runs commands in children of one process, with one fault each; see `tests.faults.harness`.

Started with the shim preloaded. It reads lines of JSON and answers each with one.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import signal
import sys
import tempfile
import traceback
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

SECONDS = 60
LOADED = {"trubleu", "numpy", "scipy", "sqlalchemy", "polars", "yaml", "pydantic", "sqlite3", "sacrebleu", "jinja2"}


def main() -> None:
    """Answer until standard input ends."""
    from trubleu.cli import main as command
    from trubleu.native import kernels

    # The binding layer keeps a table of all objects, which grows when there are many, and cannot do without it.
    objects = [kernels.Options("none", False, 1, "counts", "closest", False) for _ in range(1 << 12)]
    del objects
    shim = ctypes.CDLL(None)
    print("ready", flush=True)
    for line in sys.stdin:
        job: dict[str, Any] = json.loads(line)
        if job["here"]:
            os.chdir(job["folder"])
            with redirect_stdout(io.StringIO()):
                code = command(job["arguments"])
            print(json.dumps({"code": code, "said": "", "calls": 0}), flush=True)
            continue
        with tempfile.TemporaryFile() as said:
            process = os.fork()
            if process == 0:
                child(job, command, shim, said.fileno())
            _, status = os.waitpid(process, 0)
            said.seek(0)
            text = said.read().decode(errors="replace")
        output, _, about = text.partition("\x00")
        calls, *modules = about.split() or ["-1"]
        answer = {"code": os.waitstatus_to_exitcode(status), "said": output, "calls": int(calls)}
        print(json.dumps(answer), flush=True)
        # What a command has loaded its successors need not load again.
        for name in modules:
            if name not in sys.modules and name.partition(".")[0] in LOADED:
                with suppress(ImportError):
                    import_module(name)


def child(job: dict[str, Any], command: Any, shim: Any, said: int) -> None:
    """Run a command with a fault, and end; the number of calls follows what was said."""
    code = 70
    signal.alarm(SECONDS)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(said, 1)
    os.dup2(said, 2)
    try:
        os.chdir(job["folder"])
        below = "" if job["allocations"] else str(Path(job["folder"]).resolve())
        shim.trubleu_fault(below.encode(), job["number"], job["mode"], job["error"])
        code = command(job["arguments"])
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        calls = shim.trubleu_fault_calls()
        shim.trubleu_fault(b"/nowhere", 0, 0, 0)
        sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: PTH123, SIM115
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(1, "\x00{} {}".format(calls, " ".join(list(sys.modules))).encode())
        os._exit(code)


if __name__ == "__main__":
    main()
