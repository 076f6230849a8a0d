"""What reports of several protocols share: flat rows by name, with the setting and the notes among them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from trubleu.results import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRow:
    """What a reader must know, in one sentence."""

    schema: int = SCHEMA
    note: str


class RowsReport:
    """A report that is made of flat rows.

    Attributes
    ----------
    kinds
        The dataclass of the rows of each part, in order; parts are attributes.
    """

    __slots__ = ()
    kinds: ClassVar[Mapping[str, type[Any]]]
    notes: tuple[str, ...]

    def parts(self) -> dict[str, Sequence[Any]]:
        """Return all rows by what they are."""
        return {name: self._rows(name) for name in self.kinds}

    def _rows(self, name: str) -> Sequence[Any]:
        if name == "notes":
            return [NoteRow(note=note) for note in self.notes]
        found = getattr(self, name)
        return (found,) if name == "setting" else found

    def to_dict(self) -> dict[str, Any]:
        """Return the rows as plain values, ready for JSON; ``notes`` and ``setting`` are rows as well."""
        parts = {name: [{"schema": SCHEMA, **asdict(row)} for row in rows] for name, rows in self.parts().items()}
        return {"schema": SCHEMA, **parts}
