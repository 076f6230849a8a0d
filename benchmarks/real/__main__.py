"""Judge by real human judgements and mine real dialogues: ``python -m benchmarks.real [NAME …] [--out FOLDER]``.

Each study prints the command that makes it, which can be typed as it stands, and leaves its tables in the folder.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.real import context, dailydialog, estimates, files, findings, gaming
from trubleu.cli import main as trubleu

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DIALOGUE = ["--tokenize", "words", "--lowercase"]
DIALOGUE_METRICS = ["bleu-2", "sbleu-2", "dbleu-2"]
NEAR_DIALOGUE_METRICS = [
    *("bleu-2", "dbleu-2", "bleu2vec-2[similarity=shift:0.3]", "bleu2vec-f-2[similarity=shift:0.3]"),
    *(f"dbleu2vec-2[similarity=shift:0.3,credit={credit}]" for credit in ("earn", "nearest", "max")),
    *(f"dbleu2vec-2[similarity=shift:0.65,credit={credit}]" for credit in ("earn", "nearest", "max")),
    "dbleu2vec-f-2[similarity=shift:0.3]",
    "dbleu2vec-f-3[similarity=shift:0.3]",
]
POOLED = ["--pool-outputs", "--condition", "given", "--condition", "all"]


def dstc7(
    source: Path, folder: Path, metrics: Sequence[str] = DIALOGUE_METRICS, golds: int = files.MOST_GOLDS
) -> list[str]:
    found = files.dstc7(source, folder, golds)
    return [*_dstc7(found, metrics), "--drop-equal", "Human"]


def dstc7_same(source: Path, folder: Path, metrics: Sequence[str], golds: int) -> list[str]:
    """Hold all systems against the same golds, none of which is the human's answer."""
    found = files.dstc7(source, folder, golds, others_only=True)
    return [*_dstc7(found, metrics), "--sweeps", "none"]


def _dstc7(found: Path, metrics: Sequence[str]) -> list[str]:
    return [*_pairs(found, metrics), "--repeated-ratings", "keep", "--report", str(found.parent / "report.html")]


def multirefeval(source: Path, folder: Path, metrics: Sequence[str] = DIALOGUE_METRICS) -> list[str]:
    return [*_pairs(files.multirefeval(source, folder), metrics), "--unit", "20", "--drop-equal", "human"]


def usr_topical(source: Path, folder: Path, metrics: Sequence[str] = DIALOGUE_METRICS) -> list[str]:
    return [*_pairs(files.usr(source, folder, "tc_usr_data.json"), metrics), "--unit", "20"]


def usr_persona(source: Path, folder: Path, metrics: Sequence[str] = DIALOGUE_METRICS) -> list[str]:
    return [*_pairs(files.usr(source, folder, "pc_usr_data.json"), metrics), "--unit", "20"]


def near_translation(source: Path, folder: Path, sets: Callable[[Path, Path], list[Path]]) -> list[str]:
    # Assessments of one system have no pairs of outputs, so that only rankings are judged by τ.
    measure = ["--segment-measure", "pearson-pooled"]
    if sets is files.wmt15:
        measure = ["--segment-measure", "tau-wmt14", "--resample", "both"]
    return ["judge", "sets", *map(str, sets(source, folder)), *_named(NEAR_TRANSLATION_METRICS), *measure]


def in_context(source: Path, folder: Path) -> list[str]:
    """Hold single outputs of all kinds of texts against people, by Pearson's r."""
    sets = files.in_context(source.parent, folder)
    return ["judge", "sets", *map(str, sets), *_named(context.METRICS), "--segment-measure", "pearson-pooled"]


def trained(source: Path, folder: Path) -> list[str]:
    """Train on the text, on all of it and on parts, and compare: minutes."""
    texts = [source / "english-news-not2015.txt.zst", source / "english.txt.zst"]
    stores = {}
    for name, mode, count in (
        *((f"separate-{count}", "separate", count) for count in (50_000, 200_000)),
        ("separate", "separate", None),
        ("joint", "joint", None),
    ):
        stores[name] = folder / f"{name}.store"
        if not stores[name].exists():
            corpus = texts if count is None else [files.sample(texts, folder / f"{count}.txt", count)]
            command = ["vectors", "train", *map(str, corpus), "--tokenize", "words", "--lowercase", "--mode", mode]
            print(f"trubleu {shlex.join([*command, '--out', str(stores[name])])}", flush=True)
            trubleu([*command, "--out", str(stores[name])])
    sets = files.into_english(source.parent / "wmt15", source.parent / "daseg2015", folder)
    words = "tokenize=words,lowercase=true"
    soft = [f"{form}[{words},vectors={store}]" for form in ("bleu2vec", "bleu2vec-f") for store in stores.values()]
    return ["judge", "sets", *map(str, sets), *_named([f"bleu-3[{words}]", f"sbleu-3[{words}]", *soft])]


