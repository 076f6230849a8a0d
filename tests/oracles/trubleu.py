"""trubleu as its definition reads, without a thought for speed.

Nothing here shares code with the package but the tokenizer `words`. Vectors come from a function that returns a word's
own, not normalised, or None if it has none; a dictionary's `get` is one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trubleu.text import words

Vector = NDArray[Any]
Vectors = Callable[[str], Vector | None]
Gram = tuple["Word", ...]

CAP = 0.999
"""The largest c of n-grams that differ."""

FLOOR = 0.001
"""The least that an F counts for."""

CHARACTER_ORDERS = range(1, 7)


class Frequencies(NamedTuple):
    """In how many segments a word is in a reference; of words that are not here, in none."""

    segments: int
    words: Counter[str]


class Options(NamedTuple):
    """What can be chosen; `frequencies` are needed where `importance` is corpus."""

    order: int = 3
    beta: float = 2.0
    shift: float = 0.15
    importance: str = "vector"
    characters: bool = True
    frequencies: Frequencies | None = None
    split: Callable[[str], list[str]] = words.split
    lowercase: bool = True


class Word(NamedTuple):
    """An occurrence of a word in a text: its weight depends on the text if it has no vector.

    The direction is its vector divided by the vector's length, None if it has no vector.
    """

    text: str
    direction: NDArray[np.float64] | None
    weight: float


class Pair(NamedTuple):
    """Two occurrences of n-grams, by their positions, and how similar they are."""

    position: int
    reference_position: int
    exact: bool
    similarity: float


class Order(NamedTuple):
    """What one order gives: F_n of precision and recall, aligned pairs, and the weights of all n-grams by position."""

    f: float
    precision: float
    recall: float
    pairs: tuple[Pair, ...]
    weights: tuple[float, ...]
    reference_weights: tuple[float, ...]


class Comparison(NamedTuple):
    """s(h, r), and what it is made of.

    `orders` has no entry for orders that are left out, `characters` is F_c, None if it does not count; neither is there
    where a side has no tokens.
    """

    score: float
    orders: dict[int, Order]
    characters: float | None


class Reference(NamedTuple):
    """One of a segment's distinct references."""

    text: str
    weight: float
    comparison: Comparison


class Segment(NamedTuple):
    """A segment's score on 0 to 100, and what it is made of."""

    score: float
    earned: float
    cut: float
    references: tuple[Reference, ...]


def frequencies(references: Iterable[Sequence[str]], options: Options | None = None) -> Frequencies:
    """Count in how many segments each word is in one reference or more, given each segment's references."""
    chosen = options or Options()
    rows = [{word for text in texts for word in tokens(text, chosen)} for texts in references]
    return Frequencies(len(rows), Counter(word for row in rows for word in row))


def cased(text: str, options: Options) -> str:
    """Return the text that is compared: lower-cased as a whole, which its parts may not be (final sigma)."""
    return text.lower() if options.lowercase else text


def tokens(text: str, options: Options) -> list[str]:
    """Return the words of a text."""
    return options.split(cased(text, options))


def weighed(texts: Sequence[str], vectors: Vectors, options: Options) -> list[Word]:
    """Return the words of one text with their vectors and weights."""
    found = [np.zeros(1) if (vector := vectors(text)) is None else vector.astype(np.float64) for text in texts]
    # A vector without a length has no direction either, so it is none.
    lengths = [math.sqrt(float(vector @ vector)) for vector in found]
    known = [length for length in lengths if length > 0]
    typical = math.fsum(known) / len(known) if known else 1.0
    row = []
    for text, vector, length in zip(texts, found, lengths, strict=True):
        if options.importance == "none":
            weight = 1.0
        elif options.importance == "corpus":
            assert options.frequencies is not None
            segments, held = options.frequencies
            weight = math.log((segments + 1) / max(held[text], 1))
        else:
            assert options.importance == "vector"
            weight = length if length > 0 else typical
        row.append(Word(text, vector / length if length > 0 else None, weight))
    return row


def cosine(word: Word, other: Word) -> float:
    """Return the cosine of two words: 1 if they are the same, 0 if they are not and one has no vector."""
    if word.text == other.text:
        return 1.0
    if word.direction is None or other.direction is None:
        return 0.0
    return float(word.direction @ other.direction)


def grams(row: Sequence[Word], n: int) -> list[Gram]:
    """Return the n-grams of a text from left to right."""
    return [tuple(row[i : i + n]) for i in range(len(row) - n + 1)]


def gram_weight(gram: Gram) -> float:
    """Return what an n-gram weighs."""
    return math.fsum(word.weight for word in gram)


def spelt(gram: Gram) -> tuple[str, ...]:
    """Return the words of an n-gram, which alone make it equal to another."""
    return tuple(word.text for word in gram)


def similarity(gram: Gram, other: Gram, shift: float) -> float:
    """Return the similarity of two n-grams of one order that differ."""
    both = [word.weight + across.weight for word, across in zip(gram, other, strict=True)]
    cosines = [cosine(word, across) for word, across in zip(gram, other, strict=True)]
    c = math.fsum(weight * each for weight, each in zip(both, cosines, strict=True)) / math.fsum(both)
    # Pairs whose c are the same number on paper have to be ties, whatever the sums were rounded to on the way, so c is
    # rounded to 32 bits, and both compared and counted as that.
    rounded = float(np.float32(min(c, CAP)))
    return max(0.0, rounded - shift) / (1 - shift)


