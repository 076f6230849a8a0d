"""Figures for papers, drawn with matplotlib: agreement with intervals, sweeps, scatters."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu.errors import DataError, UsageError, nearest
from trubleu.files.writer import atomic_writer, check_writable
from trubleu.optional_deps import needed
from trubleu.render.charts import (
    DASHES,
    LIGHT,
    MARKERS,
    Sweeps,
    defined_points,
    labelled_values,
    number_text,
    unbroken,
    value_text,
)
from trubleu.render.judge_page import measure_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trubleu.files.paths import PathLike
    from trubleu.judge.pairs.results import Measure, PairsReport
    from trubleu.render.charts import Line, Sweep

FORMATS: Final = ("svg", "pdf", "png")
"""The formats that figures are written in."""

# Nothing of the time or the user's own settings enters a file: the same report gives the same bytes.
_SETTINGS: Final[dict[str, Any]] = {
    "svg.hashsalt": "trubleu",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#d5d5dc",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "axes.unicode_minus": True,
    "text.parse_math": False,  # a dollar in a name is a dollar
}
_METADATA: Final[dict[str, dict[str, Any]]] = {
    "svg": {"Date": None, "Creator": "TruBLEU"},
    "pdf": {"CreationDate": None, "Creator": "TruBLEU"},
    "png": {"Software": "TruBLEU"},
}
_MARKERS: Final = dict(zip(MARKERS, ("o", "s", "^", "D", "X", "v", "P", "*"), strict=True))
_RESOLUTION: Final = 200
_VECTORS: Final = 5000
"""Dots of a panel beyond which they become an image inside the figure: no viewer likes a million circles."""

_COLUMNS: Final = (2, 3)  # a column for each condition where that fits on paper
_FONT_WIDTH: Final = 0.078  # inches of one character of a label


def write_figures(report: PairsReport, folder: PathLike, formats: Sequence[str] = ("svg",)) -> list[Path]:
    """Write all figures of a report into a folder, each whole or not at all.

    Parameters
    ----------
    report
        What judging metrics by people yielded.
    folder
        Where to; it is made if its own folder exists.
    formats
        Some of ``svg``, ``pdf`` and ``png``.

    Returns
    -------
    list of Path
        What was written: ``agreement``, ``sweeps`` and ``scatter`` in each format; figures without anything to draw are
        left out.

    Raises
    ------
    UsageError
        If a format is not known or there is none.
    DataError
        If the folder cannot be written.
    MissingExtraError
        If matplotlib is not installed.
    """
    check_figures(folder, formats)
    target = Path(folder)
    _make_folder(target)
    written = []
    with _settings():
        for name, draw in _DRAWN.items():
            figure = draw(report)
            if figure is None:
                continue
            for kind in dict.fromkeys(formats):
                path = target / f"{name}.{kind}"
                with atomic_writer(path, "wb") as stream:
                    figure.savefig(
                        stream, format=kind, metadata=_METADATA[kind], dpi=_RESOLUTION, bbox_inches="tight",
                        pad_inches=0.05,
                    )  # fmt: skip
                written.append(path)
    return written


def check_figures(folder: PathLike, formats: Sequence[str]) -> None:
    """Refuse what `write_figures` could not do, before hours of work are spent on what it would draw.

    Raises
    ------
    UsageError
        If a format is not known or there is none.
    DataError
        If the folder, or a figure in it, cannot be written.
    MissingExtraError
        If matplotlib is not installed.
    """
    check_formats(formats)
    load_matplotlib()
    target = Path(folder)
    if not target.exists():
        check_writable(target)
        return
    if not target.is_dir():
        raise DataError(f"{target} is a file; give the name of a folder for the figures")
    for name in _DRAWN:
        for kind in formats:
            check_writable(target / f"{name}.{kind}")


def check_formats(formats: Sequence[str]) -> None:
    """Refuse formats that figures cannot be written in.

    Raises
    ------
    UsageError
        If one is not known, or there is none.

    Examples
    --------
    >>> check_formats(["svg", "pgn"])
    Traceback (most recent call last):
    trubleu.errors.UsageError: figures cannot be written as pgn; did you mean png?
    """
    if not formats:
        raise UsageError(f"no format for figures was given; choose among {', '.join(FORMATS)}")
    for name in formats:
        if name not in FORMATS:
            raise UsageError(f"figures cannot be written as {name}; {nearest(name, FORMATS)}")


def load_matplotlib() -> Any:
    """Return matplotlib, or say what to install.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    return needed("matplotlib", "a figure", "trubleu[judge]")


