"""Metrics equal their peers on many random texts; `make soak` takes a million of each."""

from __future__ import annotations

import os
import random
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import align_words, single_meteor_score
from nltk.translate.nist_score import corpus_nist
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

from tests.oracles.corpora import streams
from tests.oracles.meteor import NoWordNet, Stems, chunks
from tests.oracles.strings13a import strings
from tests.oracles.tolerances import near
from trubleu.data import References
from trubleu.metrics import Bleu, ChrF, Meteor, Ter, metric
from trubleu.native import kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

COUNT = 1_000_000 if os.environ.get("TRUBLEU_SOAK") else 2_000
BATCH = 1_000

WORDS = [
    "the",
    "cat",
    "cats",
    "Running",
    "runs",
    "a",
    "don't",
    "é",
    "\n",
    "3.5",
    "1,000",
    "news",
    "agreed",
    "猫",
    "x-y",
]
ODD = "aB.,'-0 \n\u00a0\u0301\u212a\u0130\ud800\U0001f600&;"
TERS = [*"aB.,'-05 \n\t\u00a0\u3000&;<?!(/\"\u3042\u30a2\u31f0\u4e00\ud800", "'s", "'s ", "\n-", "&quot;", "&amp;"]
EDGES = [0x2E80, 0x2EFF, 0x30FB, 0x31C0, 0x31EF, 0x3200, 0x4DBF, 0x4E00, 0x9FFF]
EDGES += [0xF900, 0xFAFF, 0xFE30, 0xFE4F, 0xFF0E, 0xFF61, 0xFF65]
TERS += [chr(code + by) for code in EDGES for by in (-1, 0, 1)]
NAMES = {"rouge1": "rouge-1", "rouge2": "rouge-2", "rougeL": "rouge-l", "rougeLsum": "rouge-lsum"}


def text(generator: random.Random) -> str:
    if generator.random() < 0.2:
        return "".join(generator.choices(ODD, k=generator.randrange(25)))
    return " ".join(generator.choices(WORDS, k=generator.randrange(9)))


