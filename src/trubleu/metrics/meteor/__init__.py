"""METEOR (Banerjee & Lavie 2005)."""

from __future__ import annotations

from trubleu.metrics.meteor.meteor import Meteor

__all__ = ["Meteor"]
