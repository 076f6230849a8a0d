"""Real data, which the project does not hold, written as the files that commands take."""

from __future__ import annotations

import csv
import json
import os
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

from trubleu.data import Triple
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


def write_jsonl(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")


def write_outputs(folder: Path, outputs: dict[str, dict[str, str]], items: list[str]) -> list[Path]:
    """Write a file for each system, and return their paths."""
    paths = []
    for name, texts in outputs.items():
        path = folder / f"{name}.jsonl"
        write_jsonl(path, [{"id": item, "text": texts[item]} for item in items])
        paths.append(path)
    return paths


def write_ratings(path: Path, rows: list[tuple[Any, ...]], aspects: bool) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "system", "rater", "score", *(["aspect"] if aspects else [])])
        writer.writerows(rows)


def _tsv(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8-sig").split("\n")
    return [line.split("\t") for line in lines[1:] if line]


def dstc7(source: Path, folder: Path, most_golds: int = MOST_GOLDS, *, others_only: bool = False) -> list[Path]:
    """Write contexts with up to so many golds, and the ten systems' outputs.

    With ``others_only`` golds that equal the human's answer are left out for all systems, so that all of them are held
    against the same references.
    """
    outputs: dict[str, dict[str, str]] = defaultdict(dict)
    for system, item, text in _tsv(source / "dstc7-task2-system_responses.tsv"):
        outputs[system][item] = text
    contexts = {row[0]: row[2] for row in _tsv(source / "dstc7-task2-context.tsv")}
    records: list[dict[str, Any]] = []
    for item, *golds in _tsv(source / "dstc7-task2-gold_responses.tsv"):
        texts = list(dict.fromkeys(text for text in golds if text.strip()))
        if others_only:
            human = sameness(outputs["Human"][item])
            texts = [text for text in texts if sameness(text) != human]
        texts = texts[:most_golds]
        if texts:
            turns = contexts[item].split(" EOS ")
            references = [{"text": text, "origin": "gold"} for text in texts]
            records.append({"id": item, "context": turns[:-1], "message": turns[-1], "references": references})
    write_jsonl(folder / "refs.jsonl", records)
    return write_outputs(folder, outputs, [str(record["id"]) for record in records])


def multirefeval(source: Path, folder: Path) -> list[Path]:
    """Write 100 contexts with their references, five systems' outputs, and mean ratings times 10."""
    with (source / "mturk_rating_processed_output.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    records: dict[str, dict[str, Any]] = {}
    outputs: dict[str, dict[str, str]] = defaultdict(dict)
    ratings = []
    for row in rows:
        item = row["context_id"]
        turns = row["context"].split("||||")
        texts = dict.fromkeys(text for text in [row["prevgt"], *row["all_references"].split("\t")] if text.strip())
        records[item] = {
            "id": item,
            "context": turns[:-1],
            "message": turns[-1],
            "references": [{"text": text, "origin": "gold"} for text in texts],
        }
        outputs[row["model"]][item] = row["response"]
        # The file has means of several raters with one decimal: a whole number on a scale from 10 to 50.
        ratings.append((item, row["model"], "mean", round(float(row["human_average_rating"]) * 10)))
    items = [item for item in records if all(item in texts for texts in outputs.values())]
    write_jsonl(folder / "refs.jsonl", [records[item] for item in items])
    write_ratings(folder / "ratings.csv", ratings, aspects=False)
    return write_outputs(folder, outputs, items)


def usr(source: Path, folder: Path, name: str) -> list[Path]:
    """Write 60 contexts, the original response as the reference, the systems' outputs and three annotators' ratings."""
    items = json.loads((source / name).read_text(encoding="utf-8"))
    records, ratings = [], []
    outputs: dict[str, dict[str, str]] = defaultdict(dict)
    for number, entry in enumerate(items, 1):
        item = str(number)
        turns = [turn.strip() for turn in entry["context"].strip().split("\n") if turn.strip()]
        original = [each for each in entry["responses"] if each["model"] == "Original Ground Truth"]
        references = [{"text": each["response"].strip(), "origin": "seed"} for each in original]
        records.append({"id": item, "context": turns[:-1], "message": turns[-1], "references": references})
        for each in entry["responses"]:
            system = each["model"].replace(" ", "-")
            if system == "Original-Ground-Truth":
                continue
            outputs[system][item] = each["response"].strip()
            ratings += [(item, system, f"annotator{place}", score) for place, score in enumerate(each["Overall"], 1)]
    write_jsonl(folder / "refs.jsonl", records)
    write_ratings(folder / "ratings.csv", ratings, aspects=False)
    return write_outputs(folder, outputs, [record["id"] for record in records])


def wmt15(source: Path, folder: Path) -> Path:
    """Write the tasks of two language pairs."""
    return _tasks(folder, [*_wmt15(source, "de-en"), *_wmt15(source, "en-ru")])


def daseg2015(source: Path, folder: Path) -> Path:
    """Write the tasks of five language pairs."""
    return _tasks(folder, [line for pair in _ASSESSED for line in _daseg2015(source, pair, pair)])


def into_english(wmt: Path, daseg: Path, folder: Path) -> Path:
    """Write the tasks into English of both kinds."""
    assessed = [line for pair in _ASSESSED if pair.endswith("-en") for line in _daseg2015(daseg, pair, f"DA {pair}")]
    return _tasks(folder, [*_wmt15(wmt, "de-en"), *assessed])


_ASSESSED = ("cs-en", "de-en", "fi-en", "ru-en", "en-ru")
_RANKED = {"de-en": ("deu-eng", "newstest2015-deen-ref.en"), "en-ru": ("eng-rus", "newstest2015-enru-ref.ru")}


def _wmt15(source: Path, pair: str) -> list[str]:
    long, reference = _RANKED[pair]
    return [
        f'["{pair}"]',
        f'references = "{source / "references" / reference}"',
        f'outputs = "{source / "system-outputs" / pair}/*"',
        f'human = "{source / "official_scores"}/wmt15.{long}.txt"',
        f'rankings = "{source / "judgements"}/wmt15.{long}.csv.gz"',
        "",
    ]


def _daseg2015(source: Path, pair: str, name: str) -> list[str]:
    start = f"{source}/DAseg.newstest2015"
    return [
        f'["{name}"]',
        f'references = "{start}.reference.{pair}"',
        f'outputs = "{start}.mt-system.{pair}"',
        f'assessments = "{start}.human.{pair}"',
        "",
    ]


def _tasks(folder: Path, lines: list[str]) -> Path:
    path = folder / "tasks.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path
