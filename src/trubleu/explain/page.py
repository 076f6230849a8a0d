"""Explanations as one HTML page that needs nothing else: no network, no fonts, no library."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu._version import __version__
from trubleu.data.extras import needed
from trubleu.explain.palette import STEPS, stylesheet
from trubleu.explain.views import SegmentView, segment_view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Environment

    from trubleu.explain.explanation import Explanation

_FOLDER: Final = Path(__file__).parent / "templates"


@cache
def load_templates(*folders: Path) -> Environment:
    """Return the templates of this folder, which show n-grams, and of others that build on them.

    Raises
    ------
    MissingExtraError
        If Jinja2 is not installed.
    """
    jinja2: Any = needed("jinja2", "a page in HTML", "trubleu[report]")
    environment: Environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, _FOLDER]),
        autoescape=True,  # texts come from anywhere: <script> in a reference is shown, not run
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment


def render_page(explanations: Mapping[str, Sequence[Explanation]], digits: int = 2) -> str:
    """Return explanations as a page.

    Parameters
    ----------
    explanations
        For each system the same segments in the same order.
    digits
        Decimals of scores and sums.

    Examples
    --------
    >>> import trubleu
    >>> from trubleu.explain import explain
    >>> found = explain(trubleu.metric("bleu-1"), "<b>it was</b>", [["it is"]])
    >>> page = render_page({"A": [found]})
    >>> "<b>" in page, page.startswith("<!doctype html>")
    (False, True)
    """
    segments: list[SegmentView] = [
        segment_view(dict(zip(explanations, several, strict=True)), digits)
        for several in zip(*explanations.values(), strict=True)
    ]
    everything = [one for several in explanations.values() for one in several]
    style, script = page_style(), page_script()
    return (
        load_templates()
        .get_template("page.html.j2")
        .render(
            segments=segments,
            systems=list(explanations),
            metric=everything[0].metric,
            weighted=everything[0].weighted,
            signatures=list(dict.fromkeys(one.signature for one in everything)),
            steps=STEPS,
            style=style,
            script=script,
            policy=content_policy(style, script),
            version=__version__,
        )
    )


def page_style() -> str:
    """Return the style sheet for texts with coloured n-grams and for what is around them."""
    return stylesheet() + (_FOLDER / "page.css").read_text(encoding="utf-8")


def page_script() -> str:
    """Return the script that lights up the words of an n-gram together."""
    return (_FOLDER / "page.js").read_text(encoding="utf-8")


def content_policy(style: str, script: str) -> str:
    """Return what a browser is told: one style sheet and one script, known by their hashes, and nothing else.

    Nothing that a text could smuggle in would run, even if it were not escaped.

    Examples
    --------
    >>> content_policy("", "").split("; ")[0]
    "default-src 'none'"
    """
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
