"""Vectors of n-grams: sources, files, training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu._lazy import lazy_names

if TYPE_CHECKING:
    from trubleu.vectors.convert import convert_vectors
    from trubleu.vectors.neighbours import Neighbour, nearest, similarity
    from trubleu.vectors.ready import SubwordVectors, ready_vectors
    from trubleu.vectors.source import (
        AdditiveSource,
        AnySource,
        CallableSource,
        Composed,
        ListedSource,
        MatrixSource,
        VectorSource,
        as_source,
    )
    from trubleu.vectors.store import VectorStore
    from trubleu.vectors.training import Training, TrainingOptions, train_vectors
    from trubleu.vectors.word2vec import read_word2vec, write_word2vec

__all__ = [
    "AdditiveSource",
    "AnySource",
    "CallableSource",
    "Composed",
    "ListedSource",
    "MatrixSource",
    "Neighbour",
    "SubwordVectors",
    "Training",
    "TrainingOptions",
    "VectorSource",
    "VectorStore",
    "as_source",
    "convert_vectors",
    "nearest",
    "read_word2vec",
    "ready_vectors",
    "similarity",
    "train_vectors",
    "write_word2vec",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AdditiveSource": "source",
        "AnySource": "source",
        "CallableSource": "source",
        "Composed": "source",
        "ListedSource": "source",
        "MatrixSource": "source",
        "Neighbour": "neighbours",
        "SubwordVectors": "ready",
        "Training": "training",
        "TrainingOptions": "training",
        "VectorSource": "source",
        "VectorStore": "store",
        "as_source": "source",
        "convert_vectors": "convert",
        "nearest": "neighbours",
        "read_word2vec": "word2vec",
        "ready_vectors": "ready",
        "similarity": "neighbours",
        "train_vectors": "training",
        "write_word2vec": "word2vec",
    },
)
