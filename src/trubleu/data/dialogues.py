"""Whole conversations, and the triples that they are cut into."""

from __future__ import annotations

import os
import warnings
from itertools import chain
from typing import TYPE_CHECKING, Any

from trubleu.data.reference_files import id_field
from trubleu.data.triples import Triple
from trubleu.errors import CountedWarning, DataError, UsageError, counted, shown, some
from trubleu.files.jsonl import kind_of, parse_object
from trubleu.files.lines import check_once, size_of, total_size
from trubleu.files.paths import check_standard_input_once, format_of, labels, name_of
from trubleu.files.ranges import SourceFile, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trubleu.files.paths import PathLike
    from trubleu.progress import Progress

SEPARATOR = "__eou__"
TURNS = "turns"


class DialogueFiles:
    """Conversations in files, cut into triples one after the other.

    Parameters
    ----------
    paths
        One file or several; ``-`` is standard input. They are UTF-8, maybe compressed with gzip or zstd.
    separator
        What stands between two turns in a file of text, where a line is a conversation.
    turns
        The field of a file of JSON lines that holds the turns: an array of strings, or of objects with a ``text``.
    skip_bad
        Whether conversations that cannot be used are counted instead of an error.

    Attributes
    ----------
    files
        The files, in the order in which they are read.
    total
        How many bytes they have; None if that is not known, as for standard input.
    dialogues, bad, short
        How many conversations there were, how many of them could not be used, and how many were too short for a triple,
        so far in the latest pass.

    Raises
    ------
    DataError
        If a file is given twice.
    UsageError
        If there is no file, or the separator or the field is blank.

    Notes
    -----
    A file is JSON lines if its name or the first line says so, and text otherwise. White space around a turn is no part
    of it. Of what has been read, only the ids that conversations have in their files are kept in memory, with their
    places, since none may come again.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "dialogues.jsonl"
    >>> _ = path.write_text('{"id": "d1", "turns": ["hi !", "how are you ?", {"text": "fine"}]}\\n')
    >>> list(DialogueFiles(path).triples())
    [Triple(id='d1:3', context=('hi !',), message='how are you ?', response='fine')]
    >>> [triple.id for triple in DialogueFiles(path).triples(context=0)]
    ['d1:2', 'd1:3']
    """

    def __init__(
        self,
        paths: PathLike | Sequence[PathLike],
        *,
        separator: str = SEPARATOR,
        turns: str = TURNS,
        skip_bad: bool = False,
    ) -> None:
        given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        if not given:
            raise UsageError("no conversations are given; give one file at least")
        for name, value in (("separator", separator), ("field of turns", turns)):
            if not value.strip():
                raise UsageError(f"the {name} {shown(value)} is blank; give one with letters or signs in it")
        check_standard_input_once(given)
        self.files = tuple(os.fspath(path) for path in given)
        check_once(self.files)
        self.total = total_size(list(map(size_of, self.files)))
        self.dialogues = 0
        self.bad = 0
        self.short = 0
        self._separator = separator
        self._turns = turns
        self._skip_bad = skip_bad
        self._seen: dict[str, str] = {}
        self._unseparated = False

    def triples(self, *, context: int = 1, progress: Progress | None = None) -> Iterator[Triple]:
        """Yield a triple for every turn that answers another one.

        Parameters
        ----------
        context
            Turns of context at most. With 1, as in the ΔBLEU paper, triples are three turns in a row. With more, the
            third turn is still the first response, and its context is one turn. With 0 there is no context, and the
            first response is the second turn.
        progress
            Told how many more bytes have been read.

        Raises
        ------
        DataError
            If a file cannot be read; if a conversation cannot be used, such as one with the id of another, and is not
            to be skipped, with its line; if no conversation gives a triple.
        """
        if context < 0:
            raise UsageError(f"a context of {counted(context, 'turn')} is too short; give 0 or more")
        self.dialogues = self.bad = self.short = 0
        self._unseparated = True
        first = 2 if context else 1
        for identity, turns in self._dialogues(progress):
            self.short += len(turns) <= first
            for place in range(first, len(turns)):
                yield Triple(
                    f"{identity}:{place + 1}",
                    turns[max(place - 1 - context, 0) : place - 1],
                    turns[place - 1],
                    turns[place],
                )
        if self.dialogues == self.bad + self.short:
            raise DataError(self._nothing(first + 1))

    def warn_of_skipped(self) -> None:
        """Warn of the conversations that gave no triples, if there were any."""
        if self.bad:
            warnings.warn(CountedWarning("dialogues that could not be used and were skipped", self.bad), stacklevel=2)
        if self.short:
            warnings.warn(CountedWarning("dialogues too short for a triple", self.short), stacklevel=2)

    def _nothing(self, least: int) -> str:
        """Say why there are no triples, for which a conversation needs so many turns at least."""
        names = some(map(name_of, self.files), 3)
        if not self.dialogues:
            return f"{names} has no dialogues; give some, one per line"
        skipped = f" ({counted(self.bad, 'dialogue')} skipped)" if self.bad else ""
        said = f"{names}: no dialogue gives a triple{skipped}, for which it needs {counted(least, 'turn')} at least"
        if self.short and self._unseparated:
            return (
                f"{said}; the separator {shown(self._separator)} occurs nowhere, so say what stands between turns "
                "(--separator)"
            )
        return f"{said}; give longer ones" + (", or ask for no context (--context 0)" if least > 2 else "")

    def _dialogues(self, progress: Progress | None) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the id and the turns of every conversation that can be used."""
        self._seen.clear()
        for path, label in zip(self.files, labels(self.files), strict=True):
            name, number = name_of(path), 0
            source = Span(SourceFile(path, name, packed=True))  # read from its start, whatever it is
            is_json: bool | None = True if format_of(name) == "jsonl" else None
            for line in chain.from_iterable(source.lines(lenient=self._skip_bad, progress=progress)):
                number += 1
                if is_json is None:
                    is_json = (line or "").lstrip().startswith("{")
                if line is not None and (not line or line.isspace()):
                    continue
                self.dialogues += 1
                place = f"{name}:{number}"
                try:
                    given, turns = self._dialogue(line, place, is_json)
                    self._check_new(given, place)
                except DataError:
                    if not self._skip_bad:
                        raise
                    self.bad += 1
                else:
                    yield given or f"{label}:{number}", turns

    def _check_new(self, identity: str | None, place: str) -> None:
        if identity and (first := self._seen.setdefault(identity, place)) is not place:
            raise DataError(
                f"{place}: the id {shown(identity)} is already used at {first}; every dialogue needs its own"
            )

    def _dialogue(self, line: str | None, place: str, is_json: bool) -> tuple[str | None, tuple[str, ...]]:
        identity = None
        if line is None:
            raise DataError(f"{place}: this is not valid UTF-8")
        if is_json:
            record = parse_object(line, place)
            identity = id_field(record, place)
            turns = tuple(self._json_turns(record, place))
            self._unseparated = False
        else:
            self._unseparated = self._unseparated and self._separator not in line
            # The separator also stands behind the last turn in DailyDialog, where it separates nothing.
            turns = tuple(turn.strip() for turn in line.rstrip().removesuffix(self._separator).split(self._separator))
        for number, turn in enumerate(turns, 1):
            if not turn:
                raise DataError(f"{place}: turn {number} is blank; write what was said, or take the dialogue out")
        return identity, turns

    def _json_turns(self, record: dict[str, Any], place: str) -> Iterator[str]:
        turns = record.get(self._turns)
        if type(turns) is not list:
            if self._turns not in record:
                raise DataError(f"{place}: the field {self._turns} is missing; say which one holds the turns (--turns)")
            raise DataError(f"{place}: {self._turns} must be an array, one string per turn, not {kind_of(turns)}")
        for index, turn in enumerate(turns):
            text = turn.get("text") if type(turn) is dict else turn
            if type(text) is not str:
                found = f"an object whose text is {kind_of(text)}" if type(turn) is dict else kind_of(turn)
                path = f"{self._turns}[{index}]"
                raise DataError(f"{place}: {path} must be a string or an object with a text, not {found}")
            yield text.strip()
