"""The kernels in both builds, and the two ways to a segment's statistics."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trubleu.native import _kernels as baseline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def all_builds() -> dict[str, Any]:
    """Return the baseline build and, where the CPU runs it and it was built, the one for newer CPUs."""
    builds: dict[str, Any] = {"baseline": baseline}
    if baseline.supports_v3():
        with suppress(ModuleNotFoundError):  # built for another CPU family
            builds["v3"] = import_module("trubleu.native._kernels_v3")
    return builds


BUILDS = all_builds()


class Given(NamedTuple):
    """Texts and weights as the kernels take them."""

    outputs: tuple[str, ...]
    references: tuple[str, ...]
    offsets: NDArray[np.int64]
    weights: NDArray[np.float64] | None


class Choice(NamedTuple):
    """The arguments of ``Options``."""

    tokenizer: str = "none"
    lowercase: bool = False
    order: int = 4
    credit: str = "counts"
    reference_length: str = "closest"
    positive_lengths: bool = False


def lay_flat(
    outputs: Sequence[str], references: Sequence[Sequence[str]], weights: Sequence[Sequence[float]] | None = None
) -> Given:
    """Turn lists per segment into what the kernels take."""
    offsets = np.array([0, *accumulate(map(len, references))], dtype=np.int64)
    flat = tuple(text for row in references for text in row)
    array = None if weights is None else np.array([weight for row in weights for weight in row], dtype=np.float64)
    return Given(tuple(outputs), flat, offsets, array)


def direct(
    kernels: Any, given: Given, choice: Choice, threads: int = 1, first: int = 0, last: int | None = None
) -> NDArray[np.float64]:
    """Return statistics straight from the texts."""
    last = len(given.outputs) if last is None else last
    rows: NDArray[np.float64] = kernels.statistics(*given, kernels.Options(*choice), first, last, threads)
    return rows


def prepare(kernels: Any, given: Given, choice: Choice, slices: int = 1) -> Any:
    """Return the references tokenised and numbered, in that many slices."""
    builder = kernels.PreparedBuilder(kernels.Options(*choice))
    bounds = [len(given.outputs) * i // slices for i in range(slices + 1)]
    for first, last in pairwise(bounds):
        builder.add(given.references, given.offsets, first, last)
    return kernels.Prepared(builder.finish())


def from_prepared(
    kernels: Any,
    prepared: Any,
    given: Given,
    choice: Choice,
    threads: int = 1,
    first: int = 0,
    last: int | None = None,
) -> NDArray[np.float64]:
    """Return statistics from prepared references."""
    last = len(given.outputs) if last is None else last
    options = kernels.Options(*choice)
    rows: NDArray[np.float64] = prepared.statistics(given.outputs, given.weights, options, first, last, threads)
    return rows


def every_way(given: Given, choice: Choice, threads: int = 1) -> dict[str, NDArray[np.float64]]:
    """Return the statistics by each build, direct and prepared."""
    ways = {}
    for name, kernels in BUILDS.items():
        ways[f"{name} direct"] = direct(kernels, given, choice, threads)
        prepared = prepare(kernels, given, choice, slices=2)
        ways[f"{name} prepared"] = from_prepared(kernels, prepared, given, choice, threads)
    return ways


def agreed(given: Given, choice: Choice, threads: int = 1) -> NDArray[np.float64]:
    """Return the statistics if all ways lead to the same ones, bit for bit."""
    ways = every_way(given, choice, threads)
    (name, rows), *others = ways.items()
    for other, its in others:
        np.testing.assert_array_equal(its, rows, err_msg=f"{other} differs from {name}")
    return rows
