"""Candidate references for seeds: mined responses with the words that made their scores, additions, and a signature."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, overload

import numpy as np

from trubleu.data.triples import TripleList, distinct_triples, warn_of_skipped
from trubleu.errors import CountedWarning, DataError, TrubleuWarning, UsageError, counted, some
from trubleu.files.jsonl import json_line
from trubleu.files.paths import format_to_write
from trubleu.files.writer import atomic_writer
from trubleu.mining.index_builder import corpus_source
from trubleu.mining.search import find, folded, word_frequencies
from trubleu.mining.shard import FIELDS
from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from trubleu.data.triples import Triple, TripleSource
    from trubleu.files.paths import PathLike
    from trubleu.mining.bm25 import Bm25
    from trubleu.mining.index import Index
    from trubleu.mining.index_builder import Corpus
    from trubleu.mining.search import FoundTriple, Ranking
    from trubleu.mining.shard import Field
    from trubleu.signature import Signature


Contributions: TypeAlias = "tuple[tuple[str, float], ...]"


@dataclass(frozen=True, slots=True)
class MatchedWords:
    """The words that a seed and a candidate share, each with its contribution to BM25, largest first.

    Attributes
    ----------
    message
        Those of the messages; the contributions add up to the message score.
    response
        Those of the responses; they add up to the response score. Empty where no response was given.
    """

    message: tuple[tuple[str, float], ...]
    response: tuple[tuple[str, float], ...]


class Explainer:
    """Breaks scores down by word.

    It does not use the search kernel: words are counted in the texts, and only the document frequencies and mean
    lengths of the whole corpus come from the index.

    Parameters
    ----------
    index
        The index that was searched.
    bm25
        The formula.
    frequencies
        How many messages and responses have a word, for those of which it is known; shards are asked about others.
    """

    def __init__(self, index: Index, bm25: Bm25, frequencies: Mapping[str, tuple[int, int]] | None = None) -> None:
        self._index = index
        self._bm25 = bm25
        self._known = frequencies or {}
        self._tokenizer = tokenizer(index.tokenize)
        self._stop = frozenset(index.stop_words)
        self._mean: dict[Field, float] = {
            "message": index.message_words / len(index),
            "response": index.response_words / len(index),
        }
        self._weights = lru_cache(maxsize=len(FIELDS))(self._weights_of)  # those of the last query

    def words(self, message: str, response: str | None, found_message: str, found_response: str) -> MatchedWords:
        """Return the contribution of each word to a candidate's scores.

        Parameters
        ----------
        message, response
            What was searched for.
        found_message, found_response
            What was found.
        """
        return MatchedWords(
            self._contributions("message", message, found_message),
            () if response is None else self._contributions("response", response, found_response),
        )

    def known(self, message: str) -> bool:
        """Return whether any word of a message occurs in a message of the index."""
        words = list(self._counts(message))
        return bool(words) and bool(self._frequencies("message", words).any())

    def _contributions(self, field: Field, query: str, text: str) -> Contributions:
        weights = self._weights(field, query)
        counts = self._counts(text)
        length = counts.total()
        norm = float(self._bm25.norm(np.array([length]), self._mean[field])[0])
        found = {
            word: times * idf * (self._bm25.scale * counts[word] / (counts[word] + norm))
            for word, (times, idf) in weights.items()
            if word in counts
        }
        return tuple(sorted(((word, each) for word, each in found.items() if each > 0), key=lambda one: -one[1]))

    def _weights_of(self, field: Field, query: str) -> dict[str, tuple[int, float]]:
        """Return the count and idf of each word of a query."""
        counts = self._counts(query)
        idf = self._bm25.idf(self._frequencies(field, list(counts)), len(self._index)).tolist()
        return {word: (times, each) for (word, times), each in zip(counts.items(), idf, strict=True)}

    def _frequencies(self, field: Field, words: list[str]) -> NDArray[np.int64]:
        """Return the document frequency of each word in the messages or responses of the whole corpus."""
        row = FIELDS.index(field)
        if all(word in self._known for word in words):
            return np.array([self._known[word][row] for word in words], np.int64)
        found: NDArray[np.int64] = word_frequencies(self._index.shards, words)[row]
        return found

    def _counts(self, text: str) -> Counter[str]:
        (line,) = self._tokenizer.lines([text], self._index.lowercase)
        return Counter(word for word in line.split() if word not in self._stop)


_HEX_DIGITS: Final = 12


def reference_ids(candidates: Sequence[Candidate]) -> list[str]:
    """Return an id for each candidate of a seed: the beginning of a checksum of its text.

    A text keeps its id across mining runs, whatever its rank or origin, so ratings can be joined to it again.

    Examples
    --------
    >>> from trubleu.mining.candidates import Candidate
    >>> reference_ids([Candidate(text="hello", origin="seed"), Candidate(text="hi", origin="mined", rank=1)])
    ['r-2cf24dba5fb0', 'r-8f434346648f']
    """
    ids: list[str] = []
    for each in candidates:
        name = "r-" + hashlib.sha256(each.text.encode("utf-8", "surrogatepass")).hexdigest()[:_HEX_DIGITS]
        # A collision is next to impossible, but two equal ids would break the file.
        again = ids.count(name)
        ids.append(f"{name}-{again + 1}" if again else name)
    return ids


def _record(found: SeedCandidates, signature: str) -> dict[str, Any]:
    """Return the JSON object for a line."""
    items = []
    for name, each in zip(reference_ids(found.candidates), found.candidates, strict=True):
        item: dict[str, Any] = {
            "id": name,
            "text": each.text,
            "weight": None,
            "origin": each.origin,
            "source": each.source,
            "source_message": each.source_message,
            "rank": each.rank,
            "scores": None,
        }
        if each.score is not None:
            item["scores"] = {"score": each.score, "message": each.message_score, "response": each.response_score}
        if each.words is not None:
            item["words"] = {"message": dict(each.words.message), "response": dict(each.words.response)}
        items.append(item)
    return {
        "id": found.seed.id,
        "context": list(found.seed.context),
        "message": found.seed.message,
        "references": items,
        "mined": found.mined,
        "wanted": found.wanted,
        "signature": signature,
    }


def seed_source(seeds: Corpus, *, columns: str | None = None, skip_bad: bool = False) -> TripleSource:
    """Return the source of seeds; files must exist, but are not read yet."""
    if isinstance(seeds, Iterable) and not isinstance(seeds, str):
        given: list[Any] = list(seeds)
        if not given or not all(isinstance(each, str | os.PathLike) for each in given):
            return TripleList(given)  # a list, as it may have to be read twice
        seeds = given
    return corpus_source(seeds, columns=columns, skip_bad=skip_bad)


def seed_triples(source: TripleSource) -> list[Triple]:
    """Read all seeds.

    Raises
    ------
    DataError
        If there are none, a field is missing or wrong, or two have the same id.
    """
    triples = distinct_triples(source, noun="seed")
    warn_of_skipped(source, stacklevel=5)  # the caller of `Index.candidates`
    if not triples:
        where = ", ".join(source.files) or "the list"
        raise DataError(f"there are no seeds in {where}; give at least one triple")
    return triples


MOST_MISSES: Final = 65_536
"""Stop drawing after this many rows without a new response: nearly all responses are equal then."""


def random_rows(rows: int, generator: np.random.Generator) -> Iterator[int]:
    """Yield all rows in uniformly random order; memory grows with the number taken.

    Examples
    --------
    >>> import numpy as np
    >>> sorted(random_rows(5, np.random.default_rng(1)))
    [0, 1, 2, 3, 4]
    """
    moved: dict[int, int] = {}  # sparse Fisher–Yates shuffle: holds only the changed positions
    for place in range(rows):
        other = int(generator.integers(place, rows))
        row = moved.get(other, other)
        moved[other] = moved.pop(place, place)
        yield row


Origin: TypeAlias = Literal["seed", "mined", "parrot", "random"]

TOP: Final = 15
ALPHA: Final = 0.5
EPSILON: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A response that may become a reference once it was rated.

    Attributes
    ----------
    text
        The response.
    origin
        ``seed``: what was really answered. ``mined``: found in the corpus. ``parrot``: the message itself. ``random``:
        any response of the corpus.
    rank
        From 1, for mined ones; None for all others.
    score, message_score, response_score
        Of mined ones: s, d(m̃, m) and d(r̃, r) of the formula; None for all others.
    source, source_message
        The id and the message of the triple in the corpus that it comes from; None for ``seed`` and ``parrot``.
    words
        Which words matched, and what each contributed, if that was asked for.
    """

    text: str
    origin: Origin
    rank: int | None = None
    score: float | None = None
    message_score: float | None = None
    response_score: float | None = None
    source: str | None = None
    source_message: str | None = None
    words: MatchedWords | None = None


