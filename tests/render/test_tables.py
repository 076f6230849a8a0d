"""Tables in every format: exact strings, escapes, and numbers that come back bit for bit."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.errors import UsageError
from trubleu.render import Bounds, Column, Estimate, Table, render_tables
from trubleu.render.formats import csv_field
from trubleu.render.formats import escape_latex as latex_escaped
from trubleu.render.formats import escape_markdown as markdown_escaped
from trubleu.render.tables import FORMATS, ROOM, one_line, shown, stars, width

TABLE = Table(
    "Two systems",
    [
        Column("system"),
        Column("bleu", "BLEU", "number"),
        Column("change", "Δ", "signed"),
        Column("range", kind="signed"),
        Column("effect", kind="signed", digits=1),
        Column("p", kind="p"),
        Column("segments", kind="count"),
    ],
    [
        ("A", Estimate(36.278, 35.1, 37.125, "**"), -1.005, Bounds(-2.5, 0.001), 0.26, 0.01234, 1234567),
        ("B_2 & co", 9.104, None, None, math.inf, 1.0, 12),
    ],
    notes=["BLEU: bleu-4|case:mixed", "50 % off"],
)
OTHER = Table("", [Column("id"), Column("bleu", kind="number")], [("x", 100.0)], name="segments")

TEXT = """\
Two systems
system                      BLEU      Δ           range  effect       p   segments
--------  ----------------------  -----  --------------  ------  ------  ---------
A         36.28 [35.10, 37.12]**  -1.00  [-2.50, +0.00]    +0.3  0.0123  1,234,567
B_2 & co                  9.10        –               –       –  1.0000         12

BLEU: bleu-4|case:mixed
50 % off

id    bleu
--  ------
x   100.00

said of both
"""

MARKDOWN = r"""### Two systems

| system | BLEU | Δ | range | effect | p | segments |
|:--|--:|--:|--:|--:|--:|--:|
| A | 36.28 [35.10, 37.12]\*\* | -1.00 | [-2.50, +0.00] | +0.3 | 0.0123 | 1,234,567 |
| B_2 &amp; co | 9.10 | – | – | – | 1.0000 | 12 |

- BLEU: bleu-4|case:mixed
- 50 % off

| id | bleu |
|:--|--:|
| x | 100.00 |

- said of both
"""

LATEX = r"""% needs \usepackage{booktabs,graphicx}
% said of both
% BLEU: bleu-4|case:mixed
% 50 % off
\begin{table}
\centering
\caption{Two systems}
\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%
\begin{tabular}{lrrrrrr}
\toprule
system & BLEU & $\Delta$ & range & effect & p & segments \\
\midrule
A & 36.28 {\footnotesize [35.10, 37.12]}$^{**}$ & $-1.00$ & {\footnotesize [$-2.50$, $+0.00$]} & $+0.3$ & 0.0123 & 1,234,567 \\
B\_2 \& co & 9.10 & -- & -- & -- & 1.0000 & 12 \\
\bottomrule
\end{tabular}}
\end{table}

