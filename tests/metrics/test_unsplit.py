"""The warning about scripts without spaces that a tokenizer leaves unsplit."""

from __future__ import annotations

import json
import time
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import trubleu
from tests.scoring.corpora import write
from trubleu.data import References, TripleFiles
from trubleu.errors import TrubleuWarning
from trubleu.execution import engine
from trubleu.metrics.registry import metrics_by_name
from trubleu.mining import Index
from trubleu.scoring import score_files, score_systems
from trubleu.text import tokenizer
from trubleu.text.unspaced import many_unsplit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHINESE = ["今天的天气非常好。", "我不知道你在说什么。", "你好"]
LONG_CHINESE = ["今天的天气非常好我们一起去公园散步吧你觉得怎么样", "我不知道你在说什么但是我觉得你说的话非常有道理"]
MESSAGE = (
    "the tokenizer {} does not split Chinese, Japanese, Thai, Lao, Khmer or Burmese, so clauses and sentences of "
    "many outputs are one token each; use the tokenizer words or char, or zh for Chinese"
)
METRICS = (
    *("bleu-4", "sbleu-2", "dbleu-2", "sdbleu-2", "ibleu-2"),
    *("nist-2", "cider-2", "cider-d-2", "lebleu-2", "meteor"),
)


def said(work: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    assert all(each.category is TrubleuWarning for each in caught)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("name", ["13a", "intl", "chat"])
@pytest.mark.parametrize(
    "text",
    [
        *("今天的天气非常好", "これはペンです", "カタカナ", "我用Python写代码"),
        *("ภาษาไทยสวย", "ພາສາລາວ", "ភាសាខ្មែរ", "မြန်မာစာ"),
    ],
)
def test_each_script(name: str, text: str) -> None:
    long = len(text) >= 5 and "Python" not in text  # here no run is as long as five letters
    assert many_unsplit([text], tokenizer(name)) == long
    for other in ("words", "char", "zh", str.split):
        assert not many_unsplit([text], tokenizer(other))


def test_text_that_is_tokenized_already_has_long_words() -> None:
    none = tokenizer("none")
    assert not many_unsplit(["コンピューター を 使う", "ประเทศไทย สวยงาม", "你好"], none)
    assert many_unsplit(LONG_CHINESE, none)
    assert many_unsplit([f"ok {text}" for text in LONG_CHINESE], none)
    assert many_unsplit(CHINESE, none)  # a sentence without any space


def test_how_many_texts() -> None:
    how = tokenizer("13a")
    assert many_unsplit([CHINESE[0], *["yes"] * 9], how)
    assert not many_unsplit([CHINESE[0], *["yes"] * 10], how)
    assert not many_unsplit([CHINESE[0], *["é"] * 10], how)
    assert not many_unsplit([], how)
    assert not many_unsplit(["", "Das Café in 北京 – 서울에서는"], how)
    # The first thousand are enough.
    assert many_unsplit([*CHINESE * 400, *["no"] * 100_000], how)
    assert not many_unsplit([*["no"] * 1000, *CHINESE], how)


def test_it_takes_no_time() -> None:
    how = tokenizer("13a")
    texts = ["it takes no time at all"] * 1_000_000
    began = time.process_time()
    for _ in range(100):
        many_unsplit(texts, how)
    assert time.process_time() - began < 0.1  # about 3 ms in all


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_with_tokens(name: str) -> None:
    if name == "meteor":
        pytest.importorskip("Stemmer")
    references = References.from_lists([[text] for text in CHINESE], [[1.0]] * 3).with_messages(CHINESE)
    for given in (references, references.prepare()):
        metric = trubleu.metric(name)
        assert said(partial(metric.corpus, CHINESE, given)) == [MESSAGE.format("13a")]
    for tokenize in ("words", "char", "zh"):
        metric = trubleu.metric(name, tokenize=tokenize)
        assert said(partial(metric.corpus, CHINESE, references)) == []


@pytest.mark.parametrize("name", ["bleu2vec-f", "dbleu2vec-2"])
def test_near_misses(name: str) -> None:
    def vectors(ngrams: list[str]) -> list[list[float]]:
        return [[1.0, float(len(ngram))] for ngram in ngrams]

    references = References.from_lists([[text] for text in CHINESE], [[1.0]] * 3)
    metric = trubleu.metric(name, vectors=vectors)
    assert said(lambda: metric.corpus(CHINESE, references)) == [MESSAGE.format("13a")]


def test_characters_need_no_words() -> None:
    assert said(lambda: trubleu.corpus_score(CHINESE, [[text] for text in CHINESE], "chrf")) == []


TER_MESSAGE = (
    "ter splits texts at spaces, which Chinese, Japanese, Thai, Lao, Khmer and Burmese do not have, so clauses and "
    "sentences of many outputs are one word each; use ter[normalized=true,asian_support=true] for Chinese, or chrf"
)


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        ({}, [TER_MESSAGE]),
        ({"normalized": True}, [TER_MESSAGE]),
        ({"no_punct": True}, [TER_MESSAGE]),
        ({"normalized": True, "no_punct": True}, [TER_MESSAGE]),
        ({"no_punct": True, "asian_support": True}, [TER_MESSAGE]),
        ({"asian_support": True}, [TER_MESSAGE]),  # without an effect of its own
        ({"normalized": True, "asian_support": True}, []),
        ({"normalized": True, "no_punct": True, "asian_support": True}, []),
    ],
)
def test_ter(options: dict[str, Any], messages: list[str]) -> None:
    metric = trubleu.metric("ter", **options)
    assert said(lambda: metric.corpus(CHINESE, [[text] for text in CHINESE])) == messages
    assert said(lambda: metric.corpus(["the cat sat"], [["the cat sat"]])) == []


