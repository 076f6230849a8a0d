"""Score large files with and without engines: ``python -m benchmarks.scale.scoring --segments 1e6,1e7 --folder DIR``.

For each size a file of outputs and one of references are made, scored in processes of their own (without an engine,
with processes, on a Ray cluster of the same number of cores; with and without intervals) and removed again. Time begins
when the engine is ready and its workers have imported what they need. All results must be the same file. Rows are kept
in ``results.json``: whoever calls it again goes on after the last run; ``python -m benchmarks.scale.growth`` reads it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final

from benchmarks.scale.child import trial
from benchmarks.scale.files import check_room, digest, read_once, total_bytes
from benchmarks.scale.store import Results, add_run_options, engines, sizes
from benchmarks.scale.tables import all_same, summary
from benchmarks.scale.texts import BYTES_A_LINE, write_parallel

WHAT: Final = "score"
OPTIONS: Final = ("", "--ci")


def main() -> int:
    """Measure every size, print the tables, and leave with code 1 if results differ."""
    options = _parsed()
    results = Results(options.results or options.folder / "results.json")
    for segments in options.segments:
        _measure(options, results, segments)
    text = summary(results, WHAT)
    (options.folder / "scoring.md").write_text(text, encoding="utf-8")
    print(text, end="")
    return 0 if all_same(results, WHAT) else 1


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.scoring", description=__doc__)
    parser.add_argument("--segments", type=sizes, default=[10**6], metavar="N,N…", help="sizes, such as 1e6,1e7 (1e6)")
    parser.add_argument("--folder", type=Path, required=True, metavar="DIR", help="where files are made")
    parser.add_argument("--metric", default="bleu-4", metavar="NAME", help="what is counted (bleu-4)")
    add_run_options(parser)
    return parser.parse_args()


def _measure(options: argparse.Namespace, results: Results, segments: int) -> None:
    runs: list[tuple[str, dict[str, Any]]] = [
        (given, {"what": WHAT, "size": segments, "options": f"{options.metric} {given}".rstrip(), "engine": engine})
        for given in OPTIONS
        for engine in engines(options)
    ]
    missing = [(given, run) for given, run in runs if options.again or results.find(**run) is None]
    if not missing:
        return
    check_room(options.folder, 2 * segments * BYTES_A_LINE)
    references, outputs = write_parallel(options.folder, segments)
    found = options.folder / "scores.json"
    for given, run in missing:
        read_once(references, outputs)
        command = ["score", "--ref", str(references), str(outputs), "-m", options.metric, *given.split()]
        command += ["--format", "json", "--out", str(found), "--quiet"]
        cost = trial(run["engine"], command, workers=options.workers, limit=options.limit)
        both = {"input_bytes": total_bytes(references, outputs), "output_bytes": total_bytes(found)}
        results.add({**run, **both, **cost, "result": digest(found)})
        found.unlink()
    if not options.keep:
        references.unlink()
        outputs.unlink()


if __name__ == "__main__":
    sys.exit(main())
