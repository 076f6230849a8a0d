"""What was tried for near misses and not kept: ``python -m benchmarks.real.trials``.

Pearson's r with direct assessments, five language pairs and their mean, for the F form: as it is, without punctuation,
and with n-grams weighted by their inverse document frequency among the references.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

import trubleu
from benchmarks.real.files import data_folder
from trubleu.data import read_assessments
from trubleu.explain import explain
from trubleu.files.lines import read_text_lines
from trubleu.stats import pearson
from trubleu.text import words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PAIRS = ("cs-en", "de-en", "fi-en", "ru-en", "en-ru")
NO_PUNCTUATION = re.compile(r"\w+(?:[-'’]\w+)*")
NGram = tuple[str, ...]


def main() -> int:
    """Print a line for each trial."""
    folder = data_folder("daseg2015")
    if folder is None:
        return 0
    plain = trubleu.metric("bleu2vec-f", tokenize="words")
    bare = trubleu.metric("bleu2vec-f", tokenize=NO_PUNCTUATION.findall)
    trials = {
        "as it is": (plain, 0.0),
        "without punctuation": (bare, 0.0),
        "root of idf": (plain, 0.5),
        "idf": (plain, 1),
    }
    for name, (metric, power) in trials.items():
        found = [_agreement(folder, pair, metric, power) for pair in PAIRS]
        print(f"{name:20}", *(f"{r:.3f}" for r in found), f"{np.mean(found):.3f}", flush=True)
    return 0


def _agreement(folder: Path, pair: str, metric: trubleu.Metric, power: float) -> float:
    start = f"{folder}/DAseg.newstest2015"
    outputs = read_text_lines(f"{start}.mt-system.{pair}")
    references = trubleu.References.from_lists([[text] for text in read_text_lines(f"{start}.reference.{pair}")])
    scores = metric.segments(outputs, references) if power == 0 else _by_idf(metric, outputs, references, power)
    return pearson(scores, read_assessments(f"{start}.human.{pair}")) or 0.0


def _by_idf(
    metric: trubleu.Metric, outputs: Sequence[str], references: trubleu.References, power: float
) -> list[float]:
    texts = [words.split(text) for text in references.texts]
    frequency = Counter(ngram for text in texts for order in (1, 2, 3) for ngram in set(_ngrams(text, order)))

    def weight(ngram: NGram) -> float:
        return float(math.log((len(texts) + 1) / (frequency.get(ngram, 0) + 0.5)) ** power)

    scores = []
    for place, (output, text) in enumerate(zip(outputs, texts, strict=True)):
        logarithms = []
        for order in explain(metric, output, references, place).orders:
            if not order.ngrams:
                continue
            others = _ngrams(text, order.order)
            both = sum(weight(gram.tokens) * gram.occurrences for gram in order.ngrams) + sum(map(weight, others))
            # What lin-och adds weighs as much as an n-gram does on average.
            added = both / (order.count + len(others)) if order.order > 1 else 0.0
            earned = max(sum(weight(gram.tokens) * gram.credit for gram in order.ngrams), 0.0)
            logarithms.append(math.log(max(min((earned + added) / (both / 2 + added), 1.0), 1e-9)))
        scores.append(100 * math.exp(sum(logarithms) / len(logarithms)) if logarithms else 0.0)
    return scores


def _ngrams(tokens: Sequence[str], order: int) -> list[NGram]:
    return [tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1)]


if __name__ == "__main__":
    sys.exit(main())
