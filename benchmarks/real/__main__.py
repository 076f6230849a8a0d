"""Run ``trubleu judge`` on real human judgements: ``python -m benchmarks.real [NAME …] [--out FOLDER]``.

Each study prints the command that makes it, which can be typed as it stands, and leaves its tables in the folder.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.real import files
from trubleu.cli import main as trubleu

if TYPE_CHECKING:
    from collections.abc import Callable

DIALOGUE = ["--tokenize", "words", "--lowercase", "-m", "bleu-2", "-m", "sbleu-2", "-m", "dbleu-2"]
POOLED = ["--pool-outputs", "--condition", "given", "--condition", "all"]


def dstc7(source: Path, folder: Path, golds: int = files.MOST_GOLDS) -> list[str]:
    outputs = files.dstc7(source, folder, golds)
    ratings = source / "dstc7-task2-human-eval-per-judge.tsv"
    return [
        *_pairs(folder, ratings, outputs),
        *("--repeated-ratings", "keep", "--drop-equal", "Human", "--report", str(folder / "report.html")),
    ]


def multirefeval(source: Path, folder: Path) -> list[str]:
    outputs = files.multirefeval(source, folder)
    command = _pairs(folder, folder / "ratings.csv", outputs)
    return [*command, "--scale", "10-50", "--unit", "20", "--drop-equal", "human"]


def usr_topical(source: Path, folder: Path) -> list[str]:
    outputs = files.usr(source, folder, "tc_usr_data.json")
    return [*_pairs(folder, folder / "ratings.csv", outputs), "--unit", "20"]


def usr_persona(source: Path, folder: Path) -> list[str]:
    outputs = files.usr(source, folder, "pc_usr_data.json")
    return [*_pairs(folder, folder / "ratings.csv", outputs), "--unit", "20"]


def wmt15(source: Path, folder: Path) -> list[str]:
    tasks = files.wmt15(source, folder)
    return ["judge", "wmt", "--tasks", str(tasks), *_SENTENCE_METRICS]


def daseg2015(source: Path, folder: Path) -> list[str]:
    tasks = files.daseg2015(source, folder)
    return ["judge", "wmt", "--tasks", str(tasks), *_SENTENCE_METRICS]


def _few_golds(source: Path, folder: Path, golds: int) -> list[str]:
    return [*dstc7(source, folder, golds), "--sweeps", "none"]


_SENTENCE_METRICS = ["-m", "bleu-4", "-m", "sbleu-4[variant=sacrebleu]", "-m", "chrf"]

STUDIES: dict[str, tuple[str, Callable[[Path, Path], list[str]]]] = {
    "dstc7": ("dstc7", dstc7),
    **{f"dstc7-{golds}": ("dstc7", partial(_few_golds, golds=golds)) for golds in (1, 5, 10, 50)},
    "multirefeval": ("multirefeval", multirefeval),
    "usr-topical": ("usr", usr_topical),
    "usr-persona": ("usr", usr_persona),
    "wmt15": ("wmt15", wmt15),
    "daseg2015": ("daseg2015", daseg2015),
}


def _pairs(folder: Path, ratings: Path, outputs: list[Path]) -> list[str]:
    return [
        *("judge", "pairs", "--refs", str(folder / "refs.jsonl"), "--ratings", str(ratings)),
        *(str(path) for path in outputs),
        *DIALOGUE,
        *POOLED,
    ]


def main() -> int:
    """Run the studies whose data is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*STUDIES, []], metavar="NAME", help=", ".join(STUDIES))
    parser.add_argument("--out", type=Path, default=Path("build/real"), metavar="FOLDER", help="for files (build/real)")
    arguments = parser.parse_args()
    failed = 0
    for name in arguments.names or STUDIES:
        data, prepare = STUDIES[name]
        source = files.data_folder(data)
        if source is None:
            continue
        folder = arguments.out / name
        folder.mkdir(parents=True, exist_ok=True)
        command = prepare(source, folder)
        print(f"\n## {name}\ntrubleu {shlex.join(command)}", flush=True)
        result = folder / "result.md"
        code = trubleu([*command, "--format", "markdown", "--out", str(result)])
        if code == 0:
            print(result.read_text(encoding="utf-8"))
        failed |= code
    return failed


if __name__ == "__main__":
    sys.exit(main())
