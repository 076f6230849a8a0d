"""LaTeX of tables: what is escaped, and that pdflatex compiles what the commands write."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trubleu.cli import main
from trubleu.render.formats import escape_latex
from trubleu.render.tables import Column, Estimate, Table, render_tables

EXAMPLES = Path(__file__).parents[2] / "examples"

UNICODE = re.compile(r"\\ifdefined\\Umathcode ([^\x00-\x7f]+)\\else [U+0-9A-F ]+\\fi\{\}")

NASTY = r"""50% of A_1 & {B} #3 $x$ ^ ~ \input{x} <a|b> "q" 'r' `s` [t]* --- -- ?` !` ,, << >>"""
LETTERS = "naïve façade Ångström Þórr Łódź şiş ő ế Ǫ ĳ ﬁ ß æ Œ ø ¿ ¡ «» „“ €£¥ τ ρ ε κ Δ Σ ∑ √ ≤ ≥ ≠ × · − – — … ½ ² °"
SCRIPTS = "Ελλάδα Привет, мир 日本語 한국어 العربية עברית ไทย አማርኛ 😀👍🏽 e\u0301\u0323 \u200b\u200d\ufeff\x1b\u2028"


@given(st.text())
def test_what_is_escaped_has_nothing_that_tex_reads(text: str) -> None:
    shown = escape_latex(text)
    plain = UNICODE.sub("", shown)
    assert plain.isascii()
    assert plain.isprintable()
    assert not re.search(r"(?<!\\)(?:\\\\)*[%&#]", plain)
    depth = 0
    for brace in re.sub(r"\\[{}]", "", plain):
        depth += {"{": 1, "}": -1}.get(brace, 0)
        assert depth >= 0
    assert depth == 0
    assert re.sub(r"\\\$", "", plain).count("$") % 2 == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Kendall τ-b, Spearman ρ, ε", r"Kendall $\tau$-b, Spearman $\rho$, $\varepsilon$"),
        ("naïve ế ş", r"na\"{\i}ve \'{\^{e}} \c{s}"),
        ("i\u0308", r"\"{\i}"),
        ("A–B — ≤ “x”", r"A\textendash{}B \textemdash{} $\leq$ \textquotedblleft{}x\textquotedblright{}"),
        ("中 文", r"\ifdefined\Umathcode 中\else U+4E2D\fi{} \ifdefined\Umathcode 文\else U+6587\fi{}"),
        ("a---b", "a-{}-{}-b"),
    ],
)
def test_letters_become_commands(text: str, shown: str) -> None:
    assert escape_latex(text) == shown


def test_only_wide_tables_are_scaled_down() -> None:
    narrow = Table("", [Column("system"), Column("bleu", kind="number")], [("A", Estimate(36.25, 35.0, 37.5))])
    assert r"\resizebox" not in render_tables([narrow], "latex")
    wide = Table("", [Column("system"), *(Column(f"metric {n}", kind="number") for n in range(9))], [("A", *range(9))])
    text = render_tables([wide], "latex")
    assert text.startswith("% needs \\usepackage{booktabs,graphicx}\n")
    assert text.count(r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%") == 1


def compiled(folder: Path, tables: dict[str, str]) -> str:
    """Compile tables with pdflatex and a minimal preamble; return the log."""
    for name, text in tables.items():
        (folder / f"{name}.tex").write_text(text, encoding="utf-8")
    inputs = "".join(f"\\section*{{{name}}}\\noindent\\input{{{name}}}\\clearpage\n" for name in tables)
    (folder / "all.tex").write_text(
        "\\documentclass{article}\n\\usepackage{booktabs,graphicx}\n"
        f"\\begin{{document}}\n{inputs}\\end{{document}}\n",
        encoding="utf-8",
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "all.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    log = (folder / "all.log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, log[-3000:]
    return log


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


OUTPUTS = "good.txt dull.txt 'Система_1 & 日本=parrot.txt'"
COMMANDS = {
    "score": f"score --refs refs.jsonl {OUTPUTS} -m trubleu chrf bleu-4 dbleu-2 ter --ci --test --resamples 50",
    "baseline": f"score --refs refs.jsonl {OUTPUTS} -m chrf --test --baseline good --resamples 50 --segments",
    "metrics": "score --list-metrics",
    "options": "score --list-metrics trubleu",
    "compare": f"compare --refs refs.jsonl {OUTPUTS} -m trubleu -m dbleu-2 --resamples 50",
    "ratings": f"judge ratings ratings.csv --refs refs.jsonl {OUTPUTS} -m trubleu chrf bleu-4 ter --all-pairs "
    "--resamples 50 --trials 50",
    "pairs": f"judge pairs --refs refs.jsonl --ratings ratings.csv --unit 10 --resamples 50 --draws 5 {OUTPUTS} "
    "-m trubleu chrf --sweeps threshold --sweep-draws 5 --sweep-resamples 5",
    "check": "refs check refs.jsonl",
    "power": "simulate power --pool 40 --corpus 300 --studies 3 --segments 10,20 --references 1,2 --raters 1",
}


@pytest.mark.filterwarnings("ignore")
def test_what_the_commands_write_compiles(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = {}
    for name, command in COMMANDS.items():
        code = main([*shlex.split(command), "--format", "latex"])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        tables[name] = captured.out
        body = "\n".join(line for line in captured.out.splitlines() if not line.startswith("%"))
        assert UNICODE.sub("", body).isascii()
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    log = compiled(examples, tables)
    assert "Overfull \\hbox" not in log


def test_any_text_compiles(tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    latin = "".join(map(chr, [*range(0xA0, 0x250), *range(0x1E00, 0x2000), *range(0x370, 0x400)]))
    texts = [NASTY, LETTERS, SCRIPTS, *re.findall(r".{1,40}", latin), *NASTY.split(" "), *SCRIPTS.split(" ")]
    texts += [f"{mark}x" for mark in "[*&%-+=<>~^"]
    table = Table(NASTY, [Column(NASTY), Column("b", kind="number")], [(text, 1.0) for text in texts], name="nasty")
    small = Table(LETTERS, [Column("a")], [(unicodedata.normalize("NFD", LETTERS),)], notes=[SCRIPTS, NASTY])
    log = compiled(tmp_path, {"nasty": render_tables([table, small], "latex", notes=[SCRIPTS])})
    assert "Overfull \\hbox" not in log
