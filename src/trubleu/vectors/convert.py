"""Conversion between vector file formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.errors import UsageError
from trubleu.files.compression import without_suffix
from trubleu.files.paths import name_of
from trubleu.files.writer import check_writable
from trubleu.vectors.source import READY, MatrixSource
from trubleu.vectors.store import SUFFIX, VectorStore, is_store, number_type
from trubleu.vectors.word2vec import load_word2vec, write_word2vec

if TYPE_CHECKING:
    from trubleu.files.paths import PathLike
    from trubleu.progress import Progress
    from trubleu.vectors.store import Precision

_BINARY: Final = ".bin"
_SUFFIXES: Final = (SUFFIX, ".txt", ".vec", _BINARY)


def convert_vectors(
    source: PathLike, target: PathLike, *, dtype: Precision = "float32", progress: Progress | None = None
) -> None:
    """Convert vectors to another file format; at most their matrix is in memory.

    Parameters
    ----------
    source
        A store, or a word2vec or fastText file.
    target
        The file to write; its name tells the format: ``.store``, or word2vec's ``.txt``, ``.vec`` (text) and ``.bin``.
    dtype
        What a store is to hold: ``float32`` or ``float16``.
    progress
        Told how many more vectors have been read or written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "tiny.vec").write_text("2 3\\ndo 1 0 0\\ndo_not 0 1 0.5\\n")
    >>> convert_vectors(folder / "tiny.vec", folder / "tiny.store", dtype="float16")
    >>> VectorStore.open(folder / "tiny.store").ngrams()
    ('do', 'do not')
    """
    suffix = Path(without_suffix(str(target))).suffix.lower()
    if suffix not in _SUFFIXES:
        raise UsageError(
            f"the name {name_of(target)} does not tell the format; give one that ends in {', '.join(_SUFFIXES)}"
        )
    if suffix == SUFFIX and without_suffix(str(target)) != str(target):
        raise UsageError(f"a store is mapped into memory, so {target} cannot be compressed; leave the last ending out")
    kind = number_type(dtype)
    check_writable(target)
    if str(source) == READY or Path(source).is_dir():
        raise UsageError(
            f"{source} has a vector for any n-gram and no list of them; convert a store or a word2vec file"
        )
    store = VectorStore.open(source) if is_store(source) else None
    if suffix != SUFFIX:
        listed = store or MatrixSource(*load_word2vec(source, progress=progress))
        write_word2vec(target, listed, binary=suffix == _BINARY, progress=progress)
    elif store is not None:
        how: dict[str, Any] = {"counts": store.counts, "orders": store.orders, "options": store.options}
        matrix = np.empty((len(store), store.dimensions), kind)
        with np.errstate(over="ignore"):  # reported when it is written
            for first, block in store.blocks():
                matrix[first : first + len(block)] = block
        VectorStore.write(target, store.ngrams(), matrix, dtype=dtype, **how)
    else:
        # Directly in the target precision: via 32 bits would take two to three times the memory of 16.
        ngrams, found = load_word2vec(source, dtype=dtype, progress=progress)
        VectorStore.write(target, ngrams, found, options={"converted_from": Path(name_of(source)).name}, dtype=dtype)
