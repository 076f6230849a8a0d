"""A fault at every write, sync and rename in turn: afterwards the old or the new state, and one sentence."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.faults.harness import FAULTS, Case, Server, chosen, leftovers
from tests.mining.example import triples, write
from trubleu.cli import main
from trubleu.mining import Index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    State = Callable[[Path, Server], object]

ALL: Final = bool(os.environ.get("TRUBLEU_SOAK"))
MOST: Final = 10**9 if ALL else 2
"""How many calls of a command fail in turn; in `make soak` every one."""

WORDS: Final = ["we", "do", "not", "like", "the", "rain", "but", "they", "do", "like", "snow", "and", "sun"]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make what commands begin with."""
    folder = tmp_path_factory.mktemp("base")
    write(folder / "corpus.jsonl", triples(35))
    write(folder / "more.jsonl", triples(15, 4))
    with (folder / "refs.jsonl").open("w") as refs, (folder / "outputs.txt").open("w") as outputs:
        for number in range(40):
            text = " ".join(WORDS[number % 5 : number % 5 + 6])
            refs.write(json.dumps({"id": f"s{number}", "references": [{"text": text, "weight": 0.5}]}) + "\n")
            outputs.write(text.replace("like", "love") + "\n")
    lines = [" ".join(WORDS[number % 7 : number % 7 + 5]) for number in range(200)]
    (folder / "text.txt").write_text("\n".join(lines) + "\n")
    (folder / "words.vec").write_text("3 4\na 1 0 0 0\nb 0 1 0 0\nc 0 0 1 0\n")
    with (folder / "candidates.jsonl").open("w") as stream:
        for number in range(4):
            rows = [{"text": f"answer {number} {each}"} for each in range(3)]
            stream.write(json.dumps({"id": f"c{number}", "source": f"question {number}", "references": rows}) + "\n")
    here = os.getcwd()  # noqa: PTH109
    os.chdir(folder)
    try:
        for arguments in (
            "mine index corpus.jsonl --out chat.index --shard-triples 10 --quiet",
            "rate new study --from candidates.jsonl --raters 2 --quiet",
            "rate new other --from candidates.jsonl --raters 2 --quiet",
        ):
            assert main(arguments.split()) == 0
        main(["rate", "export", "study", "--as", "mturk-tasks", "--out", "tasks.csv", "--quiet"])
        keys = sorted({line.split(",")[0] for line in (folder / "tasks.csv").read_text().splitlines()[1:]})
        ratings = [f"{key},{rater},{score}" for key in keys for rater, score in (("ann", 4), ("bob", 2))]
        (folder / "ratings.csv").write_text("item,rater,score\n" + "\n".join(ratings) + "\n")
        assert main(["rate", "import", "other", "ratings.csv", "--quiet"]) == 0
    finally:
        os.chdir(here)
    return folder


def file_state(name: str) -> State:
    """Return what tells the states of a file apart: its bytes."""
    return lambda folder, _server: (folder / name).read_bytes() if (folder / name).exists() else None


