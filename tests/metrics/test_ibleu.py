"""iBLEU: sacreBLEU's BLEU with the references and with the source, put together by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from tests.oracles.corpora import LENGTH_RULES, SMOOTHINGS, Corpus, corpora, odd_texts, plain_texts, streams
from tests.oracles.statement import added, bleu, segment
from tests.oracles.tolerances import near
from trubleu.api import corpus_score
from trubleu.data import References
from trubleu.errors import DataError, UsageError
from trubleu.metrics import Bleu, IBleu, metric
from trubleu.scoring import Sampling, score_systems
from trubleu.stats import bootstrap_interval, compare, total

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")


@st.composite
def with_sources(draw: st.DrawFn, texts: st.SearchStrategy[str], segments: int = 5) -> tuple[Corpus, list[str]]:
    corpus = draw(corpora(texts, segments=segments))
    count = len(corpus.outputs)
    # Often the output itself, as that is what iBLEU is about.
    return corpus, [draw(st.sampled_from([draw(texts), corpus.outputs[i]])) for i in range(count)]


def made(corpus: Corpus, sources: list[str]) -> References:
    return References.from_lists(corpus.references).with_messages(sources)


@given(
    drawn=with_sources(odd_texts(12) | plain_texts(12)),
    order=st.integers(1, 9),
    tokenize=st.sampled_from(("13a", "none", "intl", "char", "zh")),
    lowercase=st.booleans(),
    smoothing=st.sampled_from([("exp", None), ("none", None), ("floor", None), ("floor", 0.01), ("add-k", 2.0)]),
    effective=st.booleans(),
    alpha=st.sampled_from((0.9, 0.0, 0.5, 0.8, 1.0)),
)
@settings(max_examples=300)
def test_equals_sacrebleu_put_together_by_hand(
    drawn: tuple[Corpus, list[str]],
    order: int,
    tokenize: str,
    lowercase: bool,
    smoothing: tuple[str, float | None],
    effective: bool,
    alpha: float,
) -> None:
    corpus, sources = drawn
    peer = BLEU(
        lowercase=lowercase,
        force=True,
        tokenize=tokenize,
        smooth_method=smoothing[0],
        smooth_value=smoothing[1],
        max_ngram_order=order,
        effective_order=effective,
    )
    with_references = peer.corpus_score(corpus.outputs, streams(corpus.references)).score
    with_source = peer.corpus_score(corpus.outputs, [sources]).score
    ours = IBleu(
        order,
        tokenize=tokenize,
        lowercase=lowercase,
        smoothing=smoothing[0],
        smoothing_value=smoothing[1],
        effective_order=effective,
        alpha=alpha,
    )
    result = ours.corpus(corpus.outputs, made(corpus, sources))
    assert result.bleu == near(with_references)
    assert result.source_bleu == near(with_source)
    assert result.score == near(alpha * with_references - (1 - alpha) * with_source)
    assert -100 * (1 - alpha) - 1e-9 <= result.score <= 100 * alpha + 1e-9


@given(with_sources(plain_texts(12)), st.integers(1, 9), st.sampled_from(SMOOTHINGS), st.sampled_from(LENGTH_RULES))
def test_equals_the_statement(drawn: tuple[Corpus, list[str]], order: int, smoothing: str, rule: str) -> None:
    corpus, sources = drawn
    ours = IBleu(order, tokenize="none", smoothing=smoothing, reference_length=rule)
    rows = [
        segment(output.split(), [text.split() for text in row], order=order, length_rule=rule)
        for output, row in zip(corpus.outputs, corpus.references, strict=True)
    ]
    source_rows = [
        segment(output.split(), [source.split()], order=order, length_rule=rule)
        for output, source in zip(corpus.outputs, sources, strict=True)
    ]
    references = made(corpus, sources)
    assert ours.statistics(corpus.outputs, references).tolist() == [
        row.columns(weighted=False) + other.columns(weighted=False)
        for row, other in zip(rows, source_rows, strict=True)
    ]
    expected = [
        0.9 * bleu(one, smoothing=smoothing).score - 0.1 * bleu(other, smoothing=smoothing).score
        for one, other in zip([added(rows, order), *rows], [added(source_rows, order), *source_rows], strict=True)
    ]
    assert ours.corpus(corpus.outputs, references).score == near(expected[0])
    assert ours.segments(corpus.outputs, references).tolist() == near(expected[1:])


@given(with_sources(odd_texts()), st.integers(1, 9))
def test_alpha_1_is_bleu_and_alpha_0_is_the_source(drawn: tuple[Corpus, list[str]], order: int) -> None:
    corpus, sources = drawn
    references = made(corpus, sources)
    assert IBleu(order, alpha=1).corpus(corpus.outputs, references).score == (
        Bleu(order).corpus(corpus.outputs, corpus.references).score
    )
    assert IBleu(order, alpha=0).corpus(corpus.outputs, references).score == (
        -Bleu(order).corpus(corpus.outputs, [[source] for source in sources]).score
    )


@given(with_sources(plain_texts(12), segments=8), st.data())
def test_rows_add_up(drawn: tuple[Corpus, list[str]], data: st.DataObject) -> None:
    corpus, sources = drawn
    ours = IBleu(3)
    rows = ours.statistics(corpus.outputs, made(corpus, sources))
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=20))
    part = References.from_lists([corpus.references[i] for i in chosen]).with_messages([sources[i] for i in chosen])
    expected = ours.corpus([corpus.outputs[i] for i in chosen], part).score
    assert float(ours.score(total(rows[chosen]))) == expected
    alone = [float(ours.score(row)) for row in rows]
    assert ours.score(rows).tolist() == alone
    assert ours.score(np.stack([rows, rows[::-1]])).tolist() == [alone, alone[::-1]]


@given(with_sources(odd_texts()), st.booleans(), st.integers(1, 9))
def test_prepared_references_change_nothing(drawn: tuple[Corpus, list[str]], lowercase: bool, order: int) -> None:
    corpus, sources = drawn
    ours = IBleu(order, lowercase=lowercase)
    expected = ours.corpus(corpus.outputs, made(corpus, sources))
    references = made(corpus, sources)
    assert ours.corpus(corpus.outputs, references.prepare(lowercase=lowercase)) == expected
    references.messages_as_references().prepare(lowercase=lowercase)
    assert ours.corpus(corpus.outputs, references) == expected
    assert ours.corpus(corpus.outputs, references, threads=3) == expected


def test_by_hand() -> None:
    references = References.from_lists([["how old are you"], ["fine thanks"]])
    references = references.with_messages(["what is your age", "how are you"])
    ours = IBleu(1, smoothing="none")
    # Against the references 4 of 4 and 1 of 2 words, so 5/6; against the source 0 of 4 and 1 of 2, so 1/6, and the
    # source has 7 words to the outputs' 6.
    result = ours.corpus(["how old are you", "fine you"], references)
    assert result.bleu == pytest.approx(100 * 5 / 6)
    assert result.source_bleu == pytest.approx(100 / 6 * np.exp(1 - 7 / 6))
    assert result.score == pytest.approx(0.9 * result.bleu - 0.1 * result.source_bleu)
    assert str(result) == "ibleu-1 = 73.59 (BLEU = 83.33 source BLEU = 14.11)"
    assert set(result.to_dict()) == {"metric", "score", "segments", "signature", "bleu", "source_bleu"}
    copied = ours.corpus(["what is your age", "how are you"], references.with_messages(references.messages or ()))  # type: ignore[arg-type]
    assert copied.score == pytest.approx(-10)


def test_intervals_and_tests_come_from_the_statistics() -> None:
    rng = np.random.default_rng(5)
    words = ["a", "b", "c", "d", "e"]

    def texts() -> list[str]:
        return [" ".join(rng.choice(words, size=6)) for _ in range(60)]

    sources, references_texts, other = texts(), texts(), texts()
    references = References.from_lists([[text] for text in references_texts]).with_messages(sources)
    systems = {"good": references_texts, "copy": sources, "other": other}
    ours = IBleu(2)
    report = score_systems(
        systems, references, {"ibleu-2": ours}, sampling=Sampling(interval=True, test="bootstrap", resamples=200)
    )
    statistics = {name: ours.statistics(outputs, references) for name, outputs in systems.items()}
    for name, rows in statistics.items():
        row = report.score(name, "ibleu-2")
        interval = bootstrap_interval(rows, ours.score, resamples=200, seed=12345)
        assert (row.score, row.low, row.high) == (
            ours.corpus(systems[name], references).score,
            interval.low,
            interval.high,
        )
        assert row.low is not None
        assert row.high is not None
        assert row.low <= row.score <= row.high
        assert "|alpha:0.9|" in row.signature
    expected = compare(statistics, ours.score, test="bootstrap", resamples=200, seed=12345)
    assert [test.p for test in report.tests] == [comparison.p for comparison in expected]
    assert report.score("copy", "ibleu-2").score < report.score("other", "ibleu-2").score


def test_the_signature_has_every_option() -> None:
    pairs = IBleu(2, alpha=0.75, lowercase=True, smoothing="floor").signature().to_dict()
    plain = Bleu(2, lowercase=True, smoothing="floor").signature().to_dict()
    assert pairs == {**plain, "metric": "ibleu-2", "alpha": "0.75"}


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan"), "0.9", True, None])
def test_alpha_is_a_share(alpha: Any) -> None:
    with pytest.raises(UsageError, match=r"alpha=.* must be a number from 0 to 1"):
        IBleu(alpha=alpha)


def test_alpha_in_brackets() -> None:
    assert metric("ibleu-2[alpha=1]").signature() == IBleu(2, alpha=1.0).signature()
    with pytest.raises(UsageError, match=r"alpha=x in ibleu\[alpha=x\] must be a number"):
        metric("ibleu[alpha=x]")


def test_without_a_source() -> None:
    lists = [["a"], ["b"], ["c"]]
    with pytest.raises(DataError, match=r"references has no message for segments 1, 2, 3; .*--source FILE"):
        corpus_score(["a", "b", "c"], lists, "ibleu")
    partly = References(
        ["a", "b", "c"], [0, 1, 2, 3], ids=["x", "y", "z"], messages=["hi", None, None], source="r.jsonl"
    )
    with pytest.raises(DataError, match=r"r\.jsonl has no message for segments y, z; .*--source FILE"):
        IBleu().corpus(["a", "b", "c"], partly)
    # What is given takes the place of what is missing.
    assert IBleu(1).corpus(["a", "b", "c"], partly.with_messages(["", "", ""])).score == pytest.approx(90)


def test_an_empty_corpus_scores_0() -> None:
    result = IBleu().corpus([], [])
    assert (result.score, result.segments) == (0.0, 0)
