"""``trubleu demo``: the whole way from conversations to a report, in one go."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from trubleu.demo.steps import Command, Step

EPILOG = """\
examples:
  trubleu demo
  trubleu demo my-demo --seed 7 --open
  trubleu demo my-demo --seed 7 --keep-serving

Everything stays in the folder. After Ctrl-C, a crash or a power failure the same command goes on where it stopped;
once it is done, the same command says where the report is. For a fresh start remove the folder, or name another.
"""

_FOLDER = "trubleu-demo"
_TRIAL_SEGMENTS = 3
_USUAL = {"seed": 1, "segments": 100, "raters": 3}
"""Those of `trubleu.demo.steps`, said again so that ``--help`` need not load it (a test holds them equal)."""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "demo",
        help="the whole way in one go, with made-up data, to a report",
        description="Go the whole way with made-up data, in about a minute: make a world of conversations, mine "
        "references, have them rated by simulated raters over HTTP, score seven systems, judge the metrics, and write "
        "one report. Each step is printed as the command that does it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run, files=[])
    parser.add_argument(
        "folder", nargs="?", default=_FOLDER, metavar="FOLDER", help=f"where everything stays ({_FOLDER})"
    )
    sizes = parser.add_argument_group("what is made up")
    for name, what in (
        ("seed", "of the world and its raters"),
        ("segments", "messages that systems answer to"),
        ("raters", "simulated raters, who rate everything"),
    ):
        usual = _USUAL[name]
        sizes.add_argument(f"--{name}", type=int, default=usual, metavar="N", help=f"{what} ({usual})")
    parser.add_argument(
        "--port", type=int, default=8000, metavar="N", help="where rating pages are served; else a free one (8000)"
    )
    parser.add_argument("--open", action="store_true", help="open the report in a browser")
    parser.add_argument(
        "--keep-serving", action="store_true", help="then serve a small study to try the pages with, until Ctrl-C"
    )
    parser.add_argument("--quiet", action="store_true", help="print no steps and no progress bars")


def run(options: argparse.Namespace) -> None:
    """Do what is not done yet, and say where the report is."""
    from trubleu.demo.runner import check_packages, run_demo
    from trubleu.demo.steps import DemoOptions
    from trubleu.errors import UsageError

    if options.files:
        raise UsageError(f"demo takes one FOLDER, but {options.files[0]} is given too; leave it out")
    if options.folder in ("", "-"):
        raise UsageError(f"demo needs the name of a folder, and {options.folder or 'an empty one'} is none; name one")
    if not 0 <= options.port <= 65535:
        raise UsageError(f"--port {options.port} must lie between 0 and 65535")
    chosen = DemoOptions(seed=options.seed, segments=options.segments, raters=options.raters)
    check_packages()
    folder = _as_typed(Path(options.folder))
    told = _Told(quiet=options.quiet)
    try:
        demo = run_demo(folder, chosen, told, write_report=_write_report, port=options.port, quiet=options.quiet)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; {_again(options)} goes on where it stopped") from None
    _tell_finding(folder, told, fresh=bool(demo.fresh))
    if options.open:
        import webbrowser

        if not webbrowser.open(demo.report.resolve().as_uri()):
            told.say("No browser could be opened here; open the report by hand.")
    if options.keep_serving:
        _keep_serving(folder, options.port, told)


def _again(options: argparse.Namespace) -> str:
    """Return the command that goes on with a demo."""
    import shlex

    words = ["trubleu", "demo", str(_as_typed(Path(options.folder)))]
    for name, usual in _USUAL.items():
        if getattr(options, name) != usual:
            words += [f"--{name}", str(getattr(options, name))]
    return shlex.join(words)


def _as_typed(folder: Path) -> Path:
    """Return a folder as one would type it: from here, if it lies here."""
    here = Path.cwd()
    if folder.is_absolute() and folder.is_relative_to(here):
        folder = folder.relative_to(here)
    # What begins with a dash would be taken for an option.
    return here / folder if str(folder).startswith("-") else folder


class _Told:
    """Runs commands in this process, and prints what is done as one would type it."""

    def __init__(self, *, quiet: bool) -> None:
        import sys

        self._quiet = quiet
        self._bold = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")

    def run(self, command: Command) -> None:
        """Run a command, and show what it prints but for what to type next: here that comes by itself."""
        import io
        from contextlib import redirect_stdout

        printed = io.StringIO()
        with redirect_stdout(printed):
            self.run_openly(command)
        self.tell(shortened(printed.getvalue()))

    def run_openly(self, command: Command) -> None:
        """Run a command, and let it print what it likes."""
        from trubleu.cli import parse

        options = parse(command.arguments)
        options.run(options)

    def beside(self, command: Command, log: Path) -> AbstractContextManager[object]:
        from trubleu.cli import parse
        from trubleu.rating.server_process import ServerProcess

        options = parse(command.arguments)
        return ServerProcess(options.study, port=options.port, options=["--quiet"], output=log)

    def take_back(self, study: Path) -> None:
        from trubleu.rating import Study

        with Study.open(study) as there:
            there.release(now=there.now() + round(there.config.lease_minutes * 60_000) + 1)
        self.tell("Tasks that raters had open when it was interrupted go to others.")

    def tell_step(self, number: int, count: int, step: Step) -> None:
        self.tell(f"\n{self._bold[0]}[{number}/{count}] {step.title}{self._bold[1]}")

    def tell_command(self, command: str) -> None:
        self.tell(f"$ {command}")

    def tell(self, text: str) -> None:
        if not self._quiet and text:
            self.say(text)

    def say(self, text: str) -> None:
        import sys

        sys.stdout.write(text + "\n")
        sys.stdout.flush()  # what commands write to standard error comes after it


def shortened(printed: str) -> str:
    """Return what a command printed, indented, without its advice on what to type next and without signatures.

    Examples
    --------
    >>> shortened("A: 4 segments\\n\\nsignature: mine|x\\nthen: trubleu score\\n")
    '  A: 4 segments'
    """
    lines = printed.partition("\nthen:")[0].splitlines()
    kept = [line for line in lines if not line.startswith("signature:")]
    return "\n".join("  " + line if line else "" for line in kept).rstrip()


def _write_report(folder: Path) -> None:
    from trubleu.demo.page import render_report
    from trubleu.demo.results import read_results
    from trubleu.files.writer import atomic_writer

    page = render_report(read_results(folder))
    with atomic_writer(folder / "report.html") as file:
        file.write(page)


def _tell_finding(folder: Path, told: _Told, *, fresh: bool) -> None:
    from trubleu.demo.results import find, read_results, summary_table
    from trubleu.render.tables import render_tables

    results = read_results(folder)
    if not fresh:
        told.tell(f"{folder} holds a demo that is done; for a fresh start remove it, or name another folder.")
    found = find(results)
    told.tell("\n" + render_tables([summary_table(results, found)], "text", 2))
    told.tell("\n".join([found.headline, *found.sentences, ""]))
    told.say(f"The report: {folder / 'report.html'}")


def _head(folder: Path) -> str:
    import shlex

    source, target = (shlex.quote(str(folder / name)) for name in ("candidates.jsonl", "trial.jsonl"))
    return f"head -n {_TRIAL_SEGMENTS} {source} > {target}"


def _is_new(trial: Path) -> bool:
    """Whether the study to try pages with is still to be made; an empty folder in its place is removed."""
    from contextlib import suppress

    from trubleu.errors import DataError

    with suppress(OSError):
        trial.rmdir()  # which only an empty one can be
    if trial.exists() and not (trial / "study.yaml").is_file():
        raise DataError(f"{trial} holds no study; remove it, and it is made again")
    return not trial.exists()


def _keep_serving(folder: Path, port: int, told: _Told) -> None:
    """Serve a small study of its own until Ctrl-C, with a link for whoever wants to try."""
    from itertools import islice

    from trubleu.demo.runner import free_port
    from trubleu.demo.steps import Surroundings, trial_steps
    from trubleu.files.writer import atomic_writer

    free = free_port(port)
    if free != port and port:
        told.say(f"Port {port} is in use, so pages are served at port {free}.")
    new, links, serve = trial_steps(folder, Surroundings(port=free))
    told.tell("\nA small study to try the pages with: open the rater's link below.")
    if _is_new(folder / "trial"):
        with (
            (folder / "candidates.jsonl").open(encoding="utf-8") as lines,
            atomic_writer(folder / "trial.jsonl") as file,
        ):
            file.writelines(islice(lines, _TRIAL_SEGMENTS))
        told.tell(f"$ {_head(folder)}")
        told.tell_command(str(new))
        told.run(new)
    for command in (links, serve):
        told.tell_command(str(command))
        told.run_openly(command)