@contextmanager
def _settings() -> Iterator[None]:
    """Draw with our own settings over the built-in ones, whatever the user has in a file, and put them back."""
    matplotlib = load_matplotlib()
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        # A name in a script that the font does not have is drawn as boxes; the figure is still worth having.
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        yield


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise DataError(f"the folder {folder} cannot be made: {error.strerror or error}") from error


def _new_figure(width: float, height: float) -> Figure:
    # Without pyplot: no window, no global list of figures.
    figure: Figure = needed("matplotlib.figure", "a figure", "trubleu[judge]").Figure(
        figsize=(width, height), layout="constrained"
    )
    return figure


def agreement_figure(report: PairsReport) -> Figure | None:
    """Return ρ and τ of every measure with their bootstrap intervals, the largest ρ at the top; None without rows."""
    if not report.correlations:
        return None
    # From below to above, as the axis runs; undefined ones at the bottom.
    rows = sorted(report.correlations, key=lambda row: (row.spearman is not None, row.spearman or 0.0))
    names = [str(measure_of(row)) for row in rows]
    figure = _new_figure(6.0 + _FONT_WIDTH * max(map(len, names)), 1.0 + 0.27 * len(rows))
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, title, coefficients in (
        (left, "Spearman’s ρ", [(row.spearman, row.spearman_low, row.spearman_high) for row in rows]),
        (right, "Kendall’s τ", [(row.kendall, row.kendall_low, row.kendall_high) for row in rows]),
    ):
        for place, (value, low, high) in enumerate(coefficients):
            if value is None:
                axes.text(0.5, place, "undefined", transform=axes.get_yaxis_transform(), ha="center", va="center",
                          color="#5c5c66", fontsize=8)  # fmt: skip
                continue
            if low is not None and high is not None:
                axes.plot([low, high], [place, place], color=LIGHT[0], linewidth=1.6, solid_capstyle="butt")
                for end in (low, high):
                    axes.plot([end, end], [place - 0.16, place + 0.16], color=LIGHT[0], linewidth=1.2)
            axes.plot([value], [place], marker="o", markersize=5, color=LIGHT[0])
        axes.set_title(title)
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.axvline(0.0, color="#5c5c66", linewidth=0.8)
    left.set_yticks(range(len(rows)), names)
    left.set_xlabel(f"bars: {report.setting.confidence:.0%} bootstrap over segments", fontsize=8, color="#5c5c66")
    return figure


def sweeps_figure(report: PairsReport) -> Figure | None:
    """Return a panel for each sweep, as in Figure 2 of the ΔBLEU paper, with bands for intervals; None without rows."""
    sweeps = Sweeps.of(report)
    if not sweeps.sweeps:
        return None
    count = len(sweeps.sweeps)
    keys = _legend_entries(sweeps)
    columns = max(1, min(len(keys), int(3.4 * count / (0.5 + _FONT_WIDTH * max(len(name) for name, _ in keys)))))
    figure = _new_figure(3.3 * count, 2.7 + 0.19 * -(-len(keys) // columns))
    panels = figure.subplots(1, count, sharey=True, squeeze=False)[0]
    for axes, sweep in zip(panels, sweeps.sweeps, strict=True):
        _draw_sweep(axes, sweep)
    panels[0].set_ylabel("Spearman’s ρ")
    lines = needed("matplotlib.lines", "a figure", "trubleu[judge]")
    figure.legend(
        [lines.Line2D([], [], **style) for _, style in keys],
        [name for name, _ in keys],
        loc="outside lower center",
        ncols=columns,
        handlelength=3.2,
    )
    return figure


def _legend_entries(sweeps: Sweeps) -> list[tuple[str, dict[str, Any]]]:
    entries = [(name, _style(number, 0)) for number, name in enumerate(sweeps.metrics)]
    if len(sweeps.conditions) > 1:
        entries += [
            (name, {"color": "#1b1b1f", "linestyle": _dash(number)}) for number, name in enumerate(sweeps.conditions)
        ]
    return entries


def _draw_sweep(axes: Axes, sweep: Sweep) -> None:
    for line in sweep.lines:
        _draw_line(axes, line)
    values = sweep.values
    if sweep.name == "threshold":
        axes.invert_xaxis()
    if sweep.name == "unit" and min(values) > 0:
        axes.set_xscale("log")
    ticker = needed("matplotlib.ticker", "a figure", "trubleu[judge]")
    axes.xaxis.set_major_locator(ticker.FixedLocator(labelled_values(sweep)))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: value_text(value)))
    axes.set_xlabel(sweep.title)


