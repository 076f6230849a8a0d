"""Candidate references by brute force: every triple of a corpus is scored against every seed, as the formulas say."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from trubleu.text import tokenizer

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from trubleu.data.triples import Triple


class PlainCandidate(NamedTuple):
    """A row of the corpus, its three scores, and what each word contributed."""

    row: int
    score: float
    message: float
    response: float
    message_words: dict[str, float]
    response_words: dict[str, float]


def fold(text: str) -> str:
    return " ".join(text.casefold().split())


def bag(text: str, stop_words: Collection[str] = (), lowercase: bool = True) -> Counter[str]:
    return Counter(word for word in tokenizer("13a").tokens(text, lowercase) if word not in stop_words)


def idf(variant: str, frequency: int, documents: int) -> float:
    odds = (documents - frequency + 0.5) / (frequency + 0.5)
    match variant:
        case "lucene":
            return math.log(1 + odds)
        case "robertson":
            return max(0.0, math.log(odds))
        case "atire":
            return math.log(documents / frequency)
    raise AssertionError(variant)


def contributions(
    query: Counter[str], bags: Sequence[Counter[str]], row: int, variant: str, k1: float, b: float
) -> dict[str, float]:
    """Return what each word of a query contributes to the BM25 score of one of many bags of words."""
    mean = sum(each.total() for each in bags) / len(bags)
    norm = k1 * (1 - b + (b * bags[row].total() / mean if mean else 0))  # no words at all: nothing can match
    found = {}
    for word, times in query.items():
        if count := bags[row][word]:
            weight = idf(variant, sum(word in each for each in bags), len(bags))
            saturated = count / (count + norm) * (k1 + 1 if variant == "atire" else 1)
            found[word] = times * weight * saturated
    return found


def plain_candidates(
    corpus: Sequence[Triple],
    message: str,
    response: str,
    *,
    top: int,
    alpha: float = 0.5,
    epsilon: float = 0.1,
    variant: str = "lucene",
    k1: float = 1.2,
    b: float = 0.75,
    stop_words: Collection[str] = (),
    lowercase: bool = True,
) -> list[PlainCandidate]:
    """Return the best candidates, with equal scores in the order of the corpus."""
    messages = [bag(each.message, stop_words, lowercase) for each in corpus]
    responses = [bag(each.response, stop_words, lowercase) for each in corpus]
    asked, answered = bag(message, stop_words, lowercase), bag(response, stop_words, lowercase)
    found = []
    for row in range(len(corpus)):
        of_message = contributions(asked, messages, row, variant, k1, b)
        of_response = contributions(answered, responses, row, variant, k1, b)
        one, other = math.fsum(of_message.values()), math.fsum(of_response.values())
        score = one * (alpha * other + (1 - alpha) * epsilon)
        found.append(PlainCandidate(row, score, one, other, of_message, of_response))
    kept: list[PlainCandidate] = []
    there = {fold(response)}
    for each in sorted(found, key=lambda each: -each.score):
        text = fold(corpus[each.row].response)
        if each.score > 0 and text not in there and len(kept) < top:
            there.add(text)
            kept.append(each)
    return kept
