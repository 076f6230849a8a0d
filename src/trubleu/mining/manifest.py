"""The manifest of an index: its options and shards. It is replaced last, so an index changes atomically.

The manifest contains its own checksum, so an incomplete or altered one is rejected.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from trubleu._version import __version__
from trubleu.errors import DataError, TrubleuWarning, UsageError, some
from trubleu.execution.serialization import typed
from trubleu.files.jsonl import parse_json
from trubleu.files.lines import iterate_lines
from trubleu.files.paths import is_remote, joined, name_of, open_binary, read_whole
from trubleu.files.writer import atomic_writer
from trubleu.mining.shard import MOST_TRIPLES, ShardInfo
from trubleu.native import kernels
from trubleu.text import tokenizer
from trubleu.text.tokenizers import OWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from trubleu.files.paths import PathLike


MANIFEST: Final = "index.json"
REMEDY: Final = "remove the folder and index the corpus again"
"""What to do about an index that cannot be used, to end a message with."""

_WHAT: Final = "an index of triples"
_VERSION: Final = 1
_ZEROS: Final = "0" * 16  # in place of the checksum while it is computed


def write_fields(path: PathLike, fields: Mapping[str, Any]) -> str:
    """Write the fields of a manifest atomically, and return its checksum.

    Raises
    ------
    DataError
        If it cannot be written; an older one stays.
    """
    head = {"what": _WHAT, "version": _VERSION, "checksum": _ZEROS}
    blank = json.dumps(head | {**fields, **head}, indent=1) + "\n"
    checksum = _checksum(blank)
    with atomic_writer(path) as stream:
        stream.write(blank.replace(_ZEROS, checksum, 1))
    if not is_remote(path):
        sync_folder(Path(path).parent)
    return checksum


def read_fields(path: PathLike) -> dict[str, Any]:
    """Return the fields of a manifest, with its checksum.

    Raises
    ------
    DataError
        If it cannot be read, is something else or of another version, or any byte of it is not what was written.
    """
    data = read_whole(path)
    try:
        text = data.decode()
        fields: dict[str, Any] = parse_json(text)
        what, version, checksum = fields.pop("what"), fields.pop("version"), fields["checksum"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise altered(path, "it is not whole") from None
    if what != _WHAT or type(version) is not int or type(checksum) is not str:
        raise altered(path, f"it is not {_WHAT}")
    if version != _VERSION:
        age = "a newer" if version > _VERSION else "an older"
        raise DataError(
            f"{os.fspath(path)} was made by {age} TruBLEU (its format is {version}, this one reads {_VERSION}); "
            f"use that one, or {REMEDY}"
        )
    if _checksum(text.replace(checksum, _ZEROS, 1)) != checksum:
        raise altered(path, "its checksum does not fit")
    return fields


def altered(path: PathLike, what: str) -> DataError:
    """Return the error for altered contents."""
    return DataError(f"{os.fspath(path)} was altered or damaged ({what}); copy it again, or {REMEDY}")


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power failure, where the operating system supports it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # no permission to list the folder, or a system that cannot open folders
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _checksum(text: str) -> str:
    return f"{kernels.checksum(np.frombuffer(text.encode(), np.uint8)):016x}"


SHARD_NAME: Final = re.compile(r"shard-\d{5,}(-\d{2,}-[0-9a-f]{12})?\.tbx")
"""Pattern of shard file names; a manifest that lists any other name is rejected."""


def shard_name(part: int, number: int, options: IndexOptions, info: ShardInfo, *, piece: int = 0) -> str:
    """Return the file name of a shard, which is unique to its content.

    So it does not matter which worker writes it, or how often, even if a stalled worker writes late.

    Parameters
    ----------
    part, number
        Which part of the corpus it was made of, and which shard of that part it is.
    options
        What it was made with.
    info
        What it holds.
    piece
        Of which piece of the part it is, if that was taken apart.

    Examples
    --------
    >>> options = IndexOptions(tokenize="13a", tokenizer="13a", lowercase=True, stop_words=(), shard_triples=10)
    >>> shard_name(3, 0, options, ShardInfo(1, 2, 2, "00000000000000ff"))[:15]
    'shard-00003-00-'
    """
    held = json.dumps([__version__, piece, asdict(options), asdict(info)]).encode()
    return f"shard-{part:05}-{number:02}-{hashlib.blake2b(held, digest_size=6).hexdigest()}.tbx"


_CHECKSUM: Final = slice(8, 16)  # of the header of an array file, which holds the checksums of all arrays


def _header_checksum(path: PathLike) -> str:
    """Return the checksum of a shard's header, by which the manifest identifies the file; empty if it has none."""
    with open_binary(path) as stream:
        return stream.read(_CHECKSUM.stop)[_CHECKSUM].hex()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedShard:
    """A shard as the manifest lists it.

    Attributes
    ----------
    file
        The name of its file in the index's folder.
    checksum
        That of the file's header, which has those of all arrays.
    triples, message_words, response_words
        How many it holds.
    content
        Fingerprint of its triples.
    """

    file: str
    checksum: str
    triples: int
    message_words: int
    response_words: int
    content: str

    def __post_init__(self) -> None:
        named = SHARD_NAME.fullmatch(self.file) and re.fullmatch("[0-9a-f]{16}", self.checksum)
        if not named or self.info.triples < 1:
            raise ValueError(self.file)

    @classmethod
    def of(cls, folder: PathLike, file: str, info: ShardInfo) -> Self:
        """Return how the manifest lists a shard that was written."""
        return cls(file=file, checksum=_header_checksum(joined(folder, file)), **asdict(info))

    def check(self, folder: PathLike, remedy: str) -> None:
        """Raise an error for a file that is not this shard.

        Raises
        ------
        DataError
            If it is missing, or another one.
        """
        file = joined(folder, self.file)
        try:
            same = _header_checksum(file) == self.checksum
        except FileNotFoundError:
            raise DataError(f"{file} is missing; {remedy}") from None
        except OSError as error:
            raise DataError(f"{file} cannot be read: {error.strerror or error}; {remedy}") from error
        if not same:
            raise DataError(f"{file} is not the shard that was written there; {remedy}")

    @property
    def part(self) -> int:
        """Number of the part of the corpus that it was built from."""
        return int(self.file.removesuffix(".tbx").split("-")[1])

    @property
    def info(self) -> ShardInfo:
        """Summary that the shard file must match."""
        return ShardInfo(self.triples, self.message_words, self.response_words, self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source of triples.

    Attributes
    ----------
    name
        The file as it was given.
    triples
        How many of it are in the index.
    """

    name: str
    triples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOptions:
    """The options of an index, shared by all of its shards.

    Attributes
    ----------
    tokenize
        The tokenizer's name.
    tokenizer
        What signatures call it, with its version if it has one.
    lowercase
        Whether texts were lower-cased.
    stop_words
        Words that were left out, sorted.
    shard_triples
        How many triples a shard holds at most.
    """

    tokenize: str
    tokenizer: str
    lowercase: bool
    stop_words: tuple[str, ...]
    shard_triples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The manifest of an index: its options, shards, and sources.

    Attributes
    ----------
    options
        What it was made with.
    shards
        Its shards, in the order of the corpus.
    sources
        The files that were indexed.
    bad, empty
        Rows that were left out because a field was missing or wrong, or a message or response was blank.
    checksum
        That of the manifest itself, once it has been written.
    """

    options: IndexOptions
    shards: tuple[ListedShard, ...]
    sources: tuple[Source, ...]
    bad: int
    empty: int
    checksum: str = ""

    @property
    def triples(self) -> int:
        """Total number of triples."""
        return sum(shard.triples for shard in self.shards)

    def write(self, folder: PathLike) -> Self:
        """Write this as the manifest of an index, and return it with its checksum.

        Raises
        ------
        DataError
            If it cannot be written; the one before stays.
        """
        return replace(self, checksum=write_fields(joined(folder, MANIFEST), asdict(self)))

    @classmethod
    def read(cls, folder: PathLike) -> Self:
        """Read the manifest of an index.

        Raises
        ------
        DataError
            If there is none, it is not what was written, or the tokenizer made other tokens then.
        """
        path = joined(folder, MANIFEST)
        found = read_fields(path)
        if isinstance(options := found.get("options"), dict):
            # The first format stored only the tokenizer's name, before tokenizers had versions.
            options.setdefault("tokenizer", options.get("tokenize"))
        try:
            manifest: Self = typed(cls, found)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise altered(path, "it has fields that cannot be") from None
        if not manifest.shards or len({shard.file for shard in manifest.shards}) != len(manifest.shards):
            raise altered(path, "its list of shards cannot be")
        name, made_with = manifest.options.tokenize, manifest.options.tokenizer
        if name in OWN and (now := tokenizer(name).name) != made_with:
            raise DataError(
                f"{os.fspath(path)} was made with the tokenizer {made_with}, which is {now} now and makes other "
                f"tokens; {REMEDY}"
            )
        return manifest


def checked_options(tokenize: object, lowercase: bool, stop_words: Iterable[str], shard_triples: int) -> IndexOptions:
    """Validate the options of an index.

    Raises
    ------
    UsageError
        If something of it cannot be.

    Warns
    -----
    TrubleuWarning
        If a stop word can never be found, because the tokenizer cuts it.

    Examples
    --------
    >>> checked_options("13a", True, ["The", "a", "the"], 1000).stop_words
    ('a', 'the')
    """
    how = tokenizer(tokenize) if isinstance(tokenize, str) else None
    if how is None or (name := how.known_as) is None:
        raise UsageError("an index must be opened elsewhere too, so its tokenizer is given by name, such as 13a")
    if type(shard_triples) is not int or not 1 <= shard_triples <= MOST_TRIPLES:
        raise UsageError(f"shard-triples is {shard_triples}, but must be between 1 and {MOST_TRIPLES}")
    if isinstance(stop_words, str):
        raise UsageError("stop words are a list, not one string; put the string into a list, or read it from its file")
    words = sorted({word.lower() if lowercase else word for word in stop_words})
    for word in words:
        if not word or word.split() != [word]:
            raise UsageError(f"the stop word {word!r} is not one word; give words without white space")
    if words and (cut := [word for word in words if how.tokens(word) != [word]]):
        warnings.warn(
            f"the tokenizer {name} never makes these stop words, so they change nothing: {some(cut)}",
            TrubleuWarning,
            stacklevel=3,
        )
    return IndexOptions(
        tokenize=name,
        tokenizer=how.name,
        lowercase=bool(lowercase),
        stop_words=tuple(words),
        shard_triples=shard_triples,
    )


def read_stop_words(path: PathLike) -> list[str]:
    """Read a file of stop words, one per line; blank lines are skipped.

    Raises
    ------
    DataError
        If there is none, or a line has several.
    """
    words = []
    for number, line in enumerate(iterate_lines(path), 1):
        found = line.split()
        if len(found) > 1:
            raise DataError(f"{name_of(path)}:{number}: {len(found)} words stand here; give one stop word per line")
        words += found
    if not words:
        raise DataError(f"{name_of(path)} has no stop words; give one per line, or leave the option out")
    return words


def fingerprint(words: tuple[str, ...]) -> str:
    """Return a signature of stop words: ``no``, or their number and eight hexadecimal digits.

    Examples
    --------
    >>> fingerprint(()), fingerprint(("a", "the"))[:2]
    ('no', '2.')
    """
    if not words:
        return "no"
    data = np.frombuffer("\n".join(words).encode("utf-8", "surrogatepass"), np.uint8)
    return f"{len(words)}.{kernels.checksum(data):016x}"[:-8]