def _draw_line(axes: Axes, line: Line) -> None:
    style = _style(line.hue, line.dash)
    for rows in unbroken(line.rows, interval=True):
        low, high = [row.spearman_low or 0.0 for row in rows], [row.spearman_high or 0.0 for row in rows]
        if len(rows) > 1:
            axes.fill_between([row.value for row in rows], low, high, color=style["color"], alpha=0.13, linewidth=0)
        else:  # an interval with nothing beside it is no area
            axes.plot([rows[0].value] * 2, [low[0], high[0]], color=style["color"], linewidth=1.0)
    for rows in unbroken(line.rows):
        axes.plot([row.value for row in rows], [row.spearman or 0.0 for row in rows], **style)


def _style(hue: int, dash: int) -> dict[str, Any]:
    return {
        "color": LIGHT[hue % len(LIGHT)],
        "marker": _MARKERS[MARKERS[hue % len(MARKERS)]],
        "markersize": 5,
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
        "linewidth": 1.5,
        "linestyle": _dash(dash),
    }


def _dash(number: int) -> Any:
    dash = DASHES[number % len(DASHES)]
    return (0, tuple(float(length) / 1.5 for length in dash.split())) if dash else "-"


def scatter_figure(report: PairsReport) -> Figure | None:
    """Return differences of scores against differences of ratings, a panel for each measure; None without units."""
    measures = list(report.cloud.scores)
    if not measures or not len(report.cloud.rating):
        return None
    coefficients = {measure_of(row): row.spearman for row in report.correlations}
    conditions = len({measure.condition for measure in measures if measure.condition is not None})
    columns = min(conditions if conditions in _COLUMNS else max(_COLUMNS), len(measures))
    rows = -(-len(measures) // columns)
    figure = _new_figure(3.0 * columns, 2.6 * rows)
    panels = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
    for axes, measure in zip(panels, measures, strict=False):
        ratings, scores = defined_points(report.cloud, measure)
        axes.axhline(0.0, color="#5c5c66", linewidth=0.7)
        axes.axvline(0.0, color="#5c5c66", linewidth=0.7)
        axes.plot(
            ratings, scores, linestyle="none", marker="o", markersize=3.2, markeredgewidth=0, alpha=0.55,
            color=LIGHT[0], rasterized=len(ratings) > _VECTORS,
        )  # fmt: skip
        axes.set_title("\n".join(_panel_title(measure, coefficients.get(measure))), fontsize=9)
        axes.tick_params(labelbottom=True)
    for axes in panels[len(measures) :]:
        axes.set_visible(False)
    figure.supxlabel("difference of ratings, A − B", fontsize=9)
    figure.supylabel("difference of scores, A − B", fontsize=9)
    return figure


def _panel_title(measure: Measure, spearman: float | None) -> Iterator[str]:
    """Yield the lines above a panel: a long name over several, then the condition and ρ."""
    yield from _folded(measure.metric)
    rho = f"ρ = {number_text(spearman)}"
    yield rho if measure.condition is None else f"{measure.condition}: {rho}"


def _folded(name: str, width: int = 36) -> Iterator[str]:
    """Yield pieces of a name that are no longer than a panel is wide, cut where a part of the name ends if possible.

    Examples
    --------
    >>> list(_folded("some.module:Metric[one=1,two=2]", 20))
    ['some.module:Metric[', 'one=1,two=2]']
    """
    while len(name) > width:
        cut = max((place + 1 for place in range(width // 2, width) if name[place] in "[],:./-_ "), default=width)
        yield name[:cut]
        name = name[cut:]
    yield name


_DRAWN: Final = {"agreement": agreement_figure, "sweeps": sweeps_figure, "scatter": scatter_figure}
