"""Metrics held against ratings or rankings of outputs, on one set or on many."""

from __future__ import annotations

from trubleu.judge.ratings.judge import judge_ratings
from trubleu.judge.ratings.results import RatingsReport
from trubleu.judge.ratings.sets import SetsReport, judge_sets

__all__ = ["RatingsReport", "SetsReport", "judge_ratings", "judge_sets"]
