"""N-gram vectors: sources, files, training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trubleu._lazy import lazy_names

if TYPE_CHECKING:
    from trubleu.vectors.convert import convert_vectors as convert_vectors
    from trubleu.vectors.neighbours import Neighbour as Neighbour
    from trubleu.vectors.neighbours import nearest as nearest
    from trubleu.vectors.neighbours import similarity as similarity
    from trubleu.vectors.ready import SubwordVectors as SubwordVectors
    from trubleu.vectors.ready import ready_vectors as ready_vectors
    from trubleu.vectors.source import AdditiveSource as AdditiveSource
    from trubleu.vectors.source import AnySource as AnySource
    from trubleu.vectors.source import CallableSource as CallableSource
    from trubleu.vectors.source import Composed as Composed
    from trubleu.vectors.source import ListedSource as ListedSource
    from trubleu.vectors.source import MatrixSource as MatrixSource
    from trubleu.vectors.source import VectorSource as VectorSource
    from trubleu.vectors.source import as_source as as_source
    from trubleu.vectors.store import VectorStore as VectorStore
    from trubleu.vectors.training import Training as Training
    from trubleu.vectors.training import TrainingOptions as TrainingOptions
    from trubleu.vectors.training import train_vectors as train_vectors
    from trubleu.vectors.word2vec import read_word2vec as read_word2vec
    from trubleu.vectors.word2vec import write_word2vec as write_word2vec

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "convert": "convert_vectors",
        "neighbours": "Neighbour nearest similarity",
        "ready": "SubwordVectors ready_vectors",
        "source": "AdditiveSource AnySource CallableSource Composed ListedSource MatrixSource VectorSource as_source",
        "store": "VectorStore",
        "training": "Training TrainingOptions train_vectors",
        "word2vec": "read_word2vec write_word2vec",
    },
)
