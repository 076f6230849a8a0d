"""Scoring of systems × metrics: scores, intervals and tests for a whole corpus, by partition or by segment."""

from trubleu._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)  # the names of __init__.pyi
