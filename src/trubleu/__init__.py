"""TruBLEU scores generated text with weighted references and stays true to human judgement."""

from trubleu._lazy import lazy_names
from trubleu._version import __version__ as __version__

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)  # the names of __init__.pyi
