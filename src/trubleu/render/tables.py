"""Tables as values, and one function that renders them in any format.

A command defines the content of its table; its look as text, Markdown, LaTeX, CSV or JSON is defined here::

    table = Table(
        "",
        [Column("system"), Column("bleu", kind="number"), Column("segments", kind="count")],
        [("A", Estimate(36.281, 35.102, 37.555, mark="*"), 1000), ("B", 33.109, 1000)],
        notes=["bleu: bleu-4|case:mixed|…"],
        name="scores",
    )
    print(render_tables([table], "markdown", digits=1), end="")

There are two kinds of formats. Those for people (`text`, `markdown`, `latex`) have headings, rounded numbers, intervals
beside their number, stars and notes. Those for programs (`csv`, `json`) have the columns' names and full-precision
numbers, one value per field, and no notes: anything a program needs has to be a column.
"""

# ruff: noqa: A002 - the option is called format everywhere
from __future__ import annotations

import math
import re
import unicodedata
from contextvars import ContextVar
from dataclasses import dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

from trubleu.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from trubleu.judge.report import RowsReport


Format: TypeAlias = Literal["text", "json", "csv", "markdown", "latex"]

FORMATS: Final[tuple[Format, ...]] = get_args(Format)
"""The formats of commands; `render_tables` also supports ``html``."""

FOR_PROGRAMS: Final[frozenset[Format]] = frozenset({"csv", "json"})
"""Formats with flat rows and full-precision numbers; the others are for people."""

Kind: TypeAlias = Literal["text", "number", "signed", "p", "count"]
"""The kind of a column: texts (left-aligned), numbers, signed numbers, p-values, integers."""

MISSING: Final = "–"
"""Shown to people for a missing value."""

_P_DIGITS: Final = 4
_STARS: Final = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


ROOM: Final[ContextVar[int | None]] = ContextVar("ROOM", default=None)
"""Terminal width for text tables: wider ones are split, and long texts truncated; None for no limit."""


class Bounds(NamedTuple):
    """An interval in its own cell: ``[1.20, 3.40]``; two fields for programs, ``NAME_low`` and ``NAME_high``.

    `more` is how many decimals it has beside those asked for.
    """

    low: float
    high: float
    more: int = 0


class Estimate(NamedTuple):
    """A number with an optional interval and a mark: ``36.28 [35.10, 37.56]**``.

    Programs get the fields ``NAME``, ``NAME_low`` and ``NAME_high``, the last two only if some row of the column has an
    interval. The mark is left out, as it repeats another column. `more` is how many decimals it has beside those asked
    for: scores from 0 to 1 need some.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    mark: str = ""
    more: int = 0


Value: TypeAlias = str | int | float | None

Cell: TypeAlias = Value | Estimate | Bounds
"""The value of a cell. None and non-finite numbers are missing values."""


def parts_of(cell: Cell) -> tuple[Value, float | None, float | None]:
    """Return the value of a cell and the ends of its interval, None for what it does not have."""
    if isinstance(cell, Bounds):
        return None, cell.low, cell.high
    return (cell.value, cell.low, cell.high) if isinstance(cell, Estimate) else (cell, None, None)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name
        The field's name for programs, different from every other column's.
    title
        The heading for people; the name if left out.
    kind
        What it holds: ``text`` stands to the left, all others to the right. ``number`` and ``signed`` are rounded to
        the digits asked for, ``p`` to four, ``count`` gets commas between thousands.
    digits
        Decimals that do not depend on what was asked for.
    of
        What `table_of` shows of an item; the attribute of the column's name if left out.
    """

    name: str
    title: str = ""
    kind: Kind = "text"
    digits: int | None = None
    of: Callable[[Any], Cell] | None = None

    @property
    def heading(self) -> str:
        """The title, or the name."""
        return self.title or self.name

    def cell(self, item: Any) -> Cell:
        """Return what a row about an item has in this column."""
        found: Cell = getattr(item, self.name) if self.of is None else self.of(item)
        return found


