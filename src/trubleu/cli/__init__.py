"""The command line: ``trubleu COMMAND``. Each command has its own module and imports lazily."""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from os.path import exists
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final, NoReturn

from trubleu._version import __version__
from trubleu.cli.options import check_output, take_set
from trubleu.cli.score import CI_KINDS
from trubleu.errors import TrubleuError, UsageError, nearest
from trubleu.render.tables import ROOM

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COMMANDS: Final = (
    "score", "refs", "published", "compare", "explain", "check", "scores", "judge", "vectors", "triples", "mine",
    "rate", "simulate", "demo", "completion",
)  # fmt: skip
"""Modules of the commands, in the order of ``--help``."""

METRIC_FLAGS: Final = ("-m", "--metric", "--metrics")

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps descriptions to the terminal width, and keeps the lines of examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)  # noqa: SLF001 - argparse has no other way


class Parser(argparse.ArgumentParser):
    """A parser without abbreviations that reports errors in one sentence, without the usage."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "allow_abbrev": False, "formatter_class": HelpFormatter})

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        more = "" if message.endswith("?") else f"; see {self.prog} --help"
        self.exit(EXIT_BAD_INPUT, f"trubleu: {message}{more}\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            scoring = action.dest == "command" and (value == "sacrebleu" or exists(value))  # noqa: PTH110
            hint = "files are scored by trubleu score" if scoring else nearest(str(value), map(str, action.choices))
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; {hint}")

    def _get_option_tuples(self, option_string: str) -> list[Any]:
        # argparse matches -t to -tok even with abbreviations off.
        found = super()._get_option_tuples(option_string)
        return [each for each in found if len(each[1]) <= len(option_string)]


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="trubleu",
        description="Score generated text against references, collect ratings, and measure how well metrics agree with "
        "people.",
    )
    parser.add_argument("--version", action="version", version=f"trubleu {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        import_module(f"trubleu.cli.{name}").add_parser(commands)
    return parser


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the arguments; files may stand anywhere between the options, which argparse does not support."""
    parser = build_parser()
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        parser.print_help()
        parser.exit()
    if given[0] in ("score", "compare"):
        theirs = tomllib.loads(Path(__file__).with_name("sacrebleu.toml").read_text(encoding="utf-8"))
        for name in (argument.partition("=")[0] for argument in given):
            if name in theirs:
                parser.error(f"there is no option {name}; sacreBLEU's {name} is {theirs[name]} here")
    options, left = parser.parse_known_args(_joined(given))
    files = [argument for argument in left if argument == "-" or not argument.startswith("-")]
    if unknown := [argument for argument in left if argument not in files]:
        command = _parser_of(parser, options)
        close = get_close_matches(unknown[0].partition("=")[0], command._option_string_actions, 1, 0.7)  # noqa: SLF001
        hint = f" (did you mean {close[0]}?)" if close else ""
        command.error(f"there is no option {' or '.join(unknown)}{hint}")
    # The operands that a command takes any number of: systems, or just files.
    operands = getattr(options, "systems", getattr(options, "files", None))
    if operands is not None:
        operands += files
    elif files:
        name = _parser_of(parser, options).prog.removeprefix("trubleu ")
        raise UsageError(f"{name} does not take {files[0]}; leave it out")
    if getattr(options, "input", None) is not None:
        _take_input(options)
    if "systems" in options and "refs" in options:
        take_set(options)
    if "digits" in options:
        check_output(options)
    return options


def _take_input(options: argparse.Namespace) -> None:
    """Read ``reference.txt -i system.txt`` as sacreBLEU does: with ``-i`` the other files are references."""
    if options.systems:
        if options.ref is not None or options.refs is not None:
            raise UsageError(
                f"with -i, {', '.join(options.systems)} would be references, but --ref or --refs names some, too; "
                "leave -i out"
            )
        options.ref = options.systems
    options.systems, options.input = options.input, None


