"""The C++ kernels, in the build that this machine runs best.

``kernels`` is the extension module: `_kernels`, which every CPU runs, or `_kernels_v3`, the same sources built for CPUs
with AVX2 and BMI. Both give the same bits. ``TRUBLEU_KERNELS=baseline`` takes the former whatever the CPU can do.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from trubleu.errors import UsageError

if TYPE_CHECKING:
    from trubleu.native import _kernels as kernels
else:

    def _best_kernels() -> object:
        from trubleu.native import _kernels as baseline

        if os.environ.get("TRUBLEU_KERNELS") == "baseline" or not baseline.supports_v3():
            return baseline
        try:
            from trubleu.native import _kernels_v3
        except ImportError:  # built for a CPU family that has no second build
            return baseline
        return _kernels_v3

    kernels = _best_kernels()

WORTH_THREADS: Final = 2_000
"""Texts (a few milliseconds) below which starting threads costs more than it saves."""

MOST_THREADS: Final = 10_000
"""More than any machine has; a larger number is a slip."""

MAX_ORDER: Final = 9
"""The longest n-grams that the kernels count."""


def available_threads() -> int:
    """Count the cores this process may run on, which in a container is often fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows do not have it
        return os.cpu_count() or 1


def resolve_threads(threads: int | None, work: int, worth: int = WORTH_THREADS) -> int:
    """Return the number of threads asked for, or, without one, all cores if there is enough work for them."""
    if threads is None:
        return available_threads() if work >= worth else 1
    if not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise UsageError(f"threads must be a whole number from 1 to {MOST_THREADS:,}, not {threads}")
    return threads


__all__ = ["MAX_ORDER", "available_threads", "kernels", "resolve_threads"]
