"""HTML pages: templates, styles, scripts, and a policy that allows no others."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trubleu._version import __version__
from trubleu.optional_deps import needed
from trubleu.render.charts import series_style
from trubleu.style import tokens

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER: Final = Path(__file__).parent / "templates"


@cache
def load_page_templates() -> Environment:
    """Return the page templates; raise an error if a package is missing.

    Raises
    ------
    MissingExtraError
        If Jinja2 is not installed.
    """
    jinja2: Any = needed("jinja2", "a page in HTML", "trubleu[report]")
    environment: Environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,  # texts are untrusted: <script> in a reference is shown, not run
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment


def rendered_page(template: str, style: str, script: str, **values: Any) -> str:
    """Return a page of a template, with its style, its script, and a policy that allows no others."""
    policy = content_policy(style, script)
    page: str = (
        load_page_templates()
        .get_template(template)
        .render(style=style, script=script, policy=policy, version=__version__, **values)
    )
    # A lone surrogate, which JSON allows and UTF-8 does not, becomes \ud83d, which is valid JSON again.
    return page.encode("utf-8", "backslashreplace").decode("utf-8")


def report_page(template: str, *assets: str, **values: Any) -> str:
    """Return the page of a report, with tables and charts; ``assets`` are its own stylesheets and scripts.

    Raises
    ------
    MissingExtraError
        If Jinja2 is not installed.
    """
    style = page_style() + series_style() + "".join(map(page_asset, ("report.css", *assets[:-1])))
    script = "".join(map(page_asset, ("page.js", *assets[-1:])))
    return rendered_page(template, style, script, **{"about": "", "warnings": (), **values})


def page_style() -> str:
    """Return the stylesheet of pages with coloured n-grams."""
    return tokens() + page_asset("page.css")


def page_asset(name: str) -> str:
    """Return a stylesheet or script of the pages."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def content_policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy: one stylesheet and one script, identified by hash, and nothing else.

    Injected content would not run, even if it were not escaped.

    Examples
    --------
    >>> content_policy("", "").split("; ")[0]
    "default-src 'none'"
    """
    hashes = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (style, script))
    style, script = (f"'sha256-{each}'" for each in hashes)
    return f"default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'"
