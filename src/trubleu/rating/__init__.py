"""Rating studies: people and models rate texts; the ratings become weights or judgements."""

from trubleu._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)  # the names of __init__.pyi
