"""Encoders that split words into pieces: from the last hidden states of the pieces to vectors of words and texts."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.errors import DataError, UsageError, shown
from trubleu.files.jsonl import parse_json
from trubleu.files.paths import read_whole
from trubleu.native import kernels
from trubleu.optional_deps import needed
from trubleu.vectors.encoders.encoder import Encoded
from trubleu.vectors.ready import readable_tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from trubleu.vectors.source import Matrix

REQUIREMENT: Final = "trubleu[context]"
HASH_DIGITS: Final = 12
"""Digits of a SHA-256 in signatures."""

BATCH_TEXTS: Final = 64
BATCH_PIECES: Final = 2_048
"""Limits of a batch; larger ones are not faster."""

_TRIED: Final = (7, 20)  # lengths of texts with which batches are tried
_TRIED_PIECES: Final = 50  # fewer than any vocabulary has
_POOLINGS: Final = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}
"""What sentence-transformers calls the poolings."""


class TextPieces(NamedTuple):
    """The pieces of one text: their numbers, the word of each (-1 for special ones), and whether some were cut off."""

    ids: NDArray[np.int64]
    words: NDArray[np.int64]
    cut: bool


class WordPieces:
    """A tokenizer of Hugging Face that splits words into pieces.

    Parameters
    ----------
    tokenizer
        An object of the package tokenizers.
    window
        Pieces of a text that are kept, special ones included.
    where
        The folder or package, for messages.
    """

    def __init__(self, tokenizer: Any, window: int, where: str) -> None:
        self._tokenizer = tokenizer
        self._where = where
        self._tokenizer.no_padding()
        with readable_tokenizer(self._where):
            self._tokenizer.enable_truncation(window)

    def split(self, words: Sequence[str]) -> TextPieces:
        """Return the pieces of a text."""
        try:
            with readable_tokenizer(self._where):
                found = self._tokenizer.encode(list(words), is_pretokenized=True)
        except (TypeError, UnicodeEncodeError):  # half of a surrogate pair
            return self.split([word.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for word in words])
        places = [-1 if place is None else place for place in found.word_ids]
        return TextPieces(np.array(found.ids, np.int64), np.array(places, np.int64), bool(found.overflowing))


class FolderSettings(NamedTuple):
    """What the files of an encoder's folder say beside its weights.

    Attributes
    ----------
    pieces
        Its tokenizer, which keeps at most ``window`` pieces.
    pieces_hash
        The SHA-256 of the tokenizer file.
    pooling
        How the vector of a text is made: ``mean``, ``cls`` or ``max``.
    window
        Pieces of a text that are encoded.
    """

    pieces: WordPieces
    pieces_hash: str
    pooling: str
    window: int


def read_settings(folder: Path, window: int) -> FolderSettings:
    """Read the tokenizer, the pooling and the window of an encoder's folder."""
    file = folder / "tokenizer.json"
    if not file.is_file():
        raise DataError(f"{folder} has no tokenizer.json; give the folder of an encoder with its tokenizer")
    data = read_whole(file)
    package = needed("tokenizers", "an encoder", REQUIREMENT)
    with readable_tokenizer(str(folder)):
        tokenizer = package.Tokenizer.from_str(data.decode())
    window = checked_window(window, _limits(folder))
    pieces = WordPieces(tokenizer, window, str(folder))
    return FolderSettings(pieces, hashlib.sha256(data).hexdigest(), _pooling(folder), window)


def checked_window(window: int, limits: Sequence[int]) -> int:
    """Return how many pieces are encoded: as many as asked for, or as the model takes."""
    if not isinstance(window, int) or isinstance(window, bool) or window < 3:
        raise UsageError(f"window={window} must be a whole number, at least 3")
    return min(window, *limits) if limits else window


def _limits(folder: Path) -> list[int]:
    """Return how many pieces the model takes, as far as its files say so."""
    fields = {
        "config.json": "max_position_embeddings",
        "tokenizer_config.json": "model_max_length",
        "sentence_bert_config.json": "max_seq_length",
    }
    found = [_json(folder / name).get(field) for name, field in fields.items()]
    return [int(limit) for limit in found if isinstance(limit, int | float) and 3 <= limit < 2**31]


def _pooling(folder: Path) -> str:
    """Return the pooling that sentence-transformers wrote down; the mean without one."""
    if any(folder.glob("*_Dense")):
        raise DataError(f"{folder} has a dense layer behind its pooling, which is not supported; use another encoder")
    written = _json(folder / "1_Pooling" / "config.json")
    modes = [name for name, value in written.items() if name.startswith("pooling_mode") and value is True]
    if not modes:
        return "mean"
    if len(modes) > 1 or modes[0] not in _POOLINGS:
        raise DataError(f"{folder} pools by {', '.join(modes)}; only the mean, the first piece or the maximum is known")
    return _POOLINGS[modes[0]]


