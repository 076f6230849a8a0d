"""What the program released with bleu2vec in 2017 does differently from the paper, apart from the alignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.data.extras import needed
from trubleu.errors import DataError
from trubleu.metrics.precision import BleuParts, Counts, brevity_penalty

if TYPE_CHECKING:
    from numpy.typing import NDArray

ORDER: Final = 3
WEIGHTS: Final = np.array([0.33, 0.34, 0.33])


def word_tokenize(text: str) -> list[str]:
    """Tokenize a text as NLTK does, for which its sentence splitter must be on this machine.

    Raises
    ------
    MissingExtraError
        If NLTK is not installed.
    DataError
        If its sentence splitter is not there.
    """
    nltk = needed("nltk", "definition=release2017", "nltk")
    try:
        tokens: list[str] = nltk.word_tokenize(text)
    except LookupError as error:
        raise DataError(
            "NLTK's sentence splitter is not on this machine; get it with: python -m nltk.downloader punkt_tab, "
            "or name another tokenizer"
        ) from error
    return tokens


def release_parts(counts: Counts) -> BleuParts:
    """Return scores as released: from the first order on whose matches are not above 0, orders are left out."""
    matches, totals = counts.matches, counts.totals
    precisions = np.divide(matches, totals, out=np.zeros_like(matches), where=totals != 0)
    used: NDArray[np.bool_] = np.logical_and.accumulate(precisions > 0, axis=-1)
    logs = np.where(used, np.log(np.where(used, precisions, 1.0)), 0.0)
    penalty = brevity_penalty(counts.hypothesis_length, counts.reference_length)
    score = 100.0 * penalty * np.exp((WEIGHTS * logs).sum(axis=-1))
    score = np.where(matches[..., 0] == 0, 0.0, score)
    return BleuParts(score, 100.0 * precisions, penalty, matches, totals, used)
