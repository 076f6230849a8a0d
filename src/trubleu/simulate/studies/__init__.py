"""Studies in which the truth is known: how often tests find it, intervals cover it, and metrics order systems by it."""

from __future__ import annotations

from trubleu.simulate.studies.coverage import CoverageRow, CoverageStudy, coverage_study
from trubleu.simulate.studies.models import ModelRow, ModelStudy, model_study
from trubleu.simulate.studies.order import OrderRow, OrderStudy, SystemRow, order_study
from trubleu.simulate.studies.pool import (
    Condition,
    Pool,
    Scored,
    draw_ratings,
    make_conditions,
    make_pool,
    pool_of,
    score_pool,
    weights_of,
)
from trubleu.simulate.studies.power import PowerRow, PowerStudy, power_study

__all__ = [
    "Condition",
    "CoverageRow",
    "CoverageStudy",
    "ModelRow",
    "ModelStudy",
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
    "model_study",
    "order_study",
    "pool_of",
    "power_study",
    "score_pool",
    "weights_of",
]
