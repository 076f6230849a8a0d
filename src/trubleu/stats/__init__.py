"""Intervals and tests from additive statistics.

These functions are independent of metrics: each takes an array ``float64[segments, k]`` and the function that turns a
sum of its rows into a score.
"""

from trubleu._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)  # the names of __init__.pyi
