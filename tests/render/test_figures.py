"""Figures of a report."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.judge.example import make_report
from trubleu.errors import DataError, MissingExtraError, UsageError
from trubleu.judge.pairs.results import Measure, PairsReport
from trubleu.render.figures import agreement_figure, check_figures, scatter_figure, sweeps_figure, write_figures


@pytest.fixture(scope="module")
def report() -> PairsReport:
    return make_report(16)


def small(report: PairsReport) -> PairsReport:
    """Return a report that is quickly drawn."""
    one = next(iter(report.cloud.scores))
    cloud = replace(report.cloud, scores={one: report.cloud.scores[one]})
    return replace(report, correlations=report.correlations[:2], sweeps=report.sweeps[:11], cloud=cloud)


def test_each_figure_is_written_in_each_format(report: PairsReport, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    written = write_figures(small(report), folder, ("svg", "pdf", "png", "svg"))
    names = [f"{name}.{kind}" for name in ("agreement", "sweeps", "scatter") for kind in ("svg", "pdf", "png")]
    assert [path.name for path in written] == names
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    for path in written:
        start = {".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG"}[path.suffix]
        assert path.read_bytes().startswith(start)


def test_the_same_report_gives_the_same_bytes(
    report: PairsReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write_figures(small(report), tmp_path / "a", ("svg", "pdf"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    with mpl.rc_context({"font.size": 20, "svg.hashsalt": "other", "axes.facecolor": "red"}):  # somebody's own settings
        second = write_figures(small(report), tmp_path / "b", ("svg", "pdf"))
        assert mpl.rcParams["font.size"] == 20
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert not re.search(rb"CreationDate|dc:date|\b20\d\d-\d\d-\d\d", one.read_bytes())


def test_no_window_and_no_list_of_figures(tmp_path: Path) -> None:
    code = (
        "import sys; from tests.judge.example import make_report; from trubleu.render.figures import write_figures;"
        f"write_figures(make_report(8), {str(tmp_path / 'f')!r}); sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=Path(__file__).parents[2])


def test_undefined_coefficients_are_gaps(report: PairsReport) -> None:
    figure = sweeps_figure(report)
    assert figure is not None
    panels = figure.axes
    assert [panel.get_xlabel() for panel in panels] == [
        "least weight of references", "segments a unit", "longest n-gram",
    ]  # fmt: skip
    for panel, sweep in zip(panels, ("threshold", "unit", "order"), strict=True):
        drawn = sorted(
            (x, y)
            for line in panel.get_lines()
            if line.get_marker() not in (None, "None", "")
            for x, y in np.asarray(line.get_xydata()).tolist()
        )
        rows = [row for row in report.sweeps if row.sweep == sweep]
        assert any(row.spearman is None for row in rows)
        assert drawn == sorted((row.value, row.spearman) for row in rows if row.spearman is not None)
        # A gap: no line goes from one side of an undefined point to the other.
        missing = {row.value for row in rows if row.spearman is None and row.metric == "bleu-2"}
        blue = [line for line in panel.get_lines() if line.get_color() == "#0072b2" and line.get_marker() == "o"]
        for line in blue:
            values = sorted(np.asarray(line.get_xdata()).tolist())
            assert not any(low < value < high for low, high in pairwise(values) for value in missing)
    left, right = panels[0].get_xlim()
    assert left > right


def test_measures_have_points_with_intervals(report: PairsReport) -> None:
    figure = agreement_figure(report)
    assert figure is not None
    for panel, name in zip(figure.axes, ("spearman", "kendall"), strict=True):
        points = [np.asarray(line.get_xdata())[0] for line in panel.get_lines() if line.get_marker() == "o"]
        assert sorted(points) == sorted(
            getattr(row, name) for row in report.correlations if getattr(row, name) is not None
        )
        assert [text.get_text() for text in panel.texts] == ["undefined"]
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names[0] == "bleu-9[smoothing=none] (single)"
    assert len(names) == len(report.correlations)


def test_long_names_are_not_cut_off(report: PairsReport) -> None:
    name = "package.module.of_mine:AnExtraordinarilyLongMetric[similarity=shift:0.3,vectors=some-file.store]"
    rows = (replace(report.correlations[0], metric=name), *report.correlations[1:3])
    one = next(iter(report.cloud.scores.values()))
    measures = {Measure(metric=f"{name}{number}", condition=None): one for number in range(3)}
    long = replace(
        report,
        correlations=rows,
        sweeps=tuple(replace(row, metric=name) if row.metric == "chrf" else row for row in report.sweeps),
        cloud=replace(report.cloud, scores=measures),
    )
    for draw in (agreement_figure, sweeps_figure, scatter_figure):
        figure = draw(long)
        assert isinstance(figure, Figure)
        figure.draw_without_rendering()
        everything = figure.get_tightbbox()
        width = figure.get_figwidth()
        assert everything.x0 >= -0.3
        assert everything.x1 <= width + 0.3
        titles = [panel.title.get_window_extent() for panel in figure.axes if panel.title.get_text()]
        for one_title, other in pairwise(titles):
            assert not one_title.overlaps(other)
    figure = agreement_figure(long)
    assert figure is not None
    figure.draw_without_rendering()
    first = figure.axes[0].get_yticklabels()
    assert max(label.get_window_extent().x1 for label in first) <= figure.axes[0].get_window_extent().x0


def test_names_are_drawn_as_they_are(report: PairsReport, tmp_path: Path) -> None:
    row = replace(report.correlations[0], metric="a $x_1$ metric 中文 <b>&")
    odd = replace(small(report), correlations=(row,), sweeps=(replace(report.sweeps[0], metric=row.metric),))
    assert len(write_figures(odd, tmp_path / "f")) == 3


def test_scatter_leaves_out_units_without_a_score(report: PairsReport) -> None:
    figure = scatter_figure(report)
    assert figure is not None
    neural = [panel for panel in figure.axes if "neural" in panel.get_title()]
    dots = [line for line in neural[0].get_lines() if line.get_marker() == "o"]
    scores = report.cloud.scores[Measure(metric="a-rather-long-neural-metric-v2.1-multilingual", condition=None)]
    assert len(np.asarray(dots[0].get_xdata())) == np.count_nonzero(np.isfinite(scores)) < len(scores)


def test_nothing_to_draw(report: PairsReport, tmp_path: Path) -> None:
    empty = replace(report, correlations=(), sweeps=(), cloud=replace(report.cloud, scores={}))
    assert write_figures(empty, tmp_path / "f") == []


def test_what_cannot_be_written_is_said_first(report: PairsReport, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(DataError, match=r"file is a file; give the name of a folder for the figures"):
        check_figures(file, ["svg"])
    with pytest.raises(DataError, match=r"there is no folder .*none; create it first"):
        write_figures(report, tmp_path / "none" / "figures")
    (tmp_path / "folder" / "sweeps.svg").mkdir(parents=True)
    with pytest.raises(DataError, match=r"sweeps.svg cannot be written: it is a folder"):
        check_figures(tmp_path / "folder", ["svg"])
    with pytest.raises(UsageError, match="figures cannot be written as gif; "):
        write_figures(report, tmp_path, ["gif"])
    with pytest.raises(UsageError, match="no format for figures was given; choose among svg, pdf, png"):
        write_figures(report, tmp_path, [])
    assert not (tmp_path / "none").exists()


def test_without_matplotlib_the_command_is_named(
    report: PairsReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'trubleu\[judge\]'"):
        check_figures(tmp_path, ["svg"])
