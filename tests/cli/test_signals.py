"""Signals end the program without a traceback and without a half-written file."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

WRITES = """
import sys, time
import trubleu.cli
from trubleu.__main__ import main
from trubleu.files.writer import atomic_writer, new_folder

def run():
    with new_folder("folder") as folder, atomic_writer(folder / "in.txt") as one, atomic_writer("out.txt.gz") as two:
        one.write("half")
        two.write("half")
        print("ready", flush=True)
        time.sleep(600)

trubleu.cli.main = run
sys.exit(main())
"""

STARTS = """
import sys, time
from trubleu.__main__ import main

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "trubleu.cli":
            print("ready", flush=True)
            time.sleep(600)

sys.meta_path.insert(0, Slow())
sys.exit(main())
"""


def end(script: str, number: signal.Signals, folder: Path) -> tuple[int, str]:
    """Send a signal to a script that says it is ready; return its exit code and what it printed on standard error."""
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells and CI start processes in the background with signals ignored.
        preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in (signal.SIGINT, number)],
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, error = process.communicate(timeout=300)
    return process.returncode, error


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_was_half_written_is_removed(tmp_path: Path, number: signal.Signals) -> None:
    assert end(WRITES, number, tmp_path) == (128 + number, "")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_the_program_starts(tmp_path: Path) -> None:
    assert end(STARTS, signal.SIGINT, tmp_path) == (-signal.SIGINT, "")


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    script = "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); sys.argv[1:] = ['--version']\n"
    script += "import atexit; atexit.register(lambda: print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN))\n"
    script += "from trubleu.__main__ import main; main()"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown.endswith("True\n")
