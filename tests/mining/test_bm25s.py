"""Scores against those of bm25s, in every variant that both know, on generated and on real text."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from benchmarks.simulated.triples import simulated_triples
from tests.mining.shards import search
from trubleu.data import Triple
from trubleu.files.lines import iterate_lines
from trubleu.mining import Index
from trubleu.mining.bm25 import Bm25

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from trubleu.mining.search import Hits

bm25s = pytest.importorskip("bm25s", reason="bm25s is not installed, so there is nothing to compare with")

VARIANTS = ("lucene", "robertson", "atire")
PARAMETERS = ((1.2, 0.75), (0.9, 0.4), (2.0, 1.0), (1.5, 0.0))
ALPHA, EPSILON = 0.5, 0.1
COMMON = "ah"


@dataclass(frozen=True)
class Case:
    """A corpus, its index, and seeds."""

    corpus: list[Triple]
    seeds: list[Triple]
    index: Index

    @cached_property
    def messages(self) -> list[list[str]]:
        return _tokens([each.message for each in self.corpus])

    @cached_property
    def responses(self) -> list[list[str]]:
        return _tokens([each.response for each in self.corpus])


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Case:
    triples = list(simulated_triples(1212, seed=5, words=2000))
    # A word that is in two thirds of all texts, which robertson's variant gives no weight.
    for place, each in enumerate(triples):
        if place % 3:
            triples[place] = Triple(each.id, (), f"{COMMON} {each.message}", f"{each.response} {COMMON}")
    return _case(triples[:1200], triples[1200:], tmp_path_factory)


@pytest.fixture(scope="module")
def real(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    lines = [line.split("\t") for line in iterate_lines(real_data / "dailydialog" / "triples.tsv.gz")]
    train = [Triple(str(number), (), *line[2:]) for number, line in enumerate(lines) if line[0] == "train"]
    test = [Triple(str(number), (), *line[2:]) for number, line in enumerate(lines) if line[0] == "test"]
    return _case(train[::20], test[::300], tmp_path_factory)


def _case(corpus: list[Triple], seeds: list[Triple], folders: pytest.TempPathFactory) -> Case:
    # Two shards, whose frequencies and lengths count together.
    path = folders.mktemp("peers") / "index"
    return Case(corpus, seeds, Index.build(path, corpus, shard_triples=2 * len(corpus) // 3))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("k1", "b"), PARAMETERS)
def test_scores_of_generated_text_are_those_of_bm25s(generated: Case, variant: str, k1: float, b: float) -> None:
    compare(generated, variant, k1, b)


@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_of_real_text_are_those_of_bm25s(real: Case, variant: str) -> None:
    compare(real, variant, 1.2, 0.75)


def test_a_word_of_most_texts_weighs_nothing_to_robertson(generated: Case) -> None:
    compared = Case(generated.corpus, [Triple("common", (), COMMON, "an answer")], generated.index)
    for variant in VARIANTS:
        theirs = _bm25s(generated.messages, variant, 1.2, 0.75)
        found = len(_hits(compared, Bm25(variant)).row)
        assert (found == 0) == (_scores(theirs, COMMON).max() == 0) == (variant == "robertson")


def compare(case: Case, variant: str, k1: float, b: float) -> None:
    """Every row that our search returns has bm25s's scores, and no row that it should return is missing."""
    hits = _hits(case, Bm25(variant, k1, b))
    responses = [_folded(each.response) for each in case.corpus]
    message = _bm25s(case.messages, variant, k1, b)
    response = _bm25s(case.responses, variant, k1, b)
    for number, seed in enumerate(case.seeds):
        ours = hits.query == number
        rows = hits.row[ours]
        messages, answers = (_scores(*each) for each in ((message, seed.message), (response, seed.response)))
        products = messages * (ALPHA * answers + (1 - ALPHA) * EPSILON)
        np.testing.assert_allclose(hits.message_score[ours], messages[rows], rtol=1e-5)
        np.testing.assert_allclose(hits.response_score[ours], answers[rows], rtol=1e-5)
        np.testing.assert_allclose(hits.score[ours], products[rows], rtol=1e-5)
        wanted = {responses[row] for row in np.flatnonzero(products > 0)} - {_folded(seed.response)}
        assert len(rows) == len(wanted)
        assert {responses[row] for row in rows} == wanted
    assert len(hits.row) > 20 * len(case.seeds)


def _hits(case: Case, bm25: Bm25) -> Hits:
    return search(
        case.index.shards,
        [seed.message for seed in case.seeds],
        [seed.response for seed in case.seeds],
        tokenize="13a",
        lowercase=True,
        stop_words=(),
        bm25=bm25,
        alpha=ALPHA,
        epsilon=EPSILON,
        top=len(case.corpus),
    )


def _bm25s(tokens: Sequence[list[str]], variant: str, k1: float, b: float) -> Any:
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    index = bm25s.BM25(k1=k1, b=b, method=variant)
    index.index(tokens, show_progress=False)
    return index


def _scores(index: Any, text: str) -> NDArray[np.float64]:
    return np.asarray(index.get_scores(_tokens([text])[0]), np.float64)


def _tokens(texts: Sequence[str]) -> list[list[str]]:
    tokenizer = Tokenizer13a()  # type: ignore[no-untyped-call]
    return [str(tokenizer(text.lower())).split() for text in texts]


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
