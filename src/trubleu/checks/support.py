"""Sentences that nothing supports, sentences of the reference that nothing covers, and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trubleu.checks.marks import Mark, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from trubleu.checks.item import Item
    from trubleu.checks.vectors import TextVectors, Words

# Chosen on talks and news of benchmarks/real/findings.py.
SUPPORTED: Final = 0.28
"""A single sentence is supported from this share on."""
SUPPORTED_IN_PARAGRAPH: Final = 0.36
"""Each of several sentences in a row is supported from this share on."""
COVERED: Final = 0.25
"""A sentence of the reference is covered from this share on, each word of the output counting once."""
ANSWERED: Final = 0.25
"""An output answers from this share of the reference on."""
ENOUGH_WORDS: Final = 5
"""Shorter sentences are not looked at."""
ENOUGH_WORDS_ALONE: Final = 7
"""The same for a single sentence without support."""


def find_support(item: Item, vectors: TextVectors) -> list[Mark]:
    """Return sentences without support, sentences that are missing, or that nothing is answered."""
    words = vectors.words(item.output)
    good = [text for text in item.good if vectors.words(text).words]
    if not good or not words.words:
        return []
    covered = {text: vectors.cover(text, item.output) for text in good}
    answered = max(float(np.average(cover.exclusive, weights=cover.words.counts)) for cover in covered.values())
    if answered < ANSWERED and len(words.words) >= ENOUGH_WORDS:
        return [Mark("refusal", _normalised(item.output), "the output answers nothing of any good reference")]
    return [*_added(item, words, vectors), *_missing(item, vectors, good)]


def _normalised(text: str) -> str:
    return " ".join(text.lower().split())


def _added(item: Item, words: Words, vectors: TextVectors) -> list[Mark]:
    support: NDArray[np.floating[Any]] = np.zeros(len(words.sentences), np.float32)
    for text in item.known:
        if vectors.words(text).words:
            cover = vectors.cover(item.output, text)
            support = np.maximum(support, np.maximum(cover.sentences.max(axis=1), cover.pairs.max(axis=1)))
    texts = [item.output[part.start : part.end] for part in words.sentences]
    # A heading or "Other things to know:" says nothing yet.
    checked = [
        int(count) >= ENOUGH_WORDS and not text.rstrip("*_ ").endswith(":")
        for count, text in zip(words.counts, texts, strict=True)
    ]
    marks: list[Mark] = []
    run: list[int] = []
    for place in range(len(texts) + 1):
        if place < len(texts) and checked[place] and support[place] < SUPPORTED_IN_PARAGRAPH:
            run.append(place)
            continue
        if place < len(texts) and not checked[place] and run:
            continue
        marks += _run(run, words, support, texts)
        run = []
    return marks


def _run(run: Sequence[int], words: Words, support: NDArray[np.floating[Any]], texts: Sequence[str]) -> list[Mark]:
    """Return what to say of sentences in a row without support."""
    spans = [(words.sentences[place].start, words.sentences[place].end) for place in run]
    if len(run) > 1 and min(support[place] for place in run) < SUPPORTED:
        said = (
            f'{len(run)} sentences in a row are not supported by any good reference: "{shortened(texts[run[0]], 50)}"'
        )
        content = " ".join(_normalised(texts[place]) for place in run)
        return [Mark("added paragraph", content, said, tuple(spans))]
    return [
        Mark(
            "added sentence",
            _normalised(texts[place]),
            f'no good reference supports "{shortened(texts[place])}"',
            (span,),
        )
        for place, span in zip(run, spans, strict=True)
        if support[place] < SUPPORTED and words.counts[place] >= ENOUGH_WORDS_ALONE
    ]


def _missing(item: Item, vectors: TextVectors, good: Sequence[str]) -> list[Mark]:
    """Return the sentences of the nearest reference that the output lacks, and that all good references have."""
    covers = [vectors.cover(text, item.output) for text in good]
    shares = [float(np.average(cover.exclusive, weights=cover.words.counts)) for cover in covers]
    nearest = int(np.argmax(shares))
    cover, text = covers[nearest], good[nearest]
    lacking = (cover.exclusive < COVERED) & (cover.words.counts >= ENOUGH_WORDS)
    for other in good:
        if other != text and lacking.any():
            lacking &= vectors.cover(text, other).exclusive >= COVERED
    marks = []
    for place in np.flatnonzero(lacking).tolist():
        part = cover.words.sentences[place]
        said = text[part.start : part.end]
        if not said.rstrip("*_ ").endswith(":"):
            marks.append(Mark("missing sentence", _normalised(said), f'nothing covers "{shortened(said)}"'))
    return marks
