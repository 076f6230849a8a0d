"""Parity with sacreBLEU on real text: WMT15 with one reference, DSTC7 with up to 1,009."""

from __future__ import annotations

import csv
import sys
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from tests.oracles.corpora import SMOOTHINGS, streams
from trubleu.data import References
from trubleu.metrics import Bleu, ChrF, SentenceBleu, Ter, metric
from trubleu.stats import total

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::trubleu.errors.TrubleuWarning")

PAIRS = {"de-en": "newstest2015-deen-ref.en", "en-ru": "newstest2015-enru-ref.ru"}


def lines(path: Path) -> list[str]:
    # Only \n ends a line; text has other characters that str.splitlines takes for line ends.
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def wmt15(folder: Path, pair: str, system: int) -> tuple[list[str], list[list[str]]]:
    outputs = lines(sorted((folder / "wmt15" / "system-outputs" / pair).iterdir())[system])
    references = [[line] for line in lines(folder / "wmt15" / "references" / PAIRS[pair])]
    assert len(outputs) == len(references) > 2000
    return outputs, references


@pytest.mark.parametrize(("pair", "system"), [("de-en", 0), ("de-en", 7), ("en-ru", 3)])
@pytest.mark.parametrize("tokenize", ["13a", "none", "intl", "char"])
def test_wmt15(real_data: Path, pair: str, system: int, tokenize: str) -> None:
    outputs, references = wmt15(real_data, pair, system)
    if tokenize == "char":  # slow in sacreBLEU, and the same code for every segment
        outputs, references = outputs[:300], references[:300]
    order = 9 if tokenize == "13a" else 4
    counting = BLEU(tokenize=tokenize, force=True, max_ngram_order=order)
    rows = np.array(counting._extract_corpus_statistics(outputs, streams(references)), dtype=np.float64)
    assert Bleu(order, tokenize=tokenize).statistics(outputs, references).tolist() == rows.tolist()
    sums = [int(value) for value in rows.sum(axis=0)]
    for smoothing, effective in product(SMOOTHINGS, (False, True)):
        peer = BLEU(force=True, smooth_method=smoothing, max_ngram_order=order, effective_order=effective)
        ours = Bleu(order, tokenize=tokenize, smoothing=smoothing, effective_order=effective)
        assert float(ours.score(total(rows))) == pytest.approx(peer._compute_score_from_stats(sums[:]).score, abs=1e-9)
    some = slice(0, 200)
    peer = BLEU(tokenize=tokenize, effective_order=True)
    sentences = [peer.sentence_score(*pair).score for pair in zip(outputs[some], references[some], strict=True)]
    scores = SentenceBleu(tokenize=tokenize, variant="sacrebleu").segments(outputs[some], references[some])
    assert scores.tolist() == pytest.approx(sentences, abs=1e-9)


@pytest.mark.parametrize("lowercase", [False, True])
def test_wmt15_as_users_call_it(real_data: Path, lowercase: bool) -> None:
    outputs, references = wmt15(real_data, "en-ru", 0)
    theirs = BLEU(lowercase=lowercase).corpus_score(outputs, streams(references))
    ours = Bleu(lowercase=lowercase).corpus(outputs, references)
    assert ours.score == pytest.approx(theirs.score, abs=1e-9)
    assert ours.score > 5
    assert list(ours.precisions) == pytest.approx(theirs.precisions, abs=1e-9)
    assert [*ours.matches, *ours.totals] == [*theirs.counts, *theirs.totals]


def dstc7(folder: Path) -> tuple[list[str], list[list[str]]]:
    """Return 50 segments of one system, those with the most references among them."""
    csv.field_size_limit(sys.maxsize)
    golds: dict[str, list[str]] = {}
    with (folder / "dstc7" / "dstc7-task2-gold_responses.tsv").open(encoding="utf-8") as file:
        next(file)
        for line in file:
            name, *texts = line.rstrip("\n").split("\t")
            golds[name] = texts
    outputs: dict[str, str] = {}
    with (folder / "dstc7" / "dstc7-task2-system_responses.tsv").open(encoding="utf-8") as file:
        for line in file:
            system, name, text = line.rstrip("\n").split("\t")
            if system == "Human":
                outputs[name] = text
    chosen = sorted(set(golds) & set(outputs), key=lambda name: (-len(golds[name]), name))
    chosen = [*chosen[:3], *chosen[40::20]][:50]
    return [outputs[name] for name in chosen], [golds[name] for name in chosen]


def test_dstc7_with_many_references(real_data: Path) -> None:
    outputs, references = dstc7(real_data)
    counts = list(map(len, references))
    assert (len(outputs), max(counts)) == (50, 1009)
    assert len(set(counts)) > 5
    for tokenize, order, lowercase in (("13a", 4, False), ("none", 9, True), ("intl", 2, False)):
        peer = BLEU(tokenize=tokenize, lowercase=lowercase, force=True, max_ngram_order=order)
        theirs = peer.corpus_score(outputs, streams(references))
        metric = Bleu(order, tokenize=tokenize, lowercase=lowercase)
        ours = metric.corpus(outputs, references)
        assert ours.score == pytest.approx(theirs.score, abs=1e-9)
        assert ours.score > 20
        assert [*ours.matches, *ours.totals] == [*theirs.counts, *theirs.totals]
        assert (ours.hypothesis_length, ours.reference_length) == (theirs.sys_len, theirs.ref_len)
        prepared = References.from_lists(references).prepare(tokenize=tokenize, lowercase=lowercase)
        assert metric.corpus(outputs, prepared) == ours


def test_peers_on_wmt15(real_data: Path) -> None:
    outputs, references = wmt15(real_data, "de-en", 2)
    outputs, references = outputs[:60], references[:60]
    for ours, peer in ((ChrF(word_order=2), CHRF(word_order=2)), (Ter(), TER())):
        theirs = peer.corpus_score(outputs, streams(references)).score
        assert ours.corpus(outputs, references).score == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("stem", [False, True])
def test_rouge(real_data: Path, stem: bool) -> None:
    outputs, references = wmt15(real_data, "de-en", 5)
    # Several sentences each, for ROUGE-Lsum.
    outputs = ["\n".join(outputs[i : i + 3]) for i in range(0, 600, 3)]
    references = [["\n".join(row[0] for row in references[i : i + 3]), references[i][0]] for i in range(0, 600, 3)]
    names = {"rouge1": "rouge-1", "rouge2": "rouge-2", "rougeL": "rouge-l", "rougeLsum": "rouge-lsum"}
    peer = RougeScorer(list(names), use_stemmer=stem)
    found = [peer.score_multi(row, output) for output, row in zip(outputs, references, strict=True)]
    for theirs, name in names.items():
        expected = [list(scores[theirs]) for scores in found]
        assert metric(name, stem=stem).statistics(outputs, references)[:, :3].tolist() == expected
