"""Real data, which the project does not hold, written as the files that commands take."""

from __future__ import annotations

import csv
import os
import random
import shutil
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from trubleu.data import EvaluationSet, Reference, Segment, Triple, read_published, write_sets
from trubleu.data.sets import RatingRow, fitting
from trubleu.files.lines import iterate_lines
from trubleu.judge.pairs.reference_pool import sameness

MOST_GOLDS = 20


def data_folder(name: str) -> Path | None:
    """Return a folder of the real data, or None, saying so, where it is not there."""
    root = os.environ.get("TRUBLEU_DATA")
    folder = Path(root) / name if root else None
    if folder is None or not folder.is_dir():
        print(f"{name}: skipped, as there is no folder {name} in $TRUBLEU_DATA")
        return None
    return folder


def sample(texts: list[Path], path: Path, count: int, seed: int = 1) -> Path:
    """Write so many lines of texts, drawn at random."""
    lines = [line for text in texts for line in iterate_lines(text)]
    random.Random(seed).shuffle(lines)
    path.write_text("\n".join(lines[:count]) + "\n", encoding="utf-8")
    return path


def dailydialog(source: Path) -> dict[str, list[Triple]]:
    """Return the triples of each split; a name is the split and the line."""
    splits: dict[str, list[Triple]] = defaultdict(list)
    for number, line in enumerate(iterate_lines(source / "triples.tsv.gz"), 1):
        split, context, message, response = line.split("\t")
        splits[split].append(Triple(f"{split}:{number}", (context,), message, response))
    return splits


def dstc7(source: Path, folder: Path, most_golds: int = MOST_GOLDS, *, others_only: bool = False) -> Path:
    """Write a set with up to so many golds for each context.

    With ``others_only`` golds that equal the human's answer are left out for all systems, so that all of them are held
    against the same references.
    """
    [found] = read_published("dstc7", source)
    segments = []
    for segment in found.segments:
        golds = segment.references
        if others_only:
            human = sameness(found.outputs["Human"][segment.id])
            golds = tuple(gold for gold in golds if sameness(gold.text) != human)
        segments.append(replace(segment, references=golds[:most_golds]))
    return _written(folder, replace(found, **fitting(segments, found.outputs, found.ratings, str(source))))


def multirefeval(source: Path, folder: Path) -> Path:
    """Write a set of 100 contexts with their references, five systems' outputs, and mean ratings times 10."""
    path = source / "mturk_rating_processed_output.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    segments: dict[str, Segment] = {}
    outputs: dict[str, dict[str, str]] = defaultdict(dict)
    ratings = []
    for row in rows:
        item = row["context_id"]
        turns = row["context"].split("||||")
        texts = dict.fromkeys(text for text in [row["prevgt"], *row["all_references"].split("\t")] if text.strip())
        references = tuple(Reference(text, origin="gold") for text in texts)
        segments[item] = Segment(item, references, turns[-1], tuple(turns[:-1]))
        outputs[row["model"]][item] = row["response"]
        # The file has means of several raters with one decimal: a whole number on a scale from 10 to 50.
        score = round(float(row["human_average_rating"]) * 10)
        ratings.append(RatingRow(item, row["model"], "mean", score, "overall"))
    complete = [segment for item, segment in segments.items() if all(item in texts for texts in outputs.values())]
    found = EvaluationSet(
        name="multirefeval",
        title="multirefeval",
        task="dialogue",
        licence="none stated",
        scales={"overall": (10, 50)},
        files=(path,),
        **fitting(complete, outputs, ratings, str(path)),
    )
    return _written(folder, found)


def usr(source: Path, folder: Path, name: str) -> Path:
    """Write a set of 60 contexts, the original response as the reference, and what three annotators think."""
    [found] = read_published("usr", source / name)
    return _written(folder, found)


def _written(folder: Path, found: EvaluationSet) -> Path:
    path = folder / "set"
    shutil.rmtree(path, ignore_errors=True)
    write_sets(path, [found])
    return path


def wmt15(source: Path, folder: Path) -> list[Path]:
    """Write sets of two language pairs."""
    return _all_written(folder, read_published("wmt-rr", source))


def daseg2015(source: Path, folder: Path) -> list[Path]:
    """Write sets of five language pairs."""
    return _all_written(folder, read_published("wmt-da", source))


def in_context(root: Path, folder: Path) -> list[Path]:
    """Write all sets of tasks, dialogue and direct assessments."""
    kinds = (("tasks", "tasks"), ("usr", "usr"), ("wmt-da", "daseg2015"))
    return _all_written(folder, [each for kind, name in kinds for each in read_published(kind, root / name)])


def into_english(wmt: Path, daseg: Path, folder: Path) -> list[Path]:
    """Write sets into English of both kinds."""
    found = [*read_published("wmt-rr", wmt), *read_published("wmt-da", daseg)]
    return _all_written(folder, [each for each in found if each.name.endswith("-en")])


def _all_written(folder: Path, sets: list[EvaluationSet]) -> list[Path]:
    path = folder / "sets"
    shutil.rmtree(path, ignore_errors=True)
    return [Path(name) for name in write_sets(path, sets)]
