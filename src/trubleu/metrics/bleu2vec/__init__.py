"""bleu2vec (Tättar & Fishel 2017), and ΔBLEU with partial credit for similar n-grams."""

from __future__ import annotations

from trubleu.metrics.bleu2vec.alignment import AlignedNgrams
from trubleu.metrics.bleu2vec.bleu2vec import Bleu2Vec, DeltaBleu2Vec

__all__ = ["AlignedNgrams", "Bleu2Vec", "DeltaBleu2Vec"]
