"""Outputs of systems, matching their names with those in other people's files, and values of segments from a table."""

from __future__ import annotations

import difflib
import json
import warnings
from bisect import bisect
from dataclasses import dataclass, replace
from itertools import chain, compress
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from trubleu.data.reference_files import id_field, text_field
from trubleu.data.titles import OUTPUT_TITLES, REFERENCE_TITLES
from trubleu.errors import DataError, TrubleuWarning, counted, nearest, shown, some
from trubleu.files.compression import without_suffix
from trubleu.files.formats import open_rows
from trubleu.files.jsonl import kind_of
from trubleu.files.parquet import table_of
from trubleu.files.paths import STDIN, base_name, check_standard_input_once, is_remote, is_standard, name_of
from trubleu.files.tables import check_no_table, find_fields, finite, tell_fields, whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from trubleu.data.references import References
    from trubleu.files.parquet import Frame
    from trubleu.files.paths import PathLike
    from trubleu.files.tables import Table


_WANTED = ("id", "text")
_FEW = 1000  # ids that difflib compares in well under a second


@dataclass(frozen=True, slots=True)
class Outputs:
    """What one system wrote.

    Attributes
    ----------
    name
        The system's name, the same in every command.
    texts
        One for each segment of the references, in their order.
    path
        The file they come from; ``-`` for standard input, and empty if they come from no file.
    """

    name: str
    texts: list[str]
    path: str

    @classmethod
    def from_frame(cls, frame: Frame, references: References, *, name: str) -> Outputs:
        """Take a system's outputs from a Polars or pandas frame and fit them to the references.

        Parameters
        ----------
        frame
            With a column ``text``. If there is also a column ``id``, rows are joined with the references by it, in any
            order; otherwise there is one row per segment, in the order of the references.
        references
            What the outputs are for.
        name
            The system's name.

        Raises
        ------
        DataError
            If a text is missing, with its row, counted from 1, or there is not exactly one output for each segment.

        Examples
        --------
        >>> import polars as pl
        >>> from trubleu.data import References
        >>> references = References.from_lists([["hi"], ["bye"]])
        >>> Outputs.from_frame(pl.DataFrame({"id": ["2", "1"], "text": ["bye", "hello"]}), references, name="greeter")
        Outputs(name='greeter', texts=['hello', 'bye'], path='')
        """
        return cls(name, _from_table(table_of(frame, _WANTED), references), "")


def parse_system(argument: str) -> tuple[str, str]:
    """Split ``NAME=PATH``, or find a name for ``PATH``.

    Parameters
    ----------
    argument
        ``NAME=PATH`` or ``PATH``. If there is a file or folder with the whole argument as its name, or it begins as an
        address does, it is a path.

    Returns
    -------
    name, path
        Without a name, the file's name less ``.gz`` or ``.zst`` and then one more suffix, and ``stdin`` for ``-``.

    Raises
    ------
    DataError
        If the name or the path is empty.

    Examples
    --------
    >>> parse_system("baseline=out/run1.txt"), parse_system("out/run1.txt.gz"), parse_system("-")
    (('baseline', 'out/run1.txt'), ('run1', 'out/run1.txt.gz'), ('stdin', '-'))
    >>> parse_system("s3://bucket/day=1/run1.txt"), parse_system("new=s3://bucket/day=2/run1.txt")
    (('run1', 's3://bucket/day=1/run1.txt'), ('new', 's3://bucket/day=2/run1.txt'))
    """
    name, equals, path = argument.partition("=")
    # Path.exists raises if the argument is too long for a name.
    if not equals or is_remote(argument) or exists(argument):  # noqa: PTH110
        name, path = _stem(argument), argument
    if not name:
        raise DataError(f"the system {shown(argument)} has an empty name; write NAME=PATH or PATH")
    if not path:
        raise DataError(f"the system {shown(argument)} has an empty path; write NAME=PATH or PATH")
    return name, path


