"""References that were tokenised and counted once, for any number of systems and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.native import kernels, resolve_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.data.references import References
    from trubleu.text import Tokenizer

SLICE: Final = 16_384
"""Segments that are handed to the kernel at once: between two slices Ctrl-C is heard and progress is told."""


def kernel_texts(texts: Sequence[str], tokenizer: Tokenizer, lowercase: bool) -> tuple[tuple[str, ...], str, bool]:
    """Return texts as the kernel takes them, the tokenizer it then uses, and whether it is to lower-case them."""
    if tokenizer.native is not None:
        return tuple(texts), tokenizer.native, lowercase
    return tuple(tokenizer.lines(texts, lowercase)), "none", False


class PreparedReferences:
    """References tokenised and counted once; made by `References.prepare`.

    Any metric takes it in place of the references. A metric that needs other tokens or longer n-grams than were
    prepared works from the texts instead, with the same result.

    Attributes
    ----------
    references
        The references themselves.
    tokenizer, lowercase
        How they were tokenised.
    order
        The longest n-grams that were counted.
    """

    __slots__ = ("_kernel", "_layer", "lowercase", "order", "references", "tokenizer")

    def __init__(self, references: References, tokenizer: Tokenizer, lowercase: bool, order: int) -> None:
        self.references = references
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.order = order
        texts, native, lowercase_there = references.kernel_texts(tokenizer, lowercase)
        options = kernels.Options(native, lowercase_there, order, "counts", "closest", False)
        builder = kernels.PreparedBuilder(options)
        for first in range(0, len(references), SLICE):
            builder.add(texts, references.offsets, first, min(first + SLICE, len(references)))
        self._kernel = kernels.Prepared(builder.finish())
        self._layer: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.uint32]] | None = None

    def __len__(self) -> int:
        return len(self.references)

    def __repr__(self) -> str:
        case = "lower case" if self.lowercase else "cased"
        return f"<PreparedReferences: {len(self)} segments, {self.tokenizer.name}, {case}, order {self.order}>"

    def fits(self, tokenizer: Tokenizer, lowercase: bool, order: int) -> bool:
        """Return whether the tokens are these and the n-grams long enough."""
        return self.tokenizer == tokenizer and self.lowercase == lowercase and self.order >= order

    def statistics(
        self,
        outputs: tuple[str, ...],
        weights: NDArray[np.float64] | None,
        options: kernels.Options,
        first: int,
        last: int,
        threads: int,
    ) -> NDArray[np.float64]:
        """Return the statistics of some segments; outputs as `kernel_texts` returns them."""
        if weights is None:
            return self._kernel.statistics(outputs, None, None, None, options, first, last, threads)
        values, counts = self._layer_of(weights)
        return self._kernel.statistics(outputs, weights, values, counts, options, first, last, threads)

    def _layer_of(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.uint32]]:
        """Return what these weights make of the counted n-grams; the latest is kept, as weights seldom change."""
        layer = self._layer
        if layer is None or not np.array_equal(layer[0], weights, equal_nan=True):
            values, counts = self._kernel.layer(weights, resolve_threads(None, len(weights)))
            layer = self._layer = (weights.copy(), values, counts)
        return layer[1], layer[2]
