"""A report of scores in every format, as exact strings."""

from __future__ import annotations

import csv
import io
import json

import pytest

from trubleu.render import render_scores
from trubleu.render.tables import FORMATS
from trubleu.scoring import ScoreReport, ScoreRow, SegmentRow, systems

REPORT = ScoreReport(
    systems=("base_1", "=new|er"),
    metrics=("bleu-4", "ter"),
    scores=(
        ScoreRow(system="base_1", metric="bleu-4", score=36.278, low=35.1, high=37.5, signature="bleu-4|tok:13a"),
        ScoreRow(system="base_1", metric="ter", score=50.0, low=49.0, high=51.25, signature="ter|case:lc"),
        ScoreRow(system="=new|er", metric="bleu-4", score=9.104, low=8.0, high=10.0, signature="bleu-4|tok:13a"),
        ScoreRow(system="=new|er", metric="ter", score=49.5, low=48.0, high=50.0, signature="ter|case:lc"),
    ),
    tests=(
        systems.TestRow(
            metric="bleu-4", a="=new|er", b="base_1", test="bootstrap", exact=False, n=1000, seed=7,
            difference=-27.174, low=-29.0, high=-25.0, effect=-2.5, p=0.000999, p_holm=0.000999,
            differing=30, smallest_p=2e-9, verdict="b is better",
        ),
        systems.TestRow(
            metric="ter", a="=new|er", b="base_1", test="bootstrap", exact=False, n=1000, seed=7,
            difference=-0.5, low=-2.0, high=1.0, effect=None, p=0.25, p_holm=0.25,
            differing=29, smallest_p=4e-9, verdict="not significant",
        ),
    ),
    segments=(
        SegmentRow(id="x", system="base_1", metric="bleu-4", score=36.278),
        SegmentRow(id="x", system="=new|er", metric="bleu-4", score=None),
        SegmentRow(id="x", system="base_1", metric="ter", score=50.0),
        SegmentRow(id="x", system="=new|er", metric="ter", score=49.5),
    ),
    lower_is_better=frozenset({"ter"}),
    baseline="base_1",
    confidence=0.95,
    resamples=1000,
    seed=7,
    segment_count=30,
)  # fmt: skip
SHORT = ScoreReport(systems=("base_1",), metrics=("bleu-4",), scores=REPORT.scores[:1], segment_count=30)

NOTES = """\
intervals: 95 %, percentile bootstrap of segments, 1,000 resamples, seed 7
tests: paired bootstrap, 1,000 draws, seed 7, two-sided; p (Holm) is corrected for all comparisons under one metric; \
* p < 0.05, ** p < 0.01, *** p < 0.001
bleu-4: bleu-4|tok:13a
ter: ter|case:lc
"""

TEXT = f"""\
system                              bleu-4                 ter ↓
-----------------  -----------------------  --------------------
base_1 (baseline)  36.28 [35.10, 37.50]     50.00 [49.00, 51.25]
=new|er              9.10 [8.00, 10.00]***  49.50 [48.00, 50.00]

metric  a        b        a − b          interval  effect       p   p (Holm)
------  -------  ------  ------  ----------------  ------  ------  ---------
bleu-4  =new|er  base_1  -27.17  [-29.00, -25.00]   -2.50  0.0010  0.0010***
ter     =new|er  base_1   -0.50    [-2.00, +1.00]       –  0.2500  0.2500

segment  system   bleu-4    ter
-------  -------  ------  -----
x        base_1    36.28  50.00
x        =new|er       –  49.50

{NOTES}"""

MARKDOWN = r"""| system | bleu-4 | ter ↓ |
|:--|--:|--:|
| base_1 (baseline) | 36.28 [35.10, 37.50] | 50.00 [49.00, 51.25] |
| =new\|er | 9.10 [8.00, 10.00]\*\*\* | 49.50 [48.00, 50.00] |

| metric | a | b | a − b | interval | effect | p | p (Holm) |
|:--|:--|:--|--:|--:|--:|--:|--:|
| bleu-4 | =new\|er | base_1 | -27.17 | [-29.00, -25.00] | -2.50 | 0.0010 | 0.0010\*\*\* |
| ter | =new\|er | base_1 | -0.50 | [-2.00, +1.00] | – | 0.2500 | 0.2500 |

| segment | system | bleu-4 | ter |
|:--|:--|--:|--:|
| x | base_1 | 36.28 | 50.00 |
| x | =new\|er | – | 49.50 |
"""

