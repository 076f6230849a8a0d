"""Damaged files through the command line: one sentence or a result, the right one wherever there is a checksum."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from typing import TYPE_CHECKING, Final

import polars as pl
import pytest
from openpyxl import Workbook

from tests.mining.example import triples, write
from trubleu.cli import main
from trubleu.data import References, write_triples
from trubleu.files.parquet import write_parquet
from trubleu.files.writer import atomic_writer
from trubleu.mining import Index
from trubleu.vectors import convert_vectors

if TYPE_CHECKING:
    from pathlib import Path

CASES: Final = 1_000 if os.environ.get("TRUBLEU_SOAK") else 15
"""Files per kind."""

TEXTS: Final = [f"we do not like the {word} but they do" for word in ("rain", "snow", "sun", "été", "風", "storm")]
SCORE: Final = "score --refs {} outputs.txt -m bleu-2 dbleu-2 --digits 12"
OUTPUTS: Final = "score --refs refs.txt {} -m bleu-2 --digits 12"
MINE: Final = "mine index {} --out made.index --quiet"
SEARCH: Final = "mine search chat.index message --format json"

# For each kind of file its name, a command that reads it, and whether a checksum covers what the command reads.
KINDS: Final[dict[str, tuple[str, str, bool]]] = {
    "text": ("some.txt", SCORE, False),
    "gzip": ("some.txt.gz", SCORE, True),
    "zstd": ("some.txt.zst", SCORE, True),
    "references, JSON lines": ("refs.jsonl", SCORE, False),
    "references, CSV": ("refs.csv", SCORE, False),
    "references, Excel": ("refs.xlsx", SCORE, True),
    "references, Parquet": ("refs.parquet", SCORE, True),
    "prepared references": ("refs.tbp", SCORE, True),
    "outputs, JSON lines": ("outputs.jsonl", OUTPUTS, False),
    "outputs, Parquet": ("outputs.parquet", OUTPUTS, True),
    "triples, JSON lines": ("corpus.jsonl", MINE, False),
    "triples, Parquet": ("corpus.parquet", MINE, True),
    "index, list of shards": ("chat.index/index.json", SEARCH, True),
    "index, shard": ("chat.index/*.tbx", SEARCH, True),
    "vectors": ("words.store", "vectors nearest {} sun --format json", True),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a file of each kind."""
    made = tmp_path_factory.mktemp("damaged")
    for name in ("some.txt", "some.txt.gz", "some.txt.zst", "refs.txt", "outputs.txt"):
        with atomic_writer(made / name) as stream:
            stream.writelines(
                f"{text.replace('do', 'did')}\n" if name == "outputs.txt" else f"{text}\n" for text in TEXTS
            )
    weights = [[1.0, -0.5] for _ in TEXTS]
    references = References.from_lists([[text, f"{text} ?"] for text in TEXTS], weights)
    for name in ("refs.jsonl", "refs.parquet"):
        references.write(made / name)
    references.prepare().save(made / "refs.tbp")
    rows = [(segment.id, each.text, each.weight) for segment in references for each in segment.references]
    (made / "refs.csv").write_text("id,text,weight\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    book = Workbook()
    for row in (("id", "text", "weight"), *rows):
        book.active.append(row)
    book.save(made / "refs.xlsx")
    records = [{"id": str(number), "text": text} for number, text in enumerate(TEXTS, 1)]
    (made / "outputs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    write_parquet(made / "outputs.parquet", pl.DataFrame(records))
    corpus = triples(12)
    write(made / "corpus.jsonl", corpus)
    write_triples(made / "corpus.parquet", corpus)
    Index.build(made / "chat.index", corpus)
    (made / "words.vec").write_text("4 3\nsun 1 0 0\nrain 0 1 0\nsnow 0 1 1\nday 1 0 1\n")
    convert_vectors(made / "words.vec", made / "words.store")
    return made


def damaged(data: bytes, draw: random.Random) -> bytes:
    """Return bytes of which one bit is flipped, some are cut off, overwritten, or there twice."""
    at, end = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    match draw.randrange(6):
        case 0:
            return data[:at]
        case 1:
            some = draw.choice([bytes(min(16, len(data) - at)), draw.randbytes(min(16, len(data) - at))])
            return data[:at] + some + data[at + len(some) :]
        case 2:
            return data[:end] + data[at:]
    place = draw.randrange(8 * len(data))
    flipped = bytearray(data)
    flipped[place // 8] ^= 1 << place % 8
    return bytes(flipped)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_or_a_result(
    folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    name, command, checked = KINDS[kind]
    (path,) = folder.glob(name)
    result = of_index if "made.index" in command else printed

    def run() -> tuple[int, str, str]:
        code = main(command.format(path.name).split())
        output, said = capsys.readouterr()
        return code, result(folder, output), said

    whole = path.read_bytes()
    code, expected, _ = run()
    assert code == 0
    draw = random.Random(kind)
    outcomes: Counter[str] = Counter()
    try:
        for number in range(CASES):
            path.write_bytes(data := damaged(whole, draw))
            code, output, said = run()
            where = f"{kind}, case {number}: {said}"
            *notes, last = said.splitlines() or [""]
            assert all(note.startswith("trubleu: ") for note in notes), where
            if code == 2:
                outcomes["refused"] += 1
                assert last.startswith("trubleu: "), where
                assert output == "", where
            else:
                assert code == 0, where
                outcomes["the same result" if output == expected else "another result"] += 1
                assert data == whole or not checked or output == expected, where
    finally:
        path.write_bytes(whole)
    if out := os.environ.get("TRUBLEU_SOAK_OUT"):
        with open(out, "a") as stream:  # noqa: PTH123
            stream.write(json.dumps({"test": "damaged files", "kind": kind, "cases": CASES, **outcomes}) + "\n")


def printed(_folder: Path, output: str) -> str:
    return output


def of_index(folder: Path, _output: str) -> str:
    """Return the triples of the index that was made, and remove it."""
    made = folder / "made.index"
    if not made.exists():
        return ""
    index = Index.open(made)
    found = repr([index.triple(row) for row in range(len(index))])
    for path in [*made.iterdir(), made]:
        path.unlink() if path.is_file() else path.rmdir()
    return found
