"""Encoders behind an endpoint that speaks OpenAI's API: vectors of whole texts, without words."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.endpoint import KEY, Endpoint, about_tokens
from trubleu.errors import DataError, EndpointError, UsageError, shown
from trubleu.optional_deps import needed
from trubleu.vectors.encoders.encoder import ENDPOINT, WINDOW, Encoded, as_encoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

ADDRESS: Final = "OPENAI_BASE_URL"
"""The environment variable with the endpoint's address."""

_TEXTS: Final = 128  # in one request


class EncodingPlan(NamedTuple):
    """What would be sent to an endpoint.

    Attributes
    ----------
    host
        Where it would be sent to.
    texts, requests
        How many texts, in how many requests.
    tokens
        About how many tokens the texts have, by their length.
    """

    host: str
    texts: int
    requests: int
    tokens: int


class EndpointEncoder:
    """A model of embeddings behind an endpoint.

    Texts are sent as their words joined by spaces, to the host that was allowed and nowhere else.

    Parameters
    ----------
    model
        The model's name there.
    send_to
        The host that texts may be sent to, unless it is this machine.

    Raises
    ------
    UsageError
        If the endpoint is not named.
    """

    baseline_file: Path | None = None
    languages: tuple[str, ...] | None = None

    def __init__(self, model: str, send_to: str | None = None) -> None:
        self.name = ENDPOINT + model
        self._send_to = send_to
        if not re.fullmatch(r"[\w./:@-]+", model):
            raise UsageError(f"encoder={shown(self.name)} names no model; write openai:MODEL")
        address = os.environ.get(ADDRESS, "")
        if not address:
            raise UsageError(
                f"{self.name} needs the address of its endpoint; set {ADDRESS}, for example to http://localhost:8000/v1"
            )
        later = "try again later"
        self._endpoint = Endpoint(
            url=address,
            model=model,
            key=os.environ.get(KEY, "").strip(),
            url_name=ADDRESS,
            if_slow=later,
            if_busy=later,
        )
        self._openai: Any = None
        self._client: Any = None
        self._served: str | None = None

    @property
    def signed(self) -> dict[str, object]:
        """What a signature says of it: the host, and the model by the name that it answers with."""
        return {"host": self._endpoint.host, "served": self._served or self._endpoint.model}

    def __reduce__(self) -> tuple[Any, ...]:
        return as_encoder, (self.name, WINDOW, self._send_to)

    def encode(self, texts: Sequence[Sequence[str]], threads: int) -> Sequence[Encoded]:  # noqa: ARG002
        """Return the vectors of some texts."""
        self._open()
        lines = [" ".join(words).encode("utf-8", "replace").decode() for words in texts]
        found: list[Encoded] = []
        for first in range(0, len(lines), _TEXTS):
            found += [Encoded(vector, None) for vector in self._asked(lines[first : first + _TEXTS])]
        return found

    def plan(self, lines: Iterable[str]) -> EncodingPlan:
        """Say what would be sent to encode some texts; nothing is sent."""
        texts = {line for line in lines if line.split()}
        return EncodingPlan(
            self._endpoint.host, len(texts), -(-len(texts) // _TEXTS), sum(about_tokens(text) for text in texts)
        )

    def _open(self) -> None:
        """Make the client, if texts may be sent."""
        if self._client is None:
            self._endpoint.confirm(self._send_to)
            self._openai = needed("openai", "an encoder behind an endpoint", "trubleu[model]")
            self._client = self._endpoint.client(self._openai.OpenAI, self._openai.DefaultHttpxClient)

    def _asked(self, lines: list[str]) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
        host = self._endpoint.host
        try:
            answer = self._client.embeddings.create(model=self._endpoint.model, input=lines, encoding_format="float")
            rows = sorted((each.index, each.embedding) for each in answer.data)
            served = str(answer.model or self._endpoint.model)
        except self._openai.OpenAIError as error:
            raise EndpointError(self._endpoint.problem(self._openai, error)) from None
        except (AttributeError, TypeError, ValueError):
            raise EndpointError(f"{host} answers, but not as OpenAI's API; check {ADDRESS}") from None
        if self._served not in (None, served):
            raise EndpointError(
                f"{host} answers as {shown(served)}, but answered as {shown(self._served)} before; use one model"
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