@pytest.mark.parametrize("where", ["local", "local:2"])
def test_an_index(tmp_path: Path, where: str) -> None:
    corpus = tmp_path / "triples.jsonl"
    corpus.write_text("".join(json.dumps({"message": text, "response": text}) + "\n" for text in CHINESE * 10))
    message = MESSAGE.format("13a").replace("outputs", "triples")
    with engine(where) as runs:
        made = partial(Index.build, corpus=[corpus], shard_triples=7, engine=runs)
        assert said(lambda: made(tmp_path / "index")) == [message]
        assert said(lambda: made(tmp_path / "words", tokenize="words")) == []
    triples = [triple for batch in TripleFiles(corpus).batches() for triple in batch]
    assert said(lambda: Index.build(tmp_path / "from Python", triples)) == [message]


def test_said_once_for_all_systems_and_metrics() -> None:
    systems = {"a": CHINESE, "b": CHINESE[::-1]}
    names = ("bleu-4", "sbleu-2", "bleu-2[tokenize=words]", "bleu-2[tokenize=intl]")
    metrics = {name: trubleu.metric(name) for name in names}
    references = References.from_lists([[text] for text in CHINESE])
    assert said(lambda: score_systems(systems, references, metrics)) == [MESSAGE.format("13a"), MESSAGE.format("intl")]


def test_said_once_for_all_ranges_of_an_engine(tmp_path: Path) -> None:
    files = write(tmp_path, 60, names="rs")
    for name in "rs":
        (tmp_path / name).write_text("".join(f"{text}{number}\n" for number in range(20) for text in CHINESE))
    make = partial(metrics_by_name, {"bleu-2": {}})
    for _ in range(2):  # the second time from what was kept
        with engine("local") as here:
            work = partial(score_files, files, make, here, rows=17, keep=tmp_path / "kept")
            assert said(work) == [MESSAGE.format("13a")]


def test_words_gives_a_score() -> None:
    references = [["今天的天气很好。"], ["我不知道你说什么。"], ["你好"]]
    with pytest.warns(TrubleuWarning, match="the tokenizer 13a does not split Chinese"):
        assert trubleu.corpus_score(CHINESE, references, "bleu-2", smoothing="none").score == 0
    assert trubleu.corpus_score(CHINESE, references, "bleu-2", tokenize="words").score > 70