def read_outputs(
    arguments: Sequence[str], references: References, *, columns: Mapping[str, str] | None = None
) -> list[Outputs]:
    """Read the outputs of systems and fit them to the references.

    A file whose name ends in ``.jsonl``, ``.ndjson`` or ``.json`` (then maybe ``.gz`` or ``.zst``) holds an object a
    line, ``{"id": …, "text": …}``, joined with the references by id in any order. A Parquet file has a column ``text``
    and, if it is to be joined, a column ``id``. A table (``.csv``, ``.tsv``, ``.xlsx``) has these columns, too, and
    with a column ``system`` it holds all systems. Any other file, and standard input, holds one text per line.

    Parameters
    ----------
    arguments
        ``NAME=PATH`` or ``PATH`` for each system (see `parse_system`).
    references
        What the outputs are for.
    columns
        The titles of the fields ``id``, ``system`` and ``text`` of tables that have them, where they cannot be told.

    Raises
    ------
    DataError
        If names clash, a file cannot be read, or it does not have exactly one output for each segment.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.data import References
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "greeter.txt"
    >>> _ = path.write_text("hello\\nbye\\n")
    >>> [(system.name, system.texts) for system in read_outputs([str(path)], References.from_lists([["hi"], ["bye"]]))]
    [('greeter', ['hello', 'bye'])]
    """
    return _read_all(arguments, references, columns, partial=False)


def read_partial_outputs(
    arguments: Sequence[str], references: References, *, columns: Mapping[str, str] | None = None
) -> dict[str, list[str | None]]:
    """Read outputs as `read_outputs` does, but a system need not have all segments: None stands for what it lacks.

    Raises
    ------
    DataError
        If names clash or a file cannot be read, as in `read_outputs`.
    """
    found = _read_all(arguments, references, columns, partial=True)
    return {each.name: list(each.texts) for each in found}


def _read_all(
    arguments: Sequence[str], references: References, columns: Mapping[str, str] | None, *, partial: bool
) -> list[Outputs]:
    systems = name_systems(arguments)
    check_standard_input_once(["-"] * (STDIN in references.source.split(", ")) + list(systems.values()))
    found: dict[str, Outputs] = {}
    for name, path in systems.items():
        texts = _read(path, references, columns, partial=partial)
        for own, outputs in texts.items():
            if (called := name if own is None else own) in found:
                raise DataError(f"two systems are named {called}; name them with NAME=PATH, or in the table")
            found[called] = Outputs(called, outputs, path)
    return list(found.values())


def _read(
    path: str, references: References, columns: Mapping[str, str] | None, *, partial: bool
) -> dict[str | None, list[str]]:
    """Read the outputs of one system, whose name is then None, or of the several systems of a table."""
    name = name_of(path)
    with open_rows(path, _WANTED, is_output_record) as (form, content):
        if form == "table":
            return _of_table(content, references, columns, partial=partial)
        if form == "parquet":
            return {None: _from_table(content, references, partial=partial)}
        if form == "jsonl":
            return {None: _joined(content, name, references, partial=partial)}
        texts = list(content)
    known = {*OUTPUT_TITLES, *chain.from_iterable(OUTPUT_TITLES.values()), "reference", "message", "context", "score"}
    check_no_table(name, texts, known)
    _check_count(len(texts), "line", name, references)
    return {None: texts}


def _of_table(
    table: Table, references: References, columns: Mapping[str, str] | None, *, partial: bool
) -> dict[str | None, list[str]]:
    # Several files share these titles, and need not all have them.
    given = {
        field: title for field, title in (columns or {}).items() if title in table.names and field in OUTPUT_TITLES
    }
    found = table.find(OUTPUT_TITLES, given)
    tell_fields(found, table.source)
    fields = {field: table.columns[title] for field, (title,) in found.items()}
    owners = fields.pop("system", [None] * table.height)
    plain = replace(table, columns=fields)
    return {
        owner: _from_table(
            plain.take([each == owner for each in owners]),
            references,
            whose=table.source if owner is None else f"{table.source}, system {owner},",
            partial=partial,
        )
        for owner in dict.fromkeys(owners)
    }


def name_systems(arguments: Sequence[str]) -> dict[str, str]:
    """Return the path of each system by name, from what was given on the command line.

    Raises
    ------
    DataError
        If names clash.

    Examples
    --------
    >>> name_systems(["runs/a.txt", "B=runs/b.txt.gz"])
    {'a': 'runs/a.txt', 'B': 'runs/b.txt.gz'}
    """
    if isinstance(arguments, str):
        raise DataError(f"systems must be given as a list, not as the string {shown(arguments)}; wrap it in a list")
    systems: dict[str, str] = {}
    for name, path in map(parse_system, arguments):
        if name in systems:
            raise DataError(
                f"two systems are named {name} ({name_of(systems[name])} and {name_of(path)}); name them with NAME=PATH"
            )
        systems[name] = path
    return systems


