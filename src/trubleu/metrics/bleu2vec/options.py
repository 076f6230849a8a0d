"""Options of metrics with near misses, and what the released 2017 script does differently from the paper."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import DataError, TrubleuError, TrubleuWarning, UsageError
from trubleu.metrics.base import SMOOTHING_VALUES, check_choice, check_smoothing
from trubleu.metrics.bleu import BleuParts, Counts, brevity_penalty
from trubleu.optional_deps import needed
from trubleu.text import tokenizer
from trubleu.vectors import Composed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trubleu.vectors import VectorSource


UNKNOWN: Final = 0.001
"""The similarity of a pair of which one has no vector, as released."""

COMPOSED: Final = "composed"
LIN_OCH: Final = "lin-och"
USUAL_ORDER: Final = 3
"""The longest n-grams that vectors usually hold."""

ENOUGH_WORDS: Final = 20
"""Different words from which on it means something that most have no vector."""

Unknown = str | float
"""A number, also as it is written, or ``composed``."""


def check_soft_smoothing(smoothing: str, value: float | None) -> tuple[str, float | None]:
    """Return the kind of smoothing and its value."""
    if smoothing == LIN_OCH:
        if value is not None:
            raise UsageError(f"smoothing={LIN_OCH} takes no value; leave smoothing_value out, or use floor or add-k")
        return smoothing, None
    check_choice("smoothing", smoothing, (LIN_OCH, *SMOOTHING_VALUES))
    return check_smoothing(smoothing, value)


def check_effective_order(smoothing: str, effective_order: bool) -> None:
    """Refuse to leave out orders that are left out anyway."""
    if effective_order and smoothing == LIN_OCH:
        raise UsageError(
            f"effective_order does not go with smoothing={LIN_OCH}, which leaves out orders without n-grams anyway; "
            "leave it out, use another smoothing, or give it to other metrics only, as in bleu-4[effective_order=true]"
        )


def parse_similarity(similarity: str) -> tuple[str, float]:
    """Split ``raw``, ``clamp`` or ``shift:S`` into the kind and its number.

    Examples
    --------
    >>> parse_similarity("shift:0.3"), parse_similarity("raw")
    (('shift', 0.3), ('raw', 0.0))
    """
    kind, separator, number = str(similarity).partition(":")
    if kind in ("raw", "clamp") and not separator:
        return kind, 0.0
    if kind == "shift" and separator:
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if 0 <= value < 1:
            return kind, value
    raise UsageError(f"similarity={similarity} is not known; it is raw, clamp or shift:S with S from 0 to below 1")


def parse_oov(oov: Unknown) -> Unknown:
    """Return ``composed`` or a number from 0 to 1.

    Examples
    --------
    >>> parse_oov("composed"), parse_oov("0.01")
    ('composed', 0.01)
    """
    if oov == COMPOSED:
        return COMPOSED
    try:
        value = math.nan if isinstance(oov, bool) else float(oov)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 <= value <= 1:
        raise UsageError(f"oov={oov} is not known; it is a number from 0 to 1, or {COMPOSED}")
    return value


def holds_order(source: VectorSource, order: int) -> bool:
    """Return whether n-grams of a length can be scored with vectors: usual ones can, though most may be unknown."""
    return source.orders is None or order <= USUAL_ORDER or order in source.orders


def check_orders(source: VectorSource, order: int) -> None:
    """Refuse n-grams longer than usual that the vectors do not hold."""
    if not holds_order(source, order):
        raise UsageError(
            f"{source.name} has no n-grams of {order} words; use an order of at most {USUAL_ORDER}, other vectors, "
            f"or oov={COMPOSED}"
        )


def warn_of_texts(source: VectorSource, tokenizer_name: str, lowercase: bool) -> None:
    """Say it if the vectors are known to be made from texts that were tokenized or cased differently."""
    made = getattr(source.source if isinstance(source, Composed) else source, "options", None)
    if not isinstance(made, Mapping):
        return
    differs = []
    theirs = made.get("tokenize")
    # Texts that are tokenized already may have been so in any way.
    if isinstance(theirs, str) and "none" not in (theirs, tokenizer_name) and _full_name(theirs) != tokenizer_name:
        differs.append(f"tokenize={theirs}, not {tokenizer_name}")
    case = made.get("lowercase")
    if case is not None and bool(case) != lowercase:
        differs.append("lowercase" if case else "case kept, not lowercase")
    if differs:
        what = (
            f"{source.name} was trained on texts with {' and '.join(differs)}, so that words may have no vector; "
            "score with the same options, or use other vectors"
        )
        warnings.warn(what, TrubleuWarning, stacklevel=4)


def _full_name(name: str) -> str:
    try:
        return tokenizer(name).name
    except TrubleuError:  # not known here, or not installed
        return name


def warn_of_unknown(source: VectorSource, words: int, unknown: int) -> None:
    """Say it if most words that were looked up have no vector."""
    if words >= ENOUGH_WORDS and 2 * unknown > words and (source.orders is None or 1 in source.orders):
        what = (
            f"more than half of the words that were looked up have no vector in {source.name}; "
            "check tokenizer, case and language"
        )
        warnings.warn(what, TrubleuWarning, stacklevel=4)


def warn_of_orders(source: VectorSource, order: int) -> None:
    """Say it if the vectors hold no n-grams of some length."""
    missing = [] if source.orders is None else [n for n in range(1, order + 1) if n not in source.orders]
    if missing:
        what = (
            f"{source.name} has no n-grams of {' and '.join(map(str, missing))} words, of which only exact matches "
            f"count; use other vectors, or oov={COMPOSED}"
        )
        warnings.warn(what, TrubleuWarning, stacklevel=4)


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
