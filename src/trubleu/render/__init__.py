"""Rendering of results: tables, pages and charts for people, and flat rows for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu._lazy import lazy_names

if TYPE_CHECKING:
    from trubleu.render.comparison import render_comparison as render_comparison
    from trubleu.render.comparison_page import render_comparison_page as render_comparison_page
    from trubleu.render.explanation_page import render_explanation_page as render_explanation_page
    from trubleu.render.explanation_text import render_explanation_json as render_explanation_json
    from trubleu.render.explanation_text import render_explanation_text as render_explanation_text
    from trubleu.render.judge_pairs import render_judge_page as render_judge_page
    from trubleu.render.judge_pairs import render_pairs as render_pairs
    from trubleu.render.judge_ratings import render_ratings as render_ratings
    from trubleu.render.judge_ratings import render_ratings_page as render_ratings_page
    from trubleu.render.judge_sets import render_sets as render_sets
    from trubleu.render.judge_sets import render_sets_page as render_sets_page
    from trubleu.render.judge_wmt import render_wmt as render_wmt
    from trubleu.render.judge_wmt import render_wmt_page as render_wmt_page
    from trubleu.render.references import render_reference_check as render_reference_check
    from trubleu.render.scores import render_scores as render_scores
    from trubleu.render.studies import render_coverage as render_coverage
    from trubleu.render.studies import render_order as render_order
    from trubleu.render.studies import render_power as render_power
    from trubleu.render.tables import Bounds as Bounds
    from trubleu.render.tables import Column as Column
    from trubleu.render.tables import Estimate as Estimate
    from trubleu.render.tables import Table as Table
    from trubleu.render.tables import render_tables as render_tables

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "comparison": "render_comparison",
        "comparison_page": "render_comparison_page",
        "explanation_page": "render_explanation_page",
        "explanation_text": "render_explanation_json render_explanation_text",
        "judge_pairs": "render_judge_page render_pairs",
        "judge_ratings": "render_ratings render_ratings_page",
        "judge_sets": "render_sets render_sets_page",
        "judge_wmt": "render_wmt render_wmt_page",
        "references": "render_reference_check",
        "scores": "render_scores",
        "studies": "render_coverage render_order render_power",
        "tables": "Bounds Column Estimate Table render_tables",
    },
)
