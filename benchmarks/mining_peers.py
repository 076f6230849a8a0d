"""bm25s and tantivy, called as well as their users can call them, and a plain statement of the search in NumPy."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

TOP: Final = 15
ALPHA: Final = 0.5
EPSILON: Final = 0.1
K1: Final = 1.2
B: Final = 0.75
FIRST_LOOK: Final = 64
"""Rows that are looked at before responses that repeat are left out; more where these do not suffice."""

NOWHERE: Final = -1
"""The group of a response that is not in the corpus."""


class Texts(NamedTuple):
    """Messages and the responses to them."""

    messages: list[str]
    responses: list[str]


class Found(NamedTuple):
    """Rows of the corpus, the best first, and their scores."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]


class Numbers(NamedTuple):
    """Texts as numbers of words, one after the other, and where each begins."""

    words: NDArray[np.int32]
    begins: NDArray[np.int64]

    def lists(self) -> list[list[int]]:
        """Return a list of numbers for each text."""
        words, begins = self.words.tolist(), self.begins.tolist()
        return [words[start:end] for start, end in pairwise(begins)]


class Query(NamedTuple):
    """A seed as words of the corpus, with the group of its own response."""

    message: list[int]
    response: list[int]
    group: int


class Corpus:
    """A corpus in the form that peers take: words of sacreBLEU's 13a, lower-cased, by number.

    Equal responses, after case and white-space folding, have one group number.
    """

    def __init__(self, texts: Texts) -> None:
        self.vocabulary: dict[str, int] = {}
        self.message = self._numbers(texts.messages)
        self.response = self._numbers(texts.responses)
        self._groups: dict[str, int] = {}
        self.groups = np.array([self._groups.setdefault(fold(text), len(self._groups)) for text in texts.responses])

    def __len__(self) -> int:
        return len(self.groups)

    def queries(self, seeds: Texts) -> list[Query]:
        """Return seeds as queries, without words that the corpus does not have."""
        known = self.vocabulary
        messages, responses = ([[known[word] for word in words if word in known] for words in split(t)] for t in seeds)
        groups = [self._groups.get(fold(text), NOWHERE) for text in seeds.responses]
        return [Query(*query) for query in zip(messages, responses, groups, strict=True)]

    def _numbers(self, texts: Sequence[str]) -> Numbers:
        known, words, lengths = self.vocabulary, [], []
        for text in split(texts):
            words += [known.setdefault(word, len(known)) for word in text]
            lengths.append(len(text))
        return Numbers(np.array(words, np.int32), np.concatenate([[0], np.cumsum(lengths)]))


def split(texts: Sequence[str]) -> Iterator[list[str]]:
    """Tokenize lower-cased texts as sacreBLEU does, without its memory of lines, which would hold all of them."""
    tokenizer, call = Tokenizer13a(), Tokenizer13a.__call__.__wrapped__  # type: ignore[no-untyped-call]
    return (call(tokenizer, text.lower()).split() for text in texts)


def fold(text: str) -> str:
    """Return what two responses must share to count as one."""
    return " ".join(text.casefold().split())


def _largest(scores: NDArray[Any], count: int) -> NDArray[np.int64]:
    return np.argpartition(scores, -count)[-count:]


def _largest_by_bm25s(scores: NDArray[Any], count: int) -> NDArray[np.int64]:
    from bm25s.numba import selection

    return np.asarray(selection.topk(scores, count, sorted=False)[1], np.int64)


class Bm25s:
    """Two indices of bm25s, one for each field, its scorer and its builder compiled by numba."""

    def __init__(self, corpus: Corpus, *, variant: str = "lucene", dtype: str = "float32") -> None:
        self.groups = corpus.groups
        self.message = bm25s_index((corpus.message.lists(), corpus.vocabulary), variant, dtype)
        self.response = bm25s_index((corpus.response.lists(), corpus.vocabulary), variant, dtype)

    def top(self, query: Query) -> Found:
        """Return the best by the product, from the scores of all rows in both fields."""
        scores = self.response.get_scores_from_ids(query.response)
        scores *= ALPHA
        scores += (1 - ALPHA) * EPSILON
        scores *= self.message.get_scores_from_ids(query.message)
        # Its own choice of the largest, compiled by numba, takes a tenth of the time of NumPy's.
        return best_of(scores, self.groups, query.group, choose=_largest_by_bm25s)


def bm25s_index(tokens: Any, variant: str = "lucene", dtype: str = "float32") -> Any:
    """Return an index of bm25s of ids with a vocabulary, or of what its tokenizer returns."""
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    index = bm25s.BM25(k1=K1, b=B, method=variant, dtype=dtype, backend="numba")
    index.compile(warmup=False)  # what it promises to do by itself it does only if a variable of numba's is set
    index.index(tokens, show_progress=False)
    return index


