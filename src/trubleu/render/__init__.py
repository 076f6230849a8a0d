"""Tables, pages, charts and figures: how every result is shown to people and written for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu._lazy import lazy_names

if TYPE_CHECKING:
    from trubleu.render.comparison import render_comparison
    from trubleu.render.explanation_page import render_explanation_page
    from trubleu.render.explanation_text import render_explanation_json, render_explanation_text
    from trubleu.render.figures import write_figures
    from trubleu.render.judge_page import render_judge_page
    from trubleu.render.judge_pairs import render_pairs
    from trubleu.render.judge_wmt import render_wmt
    from trubleu.render.references import render_reference_check
    from trubleu.render.scores import render_scores
    from trubleu.render.studies import render_coverage, render_order, render_power
    from trubleu.render.tables import Bounds, Column, Estimate, Table, render_tables

__all__ = [
    "Bounds",
    "Column",
    "Estimate",
    "Table",
    "render_comparison",
    "render_coverage",
    "render_explanation_json",
    "render_explanation_page",
    "render_explanation_text",
    "render_judge_page",
    "render_order",
    "render_pairs",
    "render_power",
    "render_reference_check",
    "render_scores",
    "render_tables",
    "render_wmt",
    "write_figures",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Bounds": "tables",
        "Column": "tables",
        "Estimate": "tables",
        "Table": "tables",
        "render_comparison": "comparison",
        "render_coverage": "studies",
        "render_explanation_json": "explanation_text",
        "render_explanation_page": "explanation_page",
        "render_explanation_text": "explanation_text",
        "render_judge_page": "judge_page",
        "render_order": "studies",
        "render_pairs": "judge_pairs",
        "render_power": "studies",
        "render_reference_check": "references",
        "render_scores": "scores",
        "render_tables": "tables",
        "render_wmt": "judge_wmt",
        "write_figures": "figures",
    },
)
