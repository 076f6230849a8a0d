"""Encoders behind an endpoint that speaks OpenAI's API: vectors of whole texts, without words."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np

from trubleu.errors import DataError, EndpointError, UsageError, shown, without_secrets
from trubleu.optional_deps import needed
from trubleu.vectors.encoders.encoder import ENDPOINT, Encoded, as_encoder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ADDRESS: Final = "OPENAI_BASE_URL"
KEY: Final = "OPENAI_API_KEY"
CONSENT: Final = "TRUBLEU_SEND_TO"
"""Environment variables: the endpoint, its key, and the host that texts may be sent to."""

_TEXTS: Final = 128  # in one request
_SECONDS: Final = 60.0
_RETRIES: Final = 6
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")


class EndpointEncoder:
    """A model of embeddings behind an endpoint.

    Texts are sent as their words joined by spaces, to the host that was allowed and nowhere else.

    Parameters
    ----------
    model
        The model's name there.

    Raises
    ------
    UsageError
        If the endpoint is not named, or texts may not be sent to it.
    """

    baseline_file: Path | None = None
    languages: tuple[str, ...] | None = None

    def __init__(self, model: str) -> None:
        self._model = model
        self.name = ENDPOINT + model
        self._key = os.environ.get(KEY, "")
        address = os.environ.get(ADDRESS, "")
        parts = urlsplit(address)
        self._host = parts.hostname or ""
        if not re.fullmatch(r"[\w./:@-]+", model):
            raise UsageError(f"encoder={shown(self.name)} names no model; write openai:MODEL")
        if parts.scheme not in ("http", "https") or not self._host or "?" in address or "#" in address:
            raise UsageError(
                f"{self.name} needs the address of its endpoint, not {shown(without_secrets(address))}; set {ADDRESS}, "
                "for example to http://localhost:8000/v1"
            )
        if not re.fullmatch("[!-~]*", self._key):
            raise UsageError(f"{KEY} has spaces, line breaks or letters outside of ASCII; set it to a key")
        if self._host not in _LOCAL and os.environ.get(CONSENT) != self._host:
            raise UsageError(f"texts would be sent to {self._host}; to allow that, set {CONSENT}={self._host}")
        self._openai = needed("openai", "an encoder behind an endpoint", "trubleu[model]")
        self._client = self._openai.OpenAI(
            api_key=self._key or "none",
            base_url=address,
            timeout=_SECONDS,
            max_retries=_RETRIES,
            http_client=self._openai.DefaultHttpxClient(follow_redirects=False, trust_env=self._host not in _LOCAL),
        )
        self._served: str | None = None

    @property
    def signed(self) -> dict[str, object]:
        """What a signature says of it: the host, and the model by the name that it answers with."""
        return {"host": self._host, "served": self._served or self._model}

    def __reduce__(self) -> tuple[Any, ...]:
        return as_encoder, (self.name,)

    def encode(self, texts: Sequence[Sequence[str]], threads: int) -> Sequence[Encoded]:  # noqa: ARG002
        """Return the vectors of some texts."""
        lines = [" ".join(words).encode("utf-8", "replace").decode() for words in texts]
        found: list[Encoded] = []
        for first in range(0, len(lines), _TEXTS):
            found += [Encoded(vector, None) for vector in self._asked(lines[first : first + _TEXTS])]
        return found

    def _asked(self, lines: list[str]) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
        try:
            answer = self._client.embeddings.create(model=self._model, input=lines, encoding_format="float")
            rows = sorted((each.index, each.embedding) for each in answer.data)
            served = str(answer.model or self._model)
        except self._openai.OpenAIError as error:
            raise EndpointError(self._problem(error)) from None
        except (AttributeError, TypeError, ValueError):
            raise EndpointError(f"{self._host} answers, but not as OpenAI's API; check {ADDRESS}") from None
        if self._served not in (None, served):
            raise EndpointError(
                f"{self._host} answers as {shown(served)}, but answered as {shown(self._served)} before; use one model"
            )
        self._served = served
        try:
            vectors = [np.asarray(row, np.float32) for _, row in rows]
        except (TypeError, ValueError):
            vectors = []
        if [index for index, _ in rows] != list(range(len(lines))) or {each.ndim for each in vectors} != {1}:
            raise DataError(f"{self.name} gives no vector for each of {len(lines)} texts; use another model")
        if len({len(each) for each in vectors}) > 1 or not all(np.isfinite(each).all() for each in vectors):
            raise DataError(f"{self.name} gives vectors of several dimensions, or not of numbers; use another model")
        return vectors

    def _problem(self, error: Exception) -> str:
        """Say what is wrong with the endpoint, without the key."""
        package, host = self._openai, self._host
        said = " ".join(str(error).split())[:200]
        said = said.replace(self._key, "…") if self._key else said
        match error:
            case package.AuthenticationError() | package.PermissionDeniedError():
                return f"{host} refuses the key; set {KEY} to one that it accepts"
            case package.NotFoundError():
                return f"{host} has no model {shown(self._model)}, or {ADDRESS} lacks its end, which is often /v1"
            case package.APITimeoutError():
                return f"{host} did not answer within {_SECONDS:g} seconds; try again"
            case package.APIConnectionError():
                return f"{host} cannot be reached ({said}); check {ADDRESS}"
            case package.APIStatusError() if 300 <= error.status_code < 400:
                return f"{host} sends requests on to another address, where nothing was sent; set {ADDRESS} to that"
        return f"{host} cannot encode texts ({said}); use another model or shorter texts"
