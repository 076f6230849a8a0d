"""References that were tokenised and numbered once, for any number of systems and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trubleu.data.prepared_file import write_prepared
from trubleu.errors import UsageError
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from trubleu.data.files import PathLike
    from trubleu.data.references import References
    from trubleu.text import Tokenizer

SLICE: Final = 16_384
"""Segments that are handed to the kernel at once: between two slices Ctrl-C is heard and progress is told."""


def kernel_texts(texts: Sequence[str], tokenizer: Tokenizer, lowercase: bool) -> tuple[tuple[str, ...], str, bool]:
    """Return texts as the kernel takes them, the tokenizer it then uses, and whether it is to lower-case them."""
    if tokenizer.native is not None:
        return tuple(texts), tokenizer.native, lowercase
    return tuple(tokenizer.lines(texts, lowercase)), "none", False


def number(
    references: References, tokenizer: Tokenizer, lowercase: bool, progress: Callable[[int], object] | None = None
) -> kernels.Prepared:
    """Tokenise and number references for the kernel."""
    _, native, lowercase_there = kernel_texts((), tokenizer, lowercase)
    builder = kernels.PreparedBuilder(kernels.Options(native, lowercase_there, 1, "counts", "closest", False))
    offsets = references.offsets
    for first in range(0, len(references), SLICE):
        last = min(first + SLICE, len(references))
        begin, end = offsets[first], offsets[last]
        # Slice by slice: lines of a tokenizer in Python are as large as the texts, and nobody needs them afterwards.
        texts = kernel_texts(references.texts[begin:end], tokenizer, lowercase)[0]
        builder.add(texts, offsets[first : last + 1] - begin, 0, last - first)
        if progress:
            progress(last - first)
    return kernels.Prepared(builder.finish())


class PreparedReferences:
    """References tokenised and numbered once; made by `References.prepare`.

    Any metric takes it in place of the references. One that needs other tokens works from the texts instead, with the
    same result. `save` writes a file that `References.read` opens at once.

    Attributes
    ----------
    references
        The references themselves.
    tokenizer, lowercase
        How they were tokenised.
    """

    __slots__ = ("_kernel", "lowercase", "references", "tokenizer")

    def __init__(self, references: References, tokenizer: Tokenizer, lowercase: bool, kernel: kernels.Prepared) -> None:
        self.references = references
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self._kernel = kernel

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

    def save(self, path: PathLike, *, progress: Callable[[int], object] | None = None) -> None:
        """Write a file that `References.read` opens at once, however large it is; it appears whole or not at all.

        It holds everything that the references hold, not only their tokens: all metrics can be computed from it, those
        with other tokens more slowly.

        Parameters
        ----------
        path
            The file; its name usually ends in ``.tbp``.
        progress
            Called with the number of segments written since the last call.

        Raises
        ------
        UsageError
            If the tokenizer is a callable, which nobody who reads the file could know.
        DataError
            If the file cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from trubleu import References
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "refs.tbp"
        >>> References.from_lists([["hello there", "hi"]]).prepare(tokenize="none").save(path)
        >>> References.read(path).prepare(tokenize="none")
        <PreparedReferences: 1 segments, none, cased>
        """
        if self.tokenizer.known_as is None:
            raise UsageError(
                f"the tokenizer {self.tokenizer.name} is a function and cannot be saved with what it made; "
                "prepare the references with a tokenizer that has a name"
            )
        arrays = self._kernel.arrays
        write_prepared(path, self.references, self.tokenizer, self.lowercase, arrays, progress)