def batches(seed: int, most: int = 2) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield outputs and their references; outputs are often references with words in another order."""
    generator = random.Random(seed)
    for _ in range(COUNT // BATCH):
        references = [[text(generator) for _ in range(generator.choice([1, 1, most]))] for _ in range(BATCH)]
        outputs = []
        for row in references:
            words = row[0].split(" ")
            if generator.random() < 0.5:
                generator.shuffle(words)
            outputs.append(" ".join(words) if generator.random() < 0.7 else text(generator))
        yield outputs, references


def test_bleu() -> None:
    generator = random.Random(7)
    for outputs, references in batches(8):
        options: dict[str, Any] = {"tokenize": generator.choice(["13a", "none"]), "lowercase": generator.random() < 0.5}
        order = generator.randrange(1, 10)
        peer = BLEU(**options, force=True, max_ngram_order=order)
        theirs = np.array(peer._extract_corpus_statistics(outputs, streams(references)), dtype=np.float64)
        ours = Bleu(order, **options)
        prepared = References.from_lists(references).prepare(**options)
        for given in (references, prepared):
            found = ours.statistics(outputs, given)
            differing = np.flatnonzero((found != theirs).any(axis=1))
            assert not len(differing), (options, order, outputs[differing[0]], references[differing[0]])


def test_chrf() -> None:
    generator = random.Random(9)
    for outputs, references in batches(10):
        options: dict[str, Any] = {name: generator.random() < 0.5 for name in ("lowercase", "whitespace")}
        options |= {"char_order": generator.randrange(1, 8), "word_order": generator.randrange(4)}
        peer = CHRF(**options)
        theirs = peer._extract_corpus_statistics(outputs, streams(references))
        found = ChrF(**options).statistics(outputs, references).tolist()
        for output, row, ours_found, wanted in zip(outputs, references, found, theirs, strict=True):
            assert ours_found == wanted, (output, row, options)


def test_nist() -> None:
    generator = random.Random(11)
    for outputs, references in batches(12, most=1):  # with several NLTK computes something else
        order = generator.randrange(1, 6)
        words = [[line.split() for line in row] for row in references]
        theirs = corpus_nist(words, [line.split() for line in outputs], order)
        assert metric(f"nist-{order}", tokenize="none").corpus(outputs, references).score == near(theirs)


def test_meteor() -> None:
    generator, unsynonymous = random.Random(13), NoWordNet()
    for outputs, references in batches(14, most=1):
        options: dict[str, Any] = {"alpha": generator.choice([0.9, 0.5]), "beta": generator.choice([3.0, 1.0])}
        ours = Meteor(**options, tokenize="none")
        stems = Stems(ours)
        rows = ours.statistics(outputs, references)
        scores = ours.score(rows)
        for output, [reference], row, score in zip(outputs, references, rows, scores, strict=True):
            # Ours is in lower case before words are compared.
            words, others = output.lower().split(), reference.lower().split()
            pairs, _, _ = align_words(words, others, stems, unsynonymous)
            runs = chunks(pairs)
            assert row[:3].sum() == len(pairs), (output, reference)
            assert row[5] <= runs, (output, reference)
            if row[5] == runs:  # NLTK does not look for the fewest
                theirs = single_meteor_score(others, words, stemmer=stems, wordnet=unsynonymous, **options)
                assert score == near(100 * theirs), (output, reference)


def test_cider_d() -> None:
    scorers = pytest.importorskip("pycocoevalcap.cider.cider_scorer")
    for outputs, references in batches(15):
        peer = scorers.CiderScorer(n=4, sigma=6.0)
        for pair in zip(outputs, references, strict=True):
            peer += pair
        _, theirs = peer.compute_score()
        assert metric("cider-d", tokenize="none").segments(outputs, references).tolist() == near(theirs.tolist())


def test_ter() -> None:
    generator = random.Random(5)
    for outputs, references in batches(1):
        options = {name: generator.random() < 0.5 for name in ("normalized", "no_punct", "asian_support")}
        ours = Ter(**options, case_sensitive=generator.random() < 0.5)
        peer = TER(ours.normalized, ours.no_punct, ours.asian_support, ours.case_sensitive)
        found = ours.statistics(outputs, references).tolist()
        for output, row, ours_found in zip(outputs, references, found, strict=True):
            [theirs] = peer._extract_corpus_statistics([output], [[reference] for reference in row])
            assert ours_found == theirs, (output, row, options)


def test_ter_s_tokens() -> None:
    peers = {}
    for chosen in product([False, True], repeat=3):
        names = [name for name, on in zip(("normalized", "no_punct", "asian"), chosen, strict=True) if on]
        kind: Any = TercomTokenizer
        without_cache = kind.__call__.__wrapped__
        peers["+".join(["tercom", *names])] = partial(without_cache, kind(*chosen, case_sensitive=True))
    for number, text in enumerate(strings(6, COUNT)):
        if number % 2:  # what only this tokenizer looks at
            generator = random.Random(number)
            text = "".join(generator.choices(TERS, k=generator.randrange(40)))
        for name, peer in peers.items():
            line = peer(text.rstrip())
            assert kernels.tokens(text, name, False) == line.split(), (name, text)
            assert kernels.tokens(text, f"{name}+twice", False) == peer(line).split(), (name, text)


@pytest.mark.parametrize("stem", [False, True])
def test_rouge(stem: bool) -> None:
    peer = RougeScorer(list(NAMES), use_stemmer=stem)
    for outputs, references in batches(2 + stem):
        found = {name: metric(ours, stem=stem).statistics(outputs, references) for name, ours in NAMES.items()}
        for i, (output, row) in enumerate(zip(outputs, references, strict=True)):
            for name, score in peer.score_multi(row, output).items():
                assert found[name][i, :3].tolist() == list(score), (name, output, row)


def test_stems() -> None:
    generator, stemmer = random.Random(4), PorterStemmer()
    endings = "s es ies ed eed ing y ational ization ator alism iveness biliti logi ative ical ness ement ion e ll"
    for _ in range(COUNT // BATCH):
        words = [
            "".join(generator.choices("abcdeilouysz4", k=generator.randrange(1, 7)))
            + "".join(generator.choices(endings.split(), k=generator.randrange(3)))
            for _ in range(BATCH)
        ]
        wanted = [stemmer.stem(word) if len(word) > 3 else word for word in words]
        assert kernels.tokens(" ".join(words), "stems", True) == wanted
