"""What people look at: figures, and one page with tables, charts and a browser of segments."""

from __future__ import annotations

from trubleu.judge.show.figures import write_figures
from trubleu.judge.show.page import render_page

__all__ = ["render_page", "write_figures"]
