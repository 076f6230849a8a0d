"""Studies in which the truth is known: how often tests find it, intervals cover it, and metrics order systems by it."""

from __future__ import annotations

from trubleu.simulate.studies.conditions import Condition, Scored, make_conditions, score_pool
from trubleu.simulate.studies.coverage import CoverageRow, CoverageStudy, coverage_study
from trubleu.simulate.studies.order import OrderRow, OrderStudy, SystemRow, order_study
from trubleu.simulate.studies.pool import Pool, draw_ratings, make_pool, pool_of, weights_of
from trubleu.simulate.studies.power import PowerRow, PowerStudy, power_study

__all__ = [
    "Condition",
    "CoverageRow",
    "CoverageStudy",
    "OrderRow",
    "OrderStudy",
    "Pool",
    "PowerRow",
    "PowerStudy",
    "Scored",
    "SystemRow",
    "coverage_study",
    "draw_ratings",
    "make_conditions",
    "make_pool",
    "order_study",
    "pool_of",
    "power_study",
    "score_pool",
    "weights_of",
]
