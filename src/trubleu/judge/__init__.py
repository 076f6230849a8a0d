"""Judging metrics by people: does a metric agree with them, how sure is that, and is it better than another?"""

from trubleu._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)  # the names of __init__.pyi
