"""trubleu-ctx as its definition reads, and a tiny encoder as an ONNX file.

The encoder's hidden state of a piece is its embedding plus half of the mean embedding of the text, special pieces
included. Pieces are letters, of which a word has at most three; other characters are unknown pieces.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tests.oracles import trubleu as static
from trubleu.text import words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

LETTERS = "abcdefghijklmnopqrstuvwxyz.,?!'"
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
DIMENSIONS = 6
TABLE = np.random.default_rng(7).normal(size=(len(PIECES), DIMENSIONS)).astype(np.float32)


class Baselines(NamedTuple):
    """b_w and b_s."""

    words: float
    text: float


class Comparison(NamedTuple):
    """s(h, r) and its parts."""

    score: float
    characters: float
    words: float
    text: float


def write_encoder(
    folder: Path,
    table: NDArray[np.float32] = TABLE,
    *,
    output: str = "last_hidden_state",
    quantised: bool = False,
    window: int = 512,
    pooling: str = "pooling_mode_mean_tokens",
    model: str = "model.onnx",
) -> Path:
    """Write a folder with the tiny encoder."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder.mkdir(parents=True, exist_ok=True)
    numbers = {piece: number for number, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=3))  # noqa: S106 - a piece
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = [(name, numbers[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": window}))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({pooling: True, "word_embedding_dimension": 6}))

    def info(name: str, kind: int, axes: Sequence[str | int]) -> Any:
        return helper.make_tensor_value_info(name, kind, list(axes))

    node = helper.make_node
    nodes = [
        node("Gather", ["table", "input_ids"], ["embedded"]),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        node("ReduceSum", ["mask", "last"], ["count"], keepdims=1),
        node("Div", ["mask", "count"], ["shares"]),
        node("Unsqueeze", ["shares", "last"], ["attention"]),
        node("MatMul", ["attention", "embedded"], ["means"]),
        node("Mul", ["means", "half"], ["context"]),
        node("Add", ["embedded", "context"], ["states"]),
    ]
    if quantised:
        nodes += [
            node("DynamicQuantizeLinear", ["states"], ["bytes", "scale", "zero"]),
            node("DequantizeLinear", ["bytes", "scale", "zero"], [output]),
        ]
    else:
        nodes.append(node("Identity", ["states"], [output]))
    graph = helper.make_graph(
        nodes,
        "tiny",
        [info(name, TensorProto.INT64, ["batch", "pieces"]) for name in ("input_ids", "attention_mask")],
        [info(output, TensorProto.FLOAT, ["batch", "pieces", table.shape[1]])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.array([1], np.int64), "last"),
            numpy_helper.from_array(np.array(0.5, np.float32), "half"),
        ],
    )
    file = folder / model
    file.parent.mkdir(exist_ok=True)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, str(file))
    return folder


def pieces(word: str) -> list[str]:
    """Split a word into pieces: letters, of which it has at most three."""
    found = [letter if place == 0 else f"##{letter}" for place, letter in enumerate(word)]
    return found if len(found) <= 3 and all(piece in PIECES for piece in found) else ["[UNK]"]


def splits(word: str) -> list[str]:
    """Split a word as the encoder's tokenizer does first: runs of letters, and runs of anything else."""
    import re

    return re.findall(r"\w+|[^\w\s]+", word)


def encoded(tokens: Sequence[str], window: int = 256) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Return the vector of a text and those of its words."""
    parts = [(place, piece) for place, token in enumerate(tokens) for run in splits(token) for piece in pieces(run)]
    cut = len(parts) > window - 2
    parts = parts[: window - 2]
    shown = ["[CLS]", *(piece for _, piece in parts), "[SEP]"]
    embedded = [TABLE[PIECES.index(piece)].astype(np.float64) for piece in shown]
    mean = sum(embedded[1:], embedded[0]) / len(embedded)
    states = [each + 0.5 * mean for each in embedded]
    of_words = []
    for place in range(max((place for place, _ in parts), default=-1) + 1 if cut else len(tokens)):
        own = [state for (where, _), state in zip(parts, states[1:-1], strict=True) if where == place]
        of_words.append(sum(own[1:], own[0]) / len(own) if own else np.zeros(DIMENSIONS))
    return sum(states[1:], states[0]) / len(states), of_words


def cosine(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the cosine of two vectors, 0 if one has no length."""
    length = math.sqrt(float(one @ one) * float(other @ other))
    return float(one @ other) / length if length else 0.0


def above(value: float, baseline: float) -> float:
    """Return a value beyond its baseline."""
    return max(0.0, (value - baseline) / (1 - baseline))


def word_means(mine: Sequence[NDArray[np.float64]], theirs: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """Return P and R of the words of two texts, before the baseline."""
    table = [[max(0.0, cosine(one, other)) for other in theirs] for one in mine]
    precision = sum(map(max, table)) / len(mine)
    recall = sum(max(column) for column in zip(*table, strict=True)) / len(theirs)
    return precision, recall


def compare(output: str, reference: str, baselines: Baselines, beta: float = 3.0, window: int = 256) -> Comparison:
    """Return s(h, r)."""
    mine, theirs = words.split(output.lower()), words.split(reference.lower())
    if not mine or not theirs:
        return Comparison(0.0, 0.0, 0.0, 0.0)
    text, own = encoded(mine, window)
    other_text, others = encoded(theirs, window)
    precision, recall = (above(value, baselines.words) for value in word_means(own, others))
    f_words = static.f_score(precision, recall, beta)
    of_text = above(cosine(text, other_text), baselines.text)
    characters = static.chrf(output.lower(), reference.lower(), 2.0)
    score = 1.0 if mine == theirs else (characters + f_words + of_text) / 3
    return Comparison(score, characters, f_words, of_text)


def segment(
    output: str, references: Sequence[str], weights: Sequence[float], baselines: Baselines, beta: float = 3.0
) -> float:
    """Return a segment's score from 0 to 100; of equal references, the largest weight counts."""
    merged: dict[str, float] = {}
    for text, weight in zip(references, weights, strict=True):
        merged[text] = max(weight, merged.get(text, weight))
    scores = {text: compare(output, text, baselines, beta).score for text in merged}
    good = {text: weight for text, weight in merged.items() if weight > 0}
    best = max(weight * scores[text] for text, weight in good.items()) / max(good.values())
    mean = sum(weight * scores[text] for text, weight in good.items()) / sum(good.values())
    nearest = max(scores[text] for text in good)
    cuts = [
        -weight * max(0.0, scores[text] - nearest) / (1 - nearest)
        for text, weight in merged.items()
        if weight < 0 and nearest < 1
    ]
    return 100 * (0.5 * best + 0.5 * mean) * (1 - max(cuts, default=0.0))


def baselines(sentences: Sequence[str]) -> Baselines:
    """Measure b_w and b_s."""
    found = [encoded(words.split(sentence.lower())) for sentence in sentences]
    recalls, cosines = [], []
    for place, (text, own) in enumerate(found):
        for other_place, (other_text, others) in enumerate(found):
            if place != other_place:
                recalls.append(word_means(own, others)[1])
                cosines.append(cosine(text, other_text))

    def baseline(values: list[float]) -> float:
        mean = sum(values) / len(values)
        return mean + math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))

    return Baselines(baseline(recalls), baseline(cosines))
