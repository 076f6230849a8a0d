"""What people bring: references with weights, outputs of systems, triples, ratings, and their readers."""

from trubleu._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)  # the names of __init__.pyi
