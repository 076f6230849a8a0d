"""The best rows of an index for many queries, exactly.

Shards are gone through one after the other, and within a shard the queries, in parallel: so every shard is mapped and
read once however many queries there are. See ``mine_search.hpp`` for how most rows are passed over.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from trubleu.errors import UsageError
from trubleu.native import kernels, resolve_threads
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from trubleu.mining.bm25 import Bm25
    from trubleu.mining.shard import Field, Shard
    from trubleu.text import Tokenizer
    from trubleu.text.registry import Spec

LARGEST_EPSILON: Final = 1e6
"""More than anybody needs: from there on the response plays no part."""

_FIELDS: Final[tuple[Field, Field]] = ("message", "response")
_QUERIES: Final = 256  # searched at once; in between Ctrl-C is heard and progress is told
_WORTH_THREADS: Final = 100_000  # queries times triples


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """Rows that were found, by query, and best first.

    Attributes
    ----------
    query
        Which query each is for; queries without a hit are not there.
    row
        Which triple, counted over the whole index.
    score
        message_score · (α · response_score + (1 − α) · ε)
    message_score, response_score
        BM25 of the message and of the response.
    """

    query: NDArray[np.int64]
    row: NDArray[np.int64]
    score: NDArray[np.float64]
    message_score: NDArray[np.float64]
    response_score: NDArray[np.float64]


def folded(text: str) -> str:
    """Return a text without regard to case and white space; responses are equal if this is.

    Examples
    --------
    >>> folded("  Me  TOO! ")
    'me too!'
    """
    return " ".join(text.casefold().split())


def search(
    shards: Sequence[Shard],
    messages: Sequence[str],
    responses: Sequence[str | None],
    *,
    tokenize: Spec | Tokenizer,
    lowercase: bool,
    bm25: Bm25,
    alpha: float,
    epsilon: float,
    top: int,
    stop_words: Iterable[str] = (),
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Hits:
    """Find the triples that fit messages and responses best.

    Left out are responses that equal that of the query, or that of a better triple, but for case and white space. Only
    scores above 0 count. Of equal scores the triple that comes first is better.

    Parameters
    ----------
    shards
        The index, in order.
    messages, responses
        One of each for every query; no response scores as an empty one does, and leaves no response out.
    tokenize, lowercase, stop_words
        How the texts of the index became words.
    bm25
        The variant of BM25; document frequencies and mean lengths are those of all shards together.
    alpha, epsilon
        The score is message · (α · response + (1 − α) · ε).
    top
        How many triples to find for each query.
    threads
        How many threads; all cores by default. It changes nothing but the time.
    progress
        Told how many more queries were searched for, once for each shard.

    Returns
    -------
    Hits
        The same bits wherever shards were cut.

    Raises
    ------
    UsageError
        If an option is out of its range.
    DataError
        If a shard was altered or damaged.
    """
    check_ranges(top, alpha, epsilon)
    if len(messages) != len(responses):
        raise UsageError(
            f"every query needs a message and a response, not {len(messages):,} and {len(responses):,} of them"
        )
    how = tokenizer(tokenize)
    stopped = {word.lower() if lowercase else word for word in stop_words}
    bags = tuple(_bags(texts, how, lowercase, stopped) for texts in (messages, [text or "" for text in responses]))
    words = tuple(dict.fromkeys(word for field in bags for bag in field for word in bag))
    documents = sum(shard.triples for shard in shards)
    threads = resolve_threads(threads, documents * len(messages), _WORTH_THREADS)
    numbers = [shard.numbers(words) for shard in shards]
    means = _means(shards, documents)
    scoring = [bm25.k1, bm25.b, bm25.scale, *means, alpha, (1.0 - alpha) * epsilon]
    kernel = kernels.MineSearch(tuple(responses), np.array(scoring, np.float64), top)
    places = {word: place for place, word in enumerate(words)}
    for position, field in enumerate(_FIELDS):
        frequencies = np.zeros(len(words), np.int64)
        for shard, its in zip(shards, numbers, strict=True):
            frequencies += shard.frequencies(field, its)
        idf = bm25.idf(frequencies, documents)
        begins = np.cumsum([0, *map(len, bags[position])], dtype=np.uint64)
        flat = np.array([places[word] for bag in bags[position] for word in bag], np.uint32)
        counts = np.array([count for bag in bags[position] for count in bag.values()], np.float64)
        kernel.set_words(position, begins, flat, counts * idf[flat])
    first_row = 0
    for shard, its in zip(shards, numbers, strict=True):
        for first in range(0, len(messages), _QUERIES):
            last = min(first + _QUERIES, len(messages))
            _run(kernel, shard, its, first_row, first, last, threads)
            if progress:
                progress(last - first)
        first_row += shard.triples
        if len(shards) > 1:  # the next one needs the memory; the only one may be searched again
            shard.release()
    return Hits(*kernel.hits())


def _run(
    kernel: kernels.MineSearch,
    shard: Shard,
    numbers: NDArray[np.uint32],
    first_row: int,
    first: int,
    last: int,
    threads: int,
) -> None:
    its = shard.kernel()
    shard.sound(lambda: kernel.run(its, numbers, first_row, first, last, threads))


def _bags(texts: Sequence[str], how: Tokenizer, lowercase: bool, stopped: set[str]) -> list[Counter[str]]:
    """Return the words of each text, in the order in which they first come, and how often each comes."""
    if how.native:
        name = how.native
    else:  # the words are those that the kernel was given, not those for people
        texts, name, lowercase = how.lines(texts, lowercase), "none", False
    return [Counter(word for word in kernels.tokens(text, name, lowercase) if word not in stopped) for text in texts]


def _means(shards: Sequence[Shard], documents: int) -> tuple[float, float]:
    if not documents:
        return 0.0, 0.0
    messages = sum(shard.info.message_words for shard in shards)
    return messages / documents, sum(shard.info.response_words for shard in shards) / documents


def check_ranges(top: int, alpha: float, epsilon: float) -> None:
    """Refuse options that a search cannot have."""
    if type(top) is not int or top < 1:
        raise UsageError(f"top must be a whole number from 1 on, not {top!r}")
    if not _is_number(alpha) or not 0 <= alpha <= 1:
        raise UsageError(f"alpha must be a number from 0 to 1, not {alpha!r}")
    if not _is_number(epsilon) or not 0 <= epsilon <= LARGEST_EPSILON:
        raise UsageError(f"epsilon must be a number from 0 to {LARGEST_EPSILON:,.0f}, not {epsilon!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
