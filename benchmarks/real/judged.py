"""Outputs that people gave a score each: captions, summaries, data to text, simplifications, translations."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from trubleu.files.lines import iterate_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

TASKS: Final = ("thumb_mscoco", "realsumm", "webnlg17", "bagel", "sfhot", "sfres", "simplicity_da")
GOOD_REFERENCE: Final = "refB"
HUMAN_TRANSLATIONS: Final = frozenset({"ref", GOOD_REFERENCE})


@dataclass(frozen=True)
class Output:
    """One text, what it is compared with, and what people think of it (higher is better).

    Outputs for the same source share the item.
    """

    item: str
    system: str
    text: str
    references: Sequence[str]
    human: float


def tasks(source: Path) -> Iterator[tuple[str, list[Output]]]:
    """Yield the name and the outputs of each set."""
    for name in TASKS:
        yield name, outputs_of(map(json.loads, iterate_lines(source / f"{name}.jsonl.gz")))


def outputs_of(records: Iterable[Mapping[str, Any]]) -> list[Output]:
    """Return outputs without references that are empty, and only those that have another one."""
    return [
        Output(record["seg"], record["system"], record["output"], references, float(record["human"]))
        for record in records
        if (references := [text for text in record["refs"] if text.strip()])
    ]


def mqm(source: Path) -> Iterator[tuple[str, list[Output]]]:
    """Yield the systems' translations, with the good one of two human translations as the reference."""
    lines = iterate_lines(source / "mqm_ted_zhen.tsv.gz")
    rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    texts = {(row["system"], _item(row)): re.sub("</?v>", "", row["target"]) for row in rows}
    yield (
        "mqm",
        [
            Output(item, system, texts[system, item], [texts[GOOD_REFERENCE, item]], score)
            for (system, item), score in mqm_scores(rows).items()
            if system not in HUMAN_TRANSLATIONS
        ],
    )


def mqm_scores(rows: Iterable[Mapping[str, str]]) -> dict[tuple[str, str], float]:
    """Return for each system and item the negative sum of its errors, as the mean of its raters."""
    sums: dict[tuple[str, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        sums[row["system"], _item(row)][row["rater"]] -= mqm_weight(row["category"], row["severity"])
    return {key: fmean(raters.values()) for key, raters in sums.items()}


def mqm_weight(category: str, severity: str) -> float:
    """Return what an error counts."""
    severity = severity.lower()
    if category.lower().startswith("non-translation") and severity in ("minor", "major"):
        return 25.0
    if category.lower() == "fluency/punctuation" and severity == "minor":
        return 0.1
    return {"no-error": 0.0, "neutral": 0.0, "minor": 1.0, "major": 5.0}[severity]


def _item(row: Mapping[str, str]) -> str:
    return f"{row['doc']}:{row['seg_id']}"