def _few_golds(
    source: Path, folder: Path, metrics: Sequence[str] = DIALOGUE_METRICS, golds: int = files.MOST_GOLDS
) -> list[str]:
    return [*dstc7(source, folder, metrics, golds), "--sweeps", "none"]


def _named(metrics: Sequence[str]) -> list[str]:
    return [argument for name in metrics for argument in ("-m", name)]


TRANSLATION_METRICS = ["trubleu", "chrf", "bleu-4", "sbleu-4[variant=sacrebleu]"]
NEAR_TRANSLATION_METRICS = [
    *TRANSLATION_METRICS,
    *("sbleu-3", "bleu2vec", "bleu2vec-f", "bleu2vec-f-4"),
    *(f"{name}[tokenize=words,lowercase=true]" for name in ("sbleu-3", "bleu2vec", "bleu2vec-f")),
]


STUDIES: dict[str, tuple[str, Callable[[Path, Path], list[str]]]] = {
    "dstc7": ("dstc7", dstc7),
    **{f"dstc7-{golds}": ("dstc7", partial(_few_golds, golds=golds)) for golds in (1, 5, 50)},
    "multirefeval": ("multirefeval", multirefeval),
    "usr-topical": ("usr", usr_topical),
    "usr-persona": ("usr", usr_persona),
    # The same with near misses, on ready vectors.
    "dstc7-5-near": ("dstc7", partial(dstc7_same, metrics=NEAR_DIALOGUE_METRICS, golds=5)),
    "multirefeval-near": ("multirefeval", partial(multirefeval, metrics=NEAR_DIALOGUE_METRICS)),
    "usr-topical-near": ("usr", partial(usr_topical, metrics=NEAR_DIALOGUE_METRICS)),
    "usr-persona-near": ("usr", partial(usr_persona, metrics=NEAR_DIALOGUE_METRICS)),
    "wmt15-near": ("wmt15", partial(near_translation, sets=files.wmt15)),
    "trained": ("text", trained),
    "context": ("tasks", in_context),
    "daseg2015-near": ("daseg2015", partial(near_translation, sets=files.daseg2015)),
}
# Rated references: the given ones alone, and with the other systems' rated outputs as weighted references.
RATED_METRICS = ["trubleu", "dbleu-2", "bleu-2"]
STUDIES |= {
    "usr-topical-rated": ("usr", partial(usr_topical, metrics=RATED_METRICS)),
    "usr-persona-rated": ("usr", partial(usr_persona, metrics=RATED_METRICS)),
    "multirefeval-rated": ("multirefeval", partial(multirefeval, metrics=RATED_METRICS)),
    **{f"dstc7-{golds}-rated": ("dstc7", partial(dstc7_same, metrics=RATED_METRICS, golds=golds)) for golds in (1, 5)},
}

# These print what they find themselves.
OWN: dict[str, tuple[str, Callable[[Path, Path], int]]] = {
    "dailydialog": ("dailydialog", dailydialog.run),
    "gaming": ("dstc7", gaming.run),
    "context-rated": ("usr", context.run),
    "findings": ("planted", findings.run),
    "estimates": ("mtme", estimates.run),
}


def _pairs(found: Path, metrics: Sequence[str]) -> list[str]:
    return ["judge", "pairs", str(found), *DIALOGUE, *_named(metrics), *POOLED]


def main() -> int:
    """Run the studies whose data is there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real", description=__doc__)
    names = [*STUDIES, *OWN]
    parser.add_argument("names", nargs="*", choices=[*names, []], metavar="NAME", help=", ".join(names))
    parser.add_argument("--out", type=Path, default=Path("build/real"), metavar="FOLDER", help="for files (build/real)")
    arguments = parser.parse_args()
    failed = 0
    for name in arguments.names or names:
        source = files.data_folder({**STUDIES, **OWN}[name][0])
        if source is None:
            continue
        folder = arguments.out / name
        folder.mkdir(parents=True, exist_ok=True)
        print(f"\n## {name}", flush=True)
        failed |= OWN[name][1](source, folder) if name in OWN else _run(STUDIES[name][1](source, folder), folder)
    return failed


def _run(command: list[str], folder: Path) -> int:
    print(f"trubleu {shlex.join(command)}", flush=True)
    result = folder / "result.md"
    code = trubleu([*command, "--format", "markdown", "--out", str(result)])
    if code == 0:
        print(result.read_text(encoding="utf-8"))
    return code


if __name__ == "__main__":
    sys.exit(main())