@dataclass(frozen=True, slots=True)
class SeedCandidates:
    """The candidates for one seed.

    Attributes
    ----------
    seed
        The seed.
    candidates
        Its own response, the mined ones by rank, its message, random ones; no two texts are equal after folding.
    mined, wanted
        How many were mined, and how many were asked for.
    """

    seed: Triple
    candidates: tuple[Candidate, ...]
    mined: int
    wanted: int


@dataclass(frozen=True, slots=True, repr=False)
class Candidates(Sequence[SeedCandidates]):
    """The candidates for all seeds, in the order of the seeds, as `Index.candidates` returns them.

    Attributes
    ----------
    seeds
        One element a seed; the whole is a sequence of them.
    signature
        How they were made: every option that can change them, and the fingerprint of the corpus.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trubleu.data import References, Triple
    >>> from trubleu.mining import Index
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> corpus = [
    ...     Triple("t1", (), "how was the match?", "great, we won the cup!"),
    ...     Triple("t2", (), "did you see the match?", "yes, what a match"),
    ...     Triple("t3", (), "where is the station?", "two streets from here"),
    ... ]
    >>> index = Index.build(folder / "index", corpus)
    >>> found = index.candidates([Triple("s1", (), "was it a good match?", "yes, we won!")], top=2)
    >>> [(each.origin, each.rank, each.text) for each in found[0].candidates][:3]
    [('seed', None, 'yes, we won!'), ('mined', 1, 'great, we won the cup!'), ('mined', 2, 'yes, what a match')]
    >>> found.write(folder / "candidates.jsonl")
    >>> References.read(folder / "candidates.jsonl").count
    4
    """

    seeds: tuple[SeedCandidates, ...]
    signature: Signature

    def __repr__(self) -> str:
        mined = sum(each.mined for each in self.seeds)
        return f"<Candidates for {counted(len(self.seeds), 'seed')}: {mined:,} mined; {self.signature}>"

    def __len__(self) -> int:
        return len(self.seeds)

    @overload
    def __getitem__(self, index: int) -> SeedCandidates: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SeedCandidates, ...]: ...
    def __getitem__(self, index: int | slice) -> SeedCandidates | tuple[SeedCandidates, ...]:
        return self.seeds[index]

    def write(self, path: PathLike) -> None:
        """Write a file of unrated references, atomically.

        Parameters
        ----------
        path
            It ends in ``.jsonl`` (then maybe ``.gz`` or ``.zst``), or is ``-`` for standard output.

        Raises
        ------
        DataError
            If the name tells another format, or the file cannot be written.
        """
        format_to_write(path, ["jsonl"])
        signature = str(self.signature)
        with atomic_writer(path) as stream:
            stream.writelines(json_line(_record(each, signature)) + "\n" for each in self)


