"""Mining on DailyDialog: 200 test triples as seeds, the train split as the corpus.

The three commands are printed as one would type them. Then the candidates are held against a plain statement, against
what re-ranking the best of a sum of both fields would have found, and against the seeds' own responses.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.mining_peers import TOP, Brute, Corpus, Query, Texts, best_of, fold
from benchmarks.real import files
from trubleu.cli import main as trubleu
from trubleu.data import read_triples, write_triples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from trubleu.data import Triple

SEEDS: Final = 200
DEPTHS: Final = (15, 100, 1000)
"""How many of the best by the sum are ranked again."""


@dataclass(frozen=True)
class Depth:
    """What is left of the product's best when only the best of the sum are ranked by it, a mean over seeds.

    Attributes
    ----------
    held
        The share of the product's best 15 responses that are found.
    whole
        The share of seeds for which all are found.
    first
        The share of seeds for which the best one is found.
    """

    held: float
    whole: float
    first: float


def run(source: Path, folder: Path) -> int:
    """Mine, check and count; return 0, or what a command that failed returned."""
    for name, triples in files.dailydialog(source).items():
        write_triples(folder / f"{name}.jsonl", triples)
    seeds, index, out = folder / "seeds.jsonl", folder / "train.index", folder / "candidates.jsonl"
    shutil.rmtree(index, ignore_errors=True)
    for command in (
        ["triples", "sample", str(folder / "test.jsonl"), "--n", str(SEEDS), "--seed", "1", "--out", str(seeds)],
        ["mine", "index", str(folder / "train.jsonl"), "--out", str(index)],
        ["mine", "run", str(index), "--seeds", str(seeds), "--out", str(out)],
    ):
        print(f"trubleu {shlex.join(command)}", flush=True)
        start, clock = time.process_time(), time.perf_counter()
        if code := trubleu(command):
            return code
        print(f"    {time.process_time() - start:.2f} s of CPU time, {time.perf_counter() - clock:.2f} s", flush=True)
    corpus, drawn = read_triples(folder / "train.jsonl"), read_triples(seeds)
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    mined = [[each for each in record["references"] if each["origin"] == "mined"] for record in records]
    study(corpus, drawn, [[each["text"] for each in one] for one in mined])
    return 0


def study(triples: Sequence[Triple], seeds: Sequence[Triple], mined: Sequence[Sequence[str]]) -> None:
    """Print what was found for seeds."""
    corpus = Corpus(_texts(triples))
    queries = corpus.queries(_texts(seeds))
    brute = Brute(corpus)
    best = [brute.top(query) for query in queries]
    same = sum(texts == [triples[row].response for row in one.rows] for texts, one in zip(mined, best, strict=True))
    print(f"seeds whose candidates are those of the plain statement, in its order: {same} of {len(seeds)}")
    print(f"candidates: {sum(map(len, mined))}; seeds with fewer than {TOP}: {sum(len(one) < TOP for one in mined)}")
    known = {(fold(triple.message), fold(triple.response)) for triple in triples}
    there = sum((fold(seed.message), fold(seed.response)) in known for seed in seeds)
    print(f"seeds that are in the corpus, message and response: {there}")
    passed = np.array([_passed_over(brute, query) for query in queries])
    print(
        f"left out before the last candidate, the seed's own response: {passed[:, 0].sum()} rows of the corpus, "
        f"for {np.count_nonzero(passed[:, 0])} seeds"
    )
    print(f"left out, a better candidate's: {passed[:, 1].sum()} rows, for {np.count_nonzero(passed[:, 1])} seeds")
    _print_differences([(text, seed.response) for texts, seed in zip(mined, seeds, strict=True) for text in texts])
    print("\n| of the sum | product's 15 found | seeds with all | with the best one |\n|---:|---:|---:|---:|")
    for depth in DEPTHS:
        found = _by_sum(brute, queries, depth)
        shares = (getattr(found, field.name) for field in fields(found))
        print(f"| {depth:,} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |")


def _print_differences(pairs: Sequence[tuple[str, str]]) -> None:
    """Print how candidates differ from the seeds' own responses."""
    words = [(_bare(a), _bare(b)) for a, b in pairs]
    shared = [(len(set(a) & set(b)), len(set(a) | set(b))) for a, b in words]
    print(
        f"candidates that differ from the seed's own response: {sum(fold(a) != fold(b) for a, b in pairs)}; "
        f"in more than marks and spaces: {sum(a != b for a, b in words)}; "
        f"in more than a fifth of the words: {sum(both < 0.8 * either for both, either in shared)}; "
        f"in all of them: {sum(both == 0 for both, _ in shared)}"
    )
    print(f"different texts among them: {len({fold(text) for text, _ in pairs})}")


def _passed_over(brute: Brute, query: Query) -> tuple[int, int]:
    """Count rows above the last candidate that were left out: with the seed's own response, and with a better one's."""
    scores = brute.scores(query)
    rows = best_of(scores, brute.groups, query.group).rows
    if not len(rows):
        return 0, 0
    last = rows[-1]
    above = np.flatnonzero((scores > scores[last]) | ((scores == scores[last]) & (np.arange(len(scores)) <= last)))
    own = int(np.count_nonzero(brute.groups[above] == query.group))
    return own, len(above) - own - len(rows)


def _by_sum(brute: Brute, queries: Sequence[Query], depth: int) -> Depth:
    """Rank the best of the sum of both fields by the product; responses that repeat are left out before."""
    held, whole, first = [], [], []
    for query in queries:
        message, response = brute.fields(query)
        wanted = brute.groups[brute.top(query).rows]
        if not len(wanted):
            continue
        rows = best_of(message + response, brute.groups, query.group, depth).rows
        ranked = rows[np.lexsort((rows, -brute.scores(query)[rows]))][:TOP]
        share = np.isin(wanted, brute.groups[ranked])
        held.append(share.mean())
        whole.append(share.all())
        first.append(share[0])
    return Depth(float(np.mean(held)), float(np.mean(whole)), float(np.mean(first)))


def _bare(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _texts(triples: Sequence[Triple]) -> Texts:
    return Texts([triple.message for triple in triples], [triple.response for triple in triples])
