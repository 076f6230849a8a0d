"""Training against gensim's on text whose structure is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from trubleu.vectors.store import VectorStore
from trubleu.vectors.training.options import TrainingOptions
from trubleu.vectors.training.trainer import train_vectors

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

TOPICS, WORDS = 8, 12


def topical_text(lines: int = 6000, seed: int = 3) -> list[list[str]]:
    """Sentences about one topic each, with words of that topic (Zipf's law) and words of none."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, WORDS + 1)
    shares /= shares.sum()
    text = []
    for _ in range(lines):
        topic = rng.integers(TOPICS)
        about = [f"t{topic}w{word}" for word in rng.choice(WORDS, 6, p=shares)]
        text.append(rng.permutation([*about, *(f"the{word}" for word in rng.integers(0, 6, 3))]).tolist())
    return text


def cosines(matrix: NDArray[Any]) -> NDArray[np.float64]:
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T, np.float64)


def test_similarities_are_those_of_gensim(tmp_path: Path) -> None:
    models = pytest.importorskip("gensim.models", reason="gensim is not installed, so there is nothing to compare with")
    text = topical_text()
    (tmp_path / "text").write_text("".join(" ".join(words) + "\n" for words in text))
    topical = [f"t{topic}w{word}" for topic in range(TOPICS) for word in range(WORDS)]
    ours = []
    for seed in (1, 2):
        options = TrainingOptions(orders=(1,), dim=24, epochs=5, sample=0.0, seed=seed, tokenize="none")
        made = train_vectors([tmp_path / "text"], tmp_path / f"v{seed}", options, threads=1)
        ours.append(cosines(VectorStore.open(made.path).lookup(topical)))
    theirs = []
    for seed in (1, 2):
        model = models.Word2Vec(
            text, vector_size=24, window=5, negative=5, sg=1, epochs=5, min_count=5, sample=0, workers=1, seed=seed
        )
        theirs.append(cosines(np.array([model.wv[word] for word in topical])))
    pairs = np.triu_indices(len(topical), 1)
    same_topic = np.array([topical[i][:2] == topical[j][:2] for i, j in zip(*pairs, strict=True)])
    for matrix in (*ours, *theirs):
        # Words of one topic are more similar than words of two, in nearly every pair of pairs.
        inside, across = matrix[pairs][same_topic], matrix[pairs][~same_topic]
        assert np.mean(inside[:, None] > across[None, :]) > 0.99
        nearest = np.argmax(matrix - 9 * np.eye(len(topical)), axis=1)
        assert [topical[i][:2] for i in nearest] == [word[:2] for word in topical]
    # Ours and gensim's agree as well as gensim agrees with itself under another seed.
    among = np.corrcoef([matrix[pairs] for matrix in (*theirs, *ours)])
    assert among[:2, 2:].min() > among[0, 1] - 0.02
    # No shift or scale between them either.
    assert abs(np.mean(ours[0][pairs] - theirs[0][pairs])) < 0.03


def test_joined_phrases_resemble_what_stands_in_their_place(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    lines = []
    for _ in range(8000):
        liked = rng.choice(["do not like", "dislike", "adore"])
        thing = rng.choice(["rain", "snow", "fog"] if liked != "adore" else ["sun", "beach", "sea"])
        lines.append(f"{rng.choice(['we', 'they', 'you'])} {liked} the {thing} {rng.choice(['today', 'now'])}\n")
    (tmp_path / "text").write_text("".join(lines))
    options = TrainingOptions(mode="joint", dim=16, epochs=8, sample=0.0, tokenize="none")
    store = VectorStore.open(train_vectors([tmp_path / "text"], tmp_path / "v", options, threads=1).path)
    table = cosines(store.lookup(["do not like", "dislike", "adore"]))
    assert table[0, 1] > table[0, 2] + 0.1
