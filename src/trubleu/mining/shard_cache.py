"""Open shards of an index, checked against the manifest, a limited number at a time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

from trubleu.errors import DataError
from trubleu.files import paths
from trubleu.mining.manifest import KIND
from trubleu.mining.shard import Shard
from trubleu.mining.shard_builder import check_listed

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trubleu.files.paths import PathLike
    from trubleu.mining.manifest import ListedShard


_FEWEST, _USUAL, _MOST = 8, 256, 16_384  # shards that are open at once


def open_shard(folder: PathLike, listed: ListedShard, *, compared: Iterable[str] = ()) -> Shard:
    """Open a shard, which must be the one that the manifest lists.

    Parameters
    ----------
    folder, listed
        The index, and the shard.
    compared
        See `Shard.open`.

    Raises
    ------
    DataError
        If it is missing, damaged, or another one.
    """
    path, remedy = paths.joined(folder, listed.file), f"copy the index again, or {KIND.remedy}"
    # Opening comes first where it can: it says best what is wrong with a damaged file.
    shard = Shard.open(path, compared=compared) if paths.exists(path) else None
    check_listed(folder, listed, remedy)
    if shard is None or shard.info != listed.info:
        raise DataError(f"{path} is not the shard that was written there; {remedy}")
    return shard


def most_open() -> int:
    """Return how many shards may be open at once: each takes a file descriptor, and a process may have only so many."""
    if not resource:
        return _USUAL
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if limit == resource.RLIM_INFINITY else min(max(_FEWEST, limit // 4), _MOST)


class _Known(NamedTuple):
    """What is known of a shard that is not open any more: the state of its file, and what of it was in order."""

    state: int | str
    compared: frozenset[str]


class ShardsOnDemand(Sequence[Shard]):
    """The shards of an index, opened when they are used; no more are open than a process may have files.

    Those of an index elsewhere are copied here when they are first used.

    Parameters
    ----------
    folder
        The index.
    listed
        Its shards.
    """

    def __init__(self, folder: str, listed: Sequence[ListedShard]) -> None:
        self._folder = folder
        self._listed = listed
        self._most = most_open()
        self._lock = threading.Lock()
        self._open: dict[int, Shard] = {}  # the one that was used last at the end
        self._known: dict[int, _Known] = {}

    def __len__(self) -> int:
        return len(self._listed)

    @overload
    def __getitem__(self, index: int) -> Shard: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Shard, ...]: ...
    def __getitem__(self, index: int | slice) -> Shard | tuple[Shard, ...]:
        if isinstance(index, slice):
            return tuple(self[number] for number in range(len(self))[index])
        number = range(len(self))[index]
        with self._lock:
            shard = self._open.pop(number, None) or self._opened(number)
            self._open[number] = shard
        return shard

    def _opened(self, number: int) -> Shard:
        while len(self._open) >= self._most:
            oldest = next(iter(self._open))
            self._known[oldest] = self._known[oldest]._replace(compared=self._open.pop(oldest).compared)
        listed, before = self._listed[number], self._known.get(number)
        state = self._state(listed)
        same = before is not None and before.state == state
        shard = open_shard(self._folder, listed, compared=before.compared if before and same else ())
        self._known[number] = _Known(state, shard.compared)
        return shard

    def _state(self, listed: ListedShard) -> int | str:
        """Return what differs if the file was written to."""
        if len(self._listed) <= self._most:
            return ""  # nobody will ask
        try:
            return paths.modified(paths.joined(self._folder, listed.file))
        except OSError:  # whoever opens it says what is the matter
            return ""


class OpenShards:
    """What a worker has open of an index: the shards that it was last asked for, and no others.

    Parameters
    ----------
    folder
        The index.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._shards: dict[str, Shard] = {}

    def take(self, listed: Sequence[ListedShard]) -> list[Shard]:
        """Return shards; those that are open already come with all that is known of them."""
        before, self._shards = self._shards, {}
        for each in listed:
            there = before.get(each.file)
            self._shards[each.file] = open_shard(self._folder, each) if there is None else there
        for file in before.keys() - self._shards.keys():  # which may not fit on this disk one beside the other
            paths.forget(paths.joined(self._folder, file))
        return list(self._shards.values())