def _json(file: Path) -> dict[str, Any]:
    """Return the object in a file of settings; an empty one without the file."""
    if not file.is_file():
        return {}
    try:
        found = parse_json(read_whole(file).decode())
    except ValueError as error:
        raise DataError(f"{file} is not JSON ({shown(str(error))}); copy or make it again") from error
    if not isinstance(found, dict):
        raise DataError(f"{file} must hold an object; copy or make it again")
    return found


class PieceEncoder(ABC):
    """An encoder with a hidden state per word piece.

    Parameters
    ----------
    name
        Name for messages and signatures.
    settings
        Its tokenizer, pooling and window.
    weights_hash
        The SHA-256 of its weights.
    place
        The folder, or ``minilm``, from which a copy of a pickle opens it again.
    baseline_file
        Where its baselines are kept.
    languages
        The languages of the texts that it was trained on; None if unknown.
    """

    one_by_one = False
    """Whether the states of a text depend on the other ones of a batch, as where activations are quantised."""

    def __init__(
        self,
        name: str,
        settings: FolderSettings,
        weights_hash: str,
        place: str,
        baseline_file: Path,
        languages: tuple[str, ...] | None = None,
    ) -> None:
        self.name = name
        self._settings = settings
        self._weights_hash = weights_hash
        self._place = place
        self.languages = languages
        self.baseline_file: Path | None = baseline_file

    @property
    @abstractmethod
    def runtime(self) -> str:
        """What computes, with its version."""

    @property
    @abstractmethod
    def precision(self) -> str:
        """In what numbers weights are, and activations if these are not floats."""

    @property
    def signed(self) -> dict[str, object]:
        """What a signature says of it."""
        return {
            "weights": self._weights_hash[:HASH_DIGITS],
            "pieces": self._settings.pieces_hash[:HASH_DIGITS],
            "pool": self._settings.pooling,
            "window": self._settings.window,
            "runtime": self.runtime,
            "prec": self.precision,
            "cpu": kernels.vector_instructions(),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_again, (self._place, self._settings.window, self._weights_hash)

    @property
    def weights_hash(self) -> str:
        """The SHA-256 of the weights."""
        return self._weights_hash

    def encode(self, texts: Sequence[Sequence[str]], threads: int) -> Sequence[Encoded]:
        """Return the vectors of some texts."""
        pieces = [self._settings.pieces.split(words) for words in texts]
        # Texts of one length fill a batch: sums over texts that were filled up may be rounded otherwise.
        by_length: dict[int, list[int]] = {}
        for place, text in enumerate(pieces):
            by_length.setdefault(len(text.ids), []).append(place)
        found: list[Encoded | None] = [None] * len(pieces)
        for length, places in by_length.items():
            size = 1 if self.one_by_one else max(1, min(BATCH_TEXTS, BATCH_PIECES // length))
            for first in range(0, len(places), size):
                batch = places[first : first + size]
                states = self._states(np.stack([pieces[place].ids for place in batch]), threads)
                if not np.isfinite(states).all():
                    raise DataError(f"{self.name} gives numbers that are not finite; use another encoder")
                for row, place in enumerate(batch):
                    found[place] = self._encoded(states[row], pieces[place], len(texts[place]))
        return [each for each in found if each is not None]

    def batches_alike(self) -> bool:
        """Return whether states of some texts are the same bits alone and in a batch."""
        for length in _TRIED:
            ids = np.arange(3 * length).reshape(3, length) % _TRIED_PIECES
            together = self._states(ids, 1)
            if not all(
                np.array_equal(self._states(row[None, :], 1)[0], own) for row, own in zip(ids, together, strict=True)
            ):
                return False
        return True

    def _encoded(self, states: Matrix, pieces: TextPieces, count: int) -> Encoded:
        if self._settings.pooling == "mean":
            text = states.mean(axis=0, dtype=np.float64).astype(np.float32)
        else:
            text = states[0] if self._settings.pooling == "cls" else states.max(axis=0)
        own = pieces.words >= 0
        places, rows = pieces.words[own], states[own]
        words = np.zeros((int(places[-1]) + 1 if pieces.cut and len(places) else count, states.shape[1]), np.float32)
        if len(places):
            starts = np.flatnonzero(np.diff(places, prepend=-1))
            words[places[starts]] = np.add.reduceat(rows, starts, axis=0)
        return Encoded(text, words, pieces.cut)

    @abstractmethod
    def _states(self, ids: NDArray[np.int64], threads: int) -> Matrix:
        """Return the last hidden states of texts with as many pieces, ``float32[texts, pieces, dimensions]``."""


def _open_again(place: str, window: int, weights_hash: str) -> Any:
    """Open the encoder of an unpickled copy, and check that it is unchanged."""
    from trubleu.vectors.encoders.encoder import as_encoder

    encoder = as_encoder(place, window)
    if isinstance(encoder, PieceEncoder) and encoder.weights_hash == weights_hash:
        return encoder
    raise DataError(f"{place} has changed: its weights are others than before; do not change it meanwhile")
