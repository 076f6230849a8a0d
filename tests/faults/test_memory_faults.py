"""Every allocation of the kernels fails in turn: one sentence, no file, no crash, and no other number."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Final

import pytest

from tests.faults.harness import FROM_THEN_ON, ONCE, Server, chosen, leftovers
from tests.mining.example import triples, write

if TYPE_CHECKING:
    from pathlib import Path

ALL: Final = bool(os.environ.get("TRUBLEU_SOAK"))
MOST: Final = 10**9 if ALL else 3

REFERENCES: Final = ["the cat sat on the mat", "a cat was sitting on that mat", "there is a cat on the mat"]

COMMANDS: Final = {
    "bleu": "score --refs refs.jsonl out.txt -m bleu -m sbleu -m dbleu --segments --ci --test --resamples 20 out2.txt",
    "intl": "score --refs refs.jsonl out.txt -m bleu --tokenize intl --threads 2",
    "chrf": "score --refs refs.jsonl out.txt -m chrf -m chrf++ --threads 2",
    "trubleu": "score --refs refs.jsonl out.txt -m trubleu --vectors words.store",
    "bleu2vec": "score --refs refs.jsonl out.txt -m bleu2vec --vectors words.store",
    "nist": "score --refs refs.jsonl out.txt -m nist -m cider",
    "prepared": "score --refs refs.tbp out.txt -m dbleu --threads 2",
    "judge": "judge pairs --refs refs.jsonl --ratings ratings.csv out.txt out2.txt --unit 4 --draws 5 --resamples 5 "
    "--sweeps none -m dbleu",
    "prepare": "refs prepare refs.jsonl --out new.tbp",
    "train": "vectors train text.txt --out v.store --orders 1-2 --min-count 2 --dim 8 --epochs 1 --threads 2",
    "index": "mine index corpus.jsonl --out x.index --shard-triples 10",
    "search": "mine run chat.index --seeds corpus.jsonl --top 2 --out new.jsonl --threads 2",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Path:
    """Make what commands read."""
    folder = tmp_path_factory.mktemp("base")
    write(folder / "corpus.jsonl", triples(25))
    with (folder / "refs.jsonl").open("w") as refs, (folder / "out.txt").open("w") as outputs:
        for number in range(30):
            rows = [{"text": f"{text} {number}", "weight": 0.5} for text in REFERENCES]
            refs.write(json.dumps({"id": f"s{number}", "references": rows}) + "\n")
            outputs.write(f"the cat is on the mat {number}\n")
    (folder / "out2.txt").write_text("".join(f"no cat {number} on a mat\n" for number in range(30)))
    (folder / "text.txt").write_text("\n".join(REFERENCES * 30) + "\n")
    words = sorted({word for text in REFERENCES for word in text.split()})
    vectors = [f"{word} {number % 3} {number % 5} 1 0.5" for number, word in enumerate(words)]
    (folder / "words.vec").write_text(f"{len(words)} 4\n" + "\n".join(vectors) + "\n")
    ratings = [
        f"s{number},{system},r,{1 + (number * 7 + each * number) % 5}"
        for number in range(30)
        for each, system in enumerate(("out", "out2"))
    ]
    (folder / "ratings.csv").write_text("segment,system,rater,rating\n" + "\n".join(ratings) + "\n")
    for arguments in (
        "vectors convert words.vec words.store --quiet",
        "refs prepare refs.jsonl --out refs.tbp --quiet",
        "mine index corpus.jsonl --out chat.index --shard-triples 10 --quiet",
    ):
        done = server.run(folder, arguments.split())
        assert done.code == 0, done
    return folder


@pytest.mark.parametrize(
    "mode", [ONCE, FROM_THEN_ON] if ALL else [ONCE], ids={ONCE: "once", FROM_THEN_ON: "for good"}.get
)
@pytest.mark.parametrize("name", COMMANDS)
def test_an_allocation_that_fails(base: Path, folder: Path, server: Server, name: str, mode: int) -> None:
    arguments = [*COMMANDS[name].split(), "--quiet"]
    place = folder / "work"

    def fresh() -> None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(base, place)

    fresh()
    # The binding layer fills tables of its own when something is first called, and cannot do without them.
    assert server.run(place, arguments, here=True).code == 0
    fresh()
    before = {path.name for path in place.iterdir()}
    whole = server.run(place, arguments, allocations=True)
    assert whole.code == 0, whole
    assert whole.calls > 0
    outcomes: Counter[str] = Counter()
    fresh()
    for number in chosen(whole.calls, MOST):
        found = server.run(place, arguments, number, (mode, 0), allocations=True)
        where = f"{name}: no memory at allocation {number} of {whole.calls}: {found}"
        assert found.code in (0, 2), where
        assert not leftovers(place), where
        if found.code == 0:  # some things can be done without, such as another thread
            assert found.said == whole.said, where
            fresh()
            outcomes["done"] += 1
            continue
        outcomes["refused"] += 1
        assert "Traceback" not in found.said, where
        assert found.said.count("\n") == 1, where
        assert "memory" in found.said, where
        if {path.name for path in place.iterdir()} != before:
            fresh()  # what can be gone on with
    if out := os.environ.get("TRUBLEU_SOAK_OUT"):
        row = {"test": "memory faults", "case": name, "mode": mode, "allocations": whole.calls, **outcomes}
        with open(out, "a") as stream:  # noqa: PTH123
            stream.write(json.dumps(row) + "\n")
