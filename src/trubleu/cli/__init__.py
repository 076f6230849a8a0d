"""The command line: ``trubleu COMMAND``. Commands live in one file each and import what they need when they run."""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from trubleu._version import __version__
from trubleu.cli import compare, completion, demo, explain, judge, mine, rate, refs, score, simulate, triples, vectors
from trubleu.errors import TrubleuError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one sentence, without printing the usage first."""

    def error(self, message: str) -> NoReturn:
        """Leave with exit code 2."""
        self.exit(EXIT_BAD_INPUT, f"trubleu: {message}; see {self.prog} --help\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="trubleu",
        description="Score generated text with weighted references, and stay true to human judgement.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"trubleu {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    score.add_parser(commands)
    refs.add_parser(commands)
    compare.add_parser(commands)
    explain.add_parser(commands)
    judge.add_parser(commands)
    vectors.add_parser(commands)
    triples.add_parser(commands)
    mine.add_parser(commands)
    rate.add_parser(commands)
    simulate.add_parser(commands)
    demo.add_parser(commands)
    completion.add_parser(commands)
    return parser


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the arguments; files may stand anywhere between the options, not only in one row as argparse wants them."""
    parser = build_parser()
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        parser.print_help()
        parser.exit()
    options, left = parser.parse_known_args(_joined(given))
    files = [argument for argument in left if argument == "-" or not argument.startswith("-")]
    if unknown := [argument for argument in left if argument not in files]:
        command = _parser_of(parser, options)
        close = get_close_matches(unknown[0].partition("=")[0], command._option_string_actions, 1, 0.7)  # noqa: SLF001
        hint = f" (did you mean {close[0]}?)" if close else ""
        command.error(f"there is no option {' or '.join(unknown)}{hint}")
    # What a command takes any number of: systems, or just files.
    operands = options.systems if "systems" in options else options.files
    operands += files
    return options


def _parser_of(parser: argparse.ArgumentParser, options: argparse.Namespace) -> argparse.ArgumentParser:
    """Return the parser of the command that was given, such as that of ``mine run``."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            return _parser_of(action.choices[getattr(options, action.dest)], options)
    return parser


def _joined(arguments: Sequence[str]) -> list[str]:
    """Join ``--columns`` with a value such as ``-,message,response``, which argparse takes for an option."""
    joined: list[str] = []
    for argument in arguments:
        if argument.startswith("-,") and joined and joined[-1] == "--columns":
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for bad input, 130 after Ctrl-C."""
    try:
        options = parse(arguments)
        options.run(options)
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
        # Whoever read our output, such as head, has seen enough. What is left in the buffer must not raise again.
        sys.stdout = None
        return 0
    except OSError as error:  # such as a full disk behind standard output
        sys.stderr.write(f"trubleu: the output cannot be written: {error.strerror or error}\n")
        sys.stdout = None
        return EXIT_BAD_INPUT
    return 0