LATEX = r"""
\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%
\begin{tabular}{lrr}
\toprule
system & bleu-4 & ter $\downarrow$ \\
\midrule
base\_1 (baseline) & 36.28 {\footnotesize [35.10, 37.50]} & 50.00 {\footnotesize [49.00, 51.25]} \\
=new\textbar{}er & 9.10 {\footnotesize [8.00, 10.00]}$^{***}$ & 49.50 {\footnotesize [48.00, 50.00]} \\
\bottomrule
\end{tabular}}

\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%
\begin{tabular}{lllrrrrr}
\toprule
metric & a & b & a $-$ b & interval & effect & p & p (Holm) \\
\midrule
bleu-4 & =new\textbar{}er & base\_1 & $-27.17$ & {\footnotesize [$-29.00$, $-25.00$]} & $-2.50$ & 0.0010 & 0.0010$^{***}$ \\
ter & =new\textbar{}er & base\_1 & $-0.50$ & {\footnotesize [$-2.00$, $+1.00$]} & -- & 0.2500 & 0.2500 \\
\bottomrule
\end{tabular}}

\begin{tabular}{llrr}
\toprule
segment & system & bleu-4 & ter \\
\midrule
x & base\_1 & 36.28 & 50.00 \\
x & =new\textbar{}er & -- & 49.50 \\
\bottomrule
\end{tabular}
"""  # noqa: E501

CSV = """\
table,system,metric,score,low,high,signature,a,b,test,exact,n,seed,difference,effect,p,p_holm,differing,smallest_p,verdict,id
scores,base_1,bleu-4,36.278,35.1,37.5,bleu-4|tok:13a,,,,,,,,,,,,,,
scores,base_1,ter,50.0,49.0,51.25,ter|case:lc,,,,,,,,,,,,,,
scores,'=new|er,bleu-4,9.104,8.0,10.0,bleu-4|tok:13a,,,,,,,,,,,,,,
scores,'=new|er,ter,49.5,48.0,50.0,ter|case:lc,,,,,,,,,,,,,,
tests,,bleu-4,,-29.0,-25.0,,'=new|er,base_1,bootstrap,false,1000,7,-27.174,-2.5,0.000999,0.000999,30,2e-09,b is better,
tests,,ter,,-2.0,1.0,,'=new|er,base_1,bootstrap,false,1000,7,-0.5,,0.25,0.25,29,4e-09,not significant,
segments,base_1,bleu-4,36.278,,,,,,,,,,,,,,,,,x
segments,'=new|er,bleu-4,,,,,,,,,,,,,,,,,,x
segments,base_1,ter,50.0,,,,,,,,,,,,,,,,,x
segments,'=new|er,ter,49.5,,,,,,,,,,,,,,,,,x
"""


def test_text() -> None:
    assert render_scores(REPORT) == render_scores(REPORT, "text", 2) == TEXT


def test_markdown() -> None:
    escaped = NOTES.replace("*", r"\*").replace("<", "&lt;")
    notes = "".join(f"- {note}\n" for note in escaped.splitlines())
    assert render_scores(REPORT, "markdown") == f"{MARKDOWN}\n{notes}"


def test_latex() -> None:
    comments = "\n".join([r"% needs \usepackage{booktabs,graphicx}", *(f"% {note}" for note in NOTES.splitlines())])
    assert render_scores(REPORT, "latex") == comments + LATEX


def test_csv() -> None:
    assert render_scores(REPORT, "csv") == CSV.replace("\n", "\r\n")


def test_json_is_the_report_itself() -> None:
    assert json.loads(render_scores(REPORT, "json")) == REPORT.to_dict()
    assert json.loads(render_scores(SHORT, "json")) == SHORT.to_dict()
    assert list(json.loads(render_scores(REPORT, "json"))["tests"][0]) == list(REPORT.to_dict()["tests"][0])


def test_scores_alone() -> None:
    assert render_scores(SHORT) == (
        "system                bleu-4\n"
        "------  --------------------\n"
        "base_1  36.28 [35.10, 37.50]\n"
        "\n"
        "bleu-4: bleu-4|tok:13a\n"
    )  # fmt: skip
    assert render_scores(SHORT, "csv") == (
        "system,metric,score,low,high,signature\r\nbase_1,bleu-4,36.278,35.1,37.5,bleu-4|tok:13a\r\n"
    )


def test_csv_has_the_rows_of_json() -> None:
    lines = list(csv.DictReader(io.StringIO(render_scores(REPORT, "csv"), newline=""), strict=True))
    for name in ("scores", "tests", "segments"):
        rows = [line for line in lines if line["table"] == name]
        for row, record in zip(rows, REPORT.to_dict()[name], strict=True):
            for key, value in record.items():
                if key not in ("schema", "parts"):
                    written = row[key].removeprefix("'")
                    assert written == ("" if value is None else str(value).lower() if value is False else str(value))


@pytest.mark.parametrize("style", FORMATS)
def test_no_systems_and_no_metrics(style: str) -> None:
    assert render_scores(ScoreReport(systems=(), metrics=(), scores=(), segment_count=0), style).endswith("\n")
