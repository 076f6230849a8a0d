"""Tables as LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from trubleu.report.tables import MISSING, Shown, Table, joined, one_line, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

NEEDED: Final = r"% needs \usepackage{booktabs}"

_ESCAPES: Final = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # In braces, or one at the start of a row would be an argument of the line end before it.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    # In braces, or two of them would become one.
    "`": "{`}",
    "'": "{'}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "–": r"\textendash{}",
    "−": "$-$",
    "↓": r"$\downarrow$",
    "Δ": r"$\Delta$",
    "…": r"\ldots{}",
}
_TRANSLATION: Final = str.maketrans(_ESCAPES)
_NUMBER: Final = re.compile(r"[+-][\d,]+(?:\.\d+)?")


def render(tables: Sequence[Table], digits: int, notes: Sequence[str] = ()) -> str:
    """Return tabulars; notes become comments above what they are about."""
    head = "\n".join([NEEDED, *map(_comment, notes)])
    first, *others = (_table(table, digits) for table in tables)
    return joined([f"{head}\n{first}", *others])


def _comment(note: str) -> str:
    return f"% {one_line(note)}"


def _table(table: Table, digits: int) -> str:
    rows = (
        [_cell(shown(cell, column, digits)) for cell, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    )
    lines = [
        f"\\begin{{tabular}}{{{''.join('l' if column.kind == 'text' else 'r' for column in table.columns)}}}",
        r"\toprule",
        _line([escaped(column.heading) for column in table.columns]),
        r"\midrule",
        *map(_line, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if table.title:
        caption = f"\\caption{{{escaped(table.title)}}}"
        lines = [r"\begin{table}", r"\centering", caption, *lines, r"\end{table}"]
    return "\n".join([*map(_comment, table.notes), *lines])


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Shown) -> str:
    text = _number(cell.text) if cell.text else ""
    if cell.interval is not None:
        interval = f"{{\\footnotesize [{_number(cell.interval[0])}, {_number(cell.interval[1])}]}}"
        text = f"{text} {interval}" if text else interval
    return f"{text}$^{{{cell.mark}}}$" if cell.mark else text


def _number(text: str) -> str:
    """Return a number with a sign in mathematics, where a minus is no hyphen; anything else escaped."""
    if text == MISSING:
        return "--"
    return f"${text}$" if _NUMBER.fullmatch(text) else escaped(text)


def escaped(text: str) -> str:
    r"""Return a text that LaTeX prints as it is.

    Examples
    --------
    >>> print(escaped("50% of sys_A & {B}\\"))
    50\% of sys\_A \& \{B\}\textbackslash{}
    """
    # Two hyphens would become a dash.
    return re.sub("-(?=-)", "-{}", one_line(text).translate(_TRANSLATION))
