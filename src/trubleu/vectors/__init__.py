"""Vectors of n-grams: where they come from, and files of them."""

from __future__ import annotations

from trubleu.vectors.convert import convert_vectors
from trubleu.vectors.nearest import Neighbour, nearest, similarity
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
from trubleu.vectors.train import Training, train_vectors
from trubleu.vectors.training_options import TrainingOptions
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
