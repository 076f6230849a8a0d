"""Training n-gram vectors: count a corpus, then skip-gram with negative sampling."""

from __future__ import annotations

from trubleu.vectors.training.options import TrainingOptions
from trubleu.vectors.training.trainer import Training, train_vectors

__all__ = ["Training", "TrainingOptions", "train_vectors"]
