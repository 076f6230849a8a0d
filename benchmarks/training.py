"""Training of vectors beside gensim's: the same text, the same settings, CPU time of all threads."""

from __future__ import annotations

import os
import re
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.rows import Row
from trubleu.execution import engine
from trubleu.execution.cache import Cache
from trubleu.files.lines import iterate_lines
from trubleu.progress import Bars
from trubleu.vectors.training.counts import NO_ENTRY, SENTENCE_END, MappedNumbers, count_corpus
from trubleu.vectors.training.model import Material, Model
from trubleu.vectors.training.options import TrainingOptions
from trubleu.vectors.training.trainer import Folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from benchmarks.cases import Bench
    from trubleu.vectors.training.counts import Vocabulary

LINES, EPOCHS = 200_000, 3
SAME: dict[str, Any] = {"window": 5, "negative": 5, "epochs": EPOCHS, "sample": 1e-3, "seed": 1, "alpha": 0.025}


class Trained(NamedTuple):
    """Vectors and what they took."""

    seconds: float
    words: Sequence[str]
    vectors: NDArray[np.float32]


def training(bench: Bench) -> Iterator[Row]:
    """Train vectors of words, and joint ones, on a part of the English text in `$TRUBLEU_DATA`, where it is there."""
    text = _text(bench)
    if text is None:
        return
    from gensim.test.utils import datapath

    total = EPOCHS * sum(map(len, text))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "text").write_text("".join(" ".join(words) + "\n" for words in text), encoding="utf-8")
        for threads in (1, 2):
            ours, theirs = _ours(folder, threads), _gensim(text, threads)
            quality = [_similarity(each, datapath("wordsim353.tsv")) for each in (ours, theirs)]
            rates = [f"{total / each.seconds / 1000:,.0f}" for each in (ours, theirs)]
            yield Row(
                name=f"training, {threads} thread{'s' * (threads > 1)}",
                data=f"{len(text):,} lines, {total // EPOCHS:,} words",
                peer="gensim",
                ours_seconds=ours.seconds,
                peer_seconds=theirs.seconds,
                bar=1.2,
                note=f"thousand words a CPU second {rates[0]}, {rates[1]}; "
                f"ρ on wordsim353 {quality[0]:.3f}, {quality[1]:.3f}",
            )
        yield _joint(folder, len(text), bench.runs(3))


def _text(bench: Bench) -> list[list[str]] | None:
    place = Path(os.environ.get("TRUBLEU_DATA", ""), "text", "english.txt.zst")
    if not place.is_file():
        return None
    word = re.compile(r"\w+(?:[-'’]\w+)*")
    lines = (word.findall(line.lower()) for line in islice(iterate_lines(place), bench.size(LINES)))
    return [words for words in lines if words]


def _counted(folder: Path, options: TrainingOptions) -> tuple[Vocabulary, Material]:
    place = Folder(folder / "store", options, Cache())
    with engine("local") as here, place.locked():
        vocabulary, levels, *_ = count_corpus([folder / "text"], place, options, here, Bars(quiet=True))
    material = Material(
        orders=options.orders,
        files=[MappedNumbers(place.numbers(order)) for order in options.orders],
        listed=[len(level.counts) for level in levels],
        counts=np.concatenate([level.counts for level in levels]),
    )
    return vocabulary, material


def _ours(folder: Path, threads: int) -> Trained:
    options = TrainingOptions(orders=(1,), min_count=(5,), dim=100, tokenize="none", **SAME)
    vocabulary, material = _counted(folder, options)
    model = Model(material, options)
    start = time.process_time()
    for epoch in range(EPOCHS):
        model.train(epoch, 0, material.blocks, threads)
    return Trained(time.process_time() - start, vocabulary.words(), model.input[:, :100])


def _gensim(text: list[list[str]], threads: int) -> Trained:
    from gensim.models import Word2Vec

    model = Word2Vec(vector_size=100, min_count=5, sg=1, workers=threads, **SAME)
    model.build_vocab(text)
    start = time.process_time()
    model.train(text, total_examples=model.corpus_count, epochs=EPOCHS)
    return Trained(time.process_time() - start, model.wv.index_to_key, model.wv.vectors)


def _joint(folder: Path, lines: int, runs: int) -> Row:
    """What a unit costs when the text is cut into words and n-grams in the same pass, beside units cut before."""
    options = TrainingOptions(mode="joint", dim=100, tokenize="none", **SAME)
    _, joint = _counted(folder, options)
    model = Model(joint, options)
    separate = Material(
        orders=(1,),
        files=[_cut(model, joint, folder)],
        listed=[len(joint.counts)],
        counts=model.count_units(EPOCHS).astype(np.uint64),
    )
    peer = Model(separate, TrainingOptions(orders=(1,), dim=100, tokenize="none", **SAME))
    costs = []
    for _ in range(runs):  # in turns, so that what else the machine does hits both alike
        for each, material in ((model, joint), (peer, separate)):
            start = time.process_time()
            units, pairs, _ = each.train(0, 0, material.blocks, 1)
            costs.append(((time.process_time() - start) / units, pairs / units))
    return Row(
        name="training, joint",
        data=f"{lines:,} lines, {len(joint.counts):,} n-grams",
        peer="units cut before",
        ours_seconds=min(costs[::2])[0] * 1e6,
        peer_seconds=min(costs[1::2])[0] * 1e6,
        bar=1 / 1.1,
        note=f"a million units; pairs a unit {costs[0][1]:.2f}, {costs[1][1]:.2f}",
    )


def _cut(model: Model, material: Material, folder: Path) -> MappedNumbers:
    """Return the text as one epoch cuts it, every unit where it begins."""
    words = material.files[0].numbers
    entries, places = model.segment(0, 0, material.blocks)
    numbers = np.where(words == SENTENCE_END, words, np.uint32(NO_ENTRY))
    numbers[places] = entries
    numbers.tofile(folder / "cut.ids")
    return MappedNumbers(folder / "cut.ids")


def _similarity(trained: Trained, pairs: str) -> float:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(trained.vectors.shape[1])
    vectors.add_vectors(list(trained.words), trained.vectors)
    _, (correlation, _), _ = vectors.evaluate_word_pairs(pairs)
    return float(correlation)