@dataclass(frozen=True, slots=True)
class Table:
    """A table, independent of the format.

    Parameters
    ----------
    title
        Stands above the table, in LaTeX as a caption; empty for none.
    columns
        What each column is.
    rows
        As many cells each as there are columns. A text where a number is expected is shown as it is.
    notes
        Sentences below the table, for people.
    name
        The table's name for programs: a field of the JSON object, and in CSV a value of the column ``table`` where
        there are several. If left out it is made from the title: ``"Weight histogram"`` becomes ``weight_histogram``.

    Examples
    --------
    >>> table = Table("", [Column("system"), Column("bleu", kind="number")], [("A", 9.104), ("long name", 36.278)])
    >>> print(render_tables([table]), end="")
    system      bleu
    ---------  -----
    A           9.10
    long name  36.28
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    name: str = ""

    def __post_init__(self) -> None:
        width = len(self.columns)
        if len({column.name for column in self.columns}) != width:
            raise ValueError(f"two columns of the table {self.key!r} have the same name")
        for number, row in enumerate(self.rows, 1):
            if len(row) != width:
                raise ValueError(f"row {number} of the table {self.key!r} has {len(row)} cells for {width} columns")

    @property
    def key(self) -> str:
        """The table's name for programs."""
        return self.name or re.sub(r"\W+", "_", self.title.lower()).strip("_") or "rows"

    def shown_rows(self, digits: int) -> Iterator[list[Shown]]:
        """Yield the rows as people see them."""
        for row in self.rows:
            yield [shown(cell, column, digits) for cell, column in zip(row, self.columns, strict=True)]

    def _repr_html_(self) -> str:
        return render_tables([self], "html")


def table_of(
    items: Iterable[Any], columns: Sequence[Column], title: str = "", notes: Sequence[str] = (), name: str = ""
) -> Table:
    """Return a table with a row per item, whose columns say what they show of it.

    Examples
    --------
    >>> columns = [Column("real"), Column("double", kind="number", of=lambda number: 2 * number)]
    >>> table_of([1, 2], columns).rows
    [[1, 2], [2, 4]]
    """
    return Table(title, columns, [[column.cell(item) for column in columns] for item in items], notes, name)


def record_table(name: str, kind: type[Any], rows: Sequence[Any], *, without: Sequence[str] = ()) -> Table:
    """Return flat rows for programs: a column per dataclass field except ``schema``, which JSON adds itself.

    Parameters
    ----------
    name
        The table's name for programs.
    kind
        The dataclass; it is needed where there are no rows.
    rows
        Instances of it.
    without
        Fields that are left out, too.

    Examples
    --------
    >>> from trubleu.results import SCHEMA
    >>> @dataclass
    ... class Row:
    ...     system: str
    ...     bleu: float
    ...     schema: int = SCHEMA
    >>> render_tables([record_table("scores", Row, [Row("A", 36.25)])], "csv")
    'system,bleu\\r\\nA,36.25\\r\\n'
    """
    names = [field.name for field in fields(kind) if field.name not in ("schema", *without)]
    return Table("", [*map(Column, names)], [[getattr(row, each) for each in names] for row in rows], name=name)


def row_tables(report: RowsReport) -> Iterator[Table]:
    """Yield the flat rows of a report for programs."""
    for name, rows in report.parts().items():
        yield record_table(name, report.kinds[name], rows)


def render_report(
    format: str,
    digits: int,
    records: Iterable[Table],
    tables: Iterable[Table],
    notes: Iterable[str] = (),
    verdicts: Iterable[str] = (),
) -> str:
    """Render a report: for programs its records, for people the verdict, tables and notes."""
    if format in FOR_PROGRAMS:
        return render_tables([*records], format)
    return with_verdict([*verdicts], format) + render_tables([*tables], format, digits, notes=[*notes])


class Shown(NamedTuple):
    """A cell as shown to people, before escaping: the number or text, the interval's ends, the mark."""

    text: str
    interval: tuple[str, str] | None = None
    mark: str = ""


