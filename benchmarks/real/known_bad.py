"""How often a metric prefers a right answer to one with a planted error, with and without a known bad answer.

``python -m benchmarks.real.known_bad DATA`` reads ``planted/planted.jsonl`` there: questions with a reference, a good
paraphrase of it, and errors planted into the paraphrase (``bad``) and into a copy of the reference (``bad_copy``). The
known bad answer is the copy of the reference with the same error. In the sets of `benchmarks.real.findings`, the wrong
answer is a copy of a reference with a planted error, and the right one the output of a good system.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.real.findings import cases
from trubleu.data import References
from trubleu.files.lines import iterate_lines
from trubleu.metrics.registry import metric as metric_named
from trubleu.render.tables import Column, render_tables, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trubleu.metrics import Metric


class Pair(NamedTuple):
    """A right and a wrong answer to a question, and a known bad answer if there is one."""

    kind: str
    reference: str
    right: str
    wrong: str
    known: str | None


class Row(NamedTuple):
    """Pairs of a kind, and in how many the right answer scored higher."""

    kind: str
    pairs: int
    without: int
    known: int | None


def pairs(folder: Path) -> Iterator[Pair]:
    """Yield all pairs."""
    for line in iterate_lines(folder / "planted.jsonl"):
        row = json.loads(line)
        for error, wrong in row["bad"].items():
            known = row["bad_copy"].get(error)
            yield Pair("reworded" if known else error, row["reference"], row["good"], wrong, known)
        for wrong in row["bad_copy"].values():
            yield Pair("a copy", row["reference"], row["good"], wrong, wrong)


def copies(root: Path) -> Iterator[Pair]:
    """Yield pairs of a good output and a copy of its reference with a planted error, which is known."""
    found = cases(root)
    own = {name: [case for case in found if case.set == name] for name in dict.fromkeys(case.set for case in found)}
    for name in own:
        if name.startswith("answers") or f"{name} (copies)" not in own:
            continue
        for right, copy in zip(own[name], own[f"{name} (copies)"], strict=True):
            for _, wrong in copy.planted if right.good != copy.good else ():
                yield Pair(name, copy.references[0], right.good, wrong, wrong)


def measure(found: list[Pair], metric: Metric) -> list[Row]:
    """Count the pairs in which the right answer scores higher."""

    def better(pair: Pair, bad: list[str]) -> bool:
        weights = [[1.0, *(-1.0 for _ in bad)]]
        references = References.from_lists([[pair.reference, *bad]], weights)
        right, wrong = (float(metric.segments([text], references)[0]) for text in (pair.right, pair.wrong))
        return right > wrong

    count = Counter(pair.kind for pair in found)
    without = Counter(pair.kind for pair in found if better(pair, []))
    known = Counter(pair.kind for pair in found if pair.known is not None and better(pair, [pair.known]))
    with_known = {pair.kind for pair in found if pair.known is not None}
    return [Row(kind, count[kind], without[kind], known[kind] if kind in with_known else None) for kind in count]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-m", "--metric", default="trubleu")
    options = parser.parse_args()
    found = [*pairs(options.folder / "planted"), *copies(options.folder)]
    rows = measure(found, metric_named(options.metric))
    columns = [Column("kind"), *(Column(name, kind="count") for name in ("pairs", "without", "known"))]
    print(render_tables([table_of(rows, columns)], "markdown"), end="")


if __name__ == "__main__":
    main()