def bm25s_from_texts(texts: Texts) -> tuple[Any, Any]:
    """Tokenize both fields with bm25s's own tokenizer, no word left out as a stop word, and index them."""
    import bm25s

    tokens = (bm25s.tokenize(field, stopwords=[], show_progress=False) for field in texts)
    message, response = (bm25s_index(each) for each in tokens)
    return message, response


def best_of(
    scores: NDArray[Any],
    groups: NDArray[np.int64],
    own: int,
    top: int = TOP,
    choose: Callable[[NDArray[Any], int], NDArray[np.int64]] = _largest,
) -> Found:
    """Return the best rows, ties by corpus order, of each group only the best and of the query's own none."""
    look = FIRST_LOOK
    while True:
        rows = np.flatnonzero(scores > 0) if look >= len(scores) else choose(scores, look)
        # Which of the rows that are as good as the worst were chosen is chance: they are looked at with the next ones.
        worst = 0.0 if look >= len(scores) else scores[rows].min()
        rows = rows[scores[rows] > worst]
        rows = rows[np.lexsort((rows, -scores[rows]))]
        _, first = np.unique(groups[rows], return_index=True)
        kept = rows[np.sort(first)]
        kept = kept[groups[kept] != own][:top]
        if len(kept) == top or worst == 0:
            return Found(kept, scores[kept].astype(np.float64))
        look *= 8


class Brute:
    """The formulas written down: every row scored in double precision, nothing skipped."""

    def __init__(self, corpus: Corpus) -> None:
        self.groups = corpus.groups
        self._fields = [_Field(numbers, len(corpus.vocabulary)) for numbers in (corpus.message, corpus.response)]

    def top(self, query: Query, top: int = TOP) -> Found:
        """Return the best by the product."""
        return best_of(self.scores(query), self.groups, query.group, top)

    def scores(self, query: Query) -> NDArray[np.float64]:
        """Return the product of every row."""
        message, response = self.fields(query)
        return message * (ALPHA * response + (1 - ALPHA) * EPSILON)

    def fields(self, query: Query) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return BM25 of every row, lucene's variant, for messages and for responses."""
        message, response = self._fields
        return message.scores(query.message), response.scores(query.response)


@dataclass(frozen=True)
class _Field:
    numbers: Numbers
    vocabulary: int

    @cached_property
    def _postings(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Where a word's rows begin, the rows, and how often the word is there."""
        lengths = np.diff(self.numbers.begins)
        rows = len(lengths)
        keys = self.numbers.words.astype(np.int64) * rows + np.repeat(np.arange(rows), lengths)
        keys, counts = np.unique(keys, return_counts=True)
        begins = np.searchsorted(keys, np.arange(self.vocabulary + 1) * rows)
        return begins, (keys % rows).astype(np.int32), counts.astype(np.float64)

    @cached_property
    def _norm(self) -> NDArray[np.float64]:
        lengths = np.diff(self.numbers.begins)
        return np.asarray(K1 * ((1 - B) + B * lengths / lengths.mean()))

    def scores(self, words: list[int]) -> NDArray[np.float64]:
        begins, rows, counts = self._postings
        total = np.zeros(len(self._norm))
        for word in dict.fromkeys(words):
            there = slice(begins[word], begins[word + 1])
            frequency = there.stop - there.start
            idf = np.log(1 + (len(total) - frequency + 0.5) / (frequency + 0.5))
            saturated = counts[there] / (counts[there] + self._norm[rows[there]])
            total[rows[there]] += words.count(word) * idf * saturated
        return total


class Tantivy:
    """One index of tantivy with two fields of words with frequencies, without positions.

    It is given the words with spaces between them, so that both sides search for the same ones. One thread writes, with
    so much memory that there is one segment, which is what searches fastest.
    """

    def __init__(self, texts: Texts, folder: Path) -> None:
        import tantivy

        builder = tantivy.SchemaBuilder()
        for field in Texts._fields:
            builder.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
        builder.add_unsigned_field("row", stored=True)
        self._schema = builder.build()
        folder.mkdir()
        index = tantivy.Index(self._schema, str(folder))
        writer = index.writer(heap_size=1 << 31, num_threads=1)
        for row, (message, response) in enumerate(zip(*map(split, texts), strict=True)):
            writer.add_document(tantivy.Document(messages=" ".join(message), responses=" ".join(response), row=row))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self._searcher = index.searcher()

    @property
    def segments(self) -> int:
        """How many segments there are."""
        return int(self._searcher.num_segments)

    def query(self, message: list[str], response: list[str]) -> Any:
        """Return a query for any of the words, each in its own field."""
        import tantivy

        terms = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, field, word, "freq"))
            for field, words in zip(Texts._fields, (message, response), strict=True)
            for word in words
        ]
        return tantivy.Query.boolean_query(terms)

    def top(self, query: Any, top: int = TOP) -> Any:
        """Return the best by the sum of all words."""
        return self._searcher.search(query, top, count=False).hits

    def rows(self, hits: Any) -> list[int]:
        """Return the rows of the corpus that were found."""
        return [int(self._searcher.doc(address).get_first("row") or 0) for _, address in hits]
