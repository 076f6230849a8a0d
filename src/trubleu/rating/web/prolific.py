"""Prolific's signed tokens, which prove a participant's identity.

With "secure external study URLs" Prolific adds ``prolific_token`` to the URL of a study: a JSON Web Token with the
parameters of the URL, signed with one of the keys that Prolific publishes.
"""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from trubleu.errors import DataError
from trubleu.files.lines import open_bytes
from trubleu.optional_deps import needed
from trubleu.rating.web.security import Refusal, log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from trubleu.rating.config import Prolific

_ALGORITHM: Final = "RS256"  # the only one accepted, whatever a token declares
_LEEWAY: Final = 30  # allowed clock difference in seconds
_FRESH: Final = 6 * 3600.0  # seconds after which keys are fetched again; Prolific asks for at least once a day
_AGAIN: Final = 60.0  # seconds between two attempts, so tokens with made-up keys cannot trigger constant fetching
_PATIENCE: Final = 5.0  # seconds


class Keys:
    """The public keys of a key set (JWKS) by id, fetched again when they are old or one is unknown.

    Parameters
    ----------
    source
        An https address, or a file.
    folder
        Where the file is looked for.
    clock
        Seconds.

    Raises
    ------
    DataError
        If a file cannot be read or has no keys.
    """

    def __init__(self, source: str, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._jwt: Any = needed("jwt", "verifying people from Prolific", "trubleu[rate]")
        needed("cryptography", "verifying people from Prolific", "trubleu[rate]")
        self._source = source
        self._path = None if "://" in source else folder / source
        self._clock = clock
        self._keys: dict[str, Any] = {}
        self._tried_at = self._read_at = -float("inf")
        self._lock = threading.Lock()
        if self._path is not None:
            self._read()

    def find(self, key: str) -> Any | None:
        """Return a key by id, None if there is none.

        Raises
        ------
        Refusal
            If there are no keys because they could not be fetched.
        """
        with self._lock:
            now = self._clock()
            if (key not in self._keys or now - self._read_at > _FRESH) and now - self._tried_at > _AGAIN:
                self._tried_at = now
                try:
                    self._read()
                except DataError as error:
                    log.error("%s", error)
            if not self._keys:
                text = "Please try again in a minute."
                raise Refusal(503, "Prolific cannot be asked who you are", text, retry_after=60)
            return self._keys.get(key)

    def _read(self) -> None:
        text = self._text()
        try:
            found = json.loads(text)["keys"]
            mine = [each for each in found if each["kty"] == "RSA" and each.get("use", "sig") == "sig"]
            keys = {each["kid"]: self._jwt.PyJWK(each, algorithm=_ALGORITHM) for each in mine}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, self._jwt.PyJWTError) as error:
            said = "is not a set of public keys (JWKS); check entry.prolific.verify"
            raise DataError(f"{self._path or self._source} {said}") from error
        if not keys:
            raise DataError(f"{self._path or self._source} has no RSA keys; check entry.prolific.verify")
        self._keys, self._read_at = keys, self._clock()

    def _text(self) -> bytes:
        if self._path is not None:
            with open_bytes(self._path) as stream:
                return stream.read()
        import httpx

        try:
            page = httpx.get(self._source, timeout=_PATIENCE)
            page.raise_for_status()
        except httpx.HTTPError as error:
            raise DataError(f"{self._source} cannot be fetched: {error}") from error
        return page.content


class Tokens:
    """Verifies tokens.

    Parameters
    ----------
    settings
        What the study asks for.
    folder
        Of the study, where a file of keys is looked for.
    url
        How people reach the pages, None if that is not known.
    clock
        Seconds, for the age of keys.
    """

    def __init__(
        self, settings: Prolific, folder: Path, url: str | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._keys = Keys(settings.verify, folder, clock=clock)
        self._host = settings.audience or (urlsplit(url).hostname if url else None)
        self._jwt: Any = needed("jwt", "verifying people from Prolific", "trubleu[rate]")

    def participant(self, token: str) -> str | None:
        """Return the participant id of a valid token, None if it is invalid."""
        try:
            key = self._keys.find(str(self._jwt.get_unverified_header(token).get("kid")))
            if key is None:
                return None
            # The audience is a host or a URL there, which is compared below.
            options = {"require": ["exp"], "verify_aud": False}
            claims = self._jwt.decode(token, key, algorithms=[_ALGORITHM], leeway=_LEEWAY, options=options)
        except (self._jwt.PyJWTError, ValueError, RecursionError):
            return None
        said = claims.get("prolific")
        if not isinstance(said, dict) or not self._is_for_us(claims.get("aud")):
            return None
        if self._settings.study is not None and said.get("STUDY_ID") != self._settings.study:
            return None
        participant = said.get("PROLIFIC_PID")
        return participant if isinstance(participant, str) else None

    def _is_for_us(self, audience: object) -> bool:
        if self._host is None:
            return True
        named = audience if isinstance(audience, list) else [audience]
        return any(isinstance(each, str) and _host(each) == self._host.lower() for each in named)


def _host(audience: str) -> str | None:
    try:
        return urlsplit(audience if "://" in audience else f"//{audience}").hostname
    except ValueError:
        return None
