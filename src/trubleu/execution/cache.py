"""A cache of partition results in a folder, so that interrupted work can be resumed.

A result is found again by what it was made from: the partition's content and everything else that it depends on. Each
is a file that appears whole or not at all, written by the worker; nothing in the folder is ever changed, only replaced
if it is damaged, so that it needs no lock, and what nobody asks for does no harm.
"""

from __future__ import annotations

import hashlib
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic

from trubleu.errors import DataError, EngineError
from trubleu.execution.base import Partition, Result, State
from trubleu.files import paths
from trubleu.files.arrays import ArrayFile, Kind, write_arrays
from trubleu.files.paths import unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

KIND: Final = Kind(magic=b"TBresult", version=1, name="a kept result", remedy="remove it")

Packed = tuple[dict[str, Any], "Mapping[str, NDArray[Any]]"]
"""A result as a file holds it: plain values, and arrays of one dimension."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept(Generic[Partition, State, Result]):
    """A function whose results are kept; mapped in place of the function itself.

    Attributes
    ----------
    function
        Takes a partition and a state.
    folder
        Where results are kept; workers must find it under the same path.
    content
        Yields all that a partition's result depends on, as bytes.
    pack, unpack
        Turn a result into what a file holds, or None if it is not to be kept, and back; what is no such content may
        raise DataError or any of the errors that lists, dictionaries and numbers raise.
    """

    function: Callable[[Partition, State], Result]
    folder: str
    content: Callable[[Partition], Iterable[bytes]]
    pack: Callable[[Result], Packed | None]
    unpack: Callable[[dict[str, Any], Callable[[str], NDArray[Any]]], Result]

    def __call__(self, partition: Partition, state: State) -> Result:
        """Return the result that was kept, or work and keep it.

        Raises
        ------
        EngineError
            If it cannot be kept or read, which says nothing about the partition's data.
        """
        key = self._key(partition)
        path = paths.joined(self.folder, f"{key}.result")
        try:
            with _on_this_machine(path) as file:
                kept = ArrayFile(file, KIND)
            if kept.header.pop("key", None) == key:  # otherwise it was renamed
                return self.unpack(kept.header, kept.array)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise EngineError(unreadable(path, error)) from error
        except DataError as error:
            # It may be whole all the same, so that it is neither removed nor made again.
            if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError):
                raise EngineError(str(error)) from error
        except (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError):
            pass  # the file is whole, but nobody who packs results made it
        result = self.function(partition, state)
        if (packed := self.pack(result)) is not None:
            header, arrays = packed
            try:
                write_arrays(path, KIND, {**header, "key": key}, arrays)
            except DataError as error:
                raise EngineError(str(error)) from error
        return result

    def _key(self, partition: Partition) -> str:
        digest = hashlib.blake2b(digest_size=32)
        for part in self.content(partition):
            # With its length, so that moving a byte from one part to the next makes another content.
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
        return digest.hexdigest()


@contextmanager
def _on_this_machine(path: str) -> Iterator[str]:
    """Give a file to be mapped into memory; a copy of one elsewhere has no name once it is, so that none pile up."""
    if not paths.is_remote(path):
        yield path
        return
    from trubleu.files.remote import fetch

    with tempfile.TemporaryDirectory(prefix="trubleu-") as folder:
        copy = str(Path(folder, "kept"))
        fetch(path, copy)
        yield copy
