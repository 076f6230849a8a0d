"""Tables as text, Markdown, LaTeX, HTML, CSV and JSON."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from itertools import groupby, islice, repeat
from typing import TYPE_CHECKING, Final

from trubleu.render.tables import MISSING, ROOM, Shown, Table, joined, one_line, parts_of, truncated, width
from trubleu.results import MOST_ROWS, SCHEMA, html_notes, html_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from trubleu.render.tables import Value


def render_text(tables: Sequence[Table], digits: int, notes: Sequence[str] = ()) -> str:
    """Render tables as text, each with its title and notes, and common notes at the end."""
    blocks: list[str] = []
    for table in tables:
        body = aligned(table, digits)
        blocks += [f"{one_line(table.title)}\n{body}" if table.title else body, _text_lines(table.notes)]
    return joined([*blocks, _text_lines(notes)])


def _text_lines(notes: Sequence[str]) -> str:
    return "\n".join(map(one_line, notes))


def aligned(table: Table, digits: int) -> str:
    """Render columns side by side: texts left-aligned, numbers right-aligned."""
    shown = zip(*table.shown_rows(digits), strict=True) if table.rows else repeat((), len(table.columns))
    columns = [*map(_text_column, shown)]
    room = ROOM.get()
    padded: list[list[str]] = []
    for column, cells in zip(table.columns, columns, strict=True):
        lines = [one_line(column.heading), "", *cells]
        if room is not None and column.kind == "text":
            lines = [truncated(line, max(room // 2 - 1, 8)) for line in lines]
        widest = max(map(width, lines))
        lines[1] = "-" * widest
        if column.kind == "text":
            padded.append([line + " " * (widest - width(line)) for line in lines])
        else:
            padded.append([" " * (widest - width(line)) + line for line in lines])
    return "\n\n".join(
        "\n".join("  ".join(line).rstrip() for line in zip(*block, strict=True)) for block in _blocks(padded, room)
    )


def _blocks(columns: Sequence[list[str]], room: int | None) -> list[list[list[str]]]:
    """Split columns into blocks that fit the terminal width, repeating the first column in each."""
    first, *others = columns
    blocks, used = [[first]], width(first[0])
    for column in others:
        needed = 2 + width(column[0])
        if room is not None and used + needed > room and len(blocks[-1]) > 1:
            blocks.append([first])
            used = width(first[0])
        blocks[-1].append(column)
        used += needed
    return blocks


def _text_column(cells: Sequence[Shown]) -> list[str]:
    # If some cells have a mark, all others reserve its width, so numbers stay aligned.
    room = max((len(cell.mark) for cell in cells), default=0)
    return [plain(cell) + " " * (room - len(cell.mark)) for cell in cells]


def plain(cell: Shown) -> str:
    """Return a cell as plain text.

    Examples
    --------
    >>> plain(Shown("36.28", ("35.10", "37.56"), "*"))
    '36.28 [35.10, 37.56]*'
    """
    return _joined_cell(cell, one_line) + cell.mark


def _joined_cell(cell: Shown, escape: Callable[[str], str], interval: str = "[{}, {}]") -> str:
    """Join the text and the interval of a cell."""
    parts = [escape(cell.text)] if cell.text else []
    if cell.interval is not None:
        parts.append(interval.format(*map(escape, cell.interval)))
    return " ".join(parts)


_LINE_ENDS: Final = re.compile(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
# An underscore inside a word is literal, and names of systems are full of them.
_MARKDOWN_SPECIAL: Final = re.compile(r"[\\`*\[\]~$]|(?<![^\W_])_|_(?![^\W_])")
_PLAIN_MARKDOWN: Final = re.compile(r"[A-Za-z0-9.,:+-]*")
_MARKDOWN_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def render_markdown(tables: Sequence[Table], digits: int, notes: Sequence[str] = ()) -> str:
    """Render pipe tables, with titles as headings and notes as lists."""
    blocks: list[str] = []
    for table in tables:
        title = f"### {shown_as_it_is(one_line(table.title))}" if table.title else ""
        blocks += [title, _markdown_table(table, digits), _markdown_list(table.notes)]
    return joined([*blocks, _markdown_list(notes)])


def _markdown_table(table: Table, digits: int) -> str:
    lines = [
        [escape_markdown(column.heading) for column in table.columns],
        *(
            [_joined_cell(cell, escape_markdown) + escape_markdown(cell.mark) for cell in row]
            for row in table.shown_rows(digits)
        ),
    ]
    rule = "".join(":--|" if column.kind == "text" else "--:|" for column in table.columns)
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, f"|{rule}", *body])


def _markdown_list(notes: Sequence[str]) -> str:
    return "\n".join(f"- {shown_as_it_is(one_line(note))}" for note in notes)


def shown_as_it_is(text: str) -> str:
    """Escape a line for Markdown, outside tables."""
    return _MARKDOWN_SPECIAL.sub(r"\\\g<0>", text.translate(_MARKDOWN_HTML))


def escape_markdown(text: str) -> str:
    r"""Escape a text for a Markdown table cell, where a pipe or a newline would end it.

    Examples
    --------
    >>> escape_markdown("sys_A *new* <b>|`x`\nsecond line")
    'sys_A \\*new\\* &lt;b&gt;\\|\\`x\\`<br>second line'
    """
    if _PLAIN_MARKDOWN.fullmatch(text):  # most cells; the rest is slow for a million of them
        return text
    lines = (one_line(line).strip() for line in _LINE_ENDS.split(text))
    return "<br>".join(shown_as_it_is(line).replace("|", "\\|") for line in lines)


_LATEX_COMMANDS: Final = {
    "\\": "textbackslash", "~": "textasciitilde", "^": "textasciicircum", "<": "textless", ">": "textgreater",
    "|": "textbar", "–": "textendash", "—": "textemdash", "…": "ldots", "ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe",
    "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ı": "i", "§": "S", "¶": "P", "©": "textcopyright",
    "®": "textregistered", "™": "texttrademark", "£": "pounds", "†": "dag", "‡": "ddag", "•": "textbullet",
    "¡": "textexclamdown", "¿": "textquestiondown", "‘": "textquoteleft", "’": "textquoteright",
    "“": "textquotedblleft", "”": "textquotedblright",
}  # fmt: skip
_LATEX_MATHS: Final = {
    "−": "-", "↓": r"\downarrow", "↑": r"\uparrow", "→": r"\rightarrow", "←": r"\leftarrow", "×": r"\times",
    "·": r"\cdot", "±": r"\pm", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "≈": r"\approx", "∞": r"\infty",
    "°": r"^\circ", "√": r"\surd", "²": "^2", "³": "^3", "α": r"\alpha", "β": r"\beta", "γ": r"\gamma",
    "δ": r"\delta", "ε": r"\varepsilon", "ζ": r"\zeta", "η": r"\eta", "θ": r"\theta", "ι": r"\iota", "κ": r"\kappa",
    "λ": r"\lambda", "μ": r"\mu", "µ": r"\mu", "ν": r"\nu", "ξ": r"\xi", "ο": "o", "π": r"\pi", "ρ": r"\rho",
    "σ": r"\sigma", "ς": r"\varsigma", "τ": r"\tau", "υ": r"\upsilon", "φ": r"\varphi", "χ": r"\chi", "ψ": r"\psi",
    "ω": r"\omega", "Γ": r"\Gamma", "Δ": r"\Delta", "Θ": r"\Theta", "Λ": r"\Lambda", "Ξ": r"\Xi", "Π": r"\Pi",
    "Σ": r"\Sigma", "Υ": r"\Upsilon", "Φ": r"\Phi", "Ψ": r"\Psi", "Ω": r"\Omega",
}  # fmt: skip
_LATEX_TRANSLATION: Final = str.maketrans(
    {character: f"\\{command}{{}}" for character, command in _LATEX_COMMANDS.items()}
    | {character: f"${command}$" for character, command in _LATEX_MATHS.items()}
    # At the start of a row, brackets and stars would be arguments of the preceding line end; two quotes would be one.
    | {character: f"{{{character}}}" for character in "[]*`'"}
    | {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\xa0": "~", "\u202f": "~"}
)
# Combining characters, and the commands that set them on a letter in any font encoding.
_LATEX_ACCENTS: Final = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0331": "b",
}  # fmt: skip
_UNICODE: Final = r"\ifdefined\Umathcode"  # true in XeLaTeX and LuaLaTeX
_OTHER_SCRIPT: Final = re.compile(r"[^\x00-\x7f]+")
_LATEX_NUMBER: Final = re.compile(r"[+-][\d,]+(?:\.\d+)?")

_LATEX_WIDTH: Final = 60
"""Width of a table, in characters, above which it is scaled down to the text if it does not fit."""


def render_latex(tables: Sequence[Table], digits: int, notes: Sequence[str] = ()) -> str:
    """Render tabulars; notes become comments above them."""
    first, *others = (_latex_table(table, digits) for table in tables)
    packages = "booktabs,graphicx" if any(_RESIZED in each for each in (first, *others)) else "booktabs"
    head = "\n".join([f"% needs \\usepackage{{{packages}}}", *map(_latex_comment, notes)])
    return joined([f"{head}\n{first}", *others])


def _latex_comment(note: str) -> str:
    return f"% {one_line(note)}"


_RESIZED: Final = r"\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def _latex_table(table: Table, digits: int) -> str:
    rows = [*table.shown_rows(digits)]
    lines = [
        f"\\begin{{tabular}}{{{''.join('l' if column.kind == 'text' else 'r' for column in table.columns)}}}",
        r"\toprule",
        _latex_line([escape_latex(column.heading) for column in table.columns]),
        r"\midrule",
        *(_latex_line([*map(_latex_cell, row)]) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    cells = zip(*([*map(plain, row)] for row in rows), strict=True) if rows else repeat((), len(table.columns))
    widths = (max(map(width, [column.heading, *own])) for column, own in zip(table.columns, cells, strict=True))
    # Code points of other scripts are wider than their characters.
    if sum(widths) + 2 * len(table.columns) > _LATEX_WIDTH or _UNICODE in "".join(lines):
        lines = [_RESIZED, *lines[:-1], f"{lines[-1]}}}"]
    if table.title:
        caption = f"\\caption{{{escape_latex(table.title)}}}"
        lines = [r"\begin{table}", r"\centering", caption, *lines, r"\end{table}"]
    return "\n".join([*map(_latex_comment, table.notes), *lines])


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(cell: Shown) -> str:
    text = _joined_cell(cell, _latex_number, r"{{\footnotesize [{}, {}]}}")
    return f"{text}$^{{{cell.mark}}}$" if cell.mark else text


def _latex_number(text: str) -> str:
    """Format a signed number in math mode, for a true minus; escape anything else."""
    if text == MISSING:
        return "--"
    return f"${text}$" if _LATEX_NUMBER.fullmatch(text) else escape_latex(text)


def escape_latex(text: str) -> str:
    r"""Escape a text for LaTeX.

    Examples
    --------
    >>> print(escape_latex("50% of sys_A & {B}\\"))
    50\% of sys\_A \& \{B\}\textbackslash{}

    Letters with accents and Greek letters become commands. Characters of other scripts are kept for XeLaTeX and
    LuaLaTeX; pdfLaTeX shows their code points.

    >>> print(escape_latex("Kendall τ, naïve"), escape_latex("日本"))
    Kendall $\tau$, na\"{\i}ve \ifdefined\Umathcode 日本\else U+65E5 U+672C\fi{}
    """
    shown = one_line(text).translate(_LATEX_TRANSLATION)
    if not shown.isascii():
        shown = _OTHER_SCRIPT.sub(lambda found: _latex_letters(found[0]), unicodedata.normalize("NFC", shown))
    return re.sub("-(?=-)", "-{}", shown)  # two hyphens would become a dash


def _latex_letters(text: str) -> str:
    """Return letters with accents as commands, and runs of others for engines that know Unicode."""
    shown = []
    for known, characters in groupby(text, key=lambda character: _with_accents(character) is not None):
        if known:
            shown += [_with_accents(character) or "" for character in characters]
        else:
            run = "".join(characters)
            codes = " ".join(f"U+{ord(character):04X}" for character in run)
            shown.append(f"{_UNICODE} {run}\\else {codes}\\fi{{}}")
    return "".join(shown)


def _with_accents(character: str) -> str | None:
    """Return a Latin letter with accents as LaTeX commands, None for any other character."""
    letter, *accents = [*unicodedata.normalize("NFD", character)]
    if not (letter.isascii() and letter.isalpha() and accents and all(each in _LATEX_ACCENTS for each in accents)):
        return None
    below = accents[0] in "\u0323\u0327\u0331"
    shown = f"\\{letter}" if letter in "ij" and not below else letter
    for accent in accents:
        shown = f"\\{_LATEX_ACCENTS[accent]}{{{shown}}}"
    return shown


def render_html(tables: Sequence[Table], digits: int, notes: Sequence[str] = ()) -> str:
    """Render tables as HTML, each with its title and notes, and common notes at the end."""
    blocks = [_html_table(table, digits) for table in tables]
    if notes:
        blocks.append(html_notes([*map(one_line, notes)]))
    return "\n".join(blocks) + "\n"


def _html_table(table: Table, digits: int) -> str:
    return html_table(
        [one_line(column.heading) for column in table.columns],
        [[*map(plain, row)] for row in islice(table.shown_rows(digits), MOST_ROWS)],
        numbers=[column.kind != "text" for column in table.columns],
        more=max(len(table.rows) - MOST_ROWS, 0),
        title=one_line(table.title),
        notes=[*map(one_line, table.notes)],
    )


TABLE: Final = "table"
"""CSV column that distinguishes the rows of several tables."""

_PLAIN_FIELD: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:|-]*")
_QUOTED_FIELD: Final = re.compile(r'[,"\r\n]|\A\s|\s\Z|\A\Z')
_FORMULA: Final = re.compile(r"[=@\t\r]|[+-](?!\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\Z)")


def flat(table: Table) -> tuple[list[str], list[list[Value]]]:
    """Return the names and rows of fields: intervals become separate fields, and non-finite numbers become empty."""
    fields: dict[str, Sequence[Value]] = {}
    for index, column in enumerate(table.columns):
        parts = [parts_of(row[index]) for row in table.rows]
        values, lows, highs = zip(*parts, strict=True) if parts else ((), (), ())
        bounded = any(low is not None for low in lows)
        if not bounded or any(value is not None for value in values):
            fields[column.name] = values
        if bounded:
            fields |= {f"{column.name}_low": lows, f"{column.name}_high": highs}
    return [*fields], [[*map(_finite, row)] for row in zip(*fields.values(), strict=True)]


def _finite(value: Value) -> Value:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def render_json(tables: Sequence[Table]) -> str:
    """Render one JSON object: the schema, and the rows of each table under its name."""
    document: dict[str, object] = {"schema": SCHEMA}
    for table in tables:
        if table.key in document:
            raise ValueError(f"two tables are named {table.key!r}")
        names, rows = flat(table)
        document[table.key] = [{"schema": SCHEMA, **dict(zip(names, row, strict=True))} for row in rows]
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def render_csv(tables: Sequence[Table]) -> str:
    """Render one rectangular table by RFC 4180; the rows of several tables follow each other."""
    parts = [(table.key, *flat(table)) for table in tables]
    every = list(dict.fromkeys(name for _, names, _ in parts for name in names))
    several = len(parts) > 1
    lines = [_csv_line([TABLE, *every] if several else every)]
    for key, names, rows in parts:
        places = [names.index(name) if name in names else None for name in every]
        first = [key] if several else []
        lines += [_csv_line([*first, *(None if at is None else row[at] for at in places)]) for row in rows]
    return "".join(lines)


def _csv_line(values: Iterable[Value]) -> str:
    return ",".join(map(csv_field, values)) + "\r\n"


def csv_field(value: Value) -> str:
    """Format a value for CSV: empty for None, numbers in full, texts safe for spreadsheets.

    Examples
    --------
    >>> [csv_field(value) for value in (None, 0.1, 36.0, "a, b", "=1+1", "-5")]
    ['', '0.1', '36.0', '"a, b"', "'=1+1", '-5']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float.__repr__(value)  # the shortest form that round-trips exactly, also for NumPy's numbers
    if isinstance(value, int):
        return str(value)
    if _PLAIN_FIELD.fullmatch(value):  # most texts; the rest is slow for a million of them
        return value
    # A text that a spreadsheet would run as a formula gets an apostrophe; a signed number does not.
    text = f"'{value}" if _FORMULA.match(value) else value
    return '"' + text.replace('"', '""') + '"' if _QUOTED_FIELD.search(text) else text