def is_output_record(line: str) -> bool:
    """Return whether a line is one output as JSON, though the file's name does not say so."""
    if not line.lstrip().startswith("{"):
        return False
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and {"id", "text"} <= record.keys()


def _from_table(table: Table, references: References, *, whose: str = "", partial: bool = False) -> list[str]:
    table.require("text")
    if "id" in table.columns:
        return _joined(table.rows(), whose or table.source, references, partial=partial)
    _check_count(table.height, "row", whose or table.source, references)
    return [text_field(record, "text", place) for place, record in table.rows()]


def output_id(record: Mapping[str, Any], place: str) -> str:
    """Return the id of an output, which must have one."""
    if (identity := id_field(record, place)) is None:
        raise DataError(f"{place}: the field id is missing; outputs are joined with references by id")
    return identity


def _check_count(count: int, what: str, name: str, references: References) -> None:
    if count and not len(references):
        raise DataError(f"{references.source} has no references; give a file with one line per segment")
    if count != len(references):
        raise DataError(
            f"{name} has {counted(count, what)} but {references.source} has {counted(len(references), 'segment')}; "
            f"outputs need one {what} per segment"
        )


def _joined(
    records: Iterable[tuple[str, Mapping[str, Any]]], name: str, references: References, *, partial: bool = False
) -> list[str]:
    """Return texts in the order of the references; what only one side has is refused, or left out and None."""
    positions = references.positions()
    texts: list[str | None] = [None] * len(references)
    unknown: dict[str, str] = {}
    for place, record in records:
        identity = output_id(record, place)
        text = text_field(record, "text", place)
        index = positions.get(identity)
        if index is None:
            unknown.setdefault(identity, place)
        elif texts[index] is not None:
            raise DataError(
                f"{place}: the id {shown(identity)} was already used above; give one output for each segment"
            )
        else:
            texts[index] = text
    missing = [identity for identity, text in zip(references.ids, texts, strict=True) if text is None]
    if unknown:
        given = chain(unknown, compress(references.ids, (text is not None for text in texts)))
        check_numbering(name, given, references.source, references.ids)
    if partial:
        return texts  # type: ignore[return-value]
    if len(unknown) > 1:
        raise DataError(
            f"{name} has {counted(len(unknown), 'id')} that {references.source} has not ({some(map(shown, unknown))})"
            + (f" and lacks {len(missing):,} of those ({some(map(shown, missing))})" if missing else "")
            + "; correct them, or score what both have with --only-common"
        )
    for identity, place in unknown.items():
        hint = nearest_ids(identity, references.ids)
        raise DataError(
            f"{place}: the id {shown(identity)} is not in {references.source}; {hint}; "
            "correct it, or score what both have with --only-common"
        )
    if missing:
        raise DataError(
            f"{name} has no output for {some(missing)}; give one for each id of {references.source}, "
            "or score what both have with --only-common"
        )
    return texts  # type: ignore[return-value]


def read_common(
    arguments: Sequence[str], references: References, *, columns: Mapping[str, str] | None = None
) -> tuple[References, list[Outputs]]:
    """Read outputs as `read_outputs` does, but leave out segments that not all systems and the references have.

    Returns
    -------
    references, outputs
        Those of the segments that are left.

    Raises
    ------
    DataError
        If nothing is left, or as in `read_outputs`.
    """
    found = _read_all(arguments, references, columns, partial=True)
    kept = [i for i, texts in enumerate(zip(*(each.texts for each in found), strict=True)) if None not in texts]
    if not kept:
        raise DataError(f"no id of {references.source} is in all files of outputs; check what their ids are")
    if left_out := len(references) - len(kept):
        what = f"{counted(left_out, 'segment')} of {references.source} left out, as not all systems have them"
        warnings.warn(what, TrubleuWarning, stacklevel=2)
    return references.take(kept), [Outputs(each.name, [each.texts[i] for i in kept], each.path) for each in found]


