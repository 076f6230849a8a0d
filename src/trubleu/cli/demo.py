"""``trubleu demo``: a script of commands, from conversations to a report."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trubleu.cli import arguments as add
from trubleu.cli.options import check_range, picked, say
from trubleu.errors import DataError, MissingExtraError, UsageError, some
from trubleu.files.paths import is_remote, is_standard
from trubleu.files.writer import LOCK, atomic_writer, locked

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

SCRIPT: Final = Path(__file__).with_suffix(".sh").read_text("utf-8")
"""The commands; {names} in braces are options of the demo."""

MADE: Final = (
    "world", "index", "candidates.jsonl", "study", "study.csv", "references.jsonl", "pairs", "pairs.csv",
    "ratings.csv", "judge.txt", "report.html",
)  # fmt: skip
"""Files that the script creates; removed before it runs again."""

NAME: Final = "demo.sh"
MARK: Final = "# made by trubleu demo; run it in an empty folder: sh -e demo.sh\n\n"
"""First line of the script. Only folders with such a script are reused."""

PACKAGES: Final = ("fastapi", "wordllama")
"""One of each extra that the script needs."""

SHOWN: Final = 10
"""Output lines shown per command."""


def add_parser(commands: add.Commands) -> None:
    """Add the command and its options."""
    parser = add.command(commands, "demo", run)
    about = "folder for all files (default: trubleu-demo)"
    parser.add_argument("folder", nargs="?", default="trubleu-demo", metavar="FOLDER", help=about)
    add.option(parser, "--seed", "N", "random seed", 1)
    add.option(parser, "--segments", "N", "messages that systems answer", 100)
    add.option(parser, "--raters", "N", "simulated raters, each of whom rates everything", 3)
    add.flag(parser, "--open", "open the report in a browser")
    add.quiet(parser, "print only the path of the report")


def run(options: argparse.Namespace) -> None:
    """Run the whole workflow on simulated data, in seconds.

    Generate conversations, mine references, let simulated raters rate them, score five systems, judge the metrics and
    write a report. Each command is printed before it runs.

    Examples
    --------
    trubleu demo
    trubleu demo my-demo --seed 7 --open

    Notes
    -----
    Everything stays in the folder. Run the command again to start over, whether or not it was interrupted.
    """
    from importlib.util import find_spec

    def show(line: str) -> None:
        if not options.quiet:
            say(line)

    for name, low, high in (("seed", 0, 2**31 - 2), ("segments", 4, 2000), ("raters", 1, 50)):
        check_range(options, name, low, high)
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise MissingExtraError(f"the demo needs {some(missing)}; install with: pip install 'trubleu[rate,ready]'")
    folder = make_folder(options.folder)
    numbers = {"next_seed": options.seed + 1, "unit": min(10, options.segments // 2)}
    script = SCRIPT.format(**picked(options, "seed segments raters"), **numbers)
    try:
        with locked(folder), chdir(folder):
            clear_folder(script)
            show(f"$ cd {shlex.quote(options.folder)}\n")
            run_script(script, show, quiet=options.quiet)
            show(Path("judge.txt").read_text("utf-8").partition("\n\n")[0])
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; run the same command again to start over") from None
    sys.stdout.write(f"The report: {folder / 'report.html'}\n")
    if options.open:
        import webbrowser

        if not webbrowser.open((folder / "report.html").resolve().as_uri()):
            sys.stdout.write("No browser could be opened here; open the report by hand.\n")


def make_folder(name: str) -> Path:
    """Create the folder, or reuse one that is empty or holds a demo.

    Raises
    ------
    UsageError
        If it holds something else, which is left alone.
    DataError
        If it cannot be made or read.
    """
    if is_standard(name) or is_remote(name):
        raise UsageError(f"{name} is not a folder on this machine; name one for the demo")
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        inside = sorted(path.name for path in folder.iterdir() if path.name != LOCK)
        if inside and (NAME not in inside or not (folder / NAME).read_text("utf-8").startswith(MARK)):
            raise UsageError(
                f"{folder} holds something other than a demo ({some(inside, 3)}); name another folder, or remove it"
            )
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{folder} cannot be used for a demo: {reason}; name another folder") from error
    return folder


def clear_folder(script: str) -> None:
    """Write the script to the current folder and remove the files of an earlier run; other files stay."""
    with atomic_writer(NAME) as file:
        file.write(MARK + script)
    for path in (*map(Path, MADE), *Path().glob(".trubleu-*.tmp")):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def run_script(script: str, show: Callable[[str], object], *, quiet: bool) -> None:
    """Show each command, run it in this process and the current folder, and show the first lines of its output."""
    from glob import glob

    from trubleu.cli import parse

    bold = "\033[1m{}\033[0m" if sys.stdout.isatty() else "{}"
    for line in re.split(r"(?<!\\)\n", script):
        if not line.startswith("trubleu "):
            show(bold.format(line) if line else "")
            continue
        show(f"$ {line}")
        words = shlex.split(line.replace("\\\n", " "))[1:] + ["--quiet"] * quiet
        command = parse([path for word in words for path in sorted(glob(word)) or [word]])  # noqa: PTH207 - as a shell
        with redirect_stdout(StringIO()) as printed:
            command.run(command)
        # Hints about the next command are not shown: the script runs it.
        lines = re.split(r"^then:", printed.getvalue(), maxsplit=1, flags=re.MULTILINE)[0].rstrip().splitlines()
        for shown in lines if len(lines) <= SHOWN else [*lines[:SHOWN], "…"]:
            show(shown)
