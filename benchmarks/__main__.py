"""Run the benchmarks: ``python -m benchmarks [--only NAME] [--quick] [--out FILE.json]``."""

from __future__ import annotations

import argparse
import gc
import json
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

PEERS: Final[dict[str, tuple[str, Collection[str] | None]]] = {
    "nltk": ("nltk", None),
    "bm25s": ("'bm25s>=0.2.10'", ("mining-index", "mining-search")),
    "numba": ("'numba>=0.60'", ("mining-index", "mining-search")),
    "tantivy": ("'tantivy>=0.24'", ("mining-index", "mining-search")),
    "fastchrf": ("'fastchrf>=0.2'", ("characters",)),
    "pycocoevalcap": ("pycocoevalcap", ("older",)),
    "rouge_score": ("'rouge-score>=0.1.2'", ("older",)),
}
"""Packages that ours is compared with: how pip installs them, and the benchmarks that need them; None for all."""


def missing_peers(cases: Collection[str]) -> list[str]:
    """Return what pip must install before these benchmarks can run."""
    return [
        requirement
        for module, (requirement, needing) in PEERS.items()
        if (needing is None or set(needing) & set(cases)) and find_spec(module) is None
    ]


def main(given: Sequence[str] | None = None) -> int:
    """Print a line for each comparison, write all of them, and return 1 if a bar was missed, 2 if a peer is missing."""
    if missing := missing_peers(()):
        return _refuse(missing)
    from benchmarks.cases import CASES, Bench
    from benchmarks.rows import HEADER, Row, cpu, versions

    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Compare speed with sacreBLEU and NLTK.")
    parser.add_argument("--only", action="append", choices=CASES, metavar="NAME", help=f"one of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="little data, few runs, no bars: does everything work?")
    parser.add_argument("--whole", action="store_true", help="let sacreBLEU score all of (c): minutes, 7 GB of memory")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write all rows there")
    arguments = parser.parse_args(given)
    if missing := missing_peers(arguments.only or CASES):
        return _refuse(missing)
    print(f"{versions()}; {cpu()}\n{HEADER}", flush=True)
    bench = Bench(quick=arguments.quick, whole=arguments.whole)
    rows: list[Row] = []
    for name in arguments.only or CASES:
        for found in CASES[name](bench):
            row = replace(found, bar=None) if arguments.quick else found  # bars are for the whole data
            print(row, flush=True)
            rows.append(row)
        gc.collect()
    if arguments.out:
        text = json.dumps([row.to_dict() for row in rows], indent=1, ensure_ascii=False)
        arguments.out.write_text(text + "\n", encoding="utf-8")
    missed = [row for row in rows if row.reached is False]
    if missed:
        print(f"{len(missed)} of {sum(row.bar is not None for row in rows)} bars were missed", file=sys.stderr)
    return 1 if missed else 0


def _refuse(missing: Sequence[str]) -> int:
    print(
        f"packages to compare with are missing; install them with: pip install {' '.join(missing)}, or name benchmarks "
        "that do without them with --only",
        file=sys.stderr,
    )
    return 2


if __name__ == "__main__":
    sys.exit(main())
