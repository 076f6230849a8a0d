"""What a metric pays for outputs that are worse on purpose: shares of the untouched outputs' score."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from benchmarks.real import files
from trubleu import References
from trubleu.data import read_official_scores, read_outputs
from trubleu.files.lines import read_text_lines
from trubleu.metrics.registry import parse
from trubleu.render.tables import Column, Table, render_tables

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from trubleu import Metric

METRICS: Final = ("trubleu", "trubleu-ctx", "bleu-4", "chrf", "cider", "meteor", "bleu2vec-f[similarity=shift:0.3]")
DIALOGUE: Final = {"tokenize": "words", "lowercase": True}
"""Options of metrics that have them, for dialogue; elsewhere each metric has its own defaults."""
SEED: Final = 12345
GOLDS: Final = 5
FUNCTION_WORDS: Final = tuple(
    """a about after all also am an and any are as at be because been before but by can could did do does for from had
    has have he her here him his how i if in into is it its just like me more most my no not now of on only or other our
    out over she should so some such than that the their them then there these they this those to too up us very was we
    were what when where which who why will with would you your""".split()  # noqa: SIM905
)


def gamed(outputs: Sequence[str], seed: int = SEED) -> dict[str, list[str]]:
    """Return the outputs changed in each way that needs nothing else."""
    others = another_segments(outputs, seed)
    return {
        "doubled": [f"{text} {text}" for text in outputs],
        "another's appended": [f"{text} {other}" for text, other in zip(outputs, others, strict=True)],
        "words shuffled": shuffled(outputs, seed),
        "first half": [" ".join(text.split()[: (len(text.split()) + 1) // 2]) for text in outputs],
        "without function words": [_chosen(text, function=False) for text in outputs],
        "padded with function words": padded(outputs, seed),
        "its function words only": [_chosen(text, function=True) for text in outputs],
        "another's output": others,
    }


def another_segments(outputs: Sequence[str], seed: int) -> list[str]:
    """Give each segment the output of another one: the next in a random order."""
    order = list(range(len(outputs)))
    random.Random(seed).shuffle(order)
    found = [""] * len(outputs)
    for place, segment in enumerate(order):
        found[segment] = outputs[order[(place + 1) % len(order)]]
    return found


def shuffled(outputs: Sequence[str], seed: int) -> list[str]:
    """Put the words of each output in random order."""
    draw = random.Random(seed)
    return [" ".join(draw.sample(words, len(words))) for words in map(str.split, outputs)]


def padded(outputs: Sequence[str], seed: int) -> list[str]:
    """Append as many function words, drawn at random, as an output has words."""
    draw = random.Random(seed)
    return [" ".join([*words, *draw.choices(FUNCTION_WORDS, k=len(words))]) for words in map(str.split, outputs)]


def most_common(texts: Sequence[str]) -> str:
    """Return the text that occurs most often, the first of several."""
    return Counter(texts).most_common(1)[0][0]


def dstc7(source: Path, folder: Path) -> tuple[References, list[str], dict[str, list[str]]]:
    """Return golds other than the human's answer, the answers, and what needs more than them."""
    found = files.dstc7(source, folder, GOLDS, others_only=True)
    references = References.read(found / "references.jsonl")
    [human] = read_outputs([str(found / "outputs" / "Human.jsonl")], references)
    return references, list(human.texts), {"the message": [message or "" for message in references.messages or ()]}


def wmt15(source: Path) -> tuple[References, list[str]]:
    """Return the references of de-en and the outputs of the system that people like best."""
    scores = read_official_scores(source / "official_scores" / "wmt15.deu-eng.txt")
    best = max(scores, key=lambda name: scores[name]).removesuffix(".txt")
    outputs = read_text_lines(source / "system-outputs" / "de-en" / best)
    lines = read_text_lines(source / "references" / "newstest2015-deen-ref.en")
    return References.from_lists([[line] for line in lines]), outputs


def build(name: str, **options: Any) -> Metric:
    """Make a metric, with those of the options that it has."""
    spec = parse(name)
    return spec.build(**{option: value for option, value in options.items() if spec.accepts(option)})


def run(source: Path, folder: Path, names: Sequence[str] = METRICS) -> int:
    """Print a table for each set, and leave them in the folder."""
    references, outputs, more = dstc7(source, folder)
    tables = [_table("DSTC7, the human's answers, five golds", names, references, outputs, more, DIALOGUE)]
    if (translations := files.data_folder("wmt15")) is not None:
        tables.append(_table("WMT15 de-en, the best system", names, *wmt15(translations), {}, {}))
    text = render_tables(tables, "markdown", 1)
    (folder / "result.md").write_text(text, encoding="utf-8")
    (folder / "result.csv").write_text(render_tables(tables, "csv"), encoding="utf-8")
    print(text)
    return 0


def _table(
    title: str,
    names: Sequence[str],
    references: References,
    outputs: Sequence[str],
    more: dict[str, list[str]],
    options: dict[str, object],
) -> Table:
    changed = {**gamed(outputs), "the most common reference": [most_common(references.texts)] * len(outputs), **more}
    built = [build(name, **options) for name in names]
    whole = [metric.corpus(outputs, references).score for metric in built]
    rows: list[tuple[str | float, ...]] = [("untouched: score", *(f"{score:.2f}" for score in whole))]
    for what, texts in changed.items():
        scores = [metric.corpus(texts, references).score for metric in built]
        rows.append((what, *(100 * score / all_of_it for score, all_of_it in zip(scores, whole, strict=True))))
    columns = [Column("outputs"), *(Column(name, kind="number") for name in names)]
    return Table(title, columns, rows, [f"All but the first row: % of the untouched outputs' score; seed {SEED}"])


def _chosen(text: str, *, function: bool) -> str:
    """Return the function words of a text, or the others."""
    return " ".join(word for word in text.split() if (word.strip(".,;:!?\"'()").lower() in _FUNCTION) == function)


_FUNCTION: Final = frozenset(FUNCTION_WORDS)
