"""What is searched for: queries as words and numbers, which can be cut into parts and sent to others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trubleu.errors import UsageError
from trubleu.native import kernels
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from trubleu.mining.bm25 import Bm25
    from trubleu.mining.shard import Field, Shard
    from trubleu.text import Tokenizer
    from trubleu.text.registry import Spec

FIELDS: Final[tuple[Field, Field]] = ("message", "response")


class FieldWords(NamedTuple):
    """The words of a field, query after query.

    ``begins`` says where each query's words begin, ``places`` where a word stands in `Queries.words`, and ``weights``
    how often the query has it; once frequencies are known, that times idf.
    """

    begins: NDArray[np.uint64]
    places: NDArray[np.uint32]
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Queries for a search.

    Attributes
    ----------
    responses
        What is left out where it is found; None leaves nothing out.
    words
        All words of all queries, each once.
    fields
        Which of them messages and responses have.
    """

    responses: tuple[str | None, ...]
    words: tuple[str, ...]
    fields: tuple[FieldWords, FieldWords]

    def __len__(self) -> int:
        return len(self.responses)

    @classmethod
    def of_texts(
        cls,
        messages: Sequence[str],
        responses: Sequence[str | None],
        *,
        tokenize: Spec | Tokenizer,
        lowercase: bool,
        stop_words: Iterable[str] = (),
    ) -> Queries:
        """Cut texts into words, as those of the index were.

        Raises
        ------
        UsageError
            If there are not as many responses as messages.
        """
        if len(messages) != len(responses):
            raise UsageError(
                f"every query needs a message and a response, not {len(messages):,} and {len(responses):,} of them"
            )
        how = tokenizer(tokenize)
        stopped = {word.lower() if lowercase else word for word in stop_words}
        bags = [_bags(texts, how, lowercase, stopped) for texts in (messages, [text or "" for text in responses])]
        places: dict[str, int] = {}
        for word in (word for field in bags for bag in field for word in bag):
            places.setdefault(word, len(places))
        of_messages, of_responses = (_field_words(field, places) for field in bags)
        return cls(tuple(responses), tuple(places), (of_messages, of_responses))

    def weighted(self, frequencies: NDArray[np.int64], documents: int, bm25: Bm25) -> Queries:
        """Return the same with weights: frequencies, a row a field, say how many documents have each word."""
        of_messages, of_responses = (
            field._replace(weights=field.weights * bm25.idf(its, documents)[field.places])
            for field, its in zip(self.fields, frequencies, strict=True)
        )
        return replace(self, fields=(of_messages, of_responses))

    def part(self, first: int, last: int) -> Queries:
        """Return some of the queries, with no words but theirs."""
        if (first, last) == (0, len(self)):
            return self
        cut = [_cut(field, first, last) for field in self.fields]
        kept, places = np.unique(np.concatenate([field.places for field in cut]), return_inverse=True)
        middle = len(cut[0].places)
        of_messages, of_responses = (
            field._replace(places=its.astype(np.uint32))
            for field, its in zip(cut, (places[:middle], places[middle:]), strict=True)
        )
        words = tuple(self.words[place] for place in kept.tolist())
        return Queries(self.responses[first:last], words, (of_messages, of_responses))

    def content(self) -> Iterator[bytes]:
        """Yield all of it, for a checksum."""
        for texts in (self.words, self.responses):
            yield repr(texts).encode("utf-8", "surrogatepass")
        for field in self.fields:
            yield from (np.ascontiguousarray(array).tobytes() for array in field)


def word_frequencies(shards: Iterable[Shard], words: Sequence[str]) -> NDArray[np.int64]:
    """Return how many triples of these shards have each word in their message, and in their response: two rows."""
    total = np.zeros((len(FIELDS), len(words)), np.int64)
    for shard in shards:
        numbers = shard.numbers(words)
        for row, field in enumerate(FIELDS):
            total[row] += shard.frequencies(field, numbers)
    return total


def _bags(texts: Sequence[str], how: Tokenizer, lowercase: bool, stopped: set[str]) -> list[Counter[str]]:
    """Return the words of each text, in the order in which they first come, and how often each comes."""
    if how.native:
        name = how.native
    else:  # the words are those that the kernel was given, not those for people
        texts, name, lowercase = how.lines(texts, lowercase), "none", False
    return [Counter(word for word in kernels.tokens(text, name, lowercase) if word not in stopped) for text in texts]


def _field_words(bags: list[Counter[str]], places: dict[str, int]) -> FieldWords:
    return FieldWords(
        np.cumsum([0, *map(len, bags)], dtype=np.uint64),
        np.array([places[word] for bag in bags for word in bag], np.uint32),
        np.array([count for bag in bags for count in bag.values()], np.float64),
    )


def _cut(field: FieldWords, first: int, last: int) -> FieldWords:
    begins = field.begins[first : last + 1]
    inside: Any = slice(int(begins[0]), int(begins[-1]))
    return FieldWords(begins - begins[0], field.places[inside], field.weights[inside])