def mined_candidates(
    found: Sequence[FoundTriple], message: str, response: str | None, explainer: Explainer | None
) -> tuple[Candidate, ...]:
    """Return the search results for a message as candidates."""
    return tuple(
        Candidate(
            text=each.response,
            origin="mined",
            rank=rank,
            score=each.score,
            message_score=each.message_score,
            response_score=None if response is None else each.response_score,
            source=each.id,
            source_message=each.message,
            words=explainer.words(message, response, each.message, each.response) if explainer else None,
        )
        for rank, each in enumerate(found, 1)
    )


def with_additions(
    index: Index, seed: Triple, mined: Sequence[Candidate], random: int, generator: np.random.Generator
) -> tuple[Candidate, ...]:
    """Add the seed's response, its message and random responses, unless their text is already there."""
    found = [Candidate(text=seed.response, origin="seed"), *mined]
    there = {folded(each.text) for each in found}
    if (parrot := folded(seed.message)) not in there:
        there.add(parrot)
        found.append(Candidate(text=seed.message, origin="parrot"))
    drawn = missed = 0
    for row in random_rows(len(index), generator) if random else ():
        source, source_message, text = index.triple(row)
        if (response := folded(text)) not in there:
            there.add(response)
            found.append(Candidate(text=text, origin="random", source=source, source_message=source_message))
            drawn += 1
            missed = 0
        else:
            missed += 1
        if drawn == random or missed == MOST_MISSES:
            break
    return tuple(found)


