"""Checks of single outputs: what an output says that no good reference says, and what it lacks.

>>> from trubleu.checks import Checks
>>> for found in Checks().find("Returns take 60 days.", ["Returns take 30 days."]):
...     print(f"{found.level}: {found.message}")
warn: "60 days" is in no good reference
warn: the good reference has "30 days", which is missing
"""

from trubleu._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)  # the names of __init__.pyi
