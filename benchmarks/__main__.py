"""Run the benchmarks: ``python -m benchmarks [--only NAME] [--quick] [--out FILE.json]``."""

from __future__ import annotations

import argparse
import gc
import json
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.cases import CASES, Bench
from benchmarks.rows import HEADER, Row, cpu, versions


def main() -> int:
    """Print a line for each comparison, write all of them, and return 1 if a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Compare speed with sacreBLEU and NLTK.")
    parser.add_argument("--only", action="append", choices=CASES, metavar="NAME", help=f"one of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="little data, few runs, no bars: does everything work?")
    parser.add_argument("--whole", action="store_true", help="let sacreBLEU score all of (c): minutes, 7 GB of memory")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write all rows there")
    arguments = parser.parse_args()
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


if __name__ == "__main__":
    sys.exit(main())
