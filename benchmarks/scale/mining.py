"""Index and mine simulated corpora: ``python -m benchmarks.scale.mining --triples 1000000 5000000 --folder DIR``.

Everything runs through the command line, each command in a process of its own. The folder keeps the corpora, which are
made once, and for each size the index, the candidates and ``mining-N.json``; ``mining.md`` has all sizes side by side.

With ``--engines`` every corpus is indexed and mined without an engine, with processes and on a Ray cluster of the same
number of cores, from when the engine is ready; see `benchmarks.scale.mining_engines`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.scale import mining_engines
from benchmarks.scale.child import Cost, run_module, trubleu
from benchmarks.scale.store import add_run_options, machine, size

CORPUS_SEED, SEEDS_SEED = 1, 2  # of one language, but with different texts
GIGABYTE = 1e9

COLUMNS = (
    "triples", "corpus GB", "index GB", "indexing s", "CPU s", "peak GB", "own GB",
    "seeds", "mining s", "CPU s", "peak GB", "own GB", "seeds with all candidates",
)  # fmt: skip


def main() -> int:
    """Measure every size, and print the table."""
    options = _parsed()
    options.folder.mkdir(parents=True, exist_ok=True)
    seeds = options.folder / f"seeds-{options.seeds}.jsonl"
    if not seeds.exists():
        _simulate(seeds, options.seeds, SEEDS_SEED)
    if options.engines:
        return mining_engines.measure(options, seeds, lambda path, triples: _simulate(path, triples, CORPUS_SEED))
    for triples in options.triples:
        result = _measured(options, triples, seeds)
        (options.folder / f"mining-{triples}.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    table = _table(options.folder)
    (options.folder / "mining.md").write_text(table, encoding="utf-8")
    print(table, end="")
    return 0


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.mining", description=__doc__)
    parser.add_argument("--triples", type=size, nargs="+", default=[1_000_000], metavar="N", help="sizes of corpora")
    parser.add_argument("--seeds", type=int, default=2114, metavar="N", help="triples to mine for (2114)")
    parser.add_argument("--top", type=int, default=15, metavar="N", help="candidates of each (15)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads to mine with (all cores)")
    parser.add_argument("--folder", type=Path, required=True, metavar="DIR", help="where corpora and indexes lie")
    parser.add_argument("--reuse-index", action="store_true", help="measure the mining only, where there is an index")
    parser.add_argument("--cold", action="store_true", help="let the system forget the index before mining")
    with_engines = parser.add_argument_group("engines")
    with_engines.add_argument("--engines", action="store_true", help="compare engines instead")
    with_engines.add_argument(
        "--shard-triples", type=size, metavar="N", help="triples of a shard, to see what many cost"
    )
    add_run_options(with_engines)
    return parser.parse_args()


def _simulate(path: Path, n: int, seed: int) -> Cost:
    return run_module("benchmarks.simulated", "triples", "--n", str(n), "--seed", str(seed), "--out", str(path))


def _measured(options: argparse.Namespace, triples: int, seeds: Path) -> dict[str, Any]:
    corpus = options.folder / f"corpus-{triples}.jsonl"
    index = options.folder / f"index-{triples}"
    candidates = options.folder / f"candidates-{triples}.jsonl"
    result: dict[str, Any] = {"schema": 1, "machine": machine(), "triples": triples, "seeds": options.seeds}
    if not corpus.exists():
        result["simulate"] = asdict(_simulate(corpus, triples, CORPUS_SEED))
    result["corpus_bytes"] = corpus.stat().st_size
    earlier = options.folder / f"mining-{triples}.json"
    if options.reuse_index and index.exists() and earlier.exists():
        result["index"] = json.loads(earlier.read_text(encoding="utf-8"))["index"]
    else:
        shutil.rmtree(index, ignore_errors=True)
        result["index"] = asdict(trubleu("mine", "index", str(corpus), "--out", str(index), "--quiet"))
    result["index_bytes"] = sum(path.stat().st_size for path in index.iterdir())
    result["cold"] = options.cold
    if options.cold:
        _forget(index)
    threads = [] if options.threads is None else ["--threads", str(options.threads)]
    command = ["mine", "run", str(index), "--seeds", str(seeds), "--top", str(options.top), *threads]
    result["mine"] = asdict(trubleu(*command, "--out", str(candidates), "--quiet"))
    result |= _counted(candidates, options.top)
    return result


def _forget(index: Path) -> None:
    """Ask the system to drop what it holds of the files, so that they come from the disk again."""
    os.sync()
    for path in index.iterdir():
        file = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)


def _counted(candidates: Path, top: int) -> dict[str, int]:
    mined = []
    with candidates.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if "references" in record:
                mined.append(sum(each["origin"] == "mined" for each in record["references"]))
    return {"seeds_found": len(mined), "seeds_with_all": sum(count == top for count in mined), "mined": sum(mined)}


def _table(folder: Path) -> str:
    """Return all sizes that were ever measured there, side by side, in Markdown."""
    results = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("mining-*.json")]
    rows = [_row(result) for result in sorted(results, key=lambda result: int(result["triples"]))]
    return "".join(f"| {' | '.join(row)} |\n" for row in [COLUMNS, ["---:"] * len(COLUMNS), *rows])


def _row(result: dict[str, Any]) -> list[str]:
    index, mine = result["index"], result["mine"]
    return [
        f"{result['triples']:,}",
        *(f"{result[name] / GIGABYTE:.2f}" for name in ("corpus_bytes", "index_bytes")),
        *_costs(index),
        f"{result['seeds']:,}",
        *_costs(mine),
        f"{result['seeds_with_all']:,}",
    ]


def _costs(cost: dict[str, Any]) -> list[str]:
    times = [f"{cost[name]:.1f}" for name in ("wall_seconds", "cpu_seconds")]
    return times + [f"{cost[name] / GIGABYTE:.2f}" for name in ("peak_bytes", "peak_own_bytes")]


if __name__ == "__main__":
    sys.exit(main())
