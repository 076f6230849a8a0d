"""The encoder protocol, and which encoder a name or a folder stands for."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

from trubleu.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trubleu.files.paths import PathLike
    from trubleu.vectors.source import Matrix

MINILM: Final = "minilm"
"""Name of the encoder that the extra ``trubleu[context]`` installs."""

ENDPOINT: Final = "openai:"
"""What the name of an encoder behind an endpoint begins with."""

WINDOW: Final = 256
"""Default number of word pieces of a text that are encoded."""


class Encoded(NamedTuple):
    """The vectors of one text, of any length.

    Attributes
    ----------
    text
        The vector of the whole text.
    words
        One row per word, zeros for a word without pieces; fewer rows than words if the text was cut. None for an
        encoder without vectors of words.
    cut
        Whether the text was longer than the encoder's window.
    """

    text: Matrix
    words: Matrix | None
    cut: bool = False


@runtime_checkable
class Encoder(Protocol):
    """The interface of encoders: texts to vectors.

    Any object with these members is an encoder; no subclassing is needed.
    """

    @property
    def name(self) -> str:
        """Name for messages and signatures."""
        ...

    @property
    def signed(self) -> Mapping[str, object]:
        """What a signature says of it beside its name: hashes, runtime, precision."""
        ...

    @property
    def baseline_file(self) -> Path | None:
        """Where its baselines are kept; None if they are measured in every process."""
        ...

    def encode(self, texts: Sequence[Sequence[str]], threads: int) -> Sequence[Encoded]:
        """Return the vectors of some texts, each given as its words, of which it has at least one.

        The vectors of a text must not depend on the other ones.
        """
        ...


AnyEncoder: TypeAlias = "Encoder | PathLike"
"""Anything that `as_encoder` accepts."""


def as_encoder(anything: AnyEncoder, window: int = WINDOW, send_to: str | None = None) -> Encoder:
    """Convert a name or a folder to an encoder; an encoder is returned as it is.

    Parameters
    ----------
    anything
        ``minilm`` for the one of ``trubleu[context]``; a folder with ``tokenizer.json`` and ``model.onnx``,
        ``onnx/model.onnx`` or ``model.safetensors``; ``openai:MODEL`` for an endpoint with OpenAI's API, by the
        environment variables ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``; or an encoder.
    window
        Word pieces of a text that are encoded; fewer if the model takes fewer.
    send_to
        The host of the endpoint, as permission to send texts there; not needed for this machine.

    Raises
    ------
    DataError
        If the folder holds no encoder, or another one than its name promises.
    MissingExtraError
        If a package is missing.

    Examples
    --------
    >>> encoder = as_encoder("minilm")
    >>> [found] = encoder.encode([["sounds", "good"]], 1)
    >>> found.text.shape, found.words.shape, found.cut
    ((384,), (2, 384), False)
    """
    if not isinstance(anything, str | os.PathLike):
        if isinstance(anything, Encoder):
            return anything
        raise UsageError(f"encoder cannot be a {type(anything).__name__}; give {MINILM!r}, a folder or an encoder")
    place = os.fspath(anything)
    named = place == MINILM or place.startswith(ENDPOINT)
    return _named(place if named else os.path.realpath(place), window, send_to)


@lru_cache(maxsize=4)
def _named(place: str, window: int, send_to: str | None) -> Encoder:
    """Open an encoder once a process."""
    if place == MINILM:
        from trubleu.vectors.encoders.onnx import minilm

        return minilm(window)
    if place.startswith(ENDPOINT):
        from trubleu.vectors.encoders.endpoint import EndpointEncoder

        return EndpointEncoder(place.removeprefix(ENDPOINT), send_to)
    folder = Path(place)
    if not folder.is_dir():
        raise DataError(f"there is no folder {place} with an encoder; give {MINILM!r} or a folder with tokenizer.json")
    models = [folder / "model.onnx", folder / "onnx" / "model.onnx"]
    if any(model.is_file() for model in models):
        from trubleu.vectors.encoders.onnx import OnnxEncoder

        return OnnxEncoder.read(folder, next(model for model in models if model.is_file()), window)
    if any(folder.glob("*.safetensors")):
        from trubleu.vectors.encoders.transformers import TransformersEncoder

        return TransformersEncoder.read(folder, window)
    raise DataError(f"{place} has no model.onnx, onnx/model.onnx or model.safetensors; give the folder of an encoder")
