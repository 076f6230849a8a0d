"""Outputs of systems: which file belongs to which name, and its texts in the order of the references."""

from __future__ import annotations

import difflib
from bisect import bisect
from dataclasses import dataclass
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING

from trubleu.data.files import STDIN, check_standard_input_once, is_standard, iterate_lines, name_of, read_text_lines
from trubleu.data.jsonl import id_field, is_json_name, parse_objects, text_field
from trubleu.data.weights import shown
from trubleu.errors import DataError, nearest, some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trubleu.data.references import References

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
        The file they come from; ``-`` for standard input.
    """

    name: str
    texts: list[str]
    path: str


def parse_system(argument: str) -> tuple[str, str]:
    """Split ``NAME=PATH``, or find a name for ``PATH``.

    Parameters
    ----------
    argument
        ``NAME=PATH`` or ``PATH``. If there is a file with the whole argument as its name, it is a path.

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
    """
    name, equals, path = argument.partition("=")
    if not equals or isfile(argument):  # noqa: PTH113 - Path.is_file raises if the argument is too long for a name
        name, path = _stem(argument), argument
    if not name:
        raise DataError(f"the system {shown(argument)} has an empty name; write NAME=PATH or PATH")
    if not path:
        raise DataError(f"the system {shown(argument)} has an empty path; write NAME=PATH or PATH")
    return name, path


def read_outputs(arguments: Sequence[str], references: References) -> list[Outputs]:
    """Read the outputs of systems and fit them to the references.

    A file whose name ends in ``.jsonl``, ``.ndjson`` or ``.json`` (then maybe ``.gz``) holds an object a line,
    ``{"id": …, "text": …}``, joined with the references by id in any order. Any other file, and standard input, holds
    one text a line.

    Parameters
    ----------
    arguments
        ``NAME=PATH`` or ``PATH`` for each system (see `parse_system`).
    references
        What the outputs are for.

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
    if isinstance(arguments, str):
        raise DataError(f"systems must be given as a list, not as the string {shown(arguments)}; wrap it in a list")
    systems = [parse_system(argument) for argument in arguments]
    taken: dict[str, str] = {}
    for name, path in systems:
        if name in taken:
            raise DataError(
                f"two systems are named {name} ({name_of(taken[name])} and {name_of(path)}); name them with NAME=PATH"
            )
        taken[name] = path
    check_standard_input_once(["-"] * (STDIN in references.source.split(", ")) + [path for _, path in systems])
    return [Outputs(name, _read(path, references), path) for name, path in systems]


def _read(path: str, references: References) -> list[str]:
    if not is_standard(path) and is_json_name(path):
        return _read_joined(path, references)
    texts = read_text_lines(path)
    if len(texts) != len(references):
        raise DataError(
            f"{name_of(path)} has {len(texts)} lines but {references.source} has {len(references)} segments; "
            "outputs need one line a segment"
        )
    return texts


def _read_joined(path: str, references: References) -> list[str]:
    positions = references.positions()
    texts: list[str | None] = [None] * len(references)
    for place, record in parse_objects(iterate_lines(path), name_of(path)):
        identity = id_field(record, place)
        if identity is None:
            raise DataError(f"{place}: the field id is missing; outputs are joined with references by id")
        text = text_field(record, "text", place)
        index = positions.get(identity)
        if index is None:
            hint = _hint(identity, references.ids)
            raise DataError(f"{place}: the id {shown(identity)} is not in {references.source}; {hint}")
        if texts[index] is not None:
            raise DataError(
                f"{place}: the id {shown(identity)} was already used above; give one output for each segment"
            )
        texts[index] = text
    missing = [identity for identity, text in zip(references.ids, texts, strict=True) if text is None]
    if missing:
        raise DataError(
            f"{name_of(path)} has no output for {some(missing)}; give one for each id of {references.source}"
        )
    return texts  # type: ignore[return-value]


def _hint(wrong: str, ids: Sequence[str]) -> str:
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
    name = Path(path).name
    for suffix in (".gz", ".zst"):
        name = name.removesuffix(suffix) or name
    return Path(name).stem
