"""Writing triples in any number: streamed, and whole or not at all."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from contextlib import ExitStack, suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trubleu.data.extras import polars_module
from trubleu.data.files import atomic_writer, check_writable
from trubleu.data.formats import format_to_write
from trubleu.data.frames import check_storable
from trubleu.data.jsonl import json_line
from trubleu.data.places import identity, is_remote
from trubleu.data.triple_rows import FIELDS
from trubleu.data.weights import shown
from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from trubleu.data.files import PathLike
    from trubleu.data.formats import Format
    from trubleu.data.triples import Triple

_PART = 1 << 16  # triples written at once
_COPIED = 1 << 20  # bytes copied at once
_FORMATS: tuple[Format, ...] = ("jsonl", "tsv", "parquet")


def write_triples(path: PathLike, triples: Iterable[Triple], *, progress: Callable[[int], object] | None = None) -> int:
    """Write triples to a file that appears whole or not at all, without holding all of them.

    Parameters
    ----------
    path
        The name tells the format: ``.jsonl`` or ``.tsv`` (then maybe ``.gz`` or ``.zst``), or ``.parquet``. ``-`` is
        standard output, which gets JSON lines.
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
        If the name tells no format, the file cannot be written, or a triple does not fit into the format: a
        tab-separated file holds one turn of context at most, and neither tabs nor line ends in a text.
    MissingExtraError
        If a package that the format needs is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.data import Triple, read_triples
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "triples.tsv"
    >>> write_triples(path, [Triple("7", ("hi !",), "how are you ?", "fine")])
    1
    >>> path.read_text()
    'id\\tcontext\\tmessage\\tresponse\\n7\\thi !\\thow are you ?\\tfine\\n'
    """
    form = format_to_write(path, _FORMATS)
    parts = _parts(triples, progress or (lambda _count: None))
    if form == "parquet":
        return _write_parquet(path, parts)
    written = 0
    with atomic_writer(path) as stream:
        if form == "tsv":
            stream.write("\t".join(FIELDS) + "\n")
        line = _tsv_line if form == "tsv" else _json_line
        for part in parts:
            stream.writelines(map(line, part))
            written += len(part)
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
        staged: list[tuple[Path, Path]] = []
        to_send: list[tuple[Path, str]] = []
        for target, triples in targets:
            place = Path(target).resolve()
            folder = Path(tempfile.gettempdir()) if is_remote(target) else place.parent
            temporary = folder / f".trubleu-{secrets.token_hex(8)}.{place.name}"
            stack.callback(_remove, temporary)
            try:
                write_triples(temporary, triples)
            except DataError as error:  # which knows the wrong name
                raise DataError(str(error).replace(str(temporary), target)) from error
            if is_remote(target):
                to_send.append((temporary, target))
                continue
            if place.exists():
                shutil.copymode(place, temporary)
            staged.append((temporary, place))
        for temporary, target in to_send:
            with temporary.open("rb") as whole, atomic_writer(target, "wb") as stream:
                shutil.copyfileobj(whole, stream, _COPIED)
        for temporary, place in staged:  # nothing is left to do that could fail, short of a failing disk
            temporary.replace(place)


def check_together(targets: Sequence[str]) -> None:
    """Refuse targets that `write_together` could not write, before any work is done."""
    places: dict[str, str] = {}
    for target in targets:
        if target == "-":
            raise UsageError("several files are written together, so none can be standard output; give file names")
        check_writable(target)
        format_to_write(target, _FORMATS)
        place = identity(target)
        if place in places:
            raise UsageError(f"{places[place]} and {target} are the same file; give two")
        if not is_remote(target) and Path(place).exists() and not Path(place).is_file():
            raise UsageError(f"{target} is no file that could be replaced; give the name of one")
        places[place] = target


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _parts(triples: Iterable[Triple], progress: Callable[[int], object]) -> Iterator[list[Triple]]:
    rest = iter(triples)
    while part := list(islice(rest, _PART)):
        yield part
        progress(len(part))


def _json_line(triple: Triple) -> str:
    record: dict[str, Any] = {
        "id": triple.id,
        "context": triple.context,
        "message": triple.message,
        "response": triple.response,
    }
    return json_line(record) + "\n"


def _tsv_line(triple: Triple) -> str:
    if len(triple.context) > 1:
        raise DataError(
            f"the triple {shown(triple.id)} has {len(triple.context)} turns of context, and a tab-separated file holds "
            "one at most; write a .jsonl or .parquet file"
        )
    cells = (triple.id, *(triple.context or ("",)), triple.message, triple.response)
    line = "\t".join(cells)
    if line.count("\t") != len(FIELDS) - 1 or "\n" in line or "\r" in line:
        raise DataError(
            f"the triple {shown(triple.id)} holds a tab or a line end, which a tab-separated file cannot; write a "
            ".jsonl or .parquet file"
        )
    if not line.isascii():
        check_storable(cells, f"the triple {shown(triple.id)}: field")
    return line + "\n"


def _write_parquet(path: PathLike, parts: Iterator[list[Triple]]) -> int:
    """Write parts into files of their own, and then one after the other into one."""
    polars = polars_module()
    check_writable(path)
    files: list[Path] = []
    written = 0
    try:
        beside = None if is_remote(path) else Path(path).resolve().parent
        with tempfile.TemporaryDirectory(prefix=".trubleu-", dir=beside) as folder:
            for part in chain(parts, [[]]):  # an empty one last: there may be no other
                files.append(Path(folder, f"{len(files):06}.parquet"))
                _frame(polars, part).write_parquet(files[-1])
                written += len(part)
            whole = Path(folder, "whole.parquet")
            polars.scan_parquet(files).sink_parquet(whole)
            with whole.open("rb") as source, atomic_writer(path, "wb") as stream:
                shutil.copyfileobj(source, stream, _COPIED)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DataError(f"{path} cannot be written: {reason}; nothing was changed") from error
    return written


def _frame(polars: Any, part: list[Triple]) -> Any:
    texts = {name: [getattr(triple, name) for triple in part] for name in FIELDS if name != "context"}
    turns = [turn for triple in part for turn in triple.context or (None,)]
    for name, column in {**texts, "context": turns}.items():
        check_storable(column, name)
    rows = [row for row, triple in enumerate(part) for _ in triple.context or (None,)]
    # Several times as fast as from lists of lists.
    flat = polars.DataFrame({"row": rows, "context": turns}, schema={"row": polars.UInt32, "context": polars.String})
    lists = flat.group_by("row", maintain_order=True).agg(polars.col("context").drop_nulls())
    frame = polars.DataFrame(texts, schema=dict.fromkeys(texts, polars.String))
    return frame.with_columns(lists.get_column("context")).select(FIELDS)