def check_numbering(name: str, ids: Iterable[str], source: str, known: Collection[str]) -> None:
    """Raise an error for ids that count from 0 where others count from 1, or the other way round.

    All but one of them are known, and each means its neighbour.

    Parameters
    ----------
    name
        The file that has the ids, for messages.
    ids
        Its ids.
    source
        The file, or whatever else, with the known ids.
    known
        The known ids.

    Examples
    --------
    >>> check_numbering("out.jsonl", ["1", "2", "3"], "refs.jsonl", ["1", "2", "4"])
    >>> check_numbering("out.jsonl", ["1", "2", "3"], "refs.jsonl", ["0", "1", "2"])
    Traceback (most recent call last):
    trubleu.errors.DataError: out.jsonl numbers its texts from 1 and refs.jsonl from 0, so ...
    """
    theirs = {*ids}
    if theirs <= {*known}:
        return
    theirs_span, ours_span = _span(theirs), _span(known)
    if theirs_span is None or ours_span is None or len({*known}) != ours_span[1] - ours_span[0] + 1:
        return
    (low, high), (first, last) = theirs_span, ours_span
    start = 0 if low == 0 and first == 1 and high < last else 1 if low > 0 == first and high == last + 1 else None
    if start is not None:
        raise DataError(
            f"{name} numbers its texts from {start} and {source} from {1 - start}, so each would meet the one before "
            "or after its own; number both from 0 or both from 1"
        )


def _span(ids: Iterable[str]) -> tuple[int, int] | None:
    """Return the lowest and the highest of ids that are all whole numbers."""
    numbers = [whole(each) for each in ids]
    found = [each for each in numbers if isinstance(each, int)]
    return (min(found), max(found)) if found and len(found) == len(numbers) else None


