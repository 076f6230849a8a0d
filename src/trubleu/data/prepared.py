"""References that were tokenised and numbered once, for any number of systems and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
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
    """References tokenised and numbered once; made by `References.prepare`.

    Any metric takes it in place of the references. One that needs other tokens works from the texts instead, with the
    same result.

    Attributes
    ----------
    references
        The references themselves.
    tokenizer, lowercase
        How they were tokenised.
    """

    __slots__ = ("_kernel", "lowercase", "references", "tokenizer")

    def __init__(self, references: References, tokenizer: Tokenizer, lowercase: bool) -> None:
        self.references = references
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        texts, native, lowercase_there = references.kernel_texts(tokenizer, lowercase)
        options = kernels.Options(native, lowercase_there, 1, "counts", "closest", False)
        builder = kernels.PreparedBuilder(options)
        for first in range(0, len(references), SLICE):
            builder.add(texts, references.offsets, first, min(first + SLICE, len(references)))
        self._kernel = kernels.Prepared(builder.finish())

    def __len__(self) -> int:
        return len(self.references)

    def __repr__(self) -> str:
        case = "lower case" if self.lowercase else "cased"
        return f"<PreparedReferences: {len(self)} segments, {self.tokenizer.name}, {case}>"

    def fits(self, tokenizer: Tokenizer, lowercase: bool) -> bool:
        """Return whether the tokens are these."""
        return self.tokenizer == tokenizer and self.lowercase == lowercase

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
        return self._kernel.statistics(outputs, weights, options, first, last, threads)
