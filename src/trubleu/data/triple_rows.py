"""What a row of a corpus of triples must hold, whichever file it comes from."""

from __future__ import annotations

from itertools import chain, compress
from typing import TYPE_CHECKING, Any

from trubleu.data.records import context_field, id_field, kind_of
from trubleu.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Columns = tuple[tuple[str, ...], tuple[tuple[str, ...], ...], tuple[str, ...], tuple[str, ...]]

FIELDS = ("id", "context", "message", "response")


class TripleRows:
    """Gathers the rows of one file, and counts those that are left out.

    Parameters
    ----------
    name
        The file's name, for messages and for the ids of rows that have none.
    contexts
        Whether contexts are wanted.
    skip_bad
        Whether a row that cannot be used is counted instead of an error.

    Attributes
    ----------
    bad, empty
        How many rows could not be used, and how many had a blank message or response.
    """

    def __init__(self, name: str, *, contexts: bool = True, skip_bad: bool = False) -> None:
        self.name = name
        self.contexts = contexts
        self.skip_bad = skip_bad
        self.bad = 0
        self.empty = 0
        self._ids: list[str] = []
        self._contexts: list[tuple[str, ...]] = []
        self._messages: list[str] = []
        self._responses: list[str] = []

    def add(
        self,
        ids: Sequence[str],
        contexts: Sequence[tuple[str, ...]],
        messages: Sequence[str],
        responses: Sequence[str],
    ) -> None:
        """Add rows that are known to be strings; those with a blank message or response are left out."""
        blank = not all(messages) or not all(responses)
        if blank or any(map(str.isspace, messages)) or any(map(str.isspace, responses)):
            keep = [
                bool(message and response) and not message.isspace() and not response.isspace()
                for message, response in zip(messages, responses, strict=True)
            ]
            self.empty += keep.count(False)
            ids, contexts = list(compress(ids, keep)), list(compress(contexts, keep))
            messages, responses = list(compress(messages, keep)), list(compress(responses, keep))
        self._ids += ids
        self._contexts += contexts
        self._messages += messages
        self._responses += responses

    def add_columns(
        self,
        ids: Sequence[Any],
        contexts: Sequence[Any],
        messages: Sequence[Any],
        responses: Sequence[Any],
        before: int,
    ) -> bool:
        """Add rows nobody has looked at, if all of them are in order; ``before`` is the number of rows before them."""
        if set(map(type, messages)) != {str} or set(map(type, responses)) != {str}:
            return False
        kinds = set(map(type, ids))
        if kinds != {str} or not all(ids):
            if not kinds <= {str, int, type(None)}:
                return False
            ids = self.named(ids, before, len(messages))
        if not self.contexts:
            contexts = [()] * len(messages)
        elif any(contexts):
            if not set(map(type, contexts)) <= {list, type(None)}:
                return False
            if not set(map(type, chain.from_iterable(filter(None, contexts)))) <= {str}:
                return False
            contexts = [tuple(turns or ()) for turns in contexts]
        elif set(map(type, contexts)) <= {list, type(None)}:
            contexts = [()] * len(messages)
        else:
            return False
        self.add(ids, contexts, messages, responses)
        return True

    def add_record(self, record: Mapping[str, Any], place: str, number: int) -> None:
        """Check and add one row, which is the ``number``-th of the file.

        Raises
        ------
        DataError
            If a field is missing or wrong; see `refuse`.
        """
        for field in ("message", "response"):
            value = record.get(field)
            if type(value) is not str:
                if field not in record:
                    raise DataError(f"{place}: the field {field} is missing; a triple has a message and a response")
                raise DataError(f"{place}: {field} must be a string, not {kind_of(value)}")
        identity = self._id(id_field(record, place), number)
        turns = context_field(record, place) or () if self.contexts else ()
        self.add([identity], [turns], [record["message"]], [record["response"]])

    def refuse(self, error: DataError) -> None:
        """Count a row that cannot be used, or raise what is wrong with it."""
        if not self.skip_bad:
            raise error
        self.bad += 1

    def taken(self) -> Columns:
        """Return what has been gathered, and begin anew; the counts go on."""
        columns = tuple(self._ids), tuple(self._contexts), tuple(self._messages), tuple(self._responses)
        self._ids, self._contexts, self._messages, self._responses = [], [], [], []
        return columns

    def named(self, ids: Sequence[str | int | None], before: int, count: int) -> Sequence[str]:
        """Return ids of rows, made up where there is none; no ``ids`` at all stand for ``count`` rows without."""
        if not ids:
            return [f"{self.name}:{number}" for number in range(before + 1, before + count + 1)]
        return [self._id(given, number) for number, given in enumerate(ids, before + 1)]

    def _id(self, given: str | int | None, number: int) -> str:
        return f"{self.name}:{number}" if given is None or given == "" else str(given)