def render_tables(tables: Sequence[Table], format: str = "text", digits: int = 2, *, notes: Sequence[str] = ()) -> str:
    r"""Render tables in one of the formats, ending with a newline.

    Parameters
    ----------
    tables
        One or more.
    format
        ``text``: aligned columns. ``markdown``: pipe tables as GitHub reads them. ``latex``: booktabs, with notes as
        comments; a table with a title becomes a float with a caption, one without is a ``tabular`` to be put into a
        float of one's own. ``csv``: one header and rectangular, so that it can be read in one go; where there are
        several tables, their rows follow each other, the column ``table`` says which one a row is from, and fields that
        a table does not have are empty. ``json``: an object with ``schema`` and a list of flat rows for each table.
        ``html``: what a notebook shows, with the first 60 rows of each table.
    digits
        Decimals for people; programs get all.
    notes
        What is to be said of all tables together, for people.

    Examples
    --------
    >>> columns = [Column("system"), Column("bleu", kind="number")]
    >>> table = Table("", columns, [("a|b", Estimate(36.278, 35.1, 37.5, "*"))], name="scores")
    >>> print(render_tables([table], "markdown"), end="")
    | system | bleu |
    |:--|--:|
    | a\|b | 36.28 [35.10, 37.50]\* |
    >>> render_tables([table], "csv")
    'system,bleu,bleu_low,bleu_high\r\na|b,36.278,35.1,37.5\r\n'
    """
    from trubleu.render import formats

    if format not in (*FORMATS, "html"):
        raise UsageError(f"format={format} is not known; {nearest(format, FORMATS)}")
    render: Callable[..., str] = getattr(formats, f"render_{format}")
    return render(tables) if format in FOR_PROGRAMS else render(tables, digits, notes)


def shown(cell: Cell, column: Column, digits: int) -> Shown:
    """Format a cell for people.

    Examples
    --------
    >>> shown(Estimate(1.239, 1.1, 1.3, "*"), Column("x", kind="signed"), 2)
    Shown(text='+1.24', interval=('+1.10', '+1.30'), mark='*')
    >>> shown(None, Column("x"), 2).text, shown(1234, Column("n", kind="count"), 2).text
    ('–', '1,234')
    """
    value, low, high = parts_of(cell)
    digits += cell.more if isinstance(cell, Estimate | Bounds) else 0
    ends = None if low is None or high is None else (_plain(low, column, digits), _plain(high, column, digits))
    text = "" if isinstance(cell, Bounds) else _plain(value, column, digits)
    return Shown(text, ends, cell.mark if isinstance(cell, Estimate) else "")


def _plain(value: Value, column: Column, digits: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or not math.isfinite(value):
        return MISSING
    if column.kind == "text":
        return str(value)
    if column.kind == "count":
        return f"{value:,}"
    decimals = column.digits if column.digits is not None else _P_DIGITS if column.kind == "p" else digits
    sign = "+" if column.kind == "signed" else "-"
    return f"{value:{sign}z.{decimals}f}"  # z: a value rounded to 0 is not written as -0.00


def stars(p: float) -> str:
    """Return up to three stars for a p-value, as the mark of an `Estimate`.

    Examples
    --------
    >>> stars(0.2), stars(0.04), stars(0.0001)
    ('', '*', '***')
    """
    return next((mark for bound, mark in _STARS if p < bound), "")


def starred(p: float | None) -> Cell:
    """Return the cell of a p-value with its stars; None if there is none."""
    return None if p is None else Estimate(p, mark=stars(p))


def one_line(text: str) -> str:
    r"""Replace newlines, tabs and other control characters: a table has one line per row.

    Examples
    --------
    >>> one_line("a\n\tb\x1b[31m")
    'a b [31m'
    """
    return text if text.isprintable() else _CONTROLS.sub(" ", text)


def truncated(text: str, most: int) -> str:
    """Return a text, truncated if it is wider than so many terminal columns."""
    if width(text) <= most:
        return text
    kept = ""
    for character in text:  # from the front, as a text may have a million characters
        if width(kept + character) >= most:
            break
        kept += character
    return f"{kept}…"


def width(text: str) -> int:
    """Return the width of a text in terminal columns: two for a wide character, none for a combining one.

    Examples
    --------
    >>> width("naïve"), width("中文"), width("e\u0301")
    (5, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def with_verdict(sentences: Sequence[str], format: str) -> str:
    """Format the verdict above the tables of a format.

    Examples
    --------
    >>> with_verdict(["A is best.", "B follows."], "latex")
    '% A is best.\\n% B follows.\\n'
    """
    if format == "latex" or not sentences:
        return "".join(f"% {one_line(sentence)}\n" for sentence in sentences)
    if format == "html":
        return "".join(f"<p>{escape(sentence)}</p>\n" for sentence in sentences)
    return ("\n\n" if format == "markdown" else "\n").join(sentences) + "\n\n"


def joined(blocks: Iterable[str]) -> str:
    """Join non-empty blocks with an empty line between them."""
    return "\n\n".join(block for block in blocks if block) + "\n"
