"""Outputs that people gave a score each: captions, summaries, data to text, simplifications, translations."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from trubleu.data import read_published
from trubleu.files.lines import iterate_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

TASKS: Final = ("thumb_mscoco", "realsumm", "webnlg17", "bagel", "sfhot", "sfres", "simplicity_da")
GOOD_REFERENCE: Final = "refB"


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
    [found] = read_published("mqm", source)
    good = {
        segment.id: [each.text for each in segment.references if each.origin == GOOD_REFERENCE]
        for segment in found.segments
    }
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in found.ratings:
        scores[row.system, row.item].append(row.score)
    yield (
        "mqm",
        [
            Output(item, system, found.outputs[system][item], good[item], fmean(of_raters))
            for (system, item), of_raters in scores.items()
        ],
    )
