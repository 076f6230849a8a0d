"""Parallel files of outputs and references, of any size, written about as fast as a disk takes them.

A block of segments is made with care (`benchmarks.data`: lengths, frequencies and overlap of translations, 12 words a
line), and then written again and again: its pieces in another order each time, and with other letters, the same in
outputs and references, so that words are new while what they share stays. Every line is still decoded, tokenized and
counted for itself, and no table of words outlives a segment, so that a block that comes again is no easier.
"""

from __future__ import annotations

import string
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.data import Writer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BLOCK: Final = 2**17
"""Segments that are made with care."""

PIECE: Final = 256
"""Lines that stay together."""

WORDS: Final = 12.0
"""Words of a line."""

BYTES_A_LINE: Final = 72
"""More than a line takes on average, to know beforehand whether there is room."""

_SEED: Final = 1


def write_parallel(folder: Path, segments: int) -> tuple[Path, Path]:
    """Write a file of references and one of outputs, if they are not there; return their paths."""
    paths = tuple(folder / f"{kind}-{segments}.txt" for kind in ("references", "outputs"))
    if not all(path.exists() for path in paths):
        folder.mkdir(parents=True, exist_ok=True)
        parts = [path.with_suffix(".part") for path in paths]
        _write(parts, segments)
        for part, path in zip(parts, paths, strict=True):
            part.replace(path)
    return paths[0], paths[1]


def _write(paths: Sequence[Path], segments: int) -> None:
    corpus = Writer(_SEED).translation(BLOCK, 1, words=WORDS)
    columns = [_pieces([str(text) for text in texts]) for texts in (corpus.streams[0], corpus.systems[0])]
    random = np.random.default_rng(_SEED)
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("wb")) for path in paths]
        for first in range(0, segments, BLOCK):
            order, letters = random.permutation(BLOCK // PIECE), _letters(random)
            whole, rest = divmod(min(BLOCK, segments - first), PIECE)
            for file, pieces in zip(files, columns, strict=True):
                text = b"".join(pieces[number] for number in order[:whole])
                if rest:
                    text += b"".join(pieces[order[whole]].splitlines(keepends=True)[:rest])
                file.write(text.translate(letters))


def _pieces(texts: list[str]) -> list[bytes]:
    return ["".join(f"{text}\n" for text in texts[start : start + PIECE]).encode() for start in range(0, BLOCK, PIECE)]


def _letters(random: np.random.Generator) -> bytes:
    """Return a table that exchanges letters, small and capital ones alike; nothing else changes its length or kind."""
    small = string.ascii_lowercase
    new = "".join(random.permutation(list(small)))
    return bytes.maketrans(f"{small}{small.upper()}".encode(), f"{new}{new.upper()}".encode())
