"""Charts as files: SVG and PDF in the width of a column, with embedded fonts, from the same drawing as the pages."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from trubleu.cli import main
from trubleu.errors import TrubleuWarning, UsageError
from trubleu.render.charts import LEVELS, interval_chart, legend_keys, significance_chart, system_chart
from trubleu.render.figures import chosen_charts, render_figure
from trubleu.render.tables import Estimate

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ["A", "B & <b>", "C"]
SVG = "{http://www.w3.org/2000/svg}"
CHARTS = [
    interval_chart("Scores", {name: Estimate(1.0 + at, 0.5 + at, 1.5 + at) for at, name in enumerate(NAMES)}, "m"),
    significance_chart("Tests", NAMES, {("A", "B & <b>"): 0.0005, ("A", "C"): 0.005, ("B & <b>", "C"): 0.2}),
    system_chart("Both", {"A": 1.0, "C": 2.0}, {"A": 3.0, "C": 5.0}, names=("m", "n"), told=True),
]


def test_svg() -> None:
    drawn = render_figure(CHARTS, "svg").decode()
    assert render_figure(CHARTS, "svg").decode() == drawn
    root = ET.fromstring(drawn)  # noqa: S314 - our own
    assert root.get("width") == "84.00mm"
    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert {"Scores", "Tests", "Both", "A", "1. A", "2. B & <b>", "**", "***", "–"} <= texts
    assert "@font-face" in drawn
    assert "url(data:font/ttf;base64," in drawn
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|var\(--", drawn)
    assert all(element.get("fill") for element in root.iter(f"{SVG}path"))  # without a stylesheet all would be black


def test_pdf() -> None:
    document = render_figure(CHARTS, "pdf")
    assert document.startswith(b"%PDF-")
    assert render_figure(CHARTS, "pdf") == document
    assert len(re.findall(rb"/Type /Page\b(?!s)", document)) == len(CHARTS)
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) [\d.]+\]\n/Parent", document)  # of pages
    assert [round(float(width) / 72 * 25.4) for width in boxes] == [84] * len(CHARTS)
    assert b"/FontFile2" in document
    assert b"DejaVuSans" in document


def test_series_differ_without_colour() -> None:
    keys = legend_keys(list("abcdefghij"))
    drawn = {(re.sub(r"[\d.]+ [\d.]+", "", key.marker, count=1), "hollow" in key.classes) for key in keys}
    assert len(drawn) == len(keys)
    assert len({name for _, name in LEVELS}) == len(LEVELS)


def test_only_some_charts() -> None:
    charts = [("scores", CHARTS[0]), ("significance", CHARTS[1])]
    assert chosen_charts(charts, None, ("scores", "significance")) == CHARTS[:2]
    assert chosen_charts(charts, ["significance"], ("scores", "significance")) == CHARTS[1:2]
    with pytest.raises(UsageError, match="--chart score is no kind of chart; did you mean scores"):
        chosen_charts(charts, ["score"], ("scores", "significance"))
    with pytest.raises(UsageError, match="no such chart of these systems and metrics; there are: scores"):
        chosen_charts(charts[:1], ["significance"], ("scores", "significance"))


def test_letters_that_the_font_lacks() -> None:
    chart = interval_chart("評価", {"A": Estimate(1.0)}, "m")
    with pytest.warns(TrubleuWarning, match="the font of figures lacks 価, 評, which are drawn as boxes"):
        render_figure([chart], "svg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        render_figure([interval_chart("Żółć, Ελλάδα, Ёлка − é", {"A": Estimate(1.0)}, "m")], "svg")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [f"the cat number {number} sat down" for number in range(20)]
    (tmp_path / "ref.txt").write_text("\n".join(lines) + "\n")
    for name, step in (("A", 20), ("B", 3), ("C", 2)):
        texts = [f"{line} again" if at % step == 0 else line for at, line in enumerate(lines)]
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n")
    rows = [(at, system, "x", at % (5 - step)) for step, system in enumerate("ABC") for at in range(1, 21)]
    body = "".join(f"{item},{system},{rater},{score}\n" for item, system, rater, score in rows)
    (tmp_path / "ratings.csv").write_text("item,system,rater,score\n" + body)
    return tmp_path


COMPARE = ("compare", "--ref", "ref.txt", "A.txt", "B.txt", "C.txt", "-m", "bleu-1", "-m", "chrf", "--resamples", "100")
JUDGE = ("judge", "ratings", "ratings.csv", "--ref", "ref.txt", "A.txt", "B.txt", "C.txt", "-m", "bleu-1", "-m", "chrf")


def test_commands_write_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMPARE, "--format", "pdf", "--out", "c.pdf", "--quiet"]) == 0
    pages = len(re.findall(rb"/Type /Page\b(?!s)", (folder / "c.pdf").read_bytes()))
    assert pages == 2 + 1 + 2 + 1  # scores, systems, significance, by length of outputs; references are as long
    assert main([*COMPARE, "--format", "svg", "--chart", "significance", "--quiet"]) == 0
    drawn = capsys.readouterr().out
    assert drawn.count("Significant differences by ") == 2
    assert "95% intervals" not in drawn
    assert main([*JUDGE, "--resamples", "50", "--trials", "50", "--format", "svg", "--out", "j.svg", "--quiet"]) == 0
    drawn = (folder / "j.svg").read_text()
    assert "Segment level: agreement with people" in drawn
    assert "people’s score" in drawn


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*COMPARE, "--chart", "scores"), "--chart goes with --format svg or pdf; add one"),
        ((*COMPARE, "--format", "svg", "--chart", "x"), "--chart x is no kind of chart; known: scores, systems, sig"),
        ((*COMPARE, "--format", "pdf", "--out", "A.txt"), "A.txt is read by this command and would be lost"),
    ],
)
def test_mistakes(folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    before = sorted(folder.iterdir())
    assert main([*arguments]) == 2
    assert message in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before
