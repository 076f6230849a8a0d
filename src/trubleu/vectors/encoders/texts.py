"""Encoded texts: each text once a process, in batches sorted by length, in bounded memory."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import WeakValueDictionary

import numpy as np

from trubleu.errors import DataError
from trubleu.native import kernels
from trubleu.progress import no_steps
from trubleu.vectors.encoders.baseline import Baselines, baselines_of
from trubleu.vectors.encoders.encoder import Encoded
from trubleu.vectors.source import normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.progress import Progress, Steps
    from trubleu.vectors.encoders.encoder import Encoder
    from trubleu.vectors.source import Matrix

KEPT_BYTES: Final = 1 << 30
"""Size limit of the encoded texts that are kept for later."""

BATCH_TEXTS: Final = 512
BATCH_WORDS: Final = 1 << 14
"""Limits of what an encoder gets at once, and of how long Ctrl-C waits."""

_LANES: Final = 8  # the kernels take vectors of a multiple of this many numbers


class EncodedTexts:
    """The vectors of some texts, as the kernels take them.

    Parameters
    ----------
    texts
        The vectors of each text, of length 1 and padded.
    """

    def __init__(self, texts: Sequence[Encoded]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def has_words(self) -> bool:
        """Whether there are vectors of words."""
        return all(text.words is not None for text in self._texts)

    def cut(self) -> NDArray[np.bool_]:
        """Return which texts were cut."""
        return np.array([text.cut for text in self._texts], np.bool_)

    def words(self, place: int) -> Matrix:
        """Return the vectors of the words of one text."""
        found = self._texts[place].words
        return np.zeros((0, _LANES), np.float32) if found is None else found

    def arrays(self) -> tuple[Matrix, NDArray[np.int64], Matrix]:
        """Return the vectors of all words, where those of each text begin, and the vectors of the texts."""
        words = [self.words(place) for place in range(len(self._texts))]
        begins = np.zeros(len(words) + 1, np.int64)
        np.cumsum([len(each) for each in words], out=begins[1:])
        empty = np.zeros((0, _LANES), np.float32)
        texts = np.stack([text.text for text in self._texts]) if len(self) else empty
        return np.concatenate(words) if words else empty, begins, texts

    def similarities(self, left: NDArray[np.integer], right: NDArray[np.integer], threads: int) -> NDArray[np.float64]:
        """Return for pairs of texts the precision and the recall of words, and the cosine of the texts."""
        return kernels.context_similarities(*self.arrays(), left.astype(np.uint32), right.astype(np.uint32), threads)


class TextEncoder:
    """An encoder with the texts that it encoded and its baselines.

    Parameters
    ----------
    encoder
        The encoder.
    """

    _of: ClassVar[WeakValueDictionary[int, TextEncoder]] = WeakValueDictionary()

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._kept = _Kept(KEPT_BYTES)
        self._baselines: Baselines | None = None
        self._dimensions: tuple[int, ...] | None = None

    @classmethod
    def of(cls, encoder: Encoder) -> TextEncoder:
        """Return the one of an encoder in this process."""
        found = cls._of.get(id(encoder))
        if found is None:
            found = cls._of[id(encoder)] = cls(encoder)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return TextEncoder.of, (self.encoder,)  # texts are encoded again

    @property
    def baselines(self) -> Baselines:
        """What unrelated texts score; measured when first asked for, unless they are kept in a file."""
        return self.measure_baselines(no_steps)

    def measure_baselines(self, steps: Steps) -> Baselines:
        """Return the baselines; if they are not known yet, the texts that are encoded for them are a stage of work."""
        if self._baselines is None:
            self._baselines = baselines_of(
                self.encoder, lambda lines: self.encode(lines, 1, steps("baseline of the encoder", len(lines)))
            )
        return self._baselines

    def encode(self, lines: Sequence[str], threads: int, progress: Progress | None = None) -> EncodedTexts:
        """Return the vectors of texts, each given as its words joined by spaces.

        Parameters
        ----------
        lines
            The texts; one without words has vectors of zeros.
        threads
            How many threads to use.
        progress
            Called with the number of texts that are done since the last call, those that need no encoding among them.
        """
        found = {line: kept for line in set(lines) if (kept := self._kept.get(line)) is not None}
        missing = {line: len(line.split()) for line in lines if line not in found and line.split()}
        places = Counter(lines)
        if progress:
            progress(len(lines) - sum(places[line] for line in missing))
        for batch in _batches(sorted(missing, key=lambda line: (missing[line], line))):
            encoded = self.encoder.encode([line.split() for line in batch], threads)
            if len(encoded) != len(batch):
                raise DataError(
                    f"{self.encoder.name} gives vectors of {len(encoded)} texts for {len(batch)}; use another encoder"
                )
            for line, each in zip(batch, encoded, strict=True):
                found[line] = ready = self._checked(each)
                self._kept.add(line, ready)
            if progress:
                progress(sum(places[line] for line in batch))
        empty = self._empty(found.values())
        return EncodedTexts([found.get(line, empty) for line in lines])

    def _checked(self, encoded: Encoded) -> Encoded:
        """Return vectors of length 1, padded."""
        words = None if encoded.words is None else _padded(encoded.words)
        text = _padded(np.asarray(encoded.text)[None, :])
        shape = (text.shape[1],) if words is None else (text.shape[1], words.shape[1])
        if self._dimensions is None:
            self._dimensions = shape
        if shape != self._dimensions:
            raise DataError(
                f"{self.encoder.name} gives vectors of other dimensions than before ({shape[0]}, not "
                f"{self._dimensions[0]}); use one model only"
            )
        return Encoded(text[0], words, encoded.cut)

    def _empty(self, others: Iterable[Encoded]) -> Encoded:
        """Return the vectors of a text without words."""
        like = next(iter(others), None)
        if like is None:
            none = np.zeros(_LANES, np.float32)
            return Encoded(none, none[None, :0].reshape(0, _LANES))
        words = None if like.words is None else like.words[:0]
        return Encoded(np.zeros_like(like.text), words)


def _batches(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """Split texts that are sorted by length into batches."""
    first = 0
    while first < len(lines):
        last = first + max(1, min(BATCH_TEXTS, BATCH_WORDS // len(lines[first].split())))
        while last > first + 1 and len(lines[min(last, len(lines)) - 1].split()) * (last - first) > BATCH_WORDS:
            last -= 1
        yield lines[first:last]
        first = last


def _padded(matrix: Matrix) -> Matrix:
    """Return rows of length 1 with zeros up to a multiple of `_LANES`."""
    rows, columns = matrix.shape
    padded = np.zeros((rows, -(-columns // _LANES) * _LANES), np.float32)
    padded[:, :columns] = matrix
    return normalised(padded)


class _Kept:
    """Encoded texts within a size limit; a full one drops texts at random.

    Systems are scored against the same references in the same order: dropping the oldest would lose each of them just
    before it is needed.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._texts: dict[str, Encoded] = {}
        self._order: list[str] = []
        self._random = random.Random(0)  # noqa: S311 - which texts are dropped changes no number

    def get(self, line: str) -> Encoded | None:
        return self._texts.get(line)

    def add(self, line: str, encoded: Encoded) -> None:
        self._texts[line] = encoded
        self._order.append(line)
        self._bytes += _size(encoded)
        while self._bytes > self._most and self._order:
            place = self._random.randrange(len(self._order))
            self._order[place], self._order[-1] = self._order[-1], self._order[place]
            self._bytes -= _size(self._texts.pop(self._order.pop()))


def _size(encoded: Encoded) -> int:
    return encoded.text.nbytes + (0 if encoded.words is None else encoded.words.nbytes) + 500
