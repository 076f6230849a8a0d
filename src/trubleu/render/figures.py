"""Charts as files for papers: SVG, and PDF with a page per chart, in the width of a column, with embedded fonts."""

from __future__ import annotations

import base64
import datetime as dt
import io
import logging
import re
import warnings
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from trubleu.errors import TrubleuWarning, UsageError, nearest, some
from trubleu.optional_deps import needed
from trubleu.render.charts import HEIGHT, LIGHT, WIDTH, Chart, Key
from trubleu.render.pages import load_page_templates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


COLUMN: Final = 84.0
"""Width of a figure in millimetres: a column of the usual two-column papers."""

_FONT: Final = Path(__file__).parent / "fonts" / "DejaVuSans-subset.ttf"
_FAMILY: Final = "DejaVu Sans"
_TITLE: Final = 20.0
_LINE: Final = 15.0
_KEY: Final = 19.0
_CHARACTER: Final = 6.9
_GAP: Final = 16.0
_POINTS: Final = 72 / 25.4
_BLACK, _GREY, _RULE = "#000000", "#555555", "#bbbbbb"


class PlacedKey(NamedTuple):
    """An entry of a legend and where it stands."""

    key: Key
    x: float
    y: float


class Line(NamedTuple):
    """A line of the note below a chart."""

    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart in a figure, from top to bottom, with its legend and its note."""

    chart: Chart
    top: float
    bottom: float
    keys: Sequence[PlacedKey]
    notes: Sequence[Line]


def check_figures() -> None:
    """Raise an error if a package for figures is missing."""
    needed("fpdf", "a figure", "trubleu[figures]")
    load_page_templates()


def chosen_charts(charts: Iterable[tuple[str, Chart]], only: Sequence[str] | None, kinds: Sequence[str]) -> list[Chart]:
    """Return the charts of some kinds, or all.

    Raises
    ------
    UsageError
        If there is no such kind, or no chart of these kinds here.
    """
    for name in only or ():
        if name not in kinds:
            raise UsageError(f"--chart {name} is no kind of chart; {nearest(name, kinds)}")
    found = [(kind, chart) for kind, chart in charts]
    kept = [chart for kind, chart in found if not only or kind in only]
    if not kept:
        there = some(dict.fromkeys(kind for kind, _ in found)) or "none"
        raise UsageError(f"there is no such chart of these systems and metrics; there are: {there}")
    return kept


def render_figure(charts: Sequence[Chart], format: str) -> bytes:  # noqa: A002 - the option is called format everywhere
    """Render charts as SVG, below each other, or as PDF, a page for each.

    Raises
    ------
    MissingExtraError
        If fpdf2 or Jinja2 is not installed.
    """
    check_figures()
    _warn_of_unknown(charts)
    if format == "svg":
        return _svg(charts, face=_face(charts)).encode()
    return _pdf([_svg([chart]) for chart in charts])


def _svg(charts: Sequence[Chart], face: str = "") -> str:
    left = min(min(chart.edge, chart.x.left) for chart in charts)
    right = float(WIDTH + 4)  # the last label of an axis stands out
    panels = [*_panels(charts, left, right)]
    template = load_page_templates().get_template("figure.svg.j2")
    values = {"panels": panels, "left": left, "right": right, "width": COLUMN, "face": face}
    drawn: str = template.render(**values, paint=_paint)
    return _INVALID.sub("\ufffd", drawn.encode("utf-8", "replace").decode())


_INVALID: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def _panels(charts: Iterable[Chart], left: float, right: float) -> Iterator[Panel]:
    top = 0.0
    for chart in charts:
        y = _TITLE + HEIGHT + chart.x.drop + 4
        keys = []
        x = left
        for key in chart.keys:
            width = 34 * bool(key.marker) + _CHARACTER * len(key.name) + 14
            if x > left and x + width > right:
                x, y = left, y + _KEY
            keys.append(PlacedKey(key, x, y))
            x += width
        y += (_KEY + 2) * bool(keys)
        notes = []
        for line in _wrapped(chart.note, int((right - left) / 5.9)):
            notes.append(Line(y + 10, line))
            y += _LINE
        bottom = top + y
        yield Panel(chart, top, bottom, keys, notes)
        top = bottom + _GAP


def _wrapped(text: str, room: int) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > room:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    if line:
        yield line


def _paint(classes: str) -> Any:
    """Return the attributes of what has these classes, for print: markers, fills and strokes differ, not only hues."""
    names = classes.split()
    hue = next((LIGHT[int(name[1:])] for name in names if re.fullmatch(r"c\d+", name)), _BLACK)
    kind = next((name for name in names if name in _PAINTS), "line")
    values = {key: hue if value == "hue" else value for key, value in _PAINTS[kind].items()}
    for name in names:
        values |= {key: hue if value == "hue" else value for key, value in _CHANGES.get(name, {}).items()}
    markup: Any = needed("markupsafe", "a figure", "trubleu[figures]")
    return markup.Markup(" ".join(f'{key}="{value}"' for key, value in values.items()))


_TEXT: Final = {"font-family": _FAMILY, "font-size": "12px", "fill": _BLACK}
_PAINTS: Final[dict[str, dict[str, str]]] = {
    "grid": {"fill": "none", "stroke": _RULE, "stroke-width": "0.6"},
    "zero": {"fill": "none", "stroke": _GREY, "stroke-width": "0.8"},
    "axis": {"fill": "none", "stroke": _BLACK, "stroke-width": "0.8"},
    "tick": _TEXT,
    "name": _TEXT,
    "title": {**_TEXT, "font-size": "13px"},
    "note": {**_TEXT, "font-size": "11px", "fill": _GREY},
    "band": {"fill": "hue", "fill-opacity": "0.13", "stroke": "none"},
    "line": {"fill": "none", "stroke": "hue", "stroke-width": "1.6"},
    "mark": {"fill": "hue", "stroke": "#ffffff", "stroke-width": "0.8"},
}
_DOTS: Final = {
    "fill": "none", "stroke": _BLACK, "stroke-width": "4.5", "stroke-linecap": "round", "stroke-opacity": "0.5",
}  # fmt: skip
_CHANGES: Final[dict[str, dict[str, str]]] = {
    "mid": {"text-anchor": "middle"},
    "end": {"text-anchor": "end"},
    "hollow": {"fill": "#ffffff", "stroke": "hue", "stroke-width": "1.4"},
    "dots": _DOTS,
    "side-a": {"fill": "#444444"},
    "side-b": {"fill": "#aaaaaa"},
    "cell": {"stroke": _RULE},
    "dark": {"fill": "#333333"},
    "middle": {"fill": "#8c8c8c"},
    "light": {"fill": "#cccccc"},
    "none": {"fill": "#ffffff"},
    "inverse": {"fill": "#ffffff"},
}


def _texts(charts: Iterable[Chart]) -> Iterator[str]:
    for chart in charts:
        yield from (chart.title, chart.note, chart.x.title, chart.y.title)
        yield from (tick.text for tick in chain(chart.x.ticks, chart.y.ticks))
        yield from (label.text for label in chart.labels)
        yield from (key.name for key in chart.keys)


def _warn_of_unknown(charts: Sequence[Chart]) -> None:
    with _font() as font:
        known = font.getBestCmap()
    if unknown := sorted({each for text in _texts(charts) for each in text if ord(each) not in known}):
        what = f"the font of figures lacks {some(unknown, 5)}, which are drawn as boxes; name systems in other letters"
        warnings.warn(what, TrubleuWarning, stacklevel=3)


def _font() -> Any:
    tables: Any = needed("fontTools.ttLib", "a figure", "trubleu[figures]")
    return tables.TTFont(_FONT, recalcTimestamp=False)


def _face(charts: Sequence[Chart]) -> str:
    """Return the rule that embeds the font's glyphs that charts use."""
    subset: Any = needed("fontTools.subset", "a figure", "trubleu[figures]")
    options = subset.Options()
    options.recalc_timestamp = False
    subsetter = subset.Subsetter(options)
    subsetter.populate(text="".join(sorted({*"".join(_texts(charts))})))
    stream = io.BytesIO()
    with _font() as font:
        subsetter.subset(font)
        font.save(stream)
    data = base64.b64encode(stream.getvalue()).decode()
    return f'@font-face{{font-family:"{_FAMILY}";src:url(data:font/ttf;base64,{data})}}'


def _pdf(pages: Iterable[str]) -> bytes:
    """Return a document with a page for each picture, as large as it is."""
    fpdf: Any = needed("fpdf", "a figure", "trubleu[figures]")
    svg: Any = needed("fpdf.svg", "a figure", "trubleu[figures]")
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    document = fpdf.FPDF(unit="pt")
    document.set_creation_date(dt.datetime(2000, 1, 1, tzinfo=dt.UTC))  # the same input gives the same bytes
    document.set_creator("TruBLEU")
    document.set_auto_page_break(auto=False)
    document.set_margin(0)
    document.add_font(_FAMILY, fname=str(_FONT))
    for page in pages:
        drawing = svg.SVGObject(page)
        width, height = (float(value) * _POINTS for value in re.findall(r'(?:width|height)="([\d.]+)mm"', page)[:2])
        document.add_page(format=(width, height))
        drawing.draw_to_page(document)
    return bytes(document.output())
