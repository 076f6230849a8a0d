"""``trubleu completion``: a shell script that completes commands, options, files and metric names."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Final

from trubleu.cli import arguments as add
from trubleu.optional_deps import needed

if TYPE_CHECKING:
    from collections.abc import Iterator

SHELLS: Final = ("bash", "zsh", "fish")

LONGEST_OFFERED: Final = 4
"""Metrics are offered with orders up to this or their default; higher ones are rare and can be typed."""

# Metavars that indicate the kind of value.
_FOLDERS: Final = re.compile(r"\b(FOLDER|INDEX|STUDY)\b(?! MORE)")
_FILES: Final = re.compile(r"\b(FILE|OUTPUTS|PATH|SOURCE|TARGET|PREFIX|STORE)\b")
_NO_FILES: Final = ("RATER", "[NAME=]SPEC", "NAME=SPEC")


def add_parser(commands: add.Commands) -> None:
    """Add the command."""
    parser = add.command(commands, "completion", run)
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(options: argparse.Namespace) -> None:
    """Print a completion script for your shell.

    Print a script that lets your shell complete commands, options, files and metric names.

    Examples
    --------
    trubleu completion bash > ~/.local/share/bash-completion/completions/trubleu
    trubleu completion zsh > ~/.zfunc/_trubleu      (with fpath+=~/.zfunc before compinit in ~/.zshrc)
    trubleu completion fish > ~/.config/fish/completions/trubleu.fish

    Notes
    -----
    Make the script again after an update, because a new version may have new options.
    """
    from trubleu.cli import build_parser

    shtab = needed("shtab", "a script for completion", "trubleu[completion]")
    parser = build_parser()
    for command, action in _actions(parser):
        _tell_what_to_offer(command, action, shtab.FILE, shtab.DIRECTORY)
    sys.stdout.write(shtab.complete(parser, options.shell) + "\n")


def _actions(parser: argparse.ArgumentParser, command: str = "") -> Iterator[tuple[str, argparse.Action]]:
    """Yield the arguments of all commands, each with the first word of its command."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for name, inner in action.choices.items():
                yield from _actions(inner, command or name)
        else:
            yield command, action


def _tell_what_to_offer(command: str, action: argparse.Action, files: object, folders: object) -> None:
    """Annotate an argument with the kind of its values: files, folders or names."""
    from trubleu.metrics.registry import names
    from trubleu.text.tokenizers import names as tokenizers

    written = action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar or ())
    if action.choices or action.nargs == 0:
        return
    if written == "METRIC":
        action.choices = offered_metrics(command)
    elif action.dest == "list_metrics":
        action.choices = names()
    elif action.dest == "tokenize":
        action.choices = tokenizers()
    elif _FOLDERS.search(written):
        action.complete = folders  # type: ignore[attr-defined]
    elif _FILES.search(written) or not (action.option_strings or written in _NO_FILES):
        action.complete = files  # type: ignore[attr-defined]


def offered_metrics(command: str = "score") -> list[str]:
    """Return the metric names that a command accepts, with and without orders.

    Examples
    --------
    >>> [name for name in offered_metrics() if name.startswith(("dbleu-", "ter"))]
    ['dbleu-1', 'dbleu-2', 'dbleu-3', 'dbleu-4', 'ter']
    >>> "ter" in offered_metrics("explain"), "nist" in offered_metrics("simulate")
    (False, False)
    """
    from trubleu.explain.segment import EXPLAINABLE
    from trubleu.metrics import describe

    offered = []
    for each in describe():
        if command == "explain" and each.name.removesuffix("-f") not in EXPLAINABLE:
            continue
        # A simulated study resamples segments, so it cannot learn from all at once, and has no source.
        if command == "simulate" and {"all segments at once", "source"} & {*each.needs}:
            continue
        last = 0 if each.order is None else max(LONGEST_OFFERED, each.order)
        offered += [each.name, *(f"{each.name}-{order}" for order in range(1, last + 1))]
    return offered
