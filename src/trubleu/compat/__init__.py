"""Interfaces of other packages on top of TruBLEU's kernels: change one import and keep the script."""

from trubleu._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)  # the names of __init__.pyi
