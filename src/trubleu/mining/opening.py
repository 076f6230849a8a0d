"""Shards of an index, opened and compared with what the manifest says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from trubleu.data import places
from trubleu.errors import DataError
from trubleu.mining.making import check_listed
from trubleu.mining.manifest import KIND
from trubleu.mining.shard import Shard

if TYPE_CHECKING:
    from trubleu.data.files import PathLike
    from trubleu.mining.manifest import ListedShard


def open_shard(folder: PathLike, listed: ListedShard) -> Shard:
    """Open a shard, which must be the one that the manifest lists.

    Raises
    ------
    DataError
        If it is missing, damaged, or another one.
    """
    path, remedy = places.joined(folder, listed.file), f"copy the index again, or {KIND.remedy}"
    # Opening comes first where it can: it says best what is wrong with a damaged file.
    shard = Shard.open(path) if places.exists(path) else None
    check_listed(folder, listed, remedy)
    if shard is None or shard.info != listed.info:
        raise DataError(f"{path} is not the shard that was written there; {remedy}")
    return shard


class ShardsOnDemand(Sequence[Shard]):
    """The shards of an index elsewhere: each is copied here when it is first used.

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
        self._open: dict[int, Shard] = {}

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
        if number not in self._open:
            self._open[number] = open_shard(self._folder, self._listed[number])
        return self._open[number]


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
        return list(self._shards.values())
