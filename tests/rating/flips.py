"""One bit of a study's store is turned over: whatever that does, nobody gets another number or text."""

from __future__ import annotations

import shutil
import warnings
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from trubleu.errors import TrubleuError
from trubleu.rating import Imported, Item, Study, StudyConfig, export_study, import_answers
from trubleu.rating.config import Gold, example
from trubleu.rating.summary import summary

if TYPE_CHECKING:
    from pathlib import Path

_WHATS = {"references": "references.jsonl", "ratings": "ratings.csv", "raw": "raw.jsonl", "mturk-tasks": "tasks.csv"}


def varied_study(folder: Path, *, kind: str = "response", items: int = 40) -> None:
    """Make a study in which everything has happened: answers, undo, exclusion, erasure, import, a pause, open tasks."""
    texts = ("a", "b") if kind == "pair" else ("a",)
    gold = tuple(example("gold", tuple(f"gold {n}{text}" for text in texts), (), None, ((4, 5),) * len(texts))
                 for n in range(3))  # fmt: skip
    config = StudyConfig("Flips", kind, raters=3, gold=Gold(0.2, gold))  # type: ignore[arg-type]
    systems = ("A", "B") if kind == "pair" else ()
    made = [
        Item(f"s{n}#A:B" if systems else f"s{n}#r", tuple(f"text {n} {text} – ¡olé!" for text in texts),
             message=f"message {n}", context=(f"turn {n}",), systems=systems, segment=f"s{n}",
             reference=None if systems else "r", extra={"origin": "mined"})
        for n in range(items)
    ]  # fmt: skip
    with Study.create(folder, config, made, secret="of all flips") as study:  # noqa: S106
        people = [new.rater.id for new in study.add_raters(5, labels=["ann", "bob", "cem", "dee", "eva"], now=1000)]
        for at, rater in enumerate(people):
            for number in range(items // 2):
                now = 10_000 * (number + 1) + at
                task = study.assign(rater, now=now)
                if task is None:
                    break
                scores = None if number % 11 == 5 else tuple(1 + (number + at + part) % 5 for part in range(len(texts)))
                study.answer(rater, task.assignment, scores, key=task.client_key, milliseconds=900, now=now + 2000)
                if number % 7 == 3:
                    study.undo(rater, now=now + 3000)
        study.exclude(people[1], reason="too fast", now=10**6)
        study.erase(people[2], now=10**6)
        import_answers(
            study, [Imported(each.key, "zoe", (2,) * len(texts)) for each in made[:9]], source="x", now=10**6
        )
        study.pause(now=10**6)


def seen(folder: Path, out: Path) -> dict[str, object] | str:
    """Return all that status and export make of a study, or the one sentence that they refuse it with."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Study.open(folder, copy=True) as study:
                found: dict[str, object] = {"status": replace(summary(study, 10**7, resamples=0), alpha=None)}  # type: ignore[arg-type]
                for what, name in _WHATS.items():
                    if what != "references" or study.config.kind == "response":
                        export_study(study, what, out / name, labels=True)  # type: ignore[arg-type]
                        found[what] = (out / name).read_bytes()
    except TrubleuError as error:
        return str(error)
    return found


def open_error(folder: Path) -> str | None:
    """Return the sentence with which a server refuses a study, None if it takes it."""
    try:
        Study.open(folder, sync=True).close()
    except TrubleuError as error:
        return str(error)
    return None


def flips(folder: Path, out: Path, *, count: int) -> dict[str, int]:
    """Turn over bits of the store, one at a time and spread over the file; return how often what happened.

    A twentieth of them is in the file's header, which is small and decides how all the rest is read.
    """
    whole = (folder / "store.db").read_bytes()
    right = seen(folder, out)
    assert isinstance(right, dict), right
    draw = Random(1)
    happened = {"refused": 0, "same": 0}
    copy = out / "flipped"
    for number in range(count):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        ends = (0, 100) if number % 20 == 0 else (len(whole) * number // count, len(whole) * (number + 1) // count)
        at, bit = draw.randrange(*ends), draw.randrange(8)
        changed = bytearray(whole)
        changed[at] ^= 1 << bit
        (copy / "store.db").write_bytes(changed)
        found = seen(copy, out)
        served = open_error(copy)
        assert (served is None) == isinstance(found, dict), f"bit {bit} of byte {at}: {found}; served: {served}"
        for said in (found, served):
            assert not isinstance(said, str) or "\n" not in said, said
        if isinstance(found, dict):
            different = [name for name in right if found[name] != right[name]]
            assert not different, f"bit {bit} of byte {at} changes {different} in silence"
        happened["refused" if isinstance(found, str) else "same"] += 1
    return happened
