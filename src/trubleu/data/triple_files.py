"""Corpora of triples in files and folders of any size, read batch by batch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from trubleu.data import places
from trubleu.data.compression import SUFFIXES
from trubleu.data.files import check_standard_input_once, is_standard, name_of, unreadable
from trubleu.data.formats import format_of
from trubleu.data.line_reader import check_once, size_of
from trubleu.data.triple_lines import checked_columns
from trubleu.data.triple_ranges import TripleRange, read_range
from trubleu.data.triple_rows import TripleRows
from trubleu.data.triples import BATCH, Triple, TripleBatch, warn_of_skipped
from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trubleu.data.files import PathLike
    from trubleu.data.line_reader import Size

_FORMATS = ("jsonl", "tsv", "parquet")


class TripleFiles:
    """A corpus of triples in files, read batch by batch in little memory.

    Parameters
    ----------
    paths
        One path or several: files, ``-`` for standard input, and folders, which stand for all files below them, sorted
        by name. A folder may hold files that end in ``.jsonl``, ``.ndjson``, ``.json``, ``.tsv``, ``.tab`` (each maybe
        followed by ``.gz`` or ``.zst``), ``.parquet`` or ``.pq``, and hidden ones, which are passed over.
    columns
        What the columns of tab-separated files hold, such as ``"-,context,message,response"``, where ``-`` is a column
        to pass over.
    skip_bad
        Whether rows that cannot be used are counted instead of an error.

    Attributes
    ----------
    files
        The files, in the order in which they are read.
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
        If a path does not exist or is given twice, or a folder holds no files or others than these.
    UsageError
        If ``columns`` are wrong, or there is no tab-separated file that they could be about.

    Notes
    -----
    - *JSON lines*: an object a line with ``message`` and ``response``, and maybe ``id`` and ``context``, an array of
      turns, oldest first.
    - *Tab-separated*: raw, so that neither quotes nor backslashes mean anything. If the first line names message and
      response, it is a header. Otherwise two columns are message and response, three begin with the context, four with
      the id, unless what stands there comes again in the first 1,024 lines: then it is no id, and ``columns`` must say
      what it is. A context is one turn, or nothing.
    - *Parquet*: the fields of JSON lines as columns; ``context`` may also be a text, one turn.

    An id that is missing is FILE:LINE, in Parquet FILE:ROW. Files are UTF-8, maybe compressed with gzip or zstd. What
    the name of a file does not tell, its first bytes do.

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
        self.sizes = tuple(map(size_of, self.files))
        known = [size for size in self.sizes if size is not None]
        self.total = sum(known) if len(known) == len(self.files) else None
        self.bad = 0
        self.empty = 0
        self.columns = checked_columns(columns)
        self.skip_bad = skip_bad
        if columns is not None and all(format_of(name_of(file)) in ("jsonl", "parquet") for file in self.files):
            raise UsageError("columns say what tab-separated files hold, but there are none; leave them out")

    def batches(
        self,
        *,
        size: Size = BATCH,
        start: tuple[int, int] = (0, 0),
        contexts: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> Iterator[TripleBatch]:
        """Yield all triples from a place on.

        Parameters
        ----------
        size
            How many rows are read for a batch at most; a function is asked before each. A batch has fewer triples
            where rows are left out, maybe none; and it never spans two files.
        start
            Where to begin: ``(batch.file, batch.end)`` goes on after a batch. The rows before are not looked at.
        contexts
            Whether contexts are wanted; if not, they are empty, and mistakes in them are not noticed.
        progress
            Told how many more bytes have been read, those before ``start`` included.

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
        tell = progress or _tell_nobody
        tell(sum(size or 0 for size in self.sizes[: start[0]]))
        for number, path in enumerate(self.files[start[0] :], start[0]):
            passed = start[1] if number == start[0] else 0
            rows = TripleRows(name_of(path), contexts=contexts, skip_bad=self.skip_bad)
            bad, empty = self.bad, self.empty
            part = TripleRange(number, path, rows.name)
            for end in read_range(part, rows, size, passed=passed, columns=self.columns, tell=tell):
                self.bad, self.empty = bad + rows.bad, empty + rows.empty
                yield TripleBatch(*rows.taken(), file=number, end=end)


def read_triples(
    paths: PathLike | Sequence[PathLike],
    *,
    columns: str | Sequence[str] | None = None,
    skip_bad: bool = False,
    progress: Callable[[int], object] | None = None,
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
    try:
        if places.is_folder(path):
            return _files_of_folder(name)
        places.byte_size(path)
    except OSError as error:
        raise DataError(unreadable(name_of(path), error)) from error
    if format_of(name) == "csv":
        raise DataError(f"{name}: triples are not read from CSV; write them as JSON lines, TSV or Parquet")
    return [name]


def _files_of_folder(folder: str) -> list[str]:
    found = places.files_below(folder)
    for file in found:
        name = places.base_name(file)
        form = format_of(name)
        if form not in _FORMATS or (form == "parquet" and name.lower().endswith(SUFFIXES)):
            raise DataError(
                f"{file}: the name does not tell that it holds triples (.jsonl, .tsv or .parquet), though it lies in a "
                "folder of them; move it elsewhere, or give the files one by one"
            )
        if not places.is_remote(file):
            places.byte_size(file)  # or say at once that it is not there: it may be a link to nowhere
    if not found:
        raise DataError(f"{folder} is a folder without any files; give one with .jsonl, .tsv or .parquet")
    return found


def _tell_nobody(_bytes: int) -> None:
    pass
