"""Interfaces of other packages on top of TruBLEU's kernels: change one import and keep the script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu._lazy import lazy_names

if TYPE_CHECKING:
    from trubleu.compat import sacrebleu as sacrebleu

__all__, __getattr__, __dir__ = lazy_names(__name__, {".": "sacrebleu"})
