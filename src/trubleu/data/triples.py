"""Triples of a conversation (a message, its response, the turns before it), in memory and in files of any size."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Sized
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from trubleu.data.reference_files import check_storable
from trubleu.data.triple_formats import FIELDS, TripleFile, TripleRows, TsvLayout, checked_columns, read_range
from trubleu.errors import CountedWarning, DataError, UsageError, shown
from trubleu.files import paths as places
from trubleu.files.compression import SUFFIXES
from trubleu.files.jsonl import json_line, kind_of
from trubleu.files.lines import check_once, size_of, total_size
from trubleu.files.parquet import copy_parquet
from trubleu.files.paths import (
    check_standard_input_once,
    format_of,
    format_to_write,
    identity,
    is_remote,
    is_standard,
    labels,
    name_of,
    reading,
)
from trubleu.files.ranges import Span
from trubleu.files.tables import is_table_name, table_titles
from trubleu.files.writer import atomic_writer, check_writable
from trubleu.optional_deps import polars_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import BinaryIO, TextIO

    from trubleu.files.lines import Size
    from trubleu.files.paths import Format, PathLike
    from trubleu.progress import Progress


BATCH = 8192
"""Rows that are read at once unless it is said otherwise."""


@dataclass(frozen=True, slots=True)
class Triple:
    """A message and the response it got, in the context of the turns before.

    Attributes
    ----------
    id
        Its name in files.
    context
        The turns before the message, oldest first; often one, maybe none.
    message
        What was said.
    response
        What was answered.

    Examples
    --------
    >>> Triple("7", ("hi !",), "how are you ?", "fine , and you ?").response
    'fine , and you ?'
    """

    id: str
    context: tuple[str, ...]
    message: str
    response: str


@dataclass(frozen=True, slots=True)
class TripleBatch:
    """Some triples that follow each other in a file, as columns.

    Attributes
    ----------
    ids, contexts, messages, responses
        One of each for a triple; ``contexts`` are all empty if they were not asked for.
    file
        Which of the files they come from, counted from 0.
    end
        How many rows of that file have been read, skipped ones included.

    Examples
    --------
    >>> batch = TripleBatch(("7",), ((),), ("how are you ?",), ("fine",), file=0, end=1)
    >>> len(batch), list(batch)
    (1, [Triple(id='7', context=(), message='how are you ?', response='fine')])
    """

    ids: tuple[str, ...]
    contexts: tuple[tuple[str, ...], ...]
    messages: tuple[str, ...]
    responses: tuple[str, ...]
    file: int
    end: int

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Triple]:
        return map(Triple, self.ids, self.contexts, self.messages, self.responses)


class TripleList:
    """Triples that are in memory, or made one by one, with the interface of `TripleFiles`.

    Parameters
    ----------
    triples
        Any iterable of `Triple`; one that can be gone through only once gives its batches only once.

    Examples
    --------
    >>> source = TripleList([Triple("7", (), "how are you ?", "fine"), Triple("8", (), "how are you ?", " ")])
    >>> [batch.ids for batch in source.batches()], source.empty
    ([('7',)], 1)
    """

    files: tuple[str, ...] = ()
    unit = "triple"

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._triples = triples
        self.bad = 0
        self.empty = 0

    @property
    def total(self) -> int | None:
        """How many triples there are, if that is known."""
        return len(self._triples) if isinstance(self._triples, Sized) else None

    def batches(
        self,
        *,
        size: Size = BATCH,
        contexts: bool = True,
        progress: Progress | None = None,
    ) -> Iterator[TripleBatch]:
        """Yield all triples (see `TripleFiles.batches`).

        Raises
        ------
        DataError
            If something is no triple, or one of its fields is not what it should be.
        """
        self.bad = self.empty = 0
        rows = TripleRows("triples", contexts=contexts)
        end = 0
        triples = iter(self._triples)
        while some := list(islice(triples, size() if callable(size) else size)):
            for number, triple in enumerate(some, end + 1):
                _check(triple, f"triples: number {number}")
                rows.append(triple.id, triple.context if contexts else (), triple.message, triple.response)
            end += len(some)
            self.empty = rows.empty
            yield TripleBatch(*rows.taken(), file=0, end=end)
            if progress is not None:
                progress(len(some))


def _check(triple: object, place: str) -> None:
    if type(triple) is not Triple:
        raise DataError(f"{place} must be a Triple, not {kind_of(triple)}")
    for name in ("id", "message", "response"):
        value = getattr(triple, name)
        if type(value) is not str:
            raise DataError(f"{place}: {name} must be a string, not {kind_of(value)}")
    if type(triple.context) is not tuple or any(type(turn) is not str for turn in triple.context):
        raise DataError(f"{place}: context must be a tuple of strings, one per turn, not {kind_of(triple.context)}")


def distinct_triples(source: TripleSource, *, noun: str = "triple", progress: Progress | None = None) -> list[Triple]:
    """Read all triples of a source, each of which must have an id of its own.

    Parameters
    ----------
    source
        Where they come from.
    noun
        What messages call one of them.
    progress
        Told how much has been read.

    Raises
    ------
    DataError
        If two have the same id, with the lines of both, or a row cannot be used.

    Examples
    --------
    >>> distinct_triples(TripleList([Triple("7", (), "hi", "hello"), Triple("7", (), "bye", "see you")]))
    Traceback (most recent call last):
        ...
    trubleu.errors.DataError: triple 2: the id '7' is already used at triple 1; every triple needs its own
    """
    triples: list[Triple] = []
    seen: set[str] = set()
    for batch in source.batches(progress=progress):
        for triple in batch:
            if triple.id in seen:
                raise DataError(_twice(source, triple.id, noun))
            seen.add(triple.id)
            triples.append(triple)
    return triples


def _twice(source: TripleSource, identity: str, noun: str) -> str:
    """Say where an id is used twice; read again, one row at a time, as only then the rows of triples are known."""
    what = f"the id {shown(identity)} is"
    if not any(map(is_standard, source.files)):
        places: list[str] = []
        for batch in source.batches(size=1, contexts=False):
            if identity in batch.ids:
                places.append(f"{source.files[batch.file]}:{batch.end}" if source.files else f"{noun} {batch.end}")
            if len(places) > 1:
                return f"{places[1]}: {what} already used at {places[0]}; every {noun} needs its own"
    return f"{what} used by two {noun}s; every {noun} needs its own"


def warn_of_skipped(source: TripleSource, *, stacklevel: int = 2) -> None:
    """Warn of the rows that the latest pass over a source has left out, if there were any.

    Parameters
    ----------
    source
        What was read.
    stacklevel
        Whose line the warning names, as for `warnings.warn`.

    Warns
    -----
    CountedWarning
        One for rows that could not be used, one for rows with a blank message or response.

    Examples
    --------
    >>> source = TripleList([Triple("7", (), "how are you ?", " ")])
    >>> batches = list(source.batches())
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     warn_of_skipped(source)
    >>> str(told[0].message)
    'rows with a blank message or response, skipped: 1'
    """
    if source.bad:
        what = "rows that could not be used and were skipped"
        warnings.warn(CountedWarning(what, source.bad), stacklevel=stacklevel)
    if source.empty:
        what = "rows with a blank message or response, skipped"
        warnings.warn(CountedWarning(what, source.empty), stacklevel=stacklevel)


_FORMATS = ("jsonl", "tsv", "csv", "xlsx", "parquet")


class TripleFiles:
    """A corpus of triples in files, read batch by batch in little memory.

    Parameters
    ----------
    paths
        One path or several: files, ``-`` for standard input, and folders, which stand for all files below them, sorted
        by name. A folder may hold files that end in ``.jsonl``, ``.ndjson``, ``.json``, ``.tsv``, ``.tab``, ``.csv``
        (each maybe followed by ``.gz`` or ``.zst``), ``.xlsx``, ``.parquet`` or ``.pq``, and hidden ones, which are
        passed over.
    columns
        What the columns of tab-separated files, CSV and Excel hold: in their order, such as
        ``"-,context,message,response"``, where ``-`` is a column to pass over, or by their titles,
        ``"message=prompt,response=reply"``.
    skip_bad
        Whether rows that cannot be used are counted instead of an error.

    Attributes
    ----------
    files
        The files, in the order in which they are read.
    labels
        What the ids of rows that have none call the files.
    columns, skip_bad
        As they were given.
    sizes, total
        How many bytes they have, each and together; None if that is not known, as for standard input.
    unit
        ``"B"``: what ``progress`` is told of.
    bad, empty
        How many rows could not be used, and how many had a blank message or response, so far in the latest pass.

    Raises
    ------
    DataError
        If a path does not exist or is given twice, or a folder has no files or others than these.
    UsageError
        If ``columns`` are wrong, or there is no table that they could be about.

    Warns
    -----
    Notice
        If columns of the first table were found by other titles than those of the fields.

    Notes
    -----
    - *JSON lines*: an object per line with ``message`` and ``response``, and maybe ``id`` and ``context``, an array of
      turns, oldest first.
    - *CSV* and *Excel*: the first row names the columns, with these names or others that are usual (prompt, question,
      reply, answer); which was taken for what is said. They are read whole.
    - *Tab-separated*: raw, so that neither quotes nor backslashes mean anything. If the first line names message and
      response, it is a header, as in CSV. Otherwise two columns are message and response, three begin with the
      context, and of more, ``columns`` must say what they are. A context is one turn, or nothing.
    - *Parquet*: the fields of JSON lines as columns; ``context`` may also be a text, one turn.

    An id that is missing is FILE:LINE, in CSV, Excel and Parquet FILE:ROW. Files are UTF-8, maybe compressed with gzip
    or zstd. What the name of a file does not tell, its first bytes do.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "corpus.tsv"
    >>> _ = path.write_text("hi !\\thow are you ?\\tfine\\n\\tbye\\tsee you\\n")
    >>> corpus = TripleFiles(path)
    >>> for batch in corpus.batches(size=1):
    ...     print(batch.contexts, batch.messages, batch.responses, batch.end)
    (('hi !',),) ('how are you ?',) ('fine',) 1
    ((),) ('bye',) ('see you',) 2
    """

    unit = "B"

    def __init__(
        self,
        paths: PathLike | Sequence[PathLike],
        *,
        columns: str | Sequence[str] | None = None,
        skip_bad: bool = False,
    ) -> None:
        given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        if not given:
            raise UsageError("no corpus is given; give one file or folder at least")
        check_standard_input_once(given)
        self.files = tuple(file for path in given for file in _expanded(path))
        check_once(self.files)
        self.labels = labels(self.files)
        self.sizes = tuple(map(size_of, self.files))
        self.total = total_size(self.sizes)
        self.bad = 0
        self.empty = 0
        self.columns = checked_columns(columns)
        self.skip_bad = skip_bad
        if columns is not None and all(format_of(name_of(file)) in ("jsonl", "parquet") for file in self.files):
            raise UsageError("columns say what tables (TSV, CSV, Excel) hold, but there are none; leave them out")
        if tables := [file for file in self.files if is_table_name(name_of(file))]:
            with suppress(DataError):  # which whoever reads it will hear
                TsvLayout.of(table_titles(tables[0]), self.columns, name_of(tables[0]), tell=True)

    def batches(
        self,
        *,
        size: Size = BATCH,
        contexts: bool = True,
        progress: Progress | None = None,
    ) -> Iterator[TripleBatch]:
        """Yield all triples.

        Parameters
        ----------
        size
            How many rows are read for a batch at most; a function is asked before each. A batch has fewer triples
            where rows are left out, maybe none; and it never spans two files.
        contexts
            Whether contexts are wanted; if not, they are empty, and mistakes in them are not noticed.
        progress
            Told how many more bytes have been read.

        Raises
        ------
        DataError
            If a file cannot be read, or a row cannot be used and is not to be skipped, with its line.
        MissingExtraError
            If a package that a format needs is not installed.
        """
        if not callable(size) and size < 1:
            raise UsageError(f"a batch of {size} rows is too small; it takes 1 at least")
        self.bad = self.empty = 0
        for number, (path, label, bytes_there) in enumerate(zip(self.files, self.labels, self.sizes, strict=True)):
            name, bad, empty = name_of(path), self.bad, self.empty
            file = TripleFile(path, name, number=number, label=label, columns=self.columns, lenient=self.skip_bad)
            file = replace(file, packed=True) if bytes_there is None else file.look()
            rows = TripleRows(name, label, contexts=contexts, skip_bad=self.skip_bad)
            whole = Span(file, count=file.height, size=file.size)
            for end in read_range(whole, rows, size, tell=progress or (lambda _bytes: None)):
                self.bad, self.empty = bad + rows.bad, empty + rows.empty
                yield TripleBatch(*rows.taken(), file=number, end=end)


TripleSource: TypeAlias = TripleFiles | TripleList
"""Where triples come from, batch by batch."""


def read_triples(
    paths: PathLike | Sequence[PathLike],
    *,
    columns: str | Sequence[str] | None = None,
    skip_bad: bool = False,
    progress: Progress | None = None,
) -> list[Triple]:
    """Read all triples of files and folders into memory.

    Parameters
    ----------
    paths, columns, skip_bad
        As for `TripleFiles`.
    progress
        Told how many more bytes have been read.

    Raises
    ------
    DataError
        If a file cannot be read, or a row cannot be used and is not to be skipped, with its line.

    Warns
    -----
    CountedWarning
        If rows were left out: those with a blank message or response, and with ``skip_bad`` those that could not be
        used.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "corpus.jsonl"
    >>> _ = path.write_text('{"id": "7", "message": "how are you ?", "response": "fine"}\\n')
    >>> read_triples(path)
    [Triple(id='7', context=(), message='how are you ?', response='fine')]
    """
    source = TripleFiles(paths, columns=columns, skip_bad=skip_bad)
    triples = [triple for batch in source.batches(progress=progress) for triple in batch]
    warn_of_skipped(source, stacklevel=3)
    return triples


def _expanded(path: PathLike) -> list[str]:
    if is_standard(path):
        return ["-"]
    name = os.fspath(path)
    with reading(name_of(path)):
        if places.is_folder(path):
            return _files_of_folder(name)
        places.byte_size(path)
    return [name]


def _files_of_folder(folder: str) -> list[str]:
    found = places.files_below(folder)
    for file in found:
        name = places.base_name(file)
        form = format_of(name)
        if form not in _FORMATS or (form == "parquet" and name.lower().endswith(SUFFIXES)):
            raise DataError(
                f"{file}: the name does not say that it holds triples (.jsonl, .tsv, .csv, .xlsx or .parquet), though "
                "it lies in a folder of them; move it elsewhere, or give the files one by one"
            )
        if not places.is_remote(file):
            places.byte_size(file)  # or say at once that it is not there: it may be a link to nowhere
    if not found:
        raise DataError(f"{folder} is a folder without any files; give one with .jsonl, .tsv or .parquet")
    return found


_WRITTEN_FORMATS: tuple[Format, ...] = ("jsonl", "parquet")


def write_triples(path: PathLike, triples: Iterable[Triple], *, progress: Progress | None = None) -> int:
    """Write triples to a file that appears whole or not at all, without holding all of them.

    Parameters
    ----------
    path
        The name tells the format: ``.jsonl`` (then maybe ``.gz`` or ``.zst``) or ``.parquet``. ``-`` is standard
        output, which gets JSON lines.
    triples
        Any iterable of them.
    progress
        Told how many more have been written.

    Returns
    -------
    int
        How many there were.

    Raises
    ------
    DataError
        If the name tells no format, the file cannot be written, or a text cannot be held by Parquet, because it
        contains half of a surrogate pair.
    MissingExtraError
        If a package that the format needs is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.data import Triple, read_triples
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "triples.jsonl"
    >>> write_triples(path, [Triple("7", ("hi !",), "how are you ?", "fine")])
    1
    >>> print(path.read_text().strip())
    {"id": "7", "context": ["hi !"], "message": "how are you ?", "response": "fine"}
    """
    with _writer(path) as stream:
        return _fill(path, stream, triples, progress)


def _writer(path: PathLike) -> AbstractContextManager[TextIO | BinaryIO]:
    if format_to_write(path, _WRITTEN_FORMATS) != "parquet":
        return atomic_writer(path)
    polars_module()  # if it is missing, that is said before anything is written
    return atomic_writer(path, "wb")


def _fill(path: PathLike, stream: Any, triples: Iterable[Triple], progress: Progress | None = None) -> int:
    if format_to_write(path, _WRITTEN_FORMATS) == "parquet":
        return _write_parquet(path, stream, triples, progress)
    written = 0
    for written, triple in enumerate(triples, 1):  # noqa: B007 - the count is what is returned
        stream.write(json_line({name: getattr(triple, name) for name in FIELDS}) + "\n")
        if progress is not None:
            progress(1)
    return written


def write_together(targets: Sequence[tuple[str, Iterable[Triple]]]) -> None:
    """Write several files of triples, of which either all appear or none does, short of a disk or network that fails.

    Raises
    ------
    DataError
        As in `write_triples`.
    UsageError
        If a target is standard output, or two are the same file.
    """
    check_together([target for target, _ in targets])
    with ExitStack() as stack:
        # What goes elsewhere comes last, and so appears first: it may fail more easily than renaming a file here.
        for target, triples in sorted(targets, key=lambda each: is_remote(each[0])):
            _fill(target, stack.enter_context(_writer(target)), triples)


def check_together(targets: Sequence[str]) -> None:
    """Refuse targets that `write_together` could not write, before any work is done."""
    places: dict[str, str] = {}
    for target in targets:
        if target == "-":
            raise UsageError("several files are written together, so none can be standard output; give file names")
        check_writable(target)
        format_to_write(target, _WRITTEN_FORMATS)
        place = identity(target)
        if place in places:
            raise UsageError(f"{places[place]} and {target} are the same file; give two")
        if not is_remote(target) and Path(place).exists() and not Path(place).is_file():
            raise UsageError(f"{target} is not a file that could be replaced; give the name of one")
        places[place] = target


def _write_parquet(path: PathLike, stream: BinaryIO, triples: Iterable[Triple], progress: Progress | None) -> int:
    """Write JSON lines, which Polars turns into Parquet in little memory."""
    polars = polars_module()
    types = dict.fromkeys(FIELDS, polars.String) | {"context": polars.List(polars.String)}
    try:
        beside = None if is_remote(path) else Path(path).resolve().parent
        with tempfile.TemporaryDirectory(prefix=".trubleu-", dir=beside) as folder:
            lines, whole = Path(folder, "lines.jsonl"), Path(folder, "whole.parquet")
            with lines.open("w", encoding="utf-8") as text:
                written = _fill(lines, text, map(_storable, triples), progress)
            if written:
                polars.scan_ndjson(lines, schema=types).sink_parquet(whole)
            else:
                polars.DataFrame(schema=types).write_parquet(whole)
            with whole.open("rb") as source:
                copy_parquet(source, stream)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DataError(f"{path} cannot be written: {reason}; nothing was changed") from error
    return written


def _storable(triple: Triple) -> Triple:
    texts = (triple.id, *triple.context, triple.message, triple.response)
    check_storable(texts, f"the triple {shown(triple.id)}: field")
    return triple
