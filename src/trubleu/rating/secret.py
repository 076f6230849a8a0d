"""The secret of a study, and what is derived from it: unpredictable draws, hashes of rows, tokens.

It is in its own file beside the store, because hashes prove nothing if their key is stored with them.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING

from trubleu.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "secret.key"  # noqa: S105 - the name of the file

# ASCII with distinct types: the same on every machine and in every version of Python.
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode


def new_secret() -> str:
    """Return a new unguessable secret."""
    return secrets.token_urlsafe(32)


def read_secret(folder: Path) -> str:
    """Read the secret of a study.

    Raises
    ------
    DataError
        If the file is not there or cannot be read.
    """
    path = folder / SECRET
    try:
        found = path.read_text("ascii").strip()
    except FileNotFoundError as error:
        remedy = "copy it from the folder that the study was made in, or from a backup"
        raise DataError(f"{path} is not there, and without it the study cannot be used; {remedy}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read; check its permissions, or restore it from a backup") from error
    if not found:
        raise DataError(f"{path} is empty; restore it from a backup")
    return found


def draw(secret: str, *what: object) -> Random:
    """Return a random generator seeded by the secret: reproducible, but unpredictable without it.

    Examples
    --------
    >>> draw("s", "gold", 7).random() == draw("s", "gold", 7).random()
    True
    >>> draw("s", "gold", 7).random() == draw("t", "gold", 7).random()
    False
    """
    return Random(_digest(secret, ["draw", *what]))  # noqa: S311 - what it is seeded with nobody can guess


def mac(secret: str, *values: object) -> str:
    """Return a keyed hash of a row.

    Raises
    ------
    TypeError
        If a value is of a type that no column has: the row is damaged.

    Examples
    --------
    >>> mac("s", "meta", "state", "paused")
    'addc2896f5b88b9329988024ee4084c0'
    """
    return _digest(secret, values).hex()[:32]


def _digest(secret: str, values: object) -> bytes:
    digest = _keyed(secret).copy()  # much faster than creating a new one
    digest.update(_ENCODE(values).encode("ascii"))
    return digest.digest()


@lru_cache(maxsize=16)
def _keyed(secret: str) -> hmac.HMAC:
    return hmac.new(secret.encode(), digestmod="sha256")


def derived_token(secret: str, entry: str, external: str) -> str:
    """Return the token of an external rater: deterministic, but unpredictable without the secret.

    Examples
    --------
    >>> derived_token("s", "prolific", "p1") == derived_token("s", "prolific", "p1")
    True
    >>> derived_token("s", "prolific", "p1") == derived_token("t", "prolific", "p1")
    False
    """
    digest = hmac.digest(secret.encode(), f"{entry}:{external}".encode(), "sha256")
    return base64.urlsafe_b64encode(digest[:24]).decode()
