"""Baselines of an encoder: what texts score that have nothing to do with each other."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trubleu.errors import DataError
from trubleu.files.jsonl import parse_json
from trubleu.files.paths import read_whole
from trubleu.files.writer import atomic_writer
from trubleu.text import words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from trubleu.vectors.encoders.encoder import Encoder
    from trubleu.vectors.encoders.texts import EncodedTexts

_SENTENCES: Final = Path(__file__).with_name("unrelated.txt")
_DIGITS: Final = 4  # those that are the same on any machine


class Baselines(NamedTuple):
    """Mean plus standard deviation over all ordered pairs of 200 unrelated sentences.

    Attributes
    ----------
    words
        Of the recall of words; None for an encoder without vectors of words.
    text
        Of the cosine of the sentences.
    """

    words: float | None
    text: float

    def __str__(self) -> str:
        return "/".join(f"{each:.{_DIGITS}f}" for each in self if each is not None)


def baselines_of(encoder: Encoder, encode: Callable[[Sequence[str]], EncodedTexts]) -> Baselines:
    """Return the baselines of an encoder, from the file that keeps them, or measured and kept there.

    Parameters
    ----------
    encoder
        The encoder.
    encode
        Encodes texts, each given as its words joined by spaces.
    """
    sentences = _SENTENCES.read_text(encoding="utf-8").splitlines()
    # Neither runtime nor processor changes a digit that is kept, and no sentence is longer than a window.
    same = {name: value for name, value in encoder.signed.items() if name not in ("runtime", "cpu", "window")}
    said = json.dumps([same, sentences], sort_keys=True)
    identity = hashlib.sha256(said.encode()).hexdigest()
    file = encoder.baseline_file
    if file is not None and (kept := _kept(file, identity)) is not None:
        return kept
    found = measured(encode(unrelated_sentences()))
    if file is not None:
        with suppress(DataError), atomic_writer(file) as stream:  # a folder of somebody else: measured again
            stream.write(json.dumps({"encoder": identity, "words": found.words, "text": found.text}) + "\n")
    return found


def unrelated_sentences() -> list[str]:
    """Return the sentences that baselines are measured on, each as its words joined by spaces."""
    return [" ".join(words.split(line.lower())) for line in _SENTENCES.read_text(encoding="utf-8").splitlines()]


def measured(sentences: EncodedTexts) -> Baselines:
    """Return the baselines from encoded sentences."""
    count = len(sentences)
    left, right = np.nonzero(~np.eye(count, dtype=bool))
    _, recall, cosine = sentences.similarities(left, right, 1).T

    def baseline(column: NDArray[np.float64]) -> float:
        return round(float(column.mean() + column.std()), _DIGITS)

    return Baselines(baseline(recall) if sentences.has_words else None, baseline(cosine))


def _kept(file: Path, identity: str) -> Baselines | None:
    """Return the baselines in a file, unless they are of another encoder or there is none."""
    if not file.is_file():
        return None
    try:
        found = parse_json(read_whole(file).decode())
        if found["encoder"] != identity:
            return None
        of_words, of_texts = found["words"], float(found["text"])
        return Baselines(None if of_words is None else float(of_words), of_texts)
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(f"{file} cannot be read; remove it, and it is written again") from error
