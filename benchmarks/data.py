"""Text for the benchmarks: made from a seed, or read from real data.

Made text resembles real text in what decides the speed of counting n-grams. Measured on real English (DSTC7 golds and
system responses, newstest2015 de-en) and, in brackets, here (`python -m benchmarks.figures` prints both):

==============================================  ==================  ==================
what                                            dialogue            translation
==============================================  ==================  ==================
words a reference                               18, 11 (12)         19 (19)
letters a running word                          4.2 (4.4)           4.7 (4.4)
tokens above 8 bytes, split at spaces           5 % (10 %)          11 % (9 %)
share of the commonest 1, 10, 100, 1,000 words  6 22 50 75 %        6 21 42 65 %
the same here                                   (5 21 44 66 %)      (5 22 46 69 %)
hypothesis words in one reference, ``none``     5-9 % (6 %)         47-55 % (51 %)
the same with 13a                               9-16 % (13 %)       55-64 % (57 %)
4-gram precision against one reference, 13a     0 % (0 %)           7-15 % (11 %)
punctuation marks a word                        0.18 (0.19)         0.17 (0.16)
lines that are not ASCII                        2 % (3 %)           5 % (5 %)
==============================================  ==================  ==================

DSTC7's references have 18 words, DailyDialog's (multirefeval) 11; 12 is between them. Words are made of random letters,
short ones common and long ones rare. A dialogue's references are independent of each other and of the hypothesis apart
from a few words of their topic. A translation and its references are edits of one sentence: runs of it are kept, the
runs between are replaced, shortened or lengthened.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Ids = NDArray[np.int64]

VOCABULARY: Final = 40_000
_FORMS: Final = ("{}", "{},", "{}.", "{}?", "{}!", '"{}"')  # what stands around a word; then again with a capital
_PLAIN, _COMMA, _END, _QUOTED = 0, 1, 2, 5
_TOPIC_WORDS: Final = 8


@dataclass(frozen=True)
class Corpus:
    """Systems and references, in the shape that each side of a comparison takes.

    Attributes
    ----------
    name
        What rows of results call it.
    systems
        For each system one text a segment.
    streams
        For each place a list with every segment's reference there, as sacreBLEU takes them; None for no reference.
    references
        For each segment its references, as TruBLEU takes them.
    """

    name: str
    systems: Sequence[list[str]]
    streams: Sequence[Sequence[str | None]]
    references: list[list[str]] = field(init=False)

    def __post_init__(self) -> None:
        rows = [[text for text in row if text is not None] for row in zip(*self.streams, strict=True)]
        object.__setattr__(self, "references", rows)

    def __len__(self) -> int:
        return len(self.references)

    def head(self, count: int) -> Corpus:
        """Return the first segments."""
        if count >= len(self):
            return self
        return Corpus(
            f"{self.name}, its first {count:,}",
            [system[:count] for system in self.systems],
            [stream[:count] for stream in self.streams],
        )


class Writer:
    """Writes sentences of random words.

    Parameters
    ----------
    seed
        The same seed writes the same sentences.
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        words = self._words()
        self._forms: list[str] = [form.format(word) for form in _FORMS for word in words]
        self._forms += [form.format(word[0].upper() + word[1:]) for form in _FORMS for word in words]
        rank = np.arange(VOCABULARY)
        self._cumulative = np.cumsum(1.0 / (rank + 2.2) ** 1.09)
        self._cumulative /= self._cumulative[-1]

    def dialogue(self, segments: int, references: int) -> Corpus:
        """Return two systems and references of about 12 words that have little in common."""
        topics = self._draw(segments * _TOPIC_WORDS).reshape(segments, _TOPIC_WORDS)
        texts = [self._answers(topics) for _ in range(2 + references)]
        return Corpus(f"{segments:,} × {references}, dialogue", texts[:2], texts[2:])

    def translation(self, segments: int, references: int, *, words: float = 19.0) -> Corpus:
        """Return two systems and references of about so many words that agree in half of them."""
        lengths = self._lengths(segments, mean=words, spread=0.55)
        source = self._draw(int(lengths.sum()))
        texts = [self._edit(source, lengths) for _ in range(2 + references)]
        plural = "" if references == 1 else "s"
        return Corpus(f"{segments:,} × {references}, translation{plural}", texts[:2], texts[2:])

    def _words(self) -> list[str]:
        """Return all words, the commonest first: short ones are common, but not all of them."""
        random = self._random
        letters = np.array(list("etaoinshrdlcumwfgypbvkjxqz"))
        weights = 1.0 / (np.arange(len(letters)) + 4.0)
        mean = np.minimum(1.65 + 0.62 * np.log(np.arange(VOCABULARY) + 1.0), 7.5)
        sizes = np.clip(np.rint(random.gamma(9.0, mean / 9.0)), 1, 18).astype(int)
        text = "".join(random.choice(letters, size=int(sizes.sum()), p=weights / weights.sum()))
        ends = np.cumsum(sizes)
        words = [text[end - size : end] for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)]
        # Numbers, apostrophes, hyphens and letters outside ASCII, in words of a middling frequency.
        for index, kind in zip(range(60, VOCABULARY), random.integers(100, size=VOCABULARY).tolist(), strict=False):
            word = words[index]
            if kind < 2:
                words[index] = ("7", "2015", "3.5", "10,000", "60%", "12:30")[index % 6]
            elif kind < 7:
                words[index] = word + ("'s", "n't", "'ll")[index % 3]
            elif kind < 9:
                words[index] = f"{word}-{words[index % 50]}"
            elif kind == 9 and index > 1500:
                words[index] = word + "éüñ"[index % 3]
        return words

    def _draw(self, count: int) -> Ids:
        """Return random words by their frequencies."""
        ids: Ids = np.searchsorted(self._cumulative, self._random.random(count)).astype(np.int64)
        return ids

    def _lengths(self, count: int, mean: float, spread: float) -> Ids:
        lengths = np.exp(self._random.normal(np.log(mean) - spread**2 / 2, spread, count))
        return np.maximum(np.rint(lengths), 1).astype(np.int64)

    def _answers(self, topics: Ids) -> list[str]:
        lengths = self._lengths(len(topics), mean=12.0, spread=0.6)
        total = int(lengths.sum())
        on_topic = self._random.random(total) < 0.10
        segments = np.repeat(np.arange(len(topics)), lengths)
        topic = topics[segments, self._random.integers(_TOPIC_WORDS, size=total)]
        return self._sentences(np.where(on_topic, topic, self._draw(total)), lengths)

    def _edit(self, source: Ids, lengths: Ids) -> list[str]:
        """Keep about two thirds of the words in runs of six on average; write anew what is between them."""
        runs = np.empty(len(source) // 4 + 16, dtype=np.int64)
        runs[0::2] = self._random.geometric(1 / 5.5, len(runs[0::2]))
        runs[1::2] = self._random.geometric(1 / 2.0, len(runs[1::2]))
        kept = np.resize(np.repeat(np.arange(len(runs)) % 2 == 0, runs), len(source))
        copies = np.where(kept, 1, self._random.choice(3, size=len(source), p=[0.15, 0.7, 0.15]))
        starts = np.cumsum(lengths) - lengths
        copies[starts] = np.maximum(copies[starts], 1)
        ids = np.repeat(np.where(kept, source, -1), copies)
        new = ids < 0
        ids[new] = self._draw(int(new.sum()))
        return self._sentences(ids, np.add.reduceat(copies, starts))

    def _sentences(self, ids: Ids, lengths: Ids) -> list[str]:
        """Return texts with capitals and punctuation."""
        chance = self._random.random(len(ids))
        form = np.select([chance < 0.045, chance < 0.055], [_COMMA, _QUOTED], _PLAIN)
        ends = np.cumsum(lengths)
        form[ends - 1] = _END + self._random.choice(3, size=len(ends), p=[0.8, 0.13, 0.07])
        form[ends - lengths] += len(_FORMS)  # a capital
        words = list(map(self._forms.__getitem__, (form * VOCABULARY + ids).tolist()))
        return [" ".join(words[end - n : end]) for end, n in zip(ends.tolist(), lengths.tolist(), strict=True)]


def real_corpora() -> list[Corpus]:
    """Return what `$TRUBLEU_DATA` holds of DSTC7 (the first 16 golds) and newstest2015; nothing without it."""
    place = os.environ.get("TRUBLEU_DATA")
    if not place:
        return []
    readers = {"dstc7": _dstc7, "wmt15": _newstest}
    return [read(Path(place) / name) for name, read in readers.items() if (Path(place) / name).is_dir()]


def _dstc7(folder: Path) -> Corpus:
    golds: dict[str, list[str | None]] = {}
    for line in _lines(folder / "dstc7-task2-gold_responses.tsv")[1:]:
        identity, *texts = line.split("\t")
        found = [text for text in texts if text.strip()][:16]
        if found:
            golds[identity] = [*found, *[None] * (16 - len(found))]
    systems: dict[str, dict[str, str]] = {"TeamG": {}, "TeamB": {}}
    for line in _lines(folder / "dstc7-task2-system_responses.tsv")[1:]:
        name, identity, text = line.split("\t")
        if name in systems:
            systems[name][identity] = text
    texts_of = [[texts[identity] for identity in golds] for texts in systems.values()]
    streams = [list(stream) for stream in zip(*golds.values(), strict=True)]
    return Corpus(f"{len(golds):,} × up to 16, DSTC7", texts_of, streams)


def _newstest(folder: Path) -> Corpus:
    names = ("uedin-jhu-phrase.4102", "online-A.0")
    systems = [_lines(folder / "system-outputs" / "de-en" / f"newstest2015.{name}.de-en") for name in names]
    references = _lines(folder / "references" / "newstest2015-deen-ref.en")
    return Corpus(f"{len(references):,} × 1, newstest2015 de-en", systems, [references])


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
