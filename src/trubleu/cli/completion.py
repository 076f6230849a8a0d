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
    Regenerate the script after an update, because a new version may have new options.
    """
    from trubleu.cli import build_parser

    shtab = needed("shtab", "a script for completion", "trubleu[completion]")
    parser = build_parser()
    for action in _actions(parser):
        _tell_what_to_offer(action, shtab.FILE, shtab.DIRECTORY)
    sys.stdout.write(shtab.complete(parser, options.shell) + "\n")


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of all commands."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for inner in action.choices.values():
                yield from _actions(inner)
        else:
            yield action


def _tell_what_to_offer(action: argparse.Action, files: object, folders: object) -> None:
    """Annotate an argument with the kind of its values: files, folders or names."""
    from trubleu.metrics.registry import names
    from trubleu.text.tokenizers import names as tokenizers

    written = action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar or ())
    if action.choices or action.nargs == 0:
        return
    if written == "METRIC" or action.dest == "list_metrics":
        action.choices = names()
    elif action.dest == "tokenize":
        action.choices = tokenizers()
    elif _FOLDERS.search(written):
        action.complete = folders  # type: ignore[attr-defined]
    elif _FILES.search(written) or not (action.option_strings or written in _NO_FILES):
        action.complete = files  # type: ignore[attr-defined]
