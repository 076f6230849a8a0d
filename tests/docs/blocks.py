"""Code blocks of the documentation, and running them as a reader would: page by page, from top to bottom.

What a block is decides what is done with it:

- `console`: lines that begin with `$ ` are commands, and what follows a command is what it prints. Each runs in a bash
  of its own (plain calls of `trubleu` without one), in a folder of the page that holds a link to `examples/`. Where
  the page shows what is printed, that is compared with standard output (where there is none, with standard error):
  `…` stands for anything on a line, and a line that is only `…` for any number of lines.
- `python`: runs in one namespace a page.
- `json`: must be JSON. Everything else is there to be read.

An HTML comment right above a block says what else there is to know:

    <!-- not run: it takes an hour -->     why nobody runs it
    <!-- run: integrations -->             only where the packages of that group are installed
    <!-- exit code: 2 -->                  what its last command ends with
    <!-- file: tasks.toml -->              the block is the content of this file, for the blocks after it
    <!-- read: references -->              it is read as such a file, and must be a valid one
"""

from __future__ import annotations

import contextlib
import glob
import io
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from trubleu.cli import main
from trubleu.data import (
    DialogueFiles,
    Rankings,
    Ratings,
    References,
    SegmentScores,
    read_official_scores,
    read_triples,
)
from trubleu.errors import TrubleuWarning

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent.parent

_READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "references": (".jsonl", References.read),
    "triples": (".jsonl", lambda path: list(read_triples(path))),
    "dialogues": (".jsonl", lambda path: list(DialogueFiles(path).triples(context=1))),
    "dialogues in text": (".txt", lambda path: list(DialogueFiles(path).triples(context=1))),
    "ratings": (".csv", Ratings.read),
    "ratings in columns": (".tsv", Ratings.read),
    "rankings": (".csv", Rankings.read),
    "official scores": (".txt", read_official_scores),
    "scores of segments": (".seg.score", SegmentScores.read),
}

_GROUPS = {"integrations", "cluster"}  # what `make test-integrations` and `make soak` install

_FENCE = re.compile(r"^( *)(`{3,})([a-z]*)[^`]*$")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`]*\"| #.*")
_MARK = re.compile(r"^ *<!-- (not run|run|exit code|file|read): (.*\S) -->$")


def pages() -> list[Path]:
    """Return the pages whose code blocks run: README.md and those of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, its text, and what the comment above it says."""

    page: str
    line: int
    language: str
    text: str
    mark: str = ""
    value: str = ""

    @property
    def place(self) -> str:
        """Return PAGE:LINE, as messages name it."""
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A command of a console block, and what the page says that it prints."""

    text: str
    printed: tuple[str, ...]


def blocks(text: str, page: str) -> list[Block]:
    """Return the blocks of a page in their order."""
    found: list[Block] = []
    mark, value = "", ""
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        if opening := _FENCE.match(line):
            indent, fence, language = opening.groups()
            inside: list[str] = []
            for _, inner in lines:
                if inner.strip() == fence:
                    break
                inside.append(inner.removeprefix(indent))
            else:
                raise AssertionError(f"{page}:{number}: this block is never closed")
            found.append(Block(page, number, language, "\n".join(inside), mark, value))
        if comment := _MARK.match(line):
            mark, value = comment.groups()
        elif line.strip():
            mark, value = "", ""
    return found


def commands(block: Block) -> list[Command]:
    """Cut a console block into commands and what they print."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif not found:
            raise AssertionError(f"{block.place}: a console block begins with a command, which begins with '$ '")
        elif not found[-1][1] and found[-1][0][-1].endswith("\\"):
            found[-1][0].append(line)
        else:
            found[-1][1].append(line)
    return [Command("\n".join(typed), tuple(printed)) for typed, printed in found]


def agrees(shown: tuple[str, ...], printed: str) -> bool:
    """Tell whether a program printed what the page shows; spaces at the ends of lines do not matter."""
    pattern = ""
    for line in shown:
        if line.strip() == "…":
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("…")) + r"\n"
    lines = [line.rstrip() for line in printed.strip("\n").split("\n")]
    return re.fullmatch(pattern, "\n".join(lines) + "\n") is not None


def is_plain(command: str) -> bool:
    """Tell whether a command is `trubleu` with arguments, without anything that only a shell can do."""
    return command.startswith("trubleu ") and not set("|&;<>$`~{}()") & set(_QUOTED.sub("", command))


