"""Conversion between vector file formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from trubleu.errors import UsageError, nearest
from trubleu.files.compression import without_suffix
from trubleu.files.paths import is_standard, name_of
from trubleu.files.writer import check_writable
from trubleu.vectors.source import READY, ListedSource, MatrixSource, as_source
from trubleu.vectors.store import PRECISIONS, VectorStore, is_store
from trubleu.vectors.word2vec import JOINER, load_word2vec, write_word2vec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from trubleu.files.paths import PathLike
    from trubleu.vectors.source import VectorSource
    from trubleu.vectors.store import Precision
    from trubleu.vectors.word2vec import Duplicates

Form = Literal["store", "text", "binary"]
FORMS: Final[dict[str, Form]] = {"store": "store", "text": "text", "binary": "binary"}
_SUFFIXES: Final[dict[str, Form]] = {".store": "store", ".txt": "text", ".vec": "text", ".bin": "binary"}


def convert_vectors(
    source: PathLike,
    target: PathLike,
    *,
    to: Form | None = None,
    dtype: Precision = "float32",
    joiner: str | None = JOINER,
    duplicates: Duplicates = "error",
    among: Sequence[str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> None:
    """Convert vectors to another file format; at most their matrix is in memory.

    Parameters
    ----------
    source
        A store, a word2vec or fastText file; or ready vectors, of which those of ``among`` are written.
    target
        The file to write.
    to
        ``store``, ``text`` or ``binary`` (word2vec's formats); if left out, the target's name tells: ``.store``,
        ``.txt`` or ``.vec``, ``.bin``.
    dtype
        What a store is to hold: ``float32`` or ``float16``.
    joiner, duplicates
        As in `read_word2vec`.
    among
        N-grams to write, if not all.
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
    form = _form(target, to)
    if dtype not in PRECISIONS:
        raise UsageError(f"dtype={dtype} is not known; {nearest(dtype, PRECISIONS)}")
    check_writable(target)
    anything = str(source) == READY or Path(source).is_dir()
    if joiner != JOINER and form == "store" and (anything or is_store(source)):
        raise UsageError(
            f"joiner={joiner or 'none'} is for word2vec files, but neither {source} nor {target} is one; leave it out"
        )
    if among is not None and (anything or is_store(source)):
        listed: ListedSource = _chosen(as_source(source), among, source)
    elif among is not None:
        whole = MatrixSource(*load_word2vec(source, joiner=joiner, duplicates=duplicates, progress=progress))
        listed = _chosen(whole, among, source)
    elif anything:
        raise UsageError(f"{source} has a vector for any n-gram and no list of them; say which to write (--among FILE)")
    elif is_store(source):
        listed = VectorStore.open(source)
    elif form == "store":
        # Directly in the target precision: via 32 bits would take two to three times the memory of 16.
        ngrams, matrix = load_word2vec(source, joiner=joiner, duplicates=duplicates, dtype=dtype, progress=progress)
        VectorStore.write(target, ngrams, matrix, options={"converted_from": _short(source)}, dtype=dtype)
        return
    else:
        listed = MatrixSource(*load_word2vec(source, joiner=joiner, duplicates=duplicates, progress=progress))
    if form == "store":
        _write_store(target, listed, dtype, _options(source, anything=anything))
    else:
        write_word2vec(target, listed, binary=form == "binary", joiner=joiner, progress=progress)


def _form(target: PathLike, to: str | None) -> Form:
    known = FORMS.get(to) if to else _SUFFIXES.get(Path(without_suffix(str(target))).suffix.lower())
    if known is None:
        what = f"to={to} is not known" if to else f"the name {name_of(target)} does not tell the format"
        raise UsageError(f"{what}; give --to store, text or binary, or a name that ends in {', '.join(_SUFFIXES)}")
    if known == "store" and is_standard(target):
        raise UsageError("a store is mapped into memory, so it cannot go to standard output; give a file name")
    if known == "store" and without_suffix(str(target)) != str(target):
        raise UsageError(f"a store is mapped into memory, so {target} cannot be compressed; leave the last ending out")
    return known


def _chosen(source: VectorSource, among: Sequence[str], path: PathLike) -> MatrixSource:
    """Return those of the requested n-grams that the source knows."""
    distinct = list(dict.fromkeys(among))
    matrix = source.lookup(distinct)
    known = np.flatnonzero(matrix.any(axis=1))
    if not len(known):
        raise UsageError(f"{path} has none of the {len(distinct)} n-grams; check how they are written")
    chosen = MatrixSource([distinct[row] for row in known.tolist()], matrix[known])
    if isinstance(source, ListedSource) and source.counts is not None:
        chosen.counts = source.counts[source.rows(chosen.ngrams())]
    return chosen


def _options(source: PathLike, *, anything: bool) -> dict[str, Any]:
    """Return the training options recorded in a file; those of a store are kept."""
    return {"converted_from": _short(source)} if anything or not is_store(source) else VectorStore.open(source).options


def _write_store(target: PathLike, listed: ListedSource, dtype: Precision, options: dict[str, Any]) -> None:
    matrix: NDArray[np.floating] = np.empty((len(listed), listed.dimensions), PRECISIONS[dtype])
    with np.errstate(over="ignore"):  # reported when it is written
        for first, block in listed.blocks():
            matrix[first : first + len(block)] = block
    orders = listed.orders if isinstance(listed, VectorStore) else None
    VectorStore.write(
        target, listed.ngrams(), matrix, counts=listed.counts, orders=orders, options=options, dtype=dtype
    )


def _short(source: PathLike) -> str:
    return name_of(source) if is_standard(source) else Path(source).name