def align(mine: Sequence[Gram], theirs: Sequence[Gram], shift: float) -> list[Pair]:
    """Align the n-grams of two texts one to one: equal ones from the left, then the most similar pair first."""
    pairs = []
    rows, columns = list(range(len(mine))), list(range(len(theirs)))
    for i in list(rows):
        j = next((j for j in columns if spelt(theirs[j]) == spelt(mine[i])), None)
        if j is not None:
            pairs.append(Pair(i, j, exact=True, similarity=1.0))
            rows.remove(i)
            columns.remove(j)
    rest = [(similarity(mine[i], theirs[j], shift), i, j) for i in rows for j in columns]
    for each, i, j in sorted(rest, key=lambda entry: (-entry[0], entry[1], entry[2])):
        if each > 0 and i in rows and j in columns:
            pairs.append(Pair(i, j, exact=False, similarity=each))
            rows.remove(i)
            columns.remove(j)
    return pairs


def f_score(precision: float, recall: float, beta: float) -> float:
    """Return F_β."""
    if precision == recall:
        return precision  # without rounding: exactly 1 if both are
    square = beta * beta
    return (1 + square) * precision * recall / (square * precision + recall)


def order_of(mine: Sequence[Gram], theirs: Sequence[Gram], options: Options) -> Order:
    """Compare the n-grams of one order, of which both texts have some."""
    pairs = align(mine, theirs, options.shift)
    weights = [gram_weight(gram) for gram in mine]
    reference_weights = [gram_weight(gram) for gram in theirs]
    precision = math.fsum(weights[pair.position] * pair.similarity for pair in pairs) / math.fsum(weights)
    recall = math.fsum(reference_weights[pair.reference_position] * pair.similarity for pair in pairs) / math.fsum(
        reference_weights
    )
    f = f_score(precision, recall, options.beta)
    return Order(f, precision, recall, tuple(pairs), tuple(weights), tuple(reference_weights))


def chrf(text: str, other: str, beta: float) -> float:
    """Return F_c of two texts from 0 to 1."""
    mine, theirs = "".join(text.split()), "".join(other.split())
    precisions, recalls = [], []
    for n in CHARACTER_ORDERS:
        have = Counter(mine[i : i + n] for i in range(len(mine) - n + 1))
        want = Counter(theirs[i : i + n] for i in range(len(theirs) - n + 1))
        if have and want:
            shared = (have & want).total()
            precisions.append(shared / have.total())
            recalls.append(shared / want.total())
    if not precisions:
        return 0.0
    return f_score(sum(precisions) / len(precisions), sum(recalls) / len(recalls), beta)


def compare(output: str, reference: str, vectors: Vectors, options: Options | None = None) -> Comparison:
    """Return s(h, r) and its parts."""
    chosen = options or Options()
    mine = weighed(tokens(output, chosen), vectors, chosen)
    theirs = weighed(tokens(reference, chosen), vectors, chosen)
    if not mine or not theirs:
        return Comparison(0.0, {}, None)
    orders = {
        n: order_of(grams(mine, n), grams(theirs, n), chosen)
        for n in range(1, chosen.order + 1)
        if len(mine) >= n and len(theirs) >= n
    }
    raised = [max(order.f, FLOOR) for order in orders.values()]
    by_words = math.prod(raised) ** (1 / len(raised))
    if not chosen.characters:
        return Comparison(by_words, orders, None)
    by_characters = chrf(cased(output, chosen), cased(reference, chosen), chosen.beta)
    share = 1 / (chosen.order + 1)  # also where orders are left out
    return Comparison(max(by_characters, FLOOR) ** share * by_words ** (1 - share), orders, by_characters)


def merged(references: Sequence[str], weights: Sequence[float] | None) -> dict[str, float]:
    """Return the distinct references in order; of equal texts, before any lower-casing, the largest weight counts."""
    found: dict[str, float] = {}
    for text, weight in zip(references, [1.0] * len(references) if weights is None else weights, strict=True):
        if not -1 <= weight <= 1:  # NaN neither
            raise ValueError(f"weight {weight} is not in [-1, 1]")
        found[text] = max(found.get(text, -1.0), weight)
    return found


def segment(
    output: str,
    references: Sequence[str],
    vectors: Vectors,
    weights: Sequence[float] | None = None,
    options: Options | None = None,
) -> Segment:
    """Score one output; without weights every reference weighs 1.

    Raises
    ------
    ValueError
        If a weight is not in [-1, 1], or none is above 0.
    """
    held = merged(references, weights)
    found = tuple(Reference(text, weight, compare(output, text, vectors, options)) for text, weight in held.items())
    good = [(each.weight, each.comparison.score) for each in found if each.weight > 0]
    bad = [(-each.weight, each.comparison.score) for each in found if each.weight < 0]
    if not good:
        raise ValueError("no reference has a weight above 0")
    best = max(weight * score for weight, score in good) / max(weight for weight, _ in good)
    mean = math.fsum(weight * score for weight, score in good) / math.fsum(weight for weight, _ in good)
    earned = (best + mean) / 2
    nearest = max(score for _, score in good)
    cut = 0.0
    if nearest < 1:
        cut = max((weight * max(0.0, score - nearest) / (1 - nearest) for weight, score in bad), default=0.0)
    return Segment(100 * earned * (1 - cut), earned, cut, found)
