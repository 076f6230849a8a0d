"""What each metric is for and what it needs, for people who choose one."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trubleu.errors import UsageError, nearest
from trubleu.metrics.registry import ENTRIES

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDescription:
    """A metric as people choose it.

    Attributes
    ----------
    name
        The name, without an order.
    purpose
        What it is for, in a few words.
    order
        The longest n-grams if none are asked for with ``name-N``; None if it takes no such number.
    needs
        What it needs beside outputs and references, or does its work with: ``weights``, ``source``, ``vectors``,
        ``all segments at once`` (or a corpus in their place), and extras of this package such as ``trubleu[ready]``.
    higher_is_better
        False for error rates.
    options
        What may stand in brackets behind the name, with what holds if it is left out.
    """

    name: str
    purpose: str
    order: int | None
    needs: tuple[str, ...]
    higher_is_better: bool
    options: Mapping[str, Any] = field(default_factory=dict)


def describe(*names: str) -> tuple[MetricDescription, ...]:
    """Return what metrics are for and what they need: some by their names, or all.

    Parameters
    ----------
    names
        As `trubleu.metrics.names` lists them; none for all.

    Raises
    ------
    UsageError
        If there is no metric of a name.

    Examples
    --------
    >>> [found] = describe("dbleu")
    >>> found.order, found.needs, found.higher_is_better
    (4, ('weights',), True)
    """
    return tuple(_described(name) for name in names or ENTRIES)


def _described(name: str) -> MetricDescription:
    if name not in ENTRIES:
        raise UsageError(f"there is no metric {name!r}; {nearest(name, ENTRIES)}")
    entry = ENTRIES[name]
    factory = getattr(importlib.import_module(entry.module), entry.factory)
    options = {
        option: parameter.default
        for option, parameter in inspect.signature(factory).parameters.items()
        if option not in entry.implied
    }
    order = options.pop("order", None) if entry.ordered else None
    needs = {
        "weights": factory.uses_weights,
        "source": factory.needs_source,
        "vectors": "vectors" in options,
        "all segments at once": "corpus" in options,
        f"trubleu[{entry.extra}]": entry.extra is not None,
    }
    return MetricDescription(
        name=name,
        purpose=entry.purpose,
        order=order,
        needs=tuple(need for need, needed in needs.items() if needed),
        higher_is_better=factory.higher_is_better,
        options=options,
    )
