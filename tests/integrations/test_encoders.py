"""Encoders against transformers: the same pieces, and the same hidden states."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from trubleu import TruBleuCtx
from trubleu.errors import DataError
from trubleu.vectors import as_encoder
from trubleu.vectors.encoders import onnx

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
VOCABULARY = Path(onnx.__file__).parent / "minilm" / "vocab.txt"
WORDS = ["The", "cats", "don't", "unbelievably", "naïve", "東京", "x" * 120, "3.14", "🙂", "Ёлка", "\u200b", "a", "."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small BERT with random weights."""
    place = tmp_path_factory.mktemp("encoders") / "bert"
    torch.manual_seed(1)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    model = transformers.BertModel(transformers.BertConfig(**sizes, max_position_embeddings=64)).eval()
    model.save_pretrained(place)
    transformers.BertTokenizerFast(vocab=str(VOCABULARY), vocab_file=str(VOCABULARY)).save_pretrained(place)
    return place


def test_pieces_of_minilm_are_those_of_bert() -> None:
    from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy

    theirs = BertTokenizerLegacy(str(VOCABULARY))
    assert len(theirs.vocab) == 30_522
    ours = onnx._minilm_settings(64).pieces
    draw = random.Random(1)
    for _ in range(200):
        words = draw.choices(WORDS, k=draw.randint(1, 12))
        pieces = [theirs.tokenize(word) for word in words]
        flat = [piece for each in pieces for piece in each][:62]
        found = ours.split(words)
        assert found.ids.tolist() == [101, *theirs.convert_tokens_to_ids(flat), 102]
        places = [place for place, each in enumerate(pieces) for _ in each][:62]
        assert found.words.tolist() == [-1, *places, -1]


def test_hidden_states_are_those_of_transformers(folder: Path) -> None:
    encoder = as_encoder(folder)
    texts = [["the", "cats"], ["a", "cat", "sat", "."], ["unbelievably"]]
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for words, found in zip(texts, encoder.encode(texts, 1), strict=True):
        given = tokenizer(words, is_split_into_words=True, return_tensors="pt")
        with torch.inference_mode():
            states = model(**given).last_hidden_state[0].numpy()
        np.testing.assert_allclose(found.text, states.mean(axis=0), atol=1e-5)
        assert found.words is not None
        places = [-1 if place is None else place for place in given.word_ids()]
        for place, row in enumerate(found.words):
            mean = states[np.array(places) == place].mean(axis=0)
            assert row @ mean / np.linalg.norm(row) / np.linalg.norm(mean) == pytest.approx(1, abs=1e-5)
    assert encoder.signed["window"] == 64
    assert "torch" in str(encoder.signed["runtime"])
    metric = TruBleuCtx(encoder=folder)
    assert metric.segments(["the cats", "a cat"], [["the cats"], ["the cats"]])[0] == 100
    assert np.array_equal(
        metric.segments(["a cat"] * 2, [["no cats"]] * 2, threads=2), metric.segments(["a cat"] * 2, [["no cats"]] * 2)
    )


def test_a_broken_folder(folder: Path, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(DataError, match="is not an encoder that transformers can read"):
        as_encoder(tmp_path)