\begin{tabular}{lr}
\toprule
id & bleu \\
\midrule
x & 100.00 \\
\bottomrule
\end{tabular}
"""  # noqa: E501

CSV = (
    "table,system,bleu,bleu_low,bleu_high,change,range_low,range_high,effect,p,segments,id\r\n"
    "two_systems,A,36.278,35.1,37.125,-1.005,-2.5,0.001,0.26,0.01234,1234567,\r\n"
    "two_systems,B_2 & co,9.104,,,,,,,1.0,12,\r\n"
    "segments,,100.0,,,,,,,,,x\r\n"
)


@pytest.mark.parametrize(
    ("style", "expected"), [("text", TEXT), ("markdown", MARKDOWN), ("latex", LATEX), ("csv", CSV)]
)
def test_every_format_as_it_looks(style: str, expected: str) -> None:
    assert render_tables([TABLE, OTHER], style, notes=["said of both"]) == expected


def test_json_has_one_value_a_field() -> None:
    document = json.loads(render_tables([TABLE, OTHER], "json", notes=["said of both"]))
    assert list(document) == ["schema", "two_systems", "segments"]
    assert document["schema"] == 1
    assert document["two_systems"] == [
        {
            "schema": 1,
            "system": "A",
            "bleu": 36.278,
            "bleu_low": 35.1,
            "bleu_high": 37.125,
            "change": -1.005,
            "range_low": -2.5,
            "range_high": 0.001,
            "effect": 0.26,
            "p": 0.01234,
            "segments": 1234567,
        },
        {
            "schema": 1,
            "system": "B_2 & co",
            "bleu": 9.104,
            "bleu_low": None,
            "bleu_high": None,
            "change": None,
            "range_low": None,
            "range_high": None,
            "effect": None,
            "p": 1.0,
            "segments": 12,
        },
    ]
    assert document["segments"] == [{"schema": 1, "id": "x", "bleu": 100.0}]


def test_one_table_in_csv_has_no_column_that_names_it() -> None:
    assert render_tables([OTHER], "csv") == "id,bleu\r\nx,100.0\r\n"


def test_digits_are_for_people() -> None:
    assert "36.3 [35.1, 37.1]**" in render_tables([TABLE], "text", 1)
    assert "+0.3 " in render_tables([TABLE], "text", 5)  # a column's own digits do not depend on it
    assert "0.0123 " in render_tables([TABLE], "text", 0)
    for style in ("csv", "json"):
        assert render_tables([TABLE], style, 0) == render_tables([TABLE], style, 9)


@pytest.mark.parametrize("style", FORMATS)
def test_a_table_without_rows(style: str) -> None:
    table = Table("", [Column("system"), Column("bleu", kind="number")], [])
    expected = {
        "text": "system  bleu\n------  ----\n",
        "markdown": "| system | bleu |\n|:--|--:|\n",
        "csv": "system,bleu\r\n",
        "json": '{\n "schema": 1,\n "rows": []\n}\n',
    }
    found = render_tables([table], style)
    assert found == expected.get(style, found)
    assert found.endswith("\n")


def test_what_does_not_fit_together() -> None:
    with pytest.raises(ValueError, match=r"row 2 of the table 'x' has 1 cells for 2 columns"):
        Table("", [Column("a"), Column("b")], [(1, 2), (1,)], name="x")
    with pytest.raises(ValueError, match="two columns of the table 'x_y' have the same name"):
        Table("X & Y", [Column("a"), Column("a")], [])
    with pytest.raises(ValueError, match="two tables are named 'segments'"):
        render_tables([OTHER, OTHER], "json")
    with pytest.raises(UsageError, match="format=markdwon is not known; did you mean markdown"):
        render_tables([OTHER], "markdwon")


def test_cells() -> None:
    number, text = Column("x", kind="number"), Column("x")
    assert shown("var", number, 2).text == "var"
    assert (shown(True, text, 2).text, shown(False, text, 2).text) == ("yes", "no")
    assert shown(-0.001, number, 2).text == "0.00"
    assert shown(float("nan"), number, 2).text == "–"
    assert shown(Estimate(None), number, 2) == ("–", None, "")
    assert shown(7, text, 2).text == "7"
    assert [stars(p) for p in (0.05, 0.049, 0.01, 0.0099, 0.001, 0.0)] == ["", "*", "*", "**", "**", "***"]


def test_text_fits_into_the_terminal() -> None:
    columns = [Column("system"), *(Column(f"metric-{number}", kind="number") for number in range(9)), Column("text")]
    rows = [
        (name, *range(9), "what it says 中文 " * 9) for name in ("A", "a name that is far longer than any terminal is")
    ]
    table = Table("", columns, rows)
    wide = render_tables([table])
    token = ROOM.set(60)
    try:
        text = render_tables([table])
    finally:
        ROOM.reset(token)
    lines = text.splitlines()
    assert max(map(width, lines)) <= 60 < max(map(width, wide.splitlines()))
    assert [line.split()[0] for line in lines if line.startswith("system")] == ["system"] * 4
    assert "a name that is far longer th…" in text
    assert all(f"metric-{number}" in text for number in range(9))
    assert text.count("8.00") == 2


def test_text_stays_under_its_heading_whatever_the_characters() -> None:
    table = Table("", [Column("id"), Column("n", kind="count")], [("中文", 1), ("e\u0301", 22), ("a\nb\x1b[31m", 3)])
    assert render_tables([table]) == (
        "id         n\n"
        "--------  --\n"
        "中文       1\n"
        "e\u0301         22\n"
        "a b [31m   3\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", r"a\|b"),
        ("`rm`", r"\`rm\`"),
        ("one\ntwo\r\nthree", "one<br>two<br>three"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("AT&amp;T", "AT&amp;amp;T"),
        ("**bold** ~~gone~~", r"\*\*bold\*\* \~\~gone\~\~"),
        ("[x](http://y)", r"\[x\](http://y)"),
        ("back\\slash|", r"back\\slash\|"),
        ("sys_A_1", "sys_A_1"),
        ("a_.b_", r"a\_.b\_"),
        ("_it_ __b__", r"\_it\_ \_\_b\_\_"),
        ("$x$", r"\$x\$"),
        ("\x00 \t", ""),
    ],
)
def test_markdown_shows_texts_as_they_are(text: str, expected: str) -> None:
    assert markdown_escaped(text) == expected


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4))
def test_markdown_rows_keep_their_shape(rows: list[tuple[str, str]]) -> None:
    lines = render_tables([Table("", [Column("a"), Column("b")], rows)], "markdown").split("\n")
    assert len(lines) == 2 + len(rows) + 1
    for line in lines[2:-1]:
        assert line.isprintable() or not set(line) & set("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
        assert "<" not in line.replace("<br>", "")
        # Pipes that are not escaped end cells: three of them for two.
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("50% & $5 #1 a_b", r"50\% \& \$5 \#1 a\_b"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
        ("a<b>c|d", r"a\textless{}b\textgreater{}c\textbar{}d"),
        ("[1pt] *x", "{[}1pt{]} {*}x"),
        ("a--b---c", "a-{}-b-{}-{}-c"),
        ("–-", r"\textendash{}-"),
        ("``x''", "{`}{`}x{'}{'}"),
        ("one\ntwo", "one two"),
        ("Δ − ↓ …", r"$\Delta$ $-$ $\downarrow$ \ldots{}"),
    ],
)
def test_latex_prints_texts_as_they_are(text: str, expected: str) -> None:
    assert latex_escaped(text) == expected


def test_comments_in_latex_stay_comments() -> None:
    table = Table("", [Column("a")], [("x",)], notes=["one\n\\input{evil}\rtwo"])
    lines = render_tables([table], "latex", notes=["a\nb"]).split("\n")
    assert lines[:3] == [r"% needs \usepackage{booktabs}", "% a b", r"% one \input{evil} two"]
    assert lines[3].startswith(r"\begin{tabular}")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        ("", '""'),
        (True, "true"),
        (-5, "-5"),
        (1e300, "1e+300"),
        (0.1 + 0.2, "0.30000000000000004"),
        ("a,b", '"a,b"'),
        ('say "hi"', '"say ""hi"""'),
        ("two\r\nlines", '"two\r\nlines"'),
        (" padded ", '" padded "'),
        # Texts that a spreadsheet would run get an apostrophe; numbers with a sign are left alone.
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("-", "'-"),
        ("\t=1", "'\t=1"),
        ("\r=1", '"\'\r=1"'),
        ("-5", "-5"),
        ("+1.5e-3", "+1.5e-3"),
        ("-5\n", '"\'-5\n"'),
        ("a=b", "a=b"),
    ],
)
def test_csv_fields(value: str | float | None, expected: str) -> None:
    assert csv_field(value) == expected


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(st.text(), numbers, st.none() | numbers, numbers, st.integers()), max_size=5))
def test_csv_and_json_give_back_every_bit(rows: list[tuple[str, float, float | None, float, int]]) -> None:
    columns = [Column("system"), Column("x", kind="number"), Column("y"), Column("n", kind="count")]
    table = Table("", columns, [(a, Estimate(x, x, z), y, n) for a, x, y, z, n in rows])
    lines = list(csv.DictReader(io.StringIO(render_tables([table], "csv"), newline=""), strict=True))
    objects = json.loads(render_tables([table], "json"))["rows"]
    assert len(lines) == len(objects) == len(rows)
    for line, record, (a, x, y, z, n) in zip(lines, objects, rows, strict=True):
        assert line["system"] in (a, f"'{a}")
        assert record["system"] == a
        read = [float(line["x"]), float(line["x_low"]), float(line["x_high"])]
        assert [each.hex() for each in read] == [each.hex() for each in (x, x, z)]
        assert [record["x"].hex(), record["x_low"].hex(), record["x_high"].hex()] == [each.hex() for each in (x, x, z)]
        assert line["y"] == "" if y is None else float(line["y"]).hex() == y.hex()
        assert record["y"] == y
        assert (int(line["n"]), record["n"]) == (n, n)


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
