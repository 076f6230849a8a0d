"""BLEU equals sacreBLEU's, and both equal the plain statement of the formula."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from tests.oracles.corpora import LENGTH_RULES, ODD_WORDS, SMOOTHINGS, Corpus, corpora, odd_texts, plain_texts, streams
from tests.oracles.statement import added, bleu, segment
from tests.oracles.tolerances import near
from trubleu.data import References
from trubleu.metrics import Bleu, SentenceBleu
from trubleu.stats import total

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

TOKENIZERS = ("13a", "none", "intl", "char", "zh")


def assert_equals_peer(ours: Bleu, peer: Any, corpus: Corpus) -> None:
    result = ours.corpus(corpus.outputs, corpus.references)
    theirs = peer.corpus_score(corpus.outputs, streams(corpus.references))
    assert result.score == near(theirs.score)
    assert list(result.precisions) == near(theirs.precisions)
    assert result.brevity_penalty == near(theirs.bp)
    assert (result.hypothesis_length, result.reference_length) == (theirs.sys_len, theirs.ref_len)
    # sacreBLEU reports matches and totals with k added, we report them as they were counted.
    rows = peer._extract_corpus_statistics(corpus.outputs, streams(corpus.references))
    assert ours.statistics(corpus.outputs, corpus.references).tolist() == rows
    sums = np.sum(rows, axis=0).tolist()
    assert [*result.matches, *result.totals] == sums[2:]


def both(
    order: int, tokenize: str, lowercase: bool, smoothing: str, value: float | None, effective: bool
) -> tuple[Bleu, Any]:
    ours = Bleu(
        order,
        tokenize=tokenize,
        lowercase=lowercase,
        smoothing=smoothing,
        smoothing_value=value,
        effective_order=effective,
    )
    peer = BLEU(
        lowercase=lowercase,
        force=True,
        tokenize=tokenize,
        smooth_method=smoothing,
        smooth_value=value,
        max_ngram_order=order,
        effective_order=effective,
    )
    return ours, peer


@given(
    corpus=corpora(odd_texts(12) | plain_texts(12)),
    order=st.integers(1, 9),
    tokenize=st.sampled_from(TOKENIZERS),
    lowercase=st.booleans(),
    smoothing=st.sampled_from(
        [("exp", None), ("none", None), *itertools.product(("floor", "add-k"), (None, 0.0, 0.01, 1.0, 5.0))]
    ),
    effective=st.booleans(),
)
@settings(max_examples=500)
def test_equals_sacrebleu_on_random_corpora(
    corpus: Corpus, order: int, tokenize: str, lowercase: bool, smoothing: tuple[str, float | None], effective: bool
) -> None:
    assert_equals_peer(*both(order, tokenize, lowercase, *smoothing, effective), corpus)


@pytest.mark.parametrize("tokenize", TOKENIZERS)
@pytest.mark.parametrize("order", range(1, 10))
def test_equals_sacrebleu_for_every_combination_of_options(tokenize: str, order: int) -> None:
    rng = random.Random(f"{tokenize} {order}")
    odd = st_free_corpus(rng, 6)
    for lowercase, smoothing, effective in itertools.product((False, True), SMOOTHINGS, (False, True)):
        assert_equals_peer(*both(order, tokenize, lowercase, smoothing, None, effective), odd)


def st_free_corpus(rng: random.Random, segments: int) -> Corpus:
    """Make a corpus whose outputs share long stretches with a reference, so that high orders match."""
    outputs, references = [], []
    for _ in range(segments):
        base = rng.choices(ODD_WORDS, k=rng.randint(0, 25))
        cut = rng.randint(0, len(base))
        outputs.append(" ".join(base[:cut] + rng.choices(ODD_WORDS, k=rng.randint(0, 4)) + base[cut + 1 :]))
        others = [" ".join(rng.choices(ODD_WORDS, k=rng.randint(0, 25))) for _ in range(rng.randint(0, 3))]
        references.append([" ".join(base), *others])
    return Corpus(outputs, references, [[1.0] * len(row) for row in references])


@given(
    corpus=corpora(odd_texts(12) | plain_texts(12)),
    order=st.integers(1, 9),
    tokenize=st.sampled_from(TOKENIZERS),
    lowercase=st.booleans(),
)
@settings(max_examples=200)
def test_sentences_equal_sacrebleu(corpus: Corpus, order: int, tokenize: str, lowercase: bool) -> None:
    peer = BLEU(lowercase=lowercase, tokenize=tokenize, max_ngram_order=order, effective_order=True)
    expected = [
        peer.sentence_score(output, row).score for output, row in zip(corpus.outputs, corpus.references, strict=True)
    ]
    ours = SentenceBleu(order, tokenize=tokenize, lowercase=lowercase, variant="sacrebleu")
    assert ours.segments(corpus.outputs, corpus.references).tolist() == near(expected)
    mean = sum(expected) / len(expected)
    assert ours.corpus(corpus.outputs, corpus.references).score == near(mean)
    # BLEU of one segment is the same thing.
    alone = Bleu(order, tokenize=tokenize, lowercase=lowercase, effective_order=True)
    assert alone.segments(corpus.outputs, corpus.references).tolist() == near(expected)


@given(
    corpus=corpora(plain_texts(12)),
    order=st.integers(1, 9),
    smoothing=st.sampled_from(SMOOTHINGS),
    effective=st.booleans(),
    rule=st.sampled_from(LENGTH_RULES),
)
@example(Corpus(["a b"], [["a b c", "a"]], [[1.0, 1.0]]), 4, "exp", False, "closest")  # a tie goes to the shorter
@settings(max_examples=300)
def test_equals_the_statement(corpus: Corpus, order: int, smoothing: str, effective: bool, rule: str) -> None:
    metric = Bleu(order, tokenize="none", smoothing=smoothing, effective_order=effective, reference_length=rule)
    rows = [
        segment(output.split(), [text.split() for text in row], order=order, length_rule=rule)
        for output, row in zip(corpus.outputs, corpus.references, strict=True)
    ]
    statistics = metric.statistics(corpus.outputs, corpus.references)
    assert statistics.tolist() == [row.columns(weighted=False) for row in rows]
    expected = bleu(added(rows, order), smoothing=smoothing, effective_order=effective)
    result = metric.corpus(corpus.outputs, corpus.references)
    assert result.score == near(expected.score)
    assert list(result.precisions) == near(expected.precisions)
    assert result.brevity_penalty == near(expected.brevity_penalty)
    alone = [bleu(row, smoothing=smoothing, effective_order=effective).score for row in rows]
    assert metric.segments(corpus.outputs, corpus.references).tolist() == near(alone)


@given(corpora(plain_texts(12), segments=8), st.data())
def test_rows_add_up(corpus: Corpus, data: st.DataObject) -> None:
    metric = Bleu(3)
    rows = metric.statistics(corpus.outputs, corpus.references)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=20))
    outputs = [corpus.outputs[i] for i in chosen]
    references = [corpus.references[i] for i in chosen]
    assert float(metric.score(total(rows[chosen]))) == metric.corpus(outputs, references).score
    # Leading axes of any number give the same as one row at a time.
    alone = [float(metric.score(row)) for row in rows]
    assert metric.score(rows).tolist() == alone
    assert metric.score(np.stack([rows, rows[::-1]])).tolist() == [alone, alone[::-1]]


@given(corpora(odd_texts()), st.sampled_from(TOKENIZERS), st.booleans(), st.integers(1, 9))
def test_prepared_references_change_nothing(corpus: Corpus, tokenize: str, lowercase: bool, order: int) -> None:
    metric = Bleu(order, tokenize=tokenize, lowercase=lowercase)
    expected = metric.corpus(corpus.outputs, corpus.references)
    references = References.from_lists(corpus.references)
    assert metric.corpus(corpus.outputs, references.prepare(tokenize=tokenize, lowercase=lowercase)) == expected
    assert metric.corpus(corpus.outputs, references) == expected  # finds what was prepared
    # Prepared for other tokens they are of no use, and do no harm.
    assert metric.corpus(corpus.outputs, references.prepare(tokenize="words", lowercase=not lowercase)) == expected


@given(corpora(plain_texts(12)), st.randoms(use_true_random=False))
def test_the_order_of_references_does_not_matter(corpus: Corpus, rng: random.Random) -> None:
    metric = Bleu(4)
    shuffled = [rng.sample(row, len(row)) for row in corpus.references]
    assert metric.corpus(corpus.outputs, shuffled) == metric.corpus(corpus.outputs, corpus.references)


def test_no_match_at_all_scores_0_whatever_the_smoothing() -> None:
    for smoothing, effective in itertools.product(SMOOTHINGS, (False, True)):
        result = Bleu(smoothing=smoothing, effective_order=effective).corpus(["a b c d e"], [["v w x y z"]])
        assert (result.score, result.precisions, result.brevity_penalty) == (0.0, (0.0,) * 4, 1.0)


def test_an_empty_corpus_scores_0() -> None:
    for metric in (Bleu(), SentenceBleu()):
        result = metric.corpus([], [])
        assert (result.score, result.segments) == (0.0, 0)
        assert metric.statistics([], []).shape[0] == 0
        assert metric.segments([], []).shape == (0,)


def test_empty_texts_are_texts_of_length_0() -> None:
    result = Bleu(1).corpus(["", "a"], [["a b"], [""]])
    assert (result.score, result.hypothesis_length, result.reference_length) == (0.0, 1, 2.0)


def test_worked_by_hand() -> None:
    # 7 tokens against 6: unigrams the×2 (clipped), cat; bigrams "the cat"; a reference of 6 is closest to 7.
    result = Bleu(2, smoothing="none").corpus(
        ["the the the the the the cat"], [["the cat is on the mat", "there is a cat on the mat today ok"]]
    )
    assert result.matches == (3.0, 1.0)
    assert result.totals == (7.0, 6.0)
    assert (result.hypothesis_length, result.reference_length, result.brevity_penalty) == (7, 6.0, 1.0)
    assert result.score == pytest.approx(100 * (3 / 7 * 1 / 6) ** 0.5)
    # BP = exp(1 − 4/2) and p1 = p2 = 1.
    assert Bleu(2).corpus(["a b"], [["a b c d"]]).score == pytest.approx(100 * np.exp(-1))
