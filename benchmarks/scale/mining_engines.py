"""Index and mine with and without engines: ``python -m benchmarks.scale.mining --engines …``.

Indexes must have the same bytes, and so must the candidates. Rows are kept in ``results.json``, as those of
`benchmarks.scale.scoring`; what was made for a size is removed when all of it is measured.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmarks.scale.child import trial
from benchmarks.scale.files import check_room, digest, files_of, read_once, total_bytes
from benchmarks.scale.store import Results, engines
from benchmarks.scale.tables import all_same, summary
from trubleu.mining.manifest import MANIFEST

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from benchmarks.scale.child import Cost
    from benchmarks.scale.store import Row

INDEX, RUN = "mine index", "mine run"

BYTES_A_TRIPLE: Final = 260 + 2 * 380
"""More than the corpus and two indexes take on the disk: one that is being made, and what is left of another."""

Simulate = Callable[["Path", int], "Cost"]


def measure(options: argparse.Namespace, seeds: Path, simulate: Simulate) -> int:
    """Measure every size, print the tables, and return 1 if results differ."""
    results = Results(options.results or options.folder / "results.json")
    for triples in options.triples:
        _Size(options, results, seeds, simulate, triples).measure()
    text = "".join(summary(results, what) for what in (INDEX, RUN))
    (options.folder / "mining-engines.md").write_text(text, encoding="utf-8")
    print(text, end="")
    same = [all_same(results, what) for what in (INDEX, RUN)]
    return 0 if all(same) else 1


@dataclass(frozen=True)
class _Size:
    """All runs on one corpus."""

    options: argparse.Namespace
    results: Results
    seeds: Path
    simulate: Simulate
    triples: int

    @property
    def _folder(self) -> Path:
        folder: Path = self.options.folder
        return folder

    @property
    def _made(self) -> Path:
        return self._folder / f"engines-corpus-{self.triples}.jsonl"

    @property
    def _corpus(self) -> Path:
        """That of a run without engines, if it is there, which is then left alone."""
        kept = self._folder / f"corpus-{self.triples}.jsonl"
        return kept if kept.exists() else self._made

    @property
    def _index(self) -> Path:
        return self._folder / f"engines-index-{self.triples}"

    def measure(self) -> None:
        """Do what is missing, and clear up."""
        most = self.options.shard_triples
        shards = "" if most is None else f"shards of {most:,}"
        mined = f"{self.options.seeds:,} seeds{shards and ', '}{shards}"
        indexing = self._missing(INDEX, shards)
        mining = self._missing(RUN, mined)
        if not indexing and not mining:
            return
        check_room(self._folder, self.triples * BYTES_A_TRIPLE)
        if not self._corpus.exists():
            self.simulate(self._made, self.triples)
        for engine in indexing:
            self._build(engine, shards)
        if mining and not (self._index / MANIFEST).exists():  # removed, or interrupted
            self._build(None, shards)
        for engine in mining:
            self._mine(engine, mined)
        if not self.options.keep:
            shutil.rmtree(self._index, ignore_errors=True)
            self._made.unlink(missing_ok=True)

    def _missing(self, what: str, given: str) -> list[str | None]:
        found = self.results.find
        return [
            engine
            for engine in engines(self.options)
            if self.options.again or found(what=what, size=self.triples, options=given, engine=engine) is None
        ]

    def _build(self, engine: str | None, given: str) -> None:
        shutil.rmtree(self._index, ignore_errors=True)
        read_once(self._corpus)
        command = ["mine", "index", str(self._corpus), "--out", str(self._index), "--quiet"]
        if self.options.shard_triples is not None:
            command += ["--shard-triples", str(self.options.shard_triples)]
        cost = self._trial(engine, command)
        files = files_of(self._index)
        written = {"input_bytes": total_bytes(self._corpus), "output_bytes": total_bytes(*files)}
        made = {"shards": len(list(self._index.glob("*.tbx"))), "manifest_bytes": total_bytes(self._index / MANIFEST)}
        self._keep(INDEX, given, engine, written | made | cost | {"result": digest(*files)})

    def _mine(self, engine: str | None, given: str) -> None:
        candidates = self._folder / f"engines-candidates-{self.triples}.jsonl"
        files = files_of(self._index)
        read_once(*files)
        command = ["mine", "run", str(self._index), "--seeds", str(self.seeds), "--top", str(self.options.top)]
        cost = self._trial(engine, [*command, "--out", str(candidates), "--quiet"])
        written = {"input_bytes": total_bytes(*files), "output_bytes": total_bytes(candidates)}
        what = {"seeds": self.options.seeds, "top": self.options.top, "shards": len(list(self._index.glob("*.tbx")))}
        self._keep(RUN, given, engine, what | written | cost | {"result": digest(candidates)})
        candidates.unlink()

    def _trial(self, engine: str | None, command: list[str]) -> Row:
        return trial(engine, command, workers=self.options.workers, limit=self.options.limit)

    def _keep(self, what: str, given: str, engine: str | None, row: dict[str, Any]) -> None:
        self.results.add({"what": what, "size": self.triples, "options": given, "engine": engine, **row})
