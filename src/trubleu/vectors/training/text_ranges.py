"""A corpus cut into ranges of lines by bytes, each of which can be read alone.

A line belongs to the range in which it begins, so nobody needs to count lines beforehand, and where a range ends is for
its reader to find. A compressed file is one range, since it can only be read from its start, and so is a pipe.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trubleu.errors import DataError
from trubleu.files import paths as places
from trubleu.files.compression import is_packed
from trubleu.files.lines import decode_lines, lines_of_blocks
from trubleu.files.paths import is_standard, name_of, unreadable
from trubleu.files.ranges import SourceFile, count_lines, digest_of, shorter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trubleu.files.paths import PathLike

RANGE: Final = 1 << 25
"""Bytes of a range: some tenths of a second of work, to be lost with a worker or done again after Ctrl-C."""


@dataclass(frozen=True, slots=True)
class TextRange:
    """Some lines of a plain file, or a whole one that cannot be cut.

    Attributes
    ----------
    number
        Which range of the corpus it is.
    path, name
        The file, wherever it is read from, and as messages call it.
    first, end
        Its lines are those that begin with these bytes; no end for a file that cannot be cut.
    size
        How many bytes the file has, if it can be cut.
    comes_once
        Whether it can be read only once, and only in this process.
    """

    number: int
    path: str
    name: str
    first: int = 0
    end: int | None = None
    size: int = 0
    comes_once: bool = False

    def __str__(self) -> str:
        if self.end is None or self.end - self.first == self.size:
            return self.name
        return f"{self.name}, bytes {self.first + 1:,} to {self.end:,}"

    def lines(self, told: Callable[[bytes], object]) -> Iterator[list[str]]:
        """Yield the lines in lists of any length.

        Parameters
        ----------
        told
            Told of the bytes as they are read, such as ``update`` of a hash.

        Raises
        ------
        DataError
            If they cannot be read, or are not UTF-8; a line is then named by its number in the range (see `located`).
        """
        yield from self._lines(told, str(self) if self.first else self.name, 0)

    def located(self, message: str) -> str:
        """Return what `lines` raised, with the number of the line in the file, which takes a pass through the file."""
        if self.first and message.startswith(f"{self}:"):
            try:
                for _ in self._lines(lambda _block: None, self.name, self._lines_before()):
                    pass
            except DataError as error:
                return str(error)
        return message

    def digest(self) -> str:
        """Return what differs if the lines do."""
        return digest_of(self._blocks()).hex()

    def _lines(self, told: Callable[[bytes], object], name: str, number: int) -> Iterator[list[str]]:
        def heard() -> Iterator[tuple[int, bytes]]:
            for start, block in self._blocks():
                told(block)
                yield start, block

        return lines_of_blocks(heard(), name, decode_lines, number)

    def _lines_before(self) -> int:
        start, _ = next(self._blocks(), (0, b""))
        return sum(count_lines(SourceFile(self.path, self.name), 0, start).newlines)

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of the lines, each block with the byte at which it begins."""
        if self.end is None:
            yield from self._all_blocks()
            return
        at = max(self.first - 1, 0)
        inside = self.first == 0
        for block in SourceFile(self.path, self.name).blocks(at):
            start, at = at, at + len(block)
            if not inside:
                # The line before ends here, or has not ended yet.
                cut = block.find(b"\n") + 1
                inside = cut > 0
                if (start + cut if inside else at) >= self.end:
                    return
                block, start = block[cut:], start + cut
                if not inside:
                    continue
            if at >= self.end and (last := block.find(b"\n", max(self.end - 1 - start, 0))) >= 0:
                yield start, block[: last + 1]
                return
            yield start, block
        if at < self.end:
            raise shorter(self.name)

    def _all_blocks(self) -> Iterator[tuple[int, bytes]]:
        return ((0, block) for block in SourceFile(self.path, self.name).blocks(packed=True))


def text_ranges(paths: Sequence[PathLike]) -> list[TextRange]:
    """Cut a corpus into ranges, which depend on nothing but the files.

    Raises
    ------
    DataError
        If a file cannot be read.
    """
    ranges: list[TextRange] = []
    for path in paths:
        name = name_of(path)
        if comes_once(path):
            ranges.append(TextRange(len(ranges), str(path), name, comes_once=True))
            continue
        try:
            packed = is_packed(places.first_bytes(path, 4))
            size = places.byte_size(path)
        except OSError as error:
            raise DataError(unreadable(name, error)) from error
        where = places.absolute(path)
        if packed:
            ranges.append(TextRange(len(ranges), where, name))
            continue
        for first in range(0, size, RANGE):
            ranges.append(TextRange(len(ranges), where, name, first, min(first + RANGE, size), size))
    return ranges


def comes_once(path: PathLike) -> bool:
    """Return whether a file can be read only once, as standard input and other pipes."""
    return is_standard(path) or (places.exists(path) and not places.is_file(path) and not places.is_folder(path))


def fingerprints(ranges: Sequence[TextRange], contents: Sequence[str]) -> list[tuple[str, str]]:
    """Return what tells one corpus from another: the files' names, and a hash of what is in each.

    Parameters
    ----------
    ranges
        All ranges of the corpus.
    contents
        A hash of the text of each.
    """
    files: list[tuple[str, list[str]]] = []
    for text, content in zip(ranges, contents, strict=True):
        if text.first == 0:
            files.append((text.name if text.comes_once else places.base_name(text.path), []))
        files[-1][1].append(content)
    return [(name, hashlib.blake2b("".join(each).encode(), digest_size=32).hexdigest()) for name, each in files]