def nearest_ids(wrong: str, ids: Sequence[str]) -> str:
    """Name the ids closest to a wrong one, without comparing it to a million others."""
    if len(ids) > _FEW:
        known = sorted(ids)
        at = bisect(known, wrong)
        candidates: Sequence[str] = known[max(0, at - _FEW // 2) : at + _FEW // 2]
    else:
        candidates = ids
    close = difflib.get_close_matches(wrong, candidates, n=3)
    return nearest(wrong, close) if close else f"known: {some(ids)}" if ids else "there are no segments"


def _stem(path: str) -> str:
    if is_standard(path):
        return "stdin"
    return Path(without_suffix(base_name(path))).stem


_SYSTEM_ENDINGS = (".txt", ".sgm")


def match_systems(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Find out which system is meant by each name.

    Names that are equal go together first; then, among what is left, those that are equal without a ``.txt`` or
    ``.sgm`` at the end; then those of which one is the other up to a dot, as ``newstest2015.online-B.0`` is of
    ``newstest2015.online-B.0.de-en.txt``.

    Parameters
    ----------
    names
        As somebody else writes them, for example in rankings.
    known
        The systems that there are.

    Returns
    -------
    dict
        The known name for each of ``names`` that has one, in their order; the others are left out.

    Raises
    ------
    DataError
        If a name could mean two systems, or two names the same.

    Examples
    --------
    >>> match_systems(["wmt.A.1.de-en.txt", "wmt.B.2.de-en.txt", "wmt.C.3.de-en.txt"], ["wmt.A.1", "wmt.B.2.de-en"])
    {'wmt.A.1.de-en.txt': 'wmt.A.1', 'wmt.B.2.de-en.txt': 'wmt.B.2.de-en'}
    """
    names, unused = dict.fromkeys(names), dict.fromkeys(known)
    found: dict[str, str] = {}
    for fits in (str.__eq__, lambda one, other: _system_stem(one) == _system_stem(other), _up_to_a_dot):
        partner: dict[str, dict[str, str]] = {"name": {}, "system": {}}
        for name in (each for each in names if each not in found):
            for system in unused:
                if not fits(name, system):
                    continue
                for kind, one, other in (("name", name, system), ("system", system, name)):
                    if (first := partner[kind].setdefault(one, other)) != other:
                        raise DataError(
                            f"the system {shown(one)} could be {' or '.join(sorted((first, other)))}; name the outputs "
                            "as they are named there, NAME=PATH"
                        )
        found |= partner["name"]
        unused = {system: None for system in unused if system not in partner["system"]}
    return {name: found[name] for name in names if name in found}


def _system_stem(name: str) -> str:
    return next((name.removesuffix(ending) for ending in _SYSTEM_ENDINGS if name.endswith(ending)), name)


def _up_to_a_dot(name: str, system: str) -> bool:
    name, system = _system_stem(name), _system_stem(system)
    return name.startswith(f"{system}.") or system.startswith(f"{name}.")


Value: TypeAlias = str | float | None
"""What a segment has there; None for nothing."""


def read_segment_values(path: PathLike, field: str, references: References) -> list[Value]:
    """Read what each segment has in a column of a table, or in a field of JSON lines.

    Rows are joined with segments by id, or by their order if none has an id. Texts that are all numbers become numbers.

    Parameters
    ----------
    path
        The table (``.csv``, ``.tsv``, ``.xlsx``, ``.parquet``) or the JSON lines, such as the file of the references.
    field
        The title of the column, or the name of the field.
    references
        Whose segments these are.

    Raises
    ------
    DataError
        If there is no such column, it fits no segment, or two rows of a segment disagree.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.data import References
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "topics.csv"
    >>> _ = path.write_text("id,topic\\n2,food\\n1,music\\n")
    >>> read_segment_values(path, "topic", References.from_lists([["hi"], ["bye"]]))
    ['music', 'food']
    """
    name = name_of(path)
    rows, known = _rows(path, name, field)
    if field not in known:
        raise DataError(f"{name} has no column {shown(field)}; {nearest(field, known)}")
    positions = references.positions()
    keys: Sequence[str] = [base_name(place) if identity is None else identity for place, identity, _ in rows]
    if all(identity is None for _, identity, _ in rows) and not any(key in positions for key in keys):
        if len(rows) != len(references):
            raise DataError(
                f"{name} has {len(rows):,} rows for {len(references):,} segments; give one for each, or a column id"
            )
        keys = references.ids
    check_numbering(name, keys, references.source, references.ids)
    values: list[Any] = [None] * len(references)
    fitted = False
    for key, (place, _, value) in zip(keys, rows, strict=True):
        if (at := positions.get(key)) is None:
            continue
        fitted = True
        if isinstance(value, list | dict):
            raise DataError(f"{place}: {field} must be a text or a number to sort segments by, not {kind_of(value)}")
        if isinstance(value, bool):
            value = str(value).lower()
        if value is None or value == "":
            continue
        if values[at] not in (None, value):
            raise DataError(
                f"{place}: {field} is {shown(str(value))}, but {shown(str(values[at]))} in another row of this segment"
            )
        values[at] = value
    if not fitted:
        raise DataError(f"{name} has no id of {references.source}; check which file --by names")
    return _numbers(values)


def _rows(path: PathLike, name: str, field: str) -> tuple[list[tuple[str, str | None, Any]], list[str]]:
    """Return the places, ids and values of all rows, and the names of all columns."""
    with open_rows(path, {"id", field}, lambda first: first.lstrip().startswith("{")) as (form, content):
        if form == "text":
            raise DataError(
                f"{name} has no column {shown(field)}, as it holds one text per line; "
                f"name a table or JSON lines that has it: --by {field}=FILE"
            )
        if form == "table":
            found = find_fields(content.names, {"id": REFERENCE_TITLES["id"]}, None, f"{name}: the first row")
            title = found["id"][0] if "id" in found else None
            rows = [(place, row[title] if title else None, row.get(field, "")) for place, row in content.rows()]
            return rows, [*content.names]
        records = list(content.rows() if form == "parquet" else content)
        known = content.names if form == "parquet" else dict.fromkeys(chain.from_iterable(row for _, row in records))
        return [(place, id_field(row, place), row.get(field)) for place, row in records], [*known]


def _numbers(values: Sequence[Any]) -> list[Value]:
    texts = [value for value in values if isinstance(value, str)]
    if all(finite(text) is not None for text in texts):
        return [
            finite(value) if isinstance(value, str) else None if value is None else float(value) for value in values
        ]
    return [value if value is None or isinstance(value, str) else f"{value:g}" for value in values]
