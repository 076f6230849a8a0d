"""Scoring of systems × metrics: scores, intervals and tests for a whole corpus, by partition or by segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu._lazy import lazy_names

if TYPE_CHECKING:
    from trubleu.scoring.accumulator import SegmentRow as SegmentRow
    from trubleu.scoring.next_ratings import NextText as NextText
    from trubleu.scoring.next_ratings import RatingPlan as RatingPlan
    from trubleu.scoring.next_ratings import plan_ratings as plan_ratings
    from trubleu.scoring.partitions import score_files as score_files
    from trubleu.scoring.rating_errors import RatingEffects as RatingEffects
    from trubleu.scoring.rating_errors import rating_effects as rating_effects
    from trubleu.scoring.reference_check import ReferenceCheck as ReferenceCheck
    from trubleu.scoring.reference_check import check_references as check_references
    from trubleu.scoring.segment_files import read_segment_scores as read_segment_scores
    from trubleu.scoring.systems import LeftOutRow as LeftOutRow
    from trubleu.scoring.systems import Sampling as Sampling
    from trubleu.scoring.systems import ScoreReport as ScoreReport
    from trubleu.scoring.systems import ScoreRow as ScoreRow
    from trubleu.scoring.systems import TestRow as TestRow
    from trubleu.scoring.systems import score_parts as score_parts
    from trubleu.scoring.systems import score_systems as score_systems

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "accumulator": "SegmentRow",
        "next_ratings": "NextText RatingPlan plan_ratings",
        "partitions": "score_files",
        "segment_files": "read_segment_scores",
        "rating_errors": "RatingEffects rating_effects",
        "reference_check": "ReferenceCheck check_references",
        "systems": "LeftOutRow Sampling ScoreReport ScoreRow TestRow score_parts score_systems",
    },
)
