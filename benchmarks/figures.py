"""What the benchmarks' text is like, beside real text: ``python -m benchmarks.figures``."""

from __future__ import annotations

import re
from collections import Counter

import trubleu
from benchmarks.data import Corpus, Writer, real_corpora
from trubleu.text import tokenizer


def figures(corpus: Corpus) -> dict[str, str]:
    """Return what decides the speed of counting n-grams."""
    texts = [text for row in corpus.references for text in row]
    words = [word for text in texts for word in text.split()]
    letters = re.findall(r"[^\W\d_]+", " ".join(words))
    marks = re.findall(r"[^\w\s]", " ".join(words))
    common = Counter(words).most_common(1000)
    result = {
        "references a segment": f"{len(texts) / len(corpus):.1f}",
        "words a hypothesis": f"{sum(len(text.split()) for text in corpus.systems[0]) / len(corpus):.1f}",
        "words a reference": f"{len(words) / len(texts):.1f}",
        "letters a word": f"{sum(map(len, letters)) / len(letters):.2f}",
        "tokens above 8 bytes": f"{sum(len(word.encode()) > 8 for word in words) / len(words):.1%}",
        "distinct words": f"{len(set(words)):,}",
        "punctuation marks a word": f"{len(marks) / len(words):.2f}",
        "lines not ASCII": f"{sum(not text.isascii() for text in texts) / len(texts):.1%}",
    }
    for count in (1, 10, 100, 1000):
        result[f"the commonest {count}"] = f"{sum(n for _, n in common[:count]) / len(words):.1%}"
    for name in ("none", "13a"):
        result[f"in one reference, {name}"] = f"{_shared(corpus, name):.1%}"
        metric = trubleu.metric("bleu-4", tokenize=name)
        result[f"score, {name}"] = str(metric.corpus(corpus.systems[0], corpus.references))
    return result


def _shared(corpus: Corpus, tokenize: str) -> float:
    """Return the clipped share of hypothesis tokens that a reference has, over all pairs."""
    chosen = tokenizer(tokenize)
    matched = total = 0
    for output, references in zip(corpus.systems[0], corpus.references, strict=True):
        counts = Counter(chosen.tokens(output))
        for reference in references:
            matched += (counts & Counter(chosen.tokens(reference))).total()
            total += counts.total()
    return matched / total


def main() -> None:
    """Print the figures of made and of real text."""
    writer = Writer(seed=1)
    made = [writer.dialogue(2114, 16), writer.translation(3000, 1), writer.translation(3000, 5)]
    for corpus in made + real_corpora():
        print(corpus.name)
        for name, value in figures(corpus).items():
            print(f"  {name:26} {value}")


if __name__ == "__main__":
    main()