def _expanded(word: str) -> list[str]:
    """Return the files that a pattern stands for, or the word itself, as a shell does."""
    return (sorted(glob.glob(word)) if "*" in word else []) or [word]  # noqa: PTH207


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@dataclass
class Reader:
    """Somebody who follows a page: a folder, and what Python remembers from block to block.

    `groups` names what is installed here beyond what every test has; blocks marked for other groups are passed over.
    """

    folder: Path
    groups: frozenset[str] = frozenset()
    names: dict[str, object] = field(default_factory=dict)

    def follow(self, page: Path) -> int:
        """Run all blocks of a page in its order, and return how many that were."""
        (self.folder / "examples").symlink_to(ROOT / "examples")
        return sum(self.run(block) for block in blocks(page.read_text(encoding="utf-8"), page.name))

    def run(self, block: Block) -> bool:
        """Run one block if it is one to run; tell whether it was."""
        assert block.mark != "run" or block.value in _GROUPS, f"{block.place}: nothing runs blocks of {block.value!r}"
        if block.mark == "not run" or (block.mark == "run" and block.value not in self.groups):
            return False
        if block.mark == "read":
            self._read(block)
        if block.mark == "file":
            (self.folder / block.value).write_text(block.text + "\n", encoding="utf-8")
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "python":
            self._python(block)
        elif block.language == "console":
            self._console(block)
        else:
            return False
        return True

    def _read(self, block: Block) -> None:
        suffix, read = _READERS[block.value]
        # Records are broken for reading on the page; in a file of lines they are one line.
        text = json.dumps(json.loads(block.text)) if suffix == ".jsonl" else block.text
        path = self.folder / f"block{block.line}{suffix}"
        path.write_text(text + "\n", encoding="utf-8")
        read(path)

    def _python(self, block: Block) -> None:
        # The empty lines in front make a traceback name the page's own line.
        code = compile("\n" * block.line + block.text, block.page, "exec")
        with contextlib.chdir(self.folder), warnings.catch_warnings():
            warnings.simplefilter("ignore", TrubleuWarning)  # a reader would see it and go on
            exec(code, self.names)  # noqa: S102

    def _console(self, block: Block) -> None:
        typed = commands(block)
        for number, command in enumerate(typed):
            last = number == len(typed) - 1
            wanted = int(block.value) if last and block.mark == "exit code" else 0
            code, output, errors = self._called(command.text) if is_plain(command.text) else self._typed(command.text)
            said = f"{block.place}: $ {command.text}\n"
            assert code == wanted, f"{said}ends with code {code}, not {wanted}:\n{errors}"
            if command.printed:
                shown, printed = "\n".join(command.printed), output or errors
                assert agrees(command.printed, printed), f"{said}shows\n{shown}\nbut prints\n{printed}"

    def _typed(self, command: str) -> tuple[int, str, str]:
        here = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env=here,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def _called(self, command: str) -> tuple[int, str, str]:
        """Do what a new process would do, in this one: importing everything again would take most of the time."""
        output, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        whole = command.replace("\\\n", "")  # shlex takes a continued line for a word with a line end in it
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            words = [found for word in shlex.split(whole, comments=True)[1:] for found in _expanded(word)]
            try:
                code = main(words)
            except SystemExit as stop:  # argparse leaves this way
                code = int(stop.code or 0)
        return code, _written(output), _written(errors)
