"""Files beside files of scores that say how the scores were made."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trubleu.errors import DataError, shown
from trubleu.files.jsonl import kind_of, parse_json
from trubleu.files.paths import exists, name_of, open_binary, read_whole, reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.files.paths import PathLike


def file_digest(path: PathLike) -> str:
    """Return the SHA-256 of a file as it is stored."""
    with reading(name_of(path)), open_binary(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type] # any binary stream will do


def sidecar_of(path: PathLike) -> str:
    """Return the name of the file that says how the scores of another were made.

    Examples
    --------
    >>> sidecar_of("out/comet.json")
    'out/comet.json.json'
    """
    return f"{path}.json"


def read_sidecar(path: PathLike, digest: str | None) -> dict[str, str]:
    """Return what the sidecar of a file says, if there is one: see `sidecar_of`.

    Raises
    ------
    DataError
        If it is not a JSON object of texts and numbers, or describes a file with another SHA-256.
    """
    sidecar = sidecar_of(path)
    if digest is None or not exists(sidecar):
        return {}
    try:
        value = parse_json(read_whole(sidecar).decode())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{sidecar} is not JSON; write it again with trubleu scores describe") from error
    if not isinstance(value, dict):
        raise DataError(f"{sidecar} must hold one JSON object, not {kind_of(value)}")
    if value.get("sha256", digest) != digest:
        raise DataError(
            f"{sidecar} describes another file: its sha256 is not that of {name_of(path)}; "
            "write it again with trubleu scores describe"
        )
    return {check_key(key, sidecar): check_value(key, each, sidecar) for key, each in value.items()}


_KEY: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_VALUE: Final = re.compile(r"[^|\x00-\x1f\x7f-\x9f\u2028\u2029]{1,300}")


def check_key(key: str, source: str) -> str:
    """Return a key of a sidecar; it becomes part of signatures."""
    if not _KEY.fullmatch(key):
        raise DataError(f"{source}: the name {shown(key)} must be of letters, digits, dots, hyphens and underscores")
    return key


def check_value(key: str, value: object, source: str) -> str:
    """Return a value of a sidecar as text."""
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    if not _VALUE.fullmatch(text):
        raise DataError(f"{source}: {key} must be a number, or a text of one line without |, not {kind_of(value)}")
    return text


PACKAGES: Final = (
    "unbabel-comet", "bert-score", "bleurt", "torch", "tensorflow", "transformers", "tokenizers", "sentencepiece",
    "numpy",
)  # fmt: skip
"""Packages whose versions may change the scores of learned metrics."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def package_versions(environment: PathLike) -> dict[str, str]:
    """Return the versions of `PACKAGES` in an environment, from the names of its files; nothing is run.

    Raises
    ------
    DataError
        If it is not the folder of a Python environment.
    """
    root = Path(environment)
    folders = [*root.glob("lib*/python*/site-packages"), *root.glob("Lib/site-packages")]
    if not folders:
        raise DataError(f"{environment} is not the folder of a Python environment, such as .venv")
    found: dict[str, str] = {}
    for path in sorted(each for folder in folders for each in folder.glob("*-*.dist-info")):
        name, _, version = path.name.removesuffix(".dist-info").rpartition("-")
        plain = re.sub(r"[-_.]+", "-", name).lower()
        if plain in PACKAGES:
            found[plain] = version
    return {name: found[name] for name in PACKAGES if name in found}


def downloaded_model(model: str) -> dict[str, str]:
    """Return the revision and the SHA-256 of the weights of a model in the cache of Hugging Face, if it is there."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    folder = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub") / f"models--{model.replace('/', '--')}"
    found: dict[str, str] = {}
    try:
        revision = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
        files = [each for each in (folder / "snapshots" / revision).rglob("*") if each.is_file()]
    except (OSError, ValueError):
        return found
    if revision:
        found["revision"] = revision
    # Large files are stored by their SHA-256, and the weights are the largest.
    largest = max(files, key=lambda each: each.stat().st_size, default=None)
    if largest is not None and _DIGEST.fullmatch(stored := largest.resolve().name):
        found["weights"] = stored
    return found


def known_details(
    model: str | None, weights: PathLike | None, environment: PathLike | None, precision: str | None
) -> Iterator[tuple[str, str]]:
    """Yield what can be found out about how scores were made: the model, its weights, versions, the precision."""
    if model is not None:
        yield "model", model
        yield from downloaded_model(model).items()
    if weights is not None:
        yield "weights", file_digest(weights)
    if environment is not None:
        yield from package_versions(environment).items()
    if precision is not None:
        yield "precision", precision