def _parser_of(parser: argparse.ArgumentParser, options: argparse.Namespace) -> argparse.ArgumentParser:
    """Return the parser of the given command, such as ``mine run``."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            return _parser_of(action.choices[getattr(options, action.dest)], options)
    return parser


def _joined(arguments: Sequence[str]) -> list[str]:
    """Rewrite arguments for argparse.

    ``--columns`` is joined with a value such as ``-,message,response``, and ``--scale`` with ``-25:0``, which argparse
    takes for options. ``--ci`` does not take a file for its value. Several metrics after one ``-m``, separated by
    spaces or commas, get one ``-m`` each; a name of an existing file is a file.
    """
    joined: list[str] = []
    before, metrics = "", False  # the last argument, and whether it was a metric
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if argument == "--":
            return [*joined, *arguments[place:]]
        if name in METRIC_FLAGS and equals:
            joined += _metric_flags(value)
            before, metrics = argument, True
            continue
        is_metric = before in METRIC_FLAGS or (metrics and not argument.startswith("-") and _names_metrics(argument))
        if is_metric:
            flags = _metric_flags(argument)
            joined += flags[1:] if before in METRIC_FLAGS else flags
        elif (argument.startswith("-,") and before == "--columns") or (":" in argument and before == "--scale"):
            joined[-1] += f"={argument}"
        elif before == "--ci" and argument in CI_KINDS:
            joined[-1] = f"--ci={argument}"
        elif argument == "--ci":
            joined.append(f"--ci={CI_KINDS[0]}")
        else:
            joined.append("-m" if argument in METRIC_FLAGS else argument)
        before, metrics = argument, is_metric
    return joined


def _metric_flags(names: str) -> list[str]:
    return [part for name in _split_metrics(names) for part in ("-m", name)]


def _split_metrics(text: str) -> list[str]:
    """Split a list of metrics at commas outside brackets."""
    return [part for part in re.split(r",(?![^\[]*\])", text) if part] or [text]


def _names_metrics(argument: str) -> bool:
    """Return whether an argument is one or more metrics and no file."""
    from trubleu.metrics.registry import is_metric

    return all(map(is_metric, _split_metrics(argument))) and not exists(argument)  # noqa: PTH110 - it may be too long


@contextmanager
def _fitted(options: argparse.Namespace) -> Iterator[None]:
    """Fit tables to the width of the terminal."""
    shown = sys.stdout.isatty() and getattr(options, "out", "-") == "-"
    token = ROOM.set(get_terminal_size().columns if shown else None)
    try:
        yield
    finally:
        ROOM.reset(token)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, its own, 2 for bad input, 130 after Ctrl-C."""
    try:
        options = parse(arguments)
        from trubleu.progress import told_once

        with told_once(quiet=getattr(options, "quiet", False)), _fitted(options):
            code: int | None = options.run(options)
        sys.stdout.flush()
    except TrubleuError as error:
        sys.stderr.write(f"trubleu: {error}\n")
        return EXIT_BAD_INPUT
    except KeyboardInterrupt as stop:
        sys.stderr.write(f"trubleu: {str(stop) or 'interrupted; nothing was written'}\n")
        return EXIT_INTERRUPTED
    except MemoryError:
        sys.stderr.write("trubleu: there is not enough memory for this; give it less at once\n")
        return EXIT_BAD_INPUT
    except BrokenPipeError:
        # The reader of our output, such as head, has closed the pipe. Flushing the buffer must not raise again.
        sys.stdout = None
        return 0
    except OSError as error:  # such as a full disk behind standard output
        sys.stderr.write(f"trubleu: the output cannot be written: {error.strerror or error}\n")
        sys.stdout = None
        return EXIT_BAD_INPUT
    except Exception as error:
        from trubleu.user_code import mistake

        if (what := mistake(error)) is None:
            raise
        sys.stderr.write(f"trubleu: {what}\n")
        return EXIT_BAD_INPUT
    return code or 0