def study_state(name: str) -> State:
    """Return what tells the states of a study apart: its log, which says all that happened, without the times."""

    def state(folder: Path, server: Server) -> object:
        if not (folder / name).exists():
            return None
        with closing(sqlite3.connect(folder / name / "store.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        log = server.run(folder, ["rate", "export", name, "--as", "raw", "--labels"])
        status = server.run(folder, ["rate", "status", name, "--format", "json"])
        assert (log.code, status.code) == (0, 0), (log, status)
        rows = map(json.loads, log.said.splitlines())
        return [{key: row.get(key) for key in ("kind", "item", "rater", "scores", "counted", "note")} for row in rows]

    return state


def index_state(name: str) -> State:
    """Return what tells the states of an index apart: its triples, every byte of which is in order."""

    def state(folder: Path, _server: Server) -> object:
        if not (folder / name / "index.json").exists():
            return None
        index = Index.open(folder / name)
        index.check()
        return [index.triple(row) for row in range(len(index))]

    return state


OPTIONS: Final = ["--orders", "1-2", "--min-count", "2", "--dim", "8", "--epochs", "2", "--threads", "1"]
TRAIN: Final = ["vectors", "train", "text.txt", "--out", "v.store", *OPTIONS]
INDEX: Final = ["mine", "index", "corpus.jsonl", "--out", "x.index", "--shard-triples", "10"]
ADD: Final = ["mine", "add", "chat.index", "more.jsonl"]
QUIET_ANYWAY: Final = (["rate", "exclude"], ["rate", "erase"], ["rate", "pause"], ["refs", "convert"])


def case(kind: str, arguments: str | list[str], state: State, resume: list[str] | None = None) -> Case:
    words = arguments.split() if isinstance(arguments, str) else arguments
    quiet = [] if words[:2] in QUIET_ANYWAY else ["--quiet"]
    return Case(name=" ".join(words[:4]), kind=kind, arguments=[*words, *quiet], state=state, resume=resume)


CASES: Final = [
    case("rating store", "rate new fresh --from candidates.jsonl --raters 2", study_state("fresh")),
    case("rating store", "rate import study ratings.csv", study_state("study")),
    case("rating store", "rate exclude other ann --reason test", study_state("other")),
    case("rating store", "rate erase other ann", study_state("other")),
    case("rating store", "rate pause other", study_state("other")),
    case("mining index", INDEX, index_state("x.index"), [*INDEX, "--resume", "--quiet"]),
    case("mining index", ADD, index_state("chat.index"), [*ADD, "--resume", "--quiet"]),
    case("prepared references", "refs prepare refs.jsonl --out refs.tbp", file_state("refs.tbp")),
    case("vectors", TRAIN, file_state("v.store"), [*TRAIN, "--resume", "--quiet"]),
    case("vectors", "vectors convert words.vec words.store", file_state("words.store")),
    case("exports", "rate export other --as references --out old.jsonl", file_state("old.jsonl")),
    case("exports", "rate export other --as ratings --out old.csv", file_state("old.csv")),
    case("exports", "rate export other --as ratings --out old.parquet", file_state("old.parquet")),
    case("exports", "refs convert refs.jsonl old.jsonl.gz", file_state("old.jsonl.gz")),
    case("exports", "mine run chat.index --seeds more.jsonl --top 2 --out old.jsonl", file_state("old.jsonl")),
    case("exports", "score --refs refs.jsonl outputs.txt -m bleu --out old.txt", file_state("old.txt")),
    case(
        "cache",
        "score --refs refs.jsonl outputs.txt -m bleu --engine local --resume kept --out old.txt",
        file_state("old.txt"),
    ),
]


RARE: Final = ("rate exclude", "rate erase", "rate pause", "refs convert", "vectors convert")
"""Whose way to files others have, too; `make soak` tries them."""


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, tuple[object, object, int]]:
    """Return the states of a case before and after it, and its calls, to which those of all faults are compared."""
    return {}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("what", [each for each in CASES if ALL or not str(each).startswith(RARE)], ids=str)
def test_a_fault_at_any_call(
    base: Path,
    folder: Path,
    server: Server,
    undisturbed: dict[str, tuple[object, object, int]],
    what: Case,
    fault: str,
    record_property: Callable[[str, Any], None],
) -> None:
    def fresh(name: str) -> Path:
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(base, folder / name)
        for old in ("old.jsonl", "old.csv", "old.txt", "old.jsonl.gz", "refs.tbp", "words.store"):
            (folder / name / old).write_text("what was there before\n")
        return folder / name

    command = " ".join(what.arguments)
    if command not in undisturbed:
        place = fresh("new")
        before = what.state(place, server)
        done = server.run(place, what.arguments)
        assert done.code == 0, done
        undisturbed[command] = before, what.state(place, server), done.calls
    before, after, calls = undisturbed[command]
    assert calls > 0
    assert after != before
    outcomes: Counter[str] = Counter()
    for number in chosen(calls, MOST):
        place = fresh("faulty")
        found = server.run(place, what.arguments, number, FAULTS[fault])
        where = f"{what}: {fault} at call {number} of {calls}: {found}"
        state = what.state(place, server)
        if fault == "a kill":
            assert found.code in (-9, 0), where
        else:
            assert not leftovers(place), where
            assert found.code in (0, 2), where
            assert "Traceback" not in found.said, where
            assert found.code == 0 or found.said.count("\n") == 1, where
            assert found.code == 0 or "the output cannot be written" not in found.said, where  # which names no file
        assert state in ((after,) if found.code == 0 else (before, after)), where
        outcomes["new" if state == after else "old"] += 1
        # Nothing stands in the way of doing it again.
        if state != after:
            again = server.run(place, what.resume or what.arguments)
            if again.code == 2 and what.resume is not None and "--resume" in again.said:
                again = server.run(place, what.arguments)
            assert again.code == 0, f"{where}\nagain: {again}"
            assert what.state(place, server) == after, where
    report(what, fault, calls, outcomes)
    record_property("outcomes", dict(outcomes))


def report(what: Case, fault: str, calls: int, outcomes: Counter[str]) -> None:
    if out := os.environ.get("TRUBLEU_SOAK_OUT"):
        row = {"test": "file faults", "kind": what.kind, "case": str(what), "fault": fault, "calls": calls, **outcomes}
        with open(out, "a") as stream:  # noqa: PTH123
            stream.write(json.dumps(row) + "\n")