def mine(
    index: Index, source: TripleSource, ranking: Ranking, *, random: int, seed: int, explain: bool, **where: Any
) -> Candidates:
    """Mine candidates for all seeds; see `Index.candidates`, and `find` for ``where``."""
    for name, value in (("random", random), ("seed", seed)):
        if type(value) is not int or value < 0:
            raise UsageError(f"{name} must be a whole number from 0 on, not {value!r}")
    triples = seed_triples(source)
    messages, responses = [each.message for each in triples], [each.response for each in triples]
    found, frequencies = find(index, messages, responses, ranking, **where)
    explainer = Explainer(index, ranking.bm25, frequencies) if explain else None
    made = []
    for position, (triple, triples_found) in enumerate(zip(triples, found, strict=True)):
        mined = mined_candidates(triples_found, triple.message, triple.response, explainer)
        candidates = with_additions(index, triple, mined, random, np.random.default_rng([seed, position]))
        made.append(SeedCandidates(triple, candidates, len(mined), ranking.top))
    warn_of_few(index, made, ranking, random, frequencies)
    return Candidates(tuple(made), ranking.signature(index, random=random or None, seed=seed if random else None))


def warn_of_few(
    index: Index,
    made: Sequence[SeedCandidates],
    ranking: Ranking,
    random: int,
    frequencies: Mapping[str, tuple[int, int]],
) -> None:
    """Warn about seeds without candidates, and with fewer than requested."""
    unknown = [each.seed for each in made if not each.mined]
    if unknown:
        weights = Explainer(index, ranking.bm25, frequencies)
        unknown = [each for each in unknown if not weights.known(each.message)]
    if unknown:
        warnings.warn(
            f"no word of the message is in the index, so nothing was mined for {counted(len(unknown), 'seed')}: "
            + some(each.id for each in unknown),
            TrubleuWarning,
            stacklevel=4,
        )
    if few := sum(each.mined < each.wanted for each in made):
        what = f"seeds with fewer than {ranking.top} mined candidates, which their records say (mined, wanted)"
        warnings.warn(CountedWarning(what, few), stacklevel=4)
    if short := sum(sum(one.origin == "random" for one in each.candidates) < random for each in made):
        few_others = f", or so few that {MOST_MISSES:,} draws in a row met none" if len(index) > MOST_MISSES else ""
        what = f"seeds with fewer than {random} random responses, as the index has no others{few_others}"
        warnings.warn(CountedWarning(what, short), stacklevel=4)
